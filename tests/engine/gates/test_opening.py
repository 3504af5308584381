"""Opening a gate: unusual requests, and requests that look alike."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import pytest
from msgspec.structs import replace

from clew.engine.gates.lifecycle import open_gate, request_to_judge
from clew.engine.gates.requests.cleaning import clean_request
from clew.engine.gates.requests.inspection import RulesChanged, inspect_request
from clew.engine.progress import GATE, gate_item
from clew.model.events import GateOpened, Phase
from clew.model.gate_views import NewRuleView
from clew.model.gates import Asked, Effect, GateKind, Question, RuleKind
from clew.model.turns import Item
from clew.store import Tx
from clew.store.tables import items, threads, turns
from clew.texts import gate_messages
from tests.engine.gates.test_lifecycle import COMMAND
from tests.helpers.rig import Rig


@pytest.mark.parametrize("seen_before", [True, False], ids=["while it is followed", "after a restart"])
async def test_another_request_with_the_reference_of_a_gate_is_judged_by_itself(
    tmp_path: Path, seen_before: bool
) -> None:
    async with Rig(tmp_path) as rig:
        accepted = await rig.say("!hold here")
        await rig.started(accepted.turn)

        def ask(tx: Tx, title: str) -> None:
            turn, thread = turns.get(tx, accepted.turn or ""), threads.get(tx, accepted.thread or "")
            assert turn is not None and thread is not None
            opened = GateOpened("x:1", Asked(GateKind.COMMAND, title))
            item = Item(gate_item("x:1"), GATE, Phase.STARTED, title)
            open_gate(tx, rig.engine._core, thread, turn, opened, item, seen_before=seen_before)

        for title in ("make one", "make one", "make two"):
            await rig.store.write(partial(ask, title=title))
        (gate,) = await rig.engine.gates.all()
        old = (await rig.engine.gates.of_thread(gate.thread))[-1]
        assert (gate.title, old.title, old.state, old.why) == ("make two", "make one", "void", gate_messages.CHANGED)
        lines = await rig.store.read(lambda tx: items.of_turn(tx, accepted.turn or ""))
        assert len([line for line in lines if line.kind == GATE]) == 2, "history has both"


async def test_a_gate_of_a_turn_that_another_daemon_holds_is_not_opened(tmp_path: Path) -> None:
    async with Rig(tmp_path) as rig:
        accepted = await rig.say("!hold here")
        await rig.started(accepted.turn)

        def late(tx: Tx) -> None:
            turn, thread = turns.get(tx, accepted.turn or ""), threads.get(tx, accepted.thread or "")
            assert turn is not None and thread is not None
            old = replace(turn, generation=turn.generation - 1)
            opened = GateOpened("x:1", Asked(GateKind.COMMAND, COMMAND))
            open_gate(tx, rig.engine._core, thread, old, opened, Item(gate_item("x:1"), GATE, Phase.STARTED, COMMAND))

        await rig.store.write(late)
        assert await rig.engine.gates.all() == []


async def test_a_question_with_unstorable_characters_is_still_asked(tmp_path: Path) -> None:
    question = Question("\ud800", "Which\0?", ("\ud800", "b"))
    async with Rig(tmp_path) as rig:
        accepted = await rig.say("!hold here")
        await rig.started(accepted.turn)

        def body(tx: Tx) -> None:
            turn, thread = turns.get(tx, accepted.turn or ""), threads.get(tx, accepted.thread or "")
            assert turn is not None and thread is not None
            opened = GateOpened("x:1", Asked(GateKind.QUESTION, "Which?", questions=(question,)))
            open_gate(tx, rig.engine._core, thread, turn, opened, Item(gate_item("x:1"), GATE, Phase.STARTED, "Which?"))

        await rig.store.write(body)
        (gate,) = await rig.engine.gates.all()
        assert gate.options == ("�", "b")


def test_diffs_that_are_equal_once_stored_are_two_requests() -> None:
    diffs = ("+a\0b\ufffd", "+a\ufffdb\0", "+a\ud800b\ufffd", "+a\ufffdb\ufffd")
    wanted = [clean_request(Asked(GateKind.CHANGE, "a.txt", diff, paths=("a.txt",))) for diff in diffs]
    assert len({each.detail for each in wanted}) == 1 and len({each.subject for each in wanted}) == len(diffs)
    assert [bool(each.unjudged) for each in wanted] == [True, True, True, False]


async def test_a_request_is_decided_again_if_a_rule_was_made_meanwhile(tmp_path: Path) -> None:
    async with Rig(tmp_path) as rig:
        accepted = await rig.start("!hold")
        await rig.started(accepted.turn)
        thread = await rig.store.read(lambda tx: threads.get(tx, accepted.thread or ""))
        turn = await rig.store.read(lambda tx: turns.get(tx, accepted.turn or ""))
        assert thread is not None and turn is not None
        wants = Asked(GateKind.COMMAND, "deploy now", folder=str(tmp_path))
        inspection = await inspect_request(rig.engine._core, wants, thread)
        await rig.engine.gates.add_rule(NewRuleView(Effect.DENY, "deploy *"))
        opened, item = GateOpened("x:1", wants), Item(gate_item("x:1"), GATE, Phase.STARTED, "deploy now")

        def body(tx: Tx) -> None:
            open_gate(tx, rig.engine._core, thread, turn, opened, item, inspection=inspection)

        with pytest.raises(RulesChanged):
            await rig.store.write(body)
        inspection = await inspect_request(rig.engine._core, wants, thread)
        await rig.store.write(body)
        [gate] = await rig.engine.gates.of_thread(thread.id)
        assert gate.decision == "decline"


async def test_a_repeat_that_lacks_details_keeps_the_answer_of_a_rule(tmp_path: Path) -> None:
    """Codex sends the diff and the paths of a change only once."""
    async with Rig(tmp_path) as rig:
        accepted = await rig.start("!hold")
        await rig.started(accepted.turn)
        thread = await rig.store.read(lambda tx: threads.get(tx, accepted.thread or ""))
        turn = await rig.store.read(lambda tx: turns.get(tx, accepted.turn or ""))
        assert thread is not None and turn is not None
        await rig.engine.gates.add_rule(NewRuleView(Effect.ALLOW, "src/**", RuleKind.CHANGE))
        item = Item(gate_item("x:1"), GATE, Phase.STARTED, "src/a.py")

        async def asks(opened: GateOpened) -> None:
            wants = await rig.store.read(lambda tx: request_to_judge(tx, opened, seen_before=False))
            inspection = await inspect_request(rig.engine._core, wants, thread)

            def body(tx: Tx) -> None:
                open_gate(tx, rig.engine._core, thread, turn, opened, item, inspection=inspection)

            await rig.store.write(body)

        await asks(GateOpened("x:1", Asked(GateKind.CHANGE, "src/a.py", "+x", paths=("src/a.py",))))
        await asks(GateOpened("x:1", Asked(GateKind.CHANGE, "src/a.py")))
        [gate] = await rig.engine.gates.of_thread(thread.id)
        assert (gate.decision, gate.warning) == ("accept", "")
        for rule in await rig.engine.gates.rules():
            await rig.engine.gates.remove_rule(rule.id)
        await asks(GateOpened("x:1", Asked(GateKind.CHANGE, "src/a.py")))
        [gate] = await rig.engine.gates.of_thread(thread.id)
        assert gate.state == "open" and gate.warning == gate_messages.RULES_CHANGED
