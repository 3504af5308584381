"""A question whose conversation is gone is asked in another one, and never twice in the same."""

from __future__ import annotations

from pathlib import Path

from clew.model.messages import Conversation
from clew.model.surface import InDoubt, Never, Outgoing, Receipt, SurfaceCan
from clew.store.tables import places
from tests.engine.gates.test_lifecycle import YES, asked, executions
from tests.helpers.rig import Rig, Room

HOME, AWAY = Conversation("room", "home"), Conversation("room", "pocket")


class Closing(Room):
    """A platform on which some conversations are gone."""

    gone: tuple[str, ...] = ("a",)

    async def send(self, outgoing: Outgoing) -> Receipt:
        if outgoing.conversation.address in self.gone:
            raise Never("the topic was deleted")
        return await super().send(outgoing)


async def test_a_gate_whose_conversation_is_gone_can_be_answered_at_home(tmp_path: Path) -> None:
    room = Closing(can=SurfaceCan(edit=True))
    async with Rig(tmp_path, room=room) as rig:
        await rig.store.write(lambda tx: places.set_home(tx, HOME))
        accepted = await rig.say("!approve deploy\n!text done")
        (gate,) = await asked(rig)
        await rig.delivered(f"{gate.id}:ask:2")
        [card] = [sent for sent in room.sent if sent.kind == "ask"]
        assert card.conversation == HOME and gate.code in card.text and "takes nothing any more" in card.note
        await rig.engine.gates.answer(gate.code, YES)
        await rig.ended(accepted.turn)
        assert executions(rig) == ["deploy"]


async def test_a_gate_refused_everywhere_is_asked_three_times_and_stays_open(tmp_path: Path) -> None:
    room = Closing()
    room.gone = ("a", "home", "pocket")
    async with Rig(tmp_path, room=room) as rig:
        await rig.store.write(lambda tx: places.set_home(tx, HOME))
        await rig.store.write(lambda tx: places.set_away(tx, AWAY, 1))
        await rig.say("!approve deploy\n!text done")
        (gate,) = await asked(rig)
        await rig.until(lambda entry: rig.kinds().count("delivery.failed") == 3)
        assert [row.state for row in await rig.engine.threads.where(gate.thread) if row.kind == "ask"] == ["failed"] * 3
        assert [each.code for each in await rig.engine.gates.all()] == [gate.code]


async def test_continue_or_stop_is_asked_at_home_too(tmp_path: Path) -> None:
    async with Rig(tmp_path) as rig:
        accepted = await rig.say("!shell make\n!hold door\n!text done")
        await rig.held("door")
        await rig.store.write(lambda tx: places.set_home(tx, HOME))
    room = Closing()
    async with Rig(tmp_path, room=room) as rig:
        await rig.delivered(f"{accepted.turn}:ask:2")
        assert [sent.conversation for sent in room.sent] == [HOME]


async def test_a_long_card_still_fits_after_an_unconfirmed_send(tmp_path: Path) -> None:
    room = Room(can=SurfaceCan(max_length=400), after=[InDoubt("the answer was lost", 0.0)])
    async with Rig(tmp_path, room=room) as rig:
        await rig.say(f"!approve deploy {'x' * 1000}\n!text done")
        (gate,) = await asked(rig)
        await rig.delivered(f"{gate.id}:ask")
        first, again = [sent for sent in room.sent if sent.id == room.sent[0].id]
        assert "may be a repeat" in again.note and len(again.text) + len(again.note) < 400 and first.text == again.text
