"""Cards and reminders are redrawn, in order."""

from __future__ import annotations

import asyncio
import dataclasses
from pathlib import Path

from clew.config.settings import GatesConfig
from clew.engine.delivery.enqueue import enqueue_delivery
from clew.engine.gates.lifecycle import answer_gate, reopen_gate
from clew.model.delivery import DeliveryKind
from clew.model.gate_views import GateView
from clew.model.gates import Answer, Decision
from clew.model.surface import InDoubt, Outgoing, Receipt, SurfaceCan
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


async def test_a_rule_that_a_button_made_is_shown_on_its_card(tmp_path: Path) -> None:
    async with Rig(tmp_path, room=Room(SurfaceCan(chat=True, edit=True, buttons=8))) as rig:
        await rig.allow("7")
        accepted = await rig.say("!approve deploy --now\n!text done", sender_id="7")
        (gate,) = await asked(rig)
        await rig.delivered(f"{gate.id}:ask")
        [card] = [sent for sent in rig.room.sent if sent.kind == DeliveryKind.ASK]
        [button] = [button for button in card.buttons if button.says.endswith(" thread")]
        quoted = f"message-{rig.room.sent.index(card) + 1}"
        await rig.say(button.says, sender_id="7", pressed=True, quoted=quoted, sent_at=rig.clock.now() + 2000)
        await rig.ended(accepted.turn)
        await rig.delivered(f"{gate.id}:ask:{gate.code}:taken")
        assert "from now on in this thread" in rig.room.edits[-1][1].text


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


LOST = SurfaceCan(chat=True, edit=True, buttons=8)


async def test_a_copy_whose_receipt_was_lost_is_redrawn_once_it_is_pressed(tmp_path: Path) -> None:
    async with Rig(tmp_path, room=Room(LOST)) as rig:
        await rig.allow("7")
        accepted = await rig.say("!hold here\n!approve make", sender_id="7")
        await rig.delivered(f"{accepted.turn}:placeholder")
        rig.room.after = [InDoubt("the answer was lost", 0.0)]
        rig.scripted.holds.release("here")
        (gate,) = await asked(rig)
        await rig.delivered(f"{gate.id}:ask")
        lost, known = [f"message-{number}" for number, sent in enumerate(rig.room.sent, 1) if sent.kind == "ask"]
        await rig.say(f"{gate.code} n", pressed=True, quoted=lost, sender_id="7")
        await rig.ended(accepted.turn)
        await rig.delivered(f"{gate.id}:again:{gate.code}:taken")
        assert {lost, known} <= {
            id for id, edit in rig.room.edits if "declined by ann" in edit.text and not edit.buttons
        }


async def test_a_press_proves_that_a_card_in_doubt_has_arrived(tmp_path: Path) -> None:
    room = Asking(LOST)
    async with Rig(tmp_path, room=room) as rig:
        await rig.allow("7")
        accepted = await rig.say("!hold here\n!approve make", sender_id="7")
        await rig.delivered(f"{accepted.turn}:placeholder")
        room.after = [InDoubt("the answer was lost", 600.0)]
        rig.scripted.holds.release("here")
        (gate,) = await asked(rig)
        await rig.hasten()
        await room.asked.wait()
        [lost] = [f"message-{number}" for number, sent in enumerate(room.sent, 1) if sent.kind == "ask"]
        await rig.say(f"{gate.code} n", pressed=True, quoted=lost, sender_id="7")
        await rig.ended(accepted.turn)
        await rig.delivered(f"{gate.id}:ask:{gate.code}:taken")
        assert len([sent for sent in room.sent if sent.kind == "ask"]) == 1


@dataclasses.dataclass
class Asking(Room):
    """Tells when a question was sent."""

    asked: asyncio.Event = dataclasses.field(default_factory=asyncio.Event)

    async def send(self, outgoing: Outgoing) -> Receipt:
        try:
            return await super().send(outgoing)
        finally:
            if outgoing.kind is DeliveryKind.ASK:
                self.asked.set()


async def test_a_lost_copy_of_continue_or_stop_loses_its_buttons(tmp_path: Path) -> None:
    room = Room(LOST)
    async with Rig(tmp_path, room=room) as rig:
        await rig.allow("7")
        accepted = await rig.say("!shell make\n!hold door\n!text done", sender_id="7")
        await rig.held("door")
        await rig.delivered(f"{accepted.turn}:placeholder")
    room.after = [InDoubt("the answer was lost", 0.0)]
    async with Rig(tmp_path, room=room) as rig:
        await rig.delivered(f"{accepted.turn}:ask")
        lost, _ = [f"message-{number}" for number, sent in enumerate(room.sent, 1) if sent.kind == "ask"]
        refused = await rig.say("continue", pressed=True, quoted=lost, sender_id="7")
        assert refused.fate == "refused"
        await rig.delivered(f"{accepted.turn}:ask:copy:over")
        [(id, edit)] = [(id, edit) for id, edit in room.edits if "does not count" in edit.text]
        assert id == lost and not edit.buttons
