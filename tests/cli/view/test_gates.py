"""How gates are shown, and which are tracked as open: values in, lines out."""

from __future__ import annotations

from types import SimpleNamespace as Namespace
from typing import Any, TypeVar

import msgspec
import pytest
from msgspec.structs import replace

from clew.cli.chat.prompt import toolbar
from clew.cli.commands.gates import _ask_all, _one_line_summary
from clew.cli.view.events import BOLD, PLAIN, EventRenderer, InfoLine
from clew.cli.view.gates import (
    Gates,
    closing_line,
    command_hints,
    hint_rows,
    refuse_secrets,
    request_lines,
    request_rows,
    typing_hint,
    typing_hints,
)
from clew.client.events import Event, GateAnswered, GateVoid
from clew.client.requests import Request
from clew.model.gate_views import GateShown, GateView
from clew.support.coded import Coded, with_texts
from clew.support.errors import Refused
from clew.texts import gate_messages
from clew.texts.catalogue import say
from tests.helpers.views import gate_view as gate
from tests.helpers.views import question_view as question

T = TypeVar("T")


def test_a_gate_is_shown_completely_with_nothing_hidden() -> None:
    view = gate(
        title="make\nrm \u0441at", folder="/tmp/a\nb", detail="- old\n+ new", reason="to\ntry", warning="Again."
    )
    assert request_lines(view) == [
        "K7Q2: the agent asks to run a command",
        "  why:",
        "  │ to",
        "  │ try",
        "    - old",
        "    + new",
        "  ⚠ Again.",
        "  in /tmp/a\\nb",
        "    make",
        "    rm \\u0441at",
    ]


def test_an_agents_reason_neither_pushes_a_command_away_nor_passes_for_a_card() -> None:
    filler = "I looked at the layout of the repository, and it has to be made anew. " * 4
    fake = "K7Q2: the agent asks to run a command\n    ls -la src\n  1 allow"
    view = gate(title="rm -rf ~/results", reason=f"{fake}\n{filler}\n{filler}\n{filler}\n{filler}", folder="/tmp")
    head, why, *said, folder, command = request_lines(view)
    assert (head, why) == ("K7Q2: the agent asks to run a command", "  why:")
    assert (folder, command) == ("  in /tmp", "    rm -rf ~/results")
    assert all(line.startswith("  │ ") and len(line) <= 74 for line in said) and len(said) <= 12
    assert said[0] == "  │ K7Q2: the agent asks to run a command" and said[-1] == "  │ … (2 more lines)"
    spaced = request_lines(gate(reason="\n".join("abcdefg")))
    assert spaced[2:9] == [*(f"  │ {letter}" for letter in "abcdef"), "  │ … (1 more line)"]
    wide = request_lines(gate(reason="好" * 600))
    assert all(line.startswith("  │ ") for line in wide[2:-1]) and sum(line.count("好") for line in wide) == 500


def test_a_command_is_shown_exactly_whatever_its_length_or_script() -> None:
    view = gate(title="cat א > ב\necho ʼ; x ʼ" + "\n" * 30 + "ls", folder="/tmp/א", detail="+א")
    assert request_lines(view)[1:] == [
        r"    +\u05d0",
        r"  in /tmp/\u05d0",
        "  32 lines:",
        r"    cat \u05d0 > \u05d1",
        r"    echo \u02bc; x \u02bc",
        "    ⏎×29",
        "    ls",
    ]


def test_blank_lines_in_agent_text_are_folded_and_counted() -> None:
    gap = "tests" + "\n" * 300 + "x"
    view = gate(kind="question", detail=gap, reason=gap, questions=[question(gap, "a")])
    assert request_lines(view)[1:] == [
        *("  why:", "  │ tests", "  │ ⏎×299", "  │ x"),
        *("  301 lines:", "  tests", "  ⏎×299", "  x", "    1 a"),
        *("    tests", "    ⏎×299", "    x"),
    ]


def test_a_long_diff_is_shown_completely() -> None:
    view = gate(kind="change", detail="+" * 100_000)
    assert request_lines(view)[-2].strip() == "+" * 100_000


