"""Cards and reminders are redrawn, in order."""

from __future__ import annotations

import dataclasses
from pathlib import Path

from clew.config.settings import GatesConfig
from clew.engine.delivery.enqueue import enqueue_delivery
from clew.engine.gates.lifecycle import answer_gate, reopen_gate
from clew.model.delivery import DeliveryKind
from clew.model.gate_views import GateView
from clew.model.gates import Answer, Decision
from clew.model.surface import SurfaceCan
from clew.store import Tx
from clew.store.tables import deliveries, gates, turns
from clew.texts import gate_messages
from tests.engine.gates.test_lifecycle import COMMAND, NO, asked
from tests.helpers.rig import Rig, Room, patient


async def test_a_gate_that_returns_to_a_state_is_redrawn_each_time(tmp_path: Path) -> None:
    """Asked, answered, lost, asked, answered: the card follows."""
    async with Rig(tmp_path, room=Room(SurfaceCan(edit=True)), outlives=True) as rig:
        accepted = await rig.say(f"!approve {COMMAND}")
        (gate,) = await asked(rig)
        await rig.delivered(f"{gate.id}:ask")
        await rig.store.write(lambda tx: _answered_and_reopened(tx, rig, gate))
        await rig.store.write(lambda tx: _answered_and_reopened(tx, rig, gate))
        await rig.delivered(f"{gate.id}:ask:{gate.code}:open:2")
        assert f"({gate.code})" in rig.room.edits[-1][1].text
        await rig.say("y")
        await rig.ended(accepted.turn)


def _answered_and_reopened(tx: Tx, rig: Rig, gate: GateView) -> None:
    row = gates.get(tx, gate.id)
    assert row is not None
    answered = answer_gate(tx, rig.engine._core, row, Answer(Decision.ACCEPT), "ann")
    reopen_gate(tx, rig.engine._core, answered, gate_messages.DID_NOT_ARRIVE)


async def test_deliveries_of_the_same_millisecond_are_sent_in_order(tmp_path: Path) -> None:
    """Else an older text of a card could overwrite a newer one for good."""
    async with Rig(tmp_path) as rig:
        accepted = await rig.say("!hold here")
        await rig.started(accepted.turn)

        def body(tx: Tx) -> list[int]:
            turn = turns.get(tx, accepted.turn or "")
            assert turn is not None
            for name in ("z", "y", "x"):
                enqueue_delivery(tx, rig.engine._core, turn, DeliveryKind.NOTICE, rig.where(), name, id=name)
            found = [deliveries.get(tx, name) for name in ("z", "y", "x")]
            return [each.created_at for each in found if each is not None]

        first, second, third = await rig.store.write(body)
        assert first < second < third


async def test_a_reminder_is_redrawn_too(tmp_path: Path) -> None:
    config = dataclasses.replace(patient(), gates=GatesConfig(remind_after=0.01))
    async with Rig(tmp_path, room=Room(SurfaceCan(edit=True)), config=config) as rig:
        accepted = await rig.say(f"!approve {COMMAND}")
        (gate,) = await asked(rig)
        await rig.delivered(f"{gate.id}:remind")
        await rig.engine.gates.answer(gate.code, NO)
        await rig.ended(accepted.turn)
        await rig.delivered(f"{gate.id}:remind:{gate.code}:taken")
