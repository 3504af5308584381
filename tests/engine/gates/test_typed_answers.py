"""What people type at a gate: how a short answer may be written, and what is not an answer."""

from __future__ import annotations

from pathlib import Path

import pytest

from clew.engine.gates.choices import find_option
from clew.engine.gates.lifecycle import close_gate, open_gate, reopen_gate
from clew.engine.progress import GATE, gate_item
from clew.model.events import GateOpened, Phase
from clew.model.gate_views import GateView
from clew.model.gates import Asked, Decision, GateKind, Question
from clew.model.messages import Fate
from clew.model.turns import Item
from clew.store import Tx
from clew.store.tables import deliveries, threads, turns
from clew.texts import gate_messages
from tests.engine.gates.test_lifecycle import executions
from tests.engine.gates.test_visibility import PHONE, TOO_LONG, Chat, _opens
from tests.helpers.rig import Rig, Room

YES, NO, STOP = Decision.ACCEPT, Decision.DECLINE, Decision.CANCEL
MEANT = [
    *((word, YES) for word in ("1.", "1)", "yes!", "Yes.", "同意。", "同意！", "CODE: y", "CODE，同意", "CODE：1")),
    *((word, YES) for word in ("`CODE y`", "`y`", "y CODE.", "Y")),
    *((word, NO) for word in ("No.", "no!", "不同意", "不同意。", "CODE: n", "`CODE n`", "CODE, no. not today")),
    *((word, YES) for word in ("allow", "Approve.", "允许", "１", "「同意」", "CODE allow", "「CODE y」")),
    *((word, NO) for word in ("deny", "Decline!", "「拒绝」", "CODE deny not today")),
    *((word, STOP) for word in ("停止", "取消", "停止。", "Stop!", "CODE 取消")),
]


@pytest.mark.parametrize(("word", "decision"), MEANT)
async def test_a_short_answer_may_end_with_a_mark(tmp_path: Path, word: str, decision: Decision) -> None:
    async with Rig(tmp_path, room=Room(PHONE)) as rig:
        chat = Chat(rig)
        (view,) = await chat.asks("make deploy")
        assert (await chat.says(word.replace("CODE", view.code))).fate is Fate.ANSWER
        assert (await rig.engine.gates.one(view.id)).decision == decision
        await rig.ended(view.turn)


@pytest.mark.parametrize(
    "word",
    [
        "y?",
        "同意？",
        "yes...",
        "y tho",
        "好的，不过先等一下",
        "`y` or not",
        "CODE?",
        "yes, but not now",
        "allow it",
        "ok",
    ],
)
async def test_a_question_or_a_condition_is_not_an_answer(tmp_path: Path, word: str) -> None:
    async with Rig(tmp_path, room=Room(PHONE)) as rig:
        chat = Chat(rig)
        (view,) = await chat.asks("make deploy")
        assert (await chat.says(word.replace("CODE", view.code))).fate is Fate.STEER
        assert (await rig.engine.gates.one(view.id)).state == "open"


@pytest.mark.parametrize("word", ["CODE", "CODE:", "`CODE`", "/answer CODE"])
async def test_a_code_alone_shows_its_gate_and_decides_nothing(tmp_path: Path, word: str) -> None:
    async with Rig(tmp_path, room=Room(PHONE)) as rig:
        chat = Chat(rig)
        (view,) = await chat.asks("make deploy")
        said = await chat.says(word.replace("CODE", view.code))
        assert said.fate is Fate.COMMAND and "make deploy" in said.words and f"`{view.code} y`" in said.words
        assert (await rig.engine.gates.one(view.id)).state == "open" and executions(rig) == []
        await chat.says("n")
        await rig.ended(view.turn)
        assert "declined by ann" in (await chat.says(view.code)).words


async def test_a_code_alone_allows_no_more_than_its_card(tmp_path: Path) -> None:
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
def test_the_text_of_an_option_wins_over_its_number(options: tuple[str, ...], word: str, meant: str | None) -> None:
    assert find_option(Question("q", "Which?", options, free=False), word) == meant


async def test_numeric_options_are_answered_by_their_text_and_by_buttons(tmp_path: Path) -> None:
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
            assert (await rig.engine.gates.one(view.id)).replies == (("2",),)