def test_gates_shortened_in_a_list_are_fetched_before_display() -> None:
    whole = gate(kind="change", detail="+" * 5_000)
    listed = replace(whole, detail="+ … ✂ 4,999 … ")

    class Daemon(GateClient):
        def ask(self, request: Request[T]) -> T:
            return msgspec.convert(whole if request.path[-1] == whole.id else (listed,), request.gives)

    shown = Gates(Daemon(), "T", typing_hints).catch_up()
    assert any(isinstance(piece, InfoLine) and piece.line.strip() == "+" * 5_000 for piece in shown)


def test_the_typing_hint_names_the_accepted_answers() -> None:
    one = gate(kind="question", questions=[question("Which?", "red")])
    assert typing_hint([gate()]) == "or y, n, n REASON; any other text goes to the agent"
    assert typing_hint([one]) == "a number, or K7Q2 and your own text"
    assert typing_hint([gate(kind="question", questions=[question("Which?", "red", free=False)])]) == "a number"
    assert typing_hint([gate(kind="question", questions=[question()])]) == "your next line answers it"
    assert "K7Q2 y or Z3H8 1;" in typing_hint([gate(), gate("Z3H8", "question", questions=[question("Which?", "red")])])


def test_several_questions_are_shown_with_a_number_for_each() -> None:
    view = gate(kind="question", questions=[question("Which?", "red", "green"), question("How many?", "1", "2")])
    shown = [*request_lines(view), *typing_hints(view, [view])]
    assert shown == [
        "K7Q2: the agent asks",
        "  Which?",
        "    1 red",
        "    2 green",
        "  How many?",
        "    1 1",
        "    2 2",
        "  a number for each question, such as 1 2",
    ]
    assert command_hints(view) == ["  clew answer K7Q2 ANSWER ANSWER answers it"]


@pytest.mark.parametrize("line", ["hunter", "K7Q2 hunter", "y", "1234", "no idea"])
def test_typed_text_is_not_sent_while_a_secret_is_asked_for(line: str) -> None:
    secret = gate(kind="question", questions=[question(secret=True)])
    with pytest.raises(Refused, match="give it with `clew answer K7Q2`, not here"):
        refuse_secrets(line, [gate("Z3H8"), secret])


@pytest.mark.parametrize("line", ["z3h8 y", "n Z3H8 not now", "yes all"])
def test_while_a_secret_is_asked_another_gate_is_answered_by_code(line: str) -> None:
    refuse_secrets(line, [gate("Z3H8"), gate(kind="question", questions=[question(secret=True)])])


class GateClient:
    """A client with these gates."""

    def __init__(self, *views: GateView) -> None:
        self.views = views

    def ask(self, request: Request[T]) -> T:
        found = [view for view in self.views if view.id == request.path[-1]]
        return msgspec.convert(found[0] if found else self.views[::-1], request.gives)


def event(kind: str, **data: Any) -> Event:
    return Event(
        kind, 1, turn="U", data={"gate": "id-K7Q2", "code": "K7Q2", "asks": "command", "title": "make", **data}
    )


def test_a_gate_is_shown_once_and_again_if_it_is_reopened() -> None:
    gates = Gates(GateClient(gate()), "T", typing_hints)
    first = gates.catch_up()
    assert first[0] == InfoLine("K7Q2: the agent asks to run a command", BOLD, is_request=True)
    assert gates.take(event("gate.opened")) == [] and [view.code for view in gates.open] == ["K7Q2"]
    assert gates.take(event("gate.answered", decision="accept", by="ann", title="make all")) == []
    assert gates.open == ()
    assert gates.take(event("gate.opened")) == first and len(gates.open) == 1


def test_a_gate_of_another_turn_is_tracked_but_not_shown() -> None:
    gates = Gates(GateClient(gate(turn="before")), "T", typing_hints)
    assert gates.catch_up("U") == [] and len(gates.open) == 1


def test_the_toolbar_names_open_gates() -> None:
    assert toolbar(5, "T", 0, None, 0, ["K7Q2"]).startswith("? K7Q2 waits for you")


