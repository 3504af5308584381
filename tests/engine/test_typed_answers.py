"""What people type at a gate: how a short answer may be written, and what is none."""

from __future__ import annotations

from pathlib import Path

import pytest

from clew.asking import Asked, Decision, GateKind, Question
from clew.engine.choices import option_of
from clew.model import Fate
from tests.engine.test_gates import executions
from tests.engine.test_whole import PHONE, TOO_LONG, Chat, _opens
from tests.rig import Rig, Room

YES, NO, STOP = Decision.ACCEPT, Decision.DECLINE, Decision.CANCEL
MEANT = [
    *((word, YES) for word in ("1.", "1)", "yes!", "Yes.", "同意。", "同意！", "CODE: y", "CODE，同意", "CODE：1")),
    *((word, YES) for word in ("`CODE y`", "`y`", "y CODE.", "Y")),
    *((word, NO) for word in ("No.", "no!", "不同意", "不同意。", "CODE: n", "`CODE n`", "CODE, no. not today")),
    *((word, STOP) for word in ("停止", "取消", "停止。", "Stop!", "CODE 取消")),
]


@pytest.mark.parametrize(("word", "decision"), MEANT)
async def test_a_short_answer_may_end_with_a_mark(tmp_path: Path, word: str, decision: Decision) -> None:
    async with Rig(tmp_path, room=Room(PHONE)) as rig:
        chat = Chat(rig)
        (view,) = await chat.asks("make deploy")
        assert (await chat.says(word.replace("CODE", view.code))).fate is Fate.ANSWER
        assert (await rig.engine.waiting.one(view.id)).decision == decision
        await rig.ended(view.turn)


@pytest.mark.parametrize(
    "word", ["y?", "同意？", "yes...", "y tho", "好的，不过先等一下", "`y` or not", "CODE?", "yes, but not now"]
)
async def test_a_question_or_a_condition_is_no_answer(tmp_path: Path, word: str) -> None:
    async with Rig(tmp_path, room=Room(PHONE)) as rig:
        chat = Chat(rig)
        (view,) = await chat.asks("make deploy")
        assert (await chat.says(word.replace("CODE", view.code))).fate is Fate.STEER
        assert (await rig.engine.waiting.one(view.id)).state == "open"


@pytest.mark.parametrize("word", ["CODE", "CODE:", "`CODE`", "/answer CODE"])
async def test_a_code_alone_shows_its_gate_and_decides_nothing(tmp_path: Path, word: str) -> None:
    async with Rig(tmp_path, room=Room(PHONE)) as rig:
        chat = Chat(rig)
        (view,) = await chat.asks("make deploy")
        said = await chat.says(word.replace("CODE", view.code))
        assert said.fate is Fate.COMMAND and "make deploy" in said.words and f"`{view.code} y`" in said.words
        assert (await rig.engine.waiting.one(view.id)).state == "open" and executions(rig) == []
        await chat.says("n")
        await rig.ended(view.turn)
        assert "declined by ann" in (await chat.says(view.code)).words


async def test_a_code_alone_shows_no_more_as_allowable_than_its_card(tmp_path: Path) -> None:
    async with Rig(tmp_path, room=Room(PHONE)) as rig:
        chat = Chat(rig)
        (view,) = await chat.asks(TOO_LONG)
        said = await chat.says(view.code)
        assert said.fate is Fate.COMMAND and f"`clew approve {view.code}`" in said.words


@pytest.mark.parametrize(
    ("options", "word", "meant"),
    [
        (("2", "1"), "2", "2"),
        (("2", "1"), "1", "1"),
        (("2", "1"), "#1", "2"),
        (("2", "4"), "1", None),
        (("1", "2", "more"), "3", "more"),
        (("Main", "main"), "main", "main"),
        (("Main", "main"), "MAIN", None),
        (("Main", "next"), "main", "Main"),
        (("Main", "next"), "2", "next"),
        (("Main", "next"), "3", None),
    ],
)
def test_an_option_is_meant_by_its_own_words_first(options: tuple[str, ...], word: str, meant: str | None) -> None:
    assert option_of(Question("q", "Which?", options, free=False), word) == meant


async def test_options_that_are_numbers_are_answered_by_these_and_by_their_buttons(tmp_path: Path) -> None:
    question = Question("q", "How many workers?", ("2", "1"), free=False)
    for press in (False, True):
        (tmp_path / str(press)).mkdir()
        async with Rig(tmp_path / str(press), room=Room(PHONE)) as rig:
            view = await _opens(rig, Asked(GateKind.QUESTION, question.text, questions=(question,)))
            chat = Chat(rig)
            card = chat.card(view)
            assert "#1. " in card.text and [button.label for button in card.buttons] == ["2", "1"]
            said = await (chat.presses(card, card.buttons[0].says) if press else chat.says("2"))
            assert said.fate is Fate.ANSWER
            assert (await rig.engine.waiting.one(view.id)).replies == (("2",),)
