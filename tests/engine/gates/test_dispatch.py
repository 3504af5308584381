"""Answers that are sent to the runtime and do not arrive."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from clew.engine.core import Core
from clew.engine.gates import dispatch
from clew.engine.gates.lifecycle import expire_gate
from clew.model.gate_views import AnswerGate, GateView, NewRuleView
from clew.model.gates import Decision, Gate
from clew.model.runtime import Session
from clew.store import Tx
from clew.store.tables import gates, turns
from tests.engine.gates.test_lifecycle import COMMAND, YES, asked, executions
from tests.helpers.rig import SEND, Rig


async def test_an_answer_that_was_sent_but_did_not_arrive_is_asked_for_again(tmp_path: Path) -> None:
    """The daemon died while it sent the yes, and the agent, which outlives it, still asks."""
    async with Rig(tmp_path, outlives=True) as rig:
        accepted = await rig.say(f"!approve {COMMAND}")
        (gate,) = await asked(rig)
        await rig.delivered(f"{gate.id}:ask")
        await _left_and_lost(rig, gate)
    async with Rig(tmp_path, outlives=True) as rig:
        await rig.until(lambda entry: entry.kind == "gate.opened")
        await rig.delivered(f"{gate.id}:again")
        assert "did not reach the agent" in rig.room.texts[-1] and f"({gate.code})" in rig.room.texts[-1]
        await rig.say("y")
        await rig.ended(accepted.turn)
        assert executions(rig) == [COMMAND]


async def test_a_secret_is_sent_though_its_row_is_read_before_memory_has_it(tmp_path: Path) -> None:
    """Another thread can read a commit a moment before the event loop does what follows it."""
    async with Rig(tmp_path) as rig:
        accepted = await rig.say("!secret The password?")
        (gate,) = await asked(rig)
        rig.hold_answers()
        await rig.engine.gates.answer(gate.code, AnswerGate(Decision.REPLY, replies=(("hunter-forty-two",),)))
        core, session = rig.engine._core, rig.engine._runner._consumers[accepted.turn or ""].session
        secret = core.answers.pop(gate.id)
        row = await rig.store.read(lambda tx: gates.get(tx, gate.id))
        assert row is not None
        following = rig.store.write(lambda tx: tx.after(lambda: core.answers.__setitem__(gate.id, secret)))
        await asyncio.gather(following, SEND(core, session, row))
        assert "16 characters" in (await rig.ended(accepted.turn)).text


async def test_a_rules_yes_that_did_not_arrive_is_sent_again_without_asking(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with Rig(tmp_path, outlives=True) as rig:
        await rig.engine.gates.add_rule(NewRuleView(effect="allow", pattern="deploy *"))  # type: ignore[arg-type]
        monkeypatch.setattr(dispatch, "_send_one", _mute)
        accepted = await rig.say(f"!approve {COMMAND}")
        await rig.saw("gate.answered")
        (row,) = await rig.store.read(lambda tx: gates.of_turn(tx, accepted.turn or ""))
        assert await rig.store.write(lambda tx: gates.mark_sending(tx, row, rig.clock.now()))
        await rig.kill()
        monkeypatch.undo()
    async with Rig(tmp_path, outlives=True) as rig:
        await rig.ended(accepted.turn)
        assert executions(rig) == [COMMAND] and "gate.opened" not in rig.kinds()


async def _mute(core: Core, session: Session, gate: Gate) -> None:
    return


async def test_no_answer_is_sent_again_if_it_did_not_arrive(tmp_path: Path) -> None:
    async with Rig(tmp_path, outlives=True) as rig:
        accepted = await rig.say(f"!approve {COMMAND}\n!text done")
        (gate,) = await asked(rig)
        rig.hold_answers()
        await rig.store.write(lambda tx: _expired_and_left(tx, rig, gate))
        await rig.kill()
    async with Rig(tmp_path, outlives=True) as rig:
        turn = await rig.ended(accepted.turn)
        assert turn.state == "completed" and executions(rig) == []
        assert (await rig.engine.gates.one(gate.id)).state == "expired"


def _expired_and_left(tx: Tx, rig: Rig, gate: GateView) -> None:
    row = gates.get(tx, gate.id)
    assert row is not None
    expire_gate(tx, rig.engine._core, row)
    assert gates.mark_sending(tx, row, rig.clock.now())


async def _left_and_lost(rig: Rig, gate: GateView) -> None:
    rig.hold_answers()  # the runner is not woken
    await rig.engine.gates.answer(gate.code, YES)
    row = await rig.store.read(lambda tx: gates.get(tx, gate.id))
    assert row is not None and await rig.store.write(lambda tx: gates.mark_sending(tx, row, rig.clock.now()))
    await rig.kill()


async def test_a_yes_in_flight_when_a_turn_is_stopped_is_not_shown_as_allowed(tmp_path: Path) -> None:
    async with Rig(tmp_path) as rig:
        accepted = await rig.say(f"!approve {COMMAND}")
        (gate,) = await asked(rig)
        await rig.store.write(lambda tx: turns.request_stop(tx, accepted.turn or ""))
        await _left_and_lost(rig, gate)
    async with Rig(tmp_path) as rig:
        await rig.ended(accepted.turn)
        view = await rig.engine.gates.one(gate.id)
        assert view.state == "void" and view.why
