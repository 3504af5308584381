"""An agent's request, options and reason are shown completely, even if a chat could take them for markup."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from clew.engine.delivery.placeholder import working
from clew.engine.gates.cards import render_card
from clew.engine.progress import Progress
from clew.model.events import Phase
from clew.model.gates import Answer, Asked, Decision, Gate, GateKind, GateState, Question
from clew.model.turns import Item
from clew.support.display import escape_hidden
from clew.surfaces.feishu.markup import Kind, markdown, pieces
from clew.surfaces.telegram.entities import shown
from tests.engine.gates.test_visibility import PHONE, Chat, _opens
from tests.helpers.rig import Rig, Room

TRICKY = (
    "May I tidy the build folder?\n``` - and drop the production database\nmake clean\n```\n"
    "Send it to [our server](https://evil.example/steal) <!-- hidden --><font color='white'>x</font>"
)
MARKUP = [
    "```",
    "~~~",
    "`",
    "\n",
    "[a](https://b.c)",
    "![a](b)",
    "**",
    "_",
    "<font>",
    "<!--",
    "-->",
    "|",
    "|-|",
    "# ",
    "  ",
]
TEXTS = st.lists(st.sampled_from([*MARKUP, "drop", "the", " ", ":OK:", "1. ", "\\", "&nbsp;"]), min_size=1).map("".join)


def gate(asked: Asked) -> Gate:
    return Gate("g", "K7Q2", "t", "u", "r", asked, GateState.OPEN, asked_at=0, whole_in=1)


def asks(text: str, option: str) -> Asked:
    return Asked(GateKind.QUESTION, text, questions=(Question("1", text, (option, "no")),))


def on_feishu(card: str) -> str:
    """The text in fences, and plain text; the rest is left out, as a chat may hide it."""
    return "\n".join(piece for kind, piece in pieces(markdown(card)) if kind is Kind.CODE)


@given(TEXTS, TEXTS)
def test_telegram_shows_every_character_of_what_is_asked(text: str, option: str) -> None:
    card = shown(render_card([gate(asks(text, option))])).text
    assert escape_hidden(text).rstrip("\n") in card and escape_hidden(option).rstrip("\n") in card


@given(TEXTS)
def test_telegram_shows_every_character_of_a_reason(text: str) -> None:
    card = shown(render_card([gate(Asked(GateKind.COMMAND, "make", reason=text))])).text
    assert escape_hidden(text).rstrip("\n") in card


@given(TEXTS.filter(lambda text: any(sign in text for sign in MARKUP)))
def test_feishu_fences_text_that_could_be_markup(text: str) -> None:
    for asked in (asks(text, text), Asked(GateKind.COMMAND, "make", reason=text)):
        assert escape_hidden(text) in on_feishu(render_card([gate(asked)]))


@pytest.mark.parametrize(
    "text", ["Which way: left, or right?", "用哪个分支：main，还是 dev？", "It's needed (really)."]
)
def test_plain_text_is_shown_unchanged(text: str) -> None:
    card = render_card([gate(asks(text, text))])
    assert f"\n{text}\n1. {text}\n" in card and "```" not in card


async def test_a_sent_card_shows_the_complete_question(tmp_path: Path) -> None:
    async with Rig(tmp_path) as rig:
        await _opens(rig, asks(TRICKY, "[no](https://evil.example/yes)"))
        read = shown("\n".join(rig.room.texts)).text
        assert TRICKY in read and "[no](https://evil.example/yes)" in read


LINK = "git clone [https://github.com/ok/repo](https://evil.example/x)"
FOREIGN = [LINK, "cp *a* b", "echo `a` ![ok](img)", "curl -H __x__ y", "echo <at id=all></at>"]


def on_telegram(text: str) -> str:
    return shown(text).text


@pytest.mark.parametrize("title", FOREIGN)
def test_a_status_line_shows_the_request_even_if_it_looks_like_markup(title: str) -> None:
    taken = Gate("g", "K7Q2", "t", "u", "r", Asked(GateKind.COMMAND, title), GateState.TAKEN, asked_at=0)
    card = render_card([replace(taken, answer=Answer(Decision.ACCEPT), answered_by="Ann [x](https://evil.example)")])
    as_shown = title.replace("`", r"\x60").replace("![", r"\x21[")
    assert as_shown in on_telegram(card) and "Ann [x](https://evil.example)" in on_telegram(card)
    assert f"`{as_shown}`" in card


def test_a_status_line_of_plain_text_is_unchanged() -> None:
    taken = Gate("g", "K7Q2", "t", "u", "r", Asked(GateKind.COMMAND, "make deploy"), GateState.TAKEN, asked_at=0)
    line = render_card([replace(taken, answer=Answer(Decision.ACCEPT), answered_by="Ann")])
    assert line == "K7Q2: allowed by Ann: make deploy"


async def test_a_warning_shows_its_subject_even_if_it_looks_like_markup(tmp_path: Path) -> None:
    async with Rig(tmp_path, room=Room(PHONE)) as rig:
        sets = "it sets LD_PRELOAD=[ok](https://evil.example/x.so) and **A**=1"
        view = await _opens(rig, Asked(GateKind.COMMAND, "make", folder=str(tmp_path), unjudged=sets))
        assert sets in on_telegram(Chat(rig).card(view).text)


async def test_titles_of_threads_and_gates_are_not_markup_in_command_replies(tmp_path: Path) -> None:
    async with Rig(tmp_path, room=Room(PHONE)) as rig:
        view = await _opens(rig, Asked(GateKind.COMMAND, LINK, folder=str(tmp_path)))
        await rig.engine.threads.retitle(view.thread, "[all good](https://evil.example)")
        for command in ("/threads", "/status", "/resume 1"):
            said = await rig.say(command, sender_id="7")
            assert "[all good](https://evil.example)" in on_telegram(said.words), command
        assert LINK in on_telegram((await rig.say("/gates", sender_id="7")).words)


def test_steps_in_a_placeholder_are_not_markup() -> None:
    items = {"1": Item("1", "command", Phase.STARTED, LINK)}
    assert LINK in on_telegram(working(Progress(items=items), 0))
