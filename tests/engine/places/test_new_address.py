"""A conversation that gets another address from its platform keeps its thread, and all that is open there."""

from __future__ import annotations

from pathlib import Path

from clew.engine.delivery.enqueue import enqueue_delivery
from clew.model.delivery import DeliveryKind
from clew.model.messages import Accepted, Conversation, Fate
from clew.model.surface import SurfaceCan
from clew.store import Tx
from clew.store.tables import bindings, places, turns
from tests.helpers.rig import Rig, Room

CAN = SurfaceCan(chat=True, edit=True, buttons=8)
OLD, NEW = Conversation("room", "old"), Conversation("room", "new")


async def says(rig: Rig, text: str, room: str = "old", **more: object) -> Accepted:
    return await rig.say(text, room=room, sender_id="7", **more)  # type: ignore[arg-type]


async def moved(rig: Rig) -> None:
    await rig.engine.inbox.moved(OLD, NEW)
    await rig.engine.inbox.moved(OLD, NEW)  # each of the two groups says it


def addresses(rig: Rig, part: str) -> list[str]:
    return [sent.conversation.address for sent in rig.room.sent if part in sent.id]


async def test_the_thread_its_settings_and_the_home_follow(tmp_path: Path) -> None:
    async with Rig(tmp_path, room=Room(can=CAN)) as rig:
        await rig.allow("7")
        assert (await says(rig, "/model big")).fate is Fate.COMMAND  # without a thread: for the next one here
        first = await says(rig, "!text 你好")
        await rig.ended(first.turn)
        for command in ("/home", "/away"):
            assert (await says(rig, command)).fate is Fate.COMMAND
        await moved(rig)
        second = await says(rig, "!text hello", "new")
        assert second.thread == first.thread
        await rig.delivered(f"{second.turn}:final")
        assert addresses(rig, f"{second.turn}:final") == ["new"]
        there = await rig.store.read(lambda tx: (places.home(tx, "room"), places.away(tx), places.get(tx, NEW)))
        assert there[:2] == (NEW, NEW) and there[2].language == "en"
        assert (await rig.engine.threads.get(second.thread or "")).model == "big"
        assert await rig.store.read(lambda tx: bindings.thread_at(tx, OLD)) is None


async def test_what_runs_and_waits_is_answered_at_the_new_address(tmp_path: Path) -> None:
    async with Rig(tmp_path, room=Room(can=CAN)) as rig:
        await rig.allow("7")
        running = await says(rig, "!hold here\n!text one")
        waiting = await says(rig, "/queue !text two")
        await rig.held("here")
        await rig.delivered(f"{running.turn}:placeholder")
        await moved(rig)
        rig.scripted.holds.release("here")
        for turn in (running.turn, waiting.turn):
            await rig.delivered(f"{turn}:final")
            assert addresses(rig, f"{turn}:final") == ["new"]
        assert addresses(rig, f"{running.turn}:placeholder") == ["old", "new"]
        assert all(message != "message-1" for message, _ in rig.room.edits), "the old message cannot be edited"


async def test_an_open_question_is_asked_again_once_and_answered_there(tmp_path: Path) -> None:
    async with Rig(tmp_path, room=Room(can=CAN)) as rig:
        await rig.allow("7")
        asking = await says(rig, "!approve make\n!text made")
        await rig.saw("gate.opened")
        [gate] = await rig.engine.gates.all()
        await rig.delivered(f"{gate.id}:ask")
        await moved(rig)
        await rig.hasten()
        await rig.until(lambda entry: len(addresses(rig, f"{gate.id}:ask")) == 2)
        assert addresses(rig, f"{gate.id}:ask") == ["old", "new"]
        assert (await says(rig, "y", "new")).fate is Fate.ANSWER
        assert (await rig.ended(asking.turn)).text == "made"


async def test_a_delivery_that_is_due_later_goes_to_the_new_address(tmp_path: Path) -> None:
    async with Rig(tmp_path, room=Room(can=CAN)) as rig:
        await rig.allow("7")
        said = await says(rig, "!text one")
        await rig.ended(said.turn)

        def later(tx: Tx) -> None:
            turn = turns.get(tx, said.turn or "")
            assert turn is not None
            enqueue_delivery(tx, rig.engine._core, turn, DeliveryKind.NOTICE, OLD, "late", id="later", after=3_600_000)

        await rig.store.write(later)
        await moved(rig)
        await rig.delivered("later")
        assert addresses(rig, "later") == ["new"]


async def test_a_thread_that_people_began_at_the_new_address_stays_there(tmp_path: Path) -> None:
    async with Rig(tmp_path, room=Room(can=CAN)) as rig:
        await rig.allow("7")
        old, new = await says(rig, "!text one"), await says(rig, "!text two", "new")
        assert old.thread != new.thread
        await moved(rig)
        assert (await says(rig, "!text three", "new")).thread == new.thread
        assert (await rig.store.read(lambda tx: bindings.driver(tx, old.thread or ""))) is None
