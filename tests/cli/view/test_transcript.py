"""The transcript as Markdown."""

from __future__ import annotations

import re

from clew.cli.view.transcript import entry_text, fenced, for_terminal, tail_of
from clew.model.views import ItemView, Passage
from tests.helpers.views import thread_view


def answer(*items: ItemView) -> Passage:
    return Passage("agent", "codex", "done", 0, "T", "completed", items)


COMMAND = ItemView("1", "command", "done", "make", "\n".join(map(str, range(9))), "failed", 2)
CHANGE = ItemView("2", "change", "done", "a.py", "-old\n+new", "ok", None)


def test_of_a_failed_command_the_last_lines_are_shown() -> None:
    text = entry_text(answer(COMMAND, CHANGE))
    assert "- command: make (failed)\n\n```\n… 4 more lines\n4\n5\n6\n7\n8\n```" in text
    assert "+new" not in text


def test_full_shows_outputs_and_diffs() -> None:
    text = entry_text(answer(COMMAND, CHANGE), full=True)
    assert "\n0\n1\n2\n" in text and "```diff\n-old\n+new\n```" in text


def test_output_cannot_close_its_fence() -> None:
    assert fenced("a\n````\nb") == "`````\na\n````\nb\n`````"


def test_a_short_output_is_shown_whole() -> None:
    assert tail_of("a\nb\n") == "a\nb" and tail_of("1\n2\n3\n4\n5\n6") == "1\n2\n3\n4\n5\n6"


def test_a_message_of_a_person_keeps_its_line_breaks() -> None:
    assert "one  \ntwo" in entry_text(Passage("person", "ann", "one\ntwo", 0, "T"))


def test_on_a_terminal_a_person_s_text_is_shown_as_typed_and_an_agent_s_is_laid_out() -> None:
    typed = "# no head\n**stars**\n\n```\ncode\n```"
    entries = [Passage("person", "ann", typed, 0, "T"), Passage("agent", "codex", "**bold**", 0, "T", "completed")]
    shown = re.sub(r"\x1b\[[0-9;]*m", "", for_terminal(thread_view("T", title="x"), entries, columns=60))
    assert f"\n\n{typed}\n\n" in shown and "\nbold\n" in shown


def test_an_answer_before_an_activity_is_shown_once() -> None:
    text = entry_text(answer(ItemView("0", "text", "done", "", "done", None, None), CHANGE))
    assert text.count("done") == 1 and text.index("done") < text.index("a.py")


def test_what_a_sub_agent_did_is_a_list_in_the_list() -> None:
    under = ItemView("2", "command", "done", "ls", "", "ok", 0, parent="1")
    text = entry_text(answer(ItemView("1", "tool", "done", "Agent look", "", "ok"), under))
    assert "- tool: Agent look (ok)\n  - command: ls (ok)" in text


def test_the_answer_to_a_question_is_shown() -> None:
    asked = ItemView("1", "gate", "done", "K7Q2: answered by ann: Which?", "", "taken", replies=("red",))
    assert "K7Q2: answered by ann: Which? (taken) → red\n" in entry_text(answer(asked))


def test_a_stopped_answer_says_who_stopped_it() -> None:
    stopped = Passage("agent", "codex", "half", 0, "T", "interrupted", stopped_by="ann")
    assert "(stopped by ann)" in entry_text(stopped)