async def _replaced(rig: Rig) -> tuple[GateView, int]:
    """The agent withdraws a gate and asks another; returns when the card of that one was sent."""
    former = await _opens(rig, Asked(GateKind.COMMAND, "make test", folder=str(rig.folder)))
    thread = await rig.store.read(lambda tx: threads.get(tx, former.thread))
    assert thread is not None

    def replace(tx: Tx) -> None:
        close_gate(tx, rig.engine._core, "r", changed=True)
        turn, wants = turns.get(tx, former.turn), Asked(GateKind.COMMAND, "make deploy", folder=str(rig.folder))
        assert turn is not None
        item = Item(gate_item("r2"), GATE, Phase.STARTED, "")
        open_gate(tx, rig.engine._core, thread, turn, GateOpened("r2", wants), item)

    await rig.store.write(replace)
    (view,) = await rig.engine.gates.all()
    await rig.delivered(f"{view.id}:ask")
    card = await rig.store.read(lambda tx: deliveries.get(tx, f"{view.id}:ask"))
    assert card is not None and card.first_sent_at is not None
    left = card.first_sent_at
    sql = "UPDATE gates SET closed_at = ? WHERE id = ?"  # on a slow machine the times may differ
    await rig.store.write(lambda tx: tx.run(sql, left, former.id))
    return view, left


@pytest.mark.parametrize("word", ["y", "1", "yes all", "n"])
async def test_an_answer_sent_when_a_gate_was_being_replaced_is_refused(tmp_path: Path, word: str) -> None:
    async with Rig(tmp_path, room=Room(PHONE)) as rig:
        view, left = await _replaced(rig)
        chat, asked_at = Chat(rig), view.asked_at
        for sent_at in (asked_at // 1000 * 1000, asked_at // 1000 * 1000 - 1, _exact(asked_at + 100)):
            said = await chat.says(word, sent_at=sent_at)
            assert said.fate is Fate.REFUSED and f"`{view.code} {word if word == 'n' else ''}" in said.words
        assert (await rig.engine.gates.one(view.id)).state == "open"
        assert (await chat.says(word, sent_at=(left // 1000 + 2) * 1000)).fate is Fate.ANSWER


@pytest.mark.parametrize("word", ["y", "1", "yes all", "n", "stop"])
async def test_without_a_time_an_answer_does_not_mean_a_replacing_gate(tmp_path: Path, word: str) -> None:
    async with Rig(tmp_path, room=Room(PHONE)) as rig:
        view, _ = await _replaced(rig)
        chat = Chat(rig)
        said = await chat.says(word)
        assert said.fate is Fate.REFUSED and f"`{view.code} {'y' if word == 'yes all' else word}`" in said.words
        assert (await rig.engine.gates.one(view.id)).state == "open"
        assert (await chat.says(word)).fate is Fate.ANSWER  # after the refusal the code is known


async def test_without_a_time_an_answer_means_the_gate_after_an_own_answer(tmp_path: Path) -> None:
    async with Rig(tmp_path) as rig:
        said = await rig.say("!approve make test\n!approve make deploy\n!text done")
        for number in (1, 2):
            await rig.until(lambda entry: rig.kinds().count("gate.opened") == number)  # noqa: B023
            (view,) = await rig.engine.gates.all()
            await rig.delivered(f"{view.id}:ask")
            assert (await rig.say("y")).fate is Fate.ANSWER
        await rig.ended(said.turn)
        assert executions(rig) == ["make test", "make deploy"]


@pytest.mark.parametrize("word", ["y", "1", "yes all", "n"])
async def test_an_answer_that_was_being_typed_when_a_gate_came_is_refused(tmp_path: Path, word: str) -> None:
    """Although there was no other gate before. Feishu gives milliseconds."""
    async with Rig(tmp_path, room=Room(PHONE)) as rig:
        chat = Chat(rig)
        (view,) = await chat.asks("make deploy")
        card = await rig.store.read(lambda tx: deliveries.get(tx, f"{view.id}:ask"))
        assert card is not None and card.first_sent_at is not None
        for later in (-3, 5, 590):
            said = await chat.says(word, sent_at=_exact(card.first_sent_at + later))
            assert said.fate is Fate.REFUSED and view.code in said.words
        assert (await chat.says(word, sent_at=_exact(card.first_sent_at + 600))).fate is Fate.ANSWER
        await rig.ended(view.turn)


async def test_an_answer_sent_before_a_gate_was_reopened_is_refused(tmp_path: Path) -> None:
    """Its card was sent before that."""
    async with Rig(tmp_path, room=Room(PHONE)) as rig:
        view = await _opens(rig, Asked(GateKind.COMMAND, "make", folder=str(rig.folder)))
        chat = Chat(rig)
        assert (await chat.says(f"{view.code} y")).fate is Fate.ANSWER
        row = await chat.gate(view)
        await rig.store.write(lambda tx: reopen_gate(tx, rig.engine._core, row, gate_messages.DID_NOT_ARRIVE))
        again = (await chat.gate(view)).asked_at + 10_000
        await rig.store.write(lambda tx: tx.run("UPDATE gates SET asked_at = ? WHERE id = ?", again, view.id))
        assert (await chat.says("y", sent_at=_exact(again - 3_000))).fate is Fate.REFUSED
        assert (await chat.says("y", sent_at=_exact(again + 600))).fate is Fate.ANSWER


def _exact(moment: int) -> int:
    """A time that is not a full second."""
    return moment + 1 if moment % 1000 == 0 else moment