def asked_in_a_terminal(monkeypatch: pytest.MonkeyPatch, view: GateView) -> list[str]:
    """The lines of `clew answer`, with what it asks at the prompt."""
    told: list[str] = []
    monkeypatch.setattr("sys.stdin.isatty", lambda: True)

    def prompt(text: str, **_: object) -> str:
        told.append(text)
        return "#1"

    monkeypatch.setattr("click.prompt", prompt)
    assert _ask_all(Namespace(say=told.append), view) == [["#1"] for _ in view.questions]  # type: ignore[arg-type]
    return told


def test_numeric_options_are_marked_when_asking_for_an_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    told = asked_in_a_terminal(monkeypatch, gate(kind="question", questions=[question("How many?", "2", "1")]))
    assert told[1:] == ["  How many?", "    #1 2", "    #2 1", "›"]


def test_a_question_comes_first_then_its_options_and_what_explains_them(monkeypatch: pytest.MonkeyPatch) -> None:
    view = gate(kind="question", detail="red: stop everything", questions=[question("Which?", "red", "blue")])
    lines = ["  Which?", "    1 red", "    2 blue", "    red: stop everything"]
    assert request_lines(view)[1:] == lines
    assert asked_in_a_terminal(monkeypatch, view)[1:] == [*lines, "›"]


def test_of_several_questions_each_is_named_at_the_prompt(monkeypatch: pytest.MonkeyPatch) -> None:
    view = gate(kind="question", questions=[question("Which?", "red"), question("Where?")])
    assert asked_in_a_terminal(monkeypatch, view)[-2:] == ["Which?", "Where?"]


def test_an_approval_takes_three_lines_beside_its_request() -> None:
    gates = Gates(GateClient(gate(options=LABELS)), "T", typing_hints)
    asked = gates.catch_up()
    answered = gates.take(event("gate.answered", decision="accept", by="you", title="make all"))
    taken = gates.take(event("gate.taken"))
    shown = [piece.line for piece in (*asked, *answered, *taken) if isinstance(piece, InfoLine)]
    assert shown == [
        "K7Q2: the agent asks to run a command",
        "    make all",
        "  1 yes · 2 no · 3 in this thread · 4 by a rule (or y, n, n REASON, stop; any other text goes to the agent)",
        "· K7Q2: yes by you",
    ]


def test_on_a_narrow_terminal_what_can_be_typed_has_a_row_of_its_own() -> None:
    [line] = typing_hints(view := gate(options=LABELS), [view])
    assert hint_rows(line, 120) == [line]
    assert hint_rows(line, 80) == [line[:47], "  (or y, n, n REASON, stop; any other text goes to the agent)"]
    assert all(len(row) <= 30 for row in hint_rows(line, 30))


LABELS = ["yes", "no", "in this thread", "by a rule", "no, and stop"]


def test_at_most_four_answers_are_shown_at_first_sight() -> None:
    view = gate(options=LABELS, rule="make *")
    assert [line.split()[1:3] for line in command_hints(view)] == [
        *(["approve", "K7Q2"], ["deny", "K7Q2"]),
        *(["approve", "K7Q2"], ["approve", "K7Q2"]),
    ]
    assert "5" not in typing_hints(view, [view])[0]


def activity(phase: str, outcome: str | None = None) -> Event:
    data = {"item": "i", "activity": "command", "phase": phase, "title": "make all", "outcome": outcome}
    return Event("activity", 1, turn="U", data=data)


BY_RULE = {"code": "gates.by_rule", "args": {"why": "rules.one"}}


def test_what_a_rule_allowed_takes_one_line() -> None:
    work = EventRenderer()
    gates = Gates(GateClient(gate(state="answered")), "T", typing_hints, work)
    events = [
        activity("started"),
        event("gate.opened"),
        event("gate.answered", decision="accept", by="clew", title="make all", texts={"by": BY_RULE}),
        event("gate.taken"),
        activity("done", "ok"),
    ]
    shown = [piece for each in events for piece in (*work.take(each), *gates.take(each))]
    assert [piece.line for piece in shown if isinstance(piece, InfoLine)] == ["· command: make all"]


