"""What a transcript adds to history: gates with the reasons of their answers, also of older versions."""

from __future__ import annotations

from pathlib import Path

from msgspec.structs import replace

from clew.engine.services.passages import with_reasons
from clew.model.gates import Answer, Asked, Decision, Gate, GateKind, GateState, Question
from clew.model.turns import Item
from clew.model.views import ItemView
from clew.store.migrate import open_store
from clew.store.tables import gates, items
from clew.support.clock import SystemClock
from clew.support.coded import coded_of, with_texts
from clew.texts import gate_messages
from clew.texts.catalogue import chinese, say

ASKED = Asked(GateKind.COMMAND, "make")
NO = Answer(Decision.DECLINE, "not today")
GATE = Gate("G", "K7Q2", "T", "t", "r", ASKED, GateState.TAKEN, 1, answer=NO, answered_by="ann", answered_at=2)


async def shown(tmp_path: Path, item: ItemView, gate: Gate = GATE) -> ItemView:
    store = open_store(tmp_path / "clew.db", SystemClock())
    try:
        await store.write(lambda tx: gates.insert(tx, gate))
        [found] = await store.read(lambda tx: with_reasons(tx, "t", (item,)))
        return found
    finally:
        store.close()


async def test_the_gate_of_an_item_is_told_by_its_code_however_the_line_is_worded(tmp_path: Path) -> None:
    line = gate_messages.closed_line(GATE, "make")
    assert line is not None
    texts = with_texts(ItemView("1", "gate", "done", line, "")).texts
    found = await shown(tmp_path, ItemView("1", "gate", "done", "worded anew", "", outcome="taken", texts=texts))
    assert found.reason == "not today" and found.texts == texts


async def test_a_gate_in_the_history_of_an_older_version_has_its_reason_and_a_code(tmp_path: Path) -> None:
    found = await shown(tmp_path, ItemView("1", "gate", "done", "K7Q2: declined by ann: make", "", outcome="taken"))
    assert found.reason == "not today" and chinese(found.texts["title"]) == "K7Q2：ann 已拒绝：make"


async def test_what_was_answered_to_a_question_is_with_its_line(tmp_path: Path) -> None:
    question = Asked(GateKind.QUESTION, "Which?", questions=(Question("q", "Which?", ("red", "blue")),))
    answer = Answer(Decision.REPLY, replies=(("q", ("red", "blue")),))
    found = await shown(
        tmp_path,
        ItemView("1", "gate", "done", "K7Q2: answered by ann: Which?", "", outcome="taken"),
        replace(GATE, asked=question, answer=answer),
    )
    assert found.answer == "red, blue"


async def test_an_item_keeps_the_code_of_its_title_in_the_store(tmp_path: Path) -> None:
    store = open_store(tmp_path / "clew.db", SystemClock())
    try:
        notice = Item("1", "notice", "done", say("codex.declined", about="x"))
        await store.write(lambda tx: items.put(tx, "t", notice))
        await store.write(lambda tx: items.put(tx, "t", Item("2", "gate", "started", "make", position=1)))
        await store.write(lambda tx: items.finish(tx, "t", "2", gate_messages.closed_line(GATE, "make"), "taken"))
        codes = [coded_of(each.title) for each in await store.read(lambda tx: items.of_turn(tx, "t"))]
        assert [code and code.code for code in codes] == ["codex.declined", "gates.line_no"]
    finally:
        store.close()