def test_what_a_person_allowed_elsewhere_is_said_while_the_work_goes_on() -> None:
    work = EventRenderer()
    gates = Gates(GateClient(gate(state="answered")), "T", typing_hints, work)
    work.take(activity("started"))
    said = gates.take(event("gate.answered", decision="accept", by="ann", title="make all"))
    assert [piece.line for piece in said if isinstance(piece, InfoLine)] == ["· K7Q2: yes by ann: make all"]


def test_events_that_tell_again_what_a_rule_allowed_show_nothing() -> None:
    """The watcher came when the work was done, and saw all of it."""
    work = EventRenderer()
    gates = Gates(GateClient(gate(state="answered")), "T", typing_hints, work)
    answered = event("gate.answered", decision="accept", by="clew", title="make all", texts={"by": BY_RULE})
    for each in (activity("started"), activity("done", "ok")):
        work.take(each)
    assert gates.take(answered) == []
    work.close(answered.turn or "")
    assert gates.take(answered) == []


def test_what_a_rule_forbade_takes_one_more_line_that_says_so() -> None:
    work = EventRenderer()
    gates = Gates(GateClient(gate(state="answered")), "T", typing_hints, work)
    events = [
        activity("started"),
        event("gate.opened"),
        event("gate.answered", decision="decline", by="the rule deny make *", title="make all"),
        event("gate.taken"),
        activity("done", "declined"),
    ]
    shown = [piece for each in events for piece in (*work.take(each), *gates.take(each))]
    assert [piece.line for piece in shown if isinstance(piece, InfoLine)] == [
        "· command: make all",
        "· K7Q2: no by the rule deny make *: make all",
    ]


def test_paths_and_the_folder_are_shown_as_the_daemon_shows_them() -> None:
    texts = GateShown("src/b.txt", "+++ src/b.txt", None, "", (), None, ())
    view = gate(kind="change", title="/p/src/b.txt", detail="+++ /p/src/b.txt", folder="/p", shown=texts)
    assert request_lines(view)[1:] == ["    +++ src/b.txt", "    src/b.txt"]


def test_a_diff_is_coloured_and_other_details_are_not() -> None:
    def weights(kind: str) -> list[int]:
        return [row.weight for row in request_rows(gate(kind=kind, detail="+++ b\n@@ -1 +1 @@\n-old\n+new"))]

    assert weights("change")[1:5] == [BOLD, 36, 31, 32]
    assert weights("command")[1:5] == [PLAIN] * 4


def test_an_approval_says_what_it_allowed_and_where() -> None:
    view = gate(title="make א\nls", folder="/srv/work")
    assert _one_line_summary(view) == r"make \u05d0\nls, in /srv/work"
    assert _one_line_summary(gate(title="x" * 500)) == "x" * 159 + "…"


def test_on_a_chinese_terminal_a_request_is_chinese_but_for_the_agents_words(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = gate(
        kind="permission",
        title="network access to x",
        detail="with: read /a",
        asker="Asked by the MCP server gh.",
        reason="because",
        texts={
            "title": Coded("approvals.network", {"place": "x"}),
            "detail": Coded("approvals.with", {"permissions": Coded("approvals.read_path", {"path": "/a"})}),
            "asker": Coded("approvals.by_server", {"server": "gh"}),
        },
    )
    monkeypatch.setenv("LC_ALL", "zh_CN.UTF-8")
    shown = [line.strip() for line in request_lines(asked)]
    assert {"由 MCP 服务器 gh 提出。", "│ because", "附带权限：读取 /a", "网络访问：x"} <= set(shown)


def test_who_closed_a_gate_and_why_is_said_in_the_language_of_the_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    by = gate_messages.by_rule(say("rules.policy", policy="trusted"))
    monkeypatch.setenv("LC_ALL", "zh_CN.UTF-8")
    answered = with_texts(GateAnswered("G", "K7Q2", "accept", by, say("approvals.network", place="x")))
    assert closing_line(answered) == "· K7Q2：允许，由 clew（策略 trusted） 答复"
    assert closing_line(with_texts(GateVoid("G", "K7Q2", gate_messages.GONE))) == "· K7Q2 已作废：智能体没有再等"
