"""Messages that were edited or deleted on their platform."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from msgspec.structs import replace

from clew.model.messages import Accepted, Fate, Inbound, Person, Role
from clew.model.surface import SurfaceCan
from clew.store import Tx
from clew.store.tables import people, turns
from tests.engine.agents.test_parking import Limited
from tests.helpers.rig import Rig, Room, patient

CAN = SurfaceCan(chat=True, buttons=4, replies=True)


def admit(tx: Tx) -> None:
    for id, role in (("1", Role.OWNER), ("2", Role.DRIVER), ("3", Role.WATCHER)):
        people.add(tx, Person("room", id, f"person {id}", role, 0, "test"))


@pytest.fixture
async def rig(tmp_path: Path) -> AsyncIterator[Rig]:
    async with Rig(tmp_path, room=Room(can=CAN)) as rig:
        rig.scripted.can = replace(rig.scripted.can, steer=False)
        await rig.store.write(admit)
        yield rig


async def say(rig: Rig, text: str, id: str, who: str = "1", **more: object) -> Accepted:
    return await rig.say(text, id=id, sender_id=who, **more)  # type: ignore[arg-type]


async def edit(rig: Rig, text: str, id: str, who: str = "1") -> None:
    await rig.engine.inbox.edited(Inbound(rig.where(), id, "ann", text, sender_id=who))


async def request(rig: Rig, turn: str | None) -> list[str]:
    row = await rig.store.read(lambda tx: turns.get(tx, turn or ""))
    return [message.text for message in row.request] if row else []


async def test_an_edit_changes_a_queued_message(rig: Rig) -> None:
    first = await say(rig, "!hold door\n!text one", "m1")
    await rig.held("door")
    second = await say(rig, "/queue !text two", "m2")
    await edit(rig, "/queue !text 改过了", "m2")
    await rig.saw("message.edited", second.thread)
    for text in ("/stop", "/hlep", "  "):  # an edit is no command, and never empties a message
        await edit(rig, text, "m2")
    rig.scripted.holds.release("door")
    await rig.ended(first.turn)
    assert (await rig.ended(second.turn)).text == "改过了"


@pytest.mark.parametrize("who", ["3", "a stranger", ""])
async def test_who_may_not_write_cannot_edit_either(rig: Rig, who: str) -> None:
    await say(rig, "!hold door\n!text one", "m1")
    await rig.held("door")
    second = await say(rig, "!text two", "m2")
    await edit(rig, "!text other", "m2", who)
    assert await request(rig, second.turn) == ["!text two"]


async def test_an_edit_of_a_running_message_is_offered_and_sent_by_its_author(rig: Rig) -> None:
    first = await say(rig, "!hold door\n!text one", "m1", "2")
    await rig.held("door")
    await edit(rig, "!hold door\n!text one", "m1", "2")  # only the platform's preview changed
    for text in ("!text newer", "!text newest"):
        await edit(rig, text, "m1", "2")
    await rig.delivered("m1@room:a:edited")
    [notice] = [sent for sent in rig.room.sent if sent.id.endswith(":edited")]
    assert [button.says for button in notice.buttons] == ["edit:m1"] and notice.reply_to == "m1"
    refused = await say(rig, "edit:m1", "p1", "1", pressed=True, quoted="message-1")
    assert refused.fate is Fate.REFUSED and "Only the author" in refused.words
    sent = await say(rig, "edit:m1", "p2", "2", pressed=True, quoted="message-1")
    assert (sent.fate, sent.thread) == (Fate.TURN, first.thread)
    assert await request(rig, sent.turn) == ["I have edited my message. It now says:\n!text newest"]
    again = await say(rig, "edit:m1", "p3", "2", pressed=True, quoted="message-1")
    assert again.fate is Fate.REFUSED
    rig.scripted.holds.release("door")
    assert (await rig.ended(sent.turn)).text == "newest"


async def test_typing_what_the_button_says_sends_no_edit(rig: Rig) -> None:
    await say(rig, "!hold door\n!text one", "m1")
    await rig.held("door")
    await edit(rig, "!text two", "m1")
    typed = await say(rig, "edit:m1", "m2")
    assert await request(rig, typed.turn) == ["edit:m1"]


async def test_an_edit_after_the_end_or_of_an_unknown_message_does_nothing(rig: Rig) -> None:
    first = await say(rig, "!text one", "m1")
    await rig.delivered(f"{first.turn}:final")
    before = len(rig.room.sent)
    await edit(rig, "!text two", "m1")
    await edit(rig, "!text two", "never heard")
    await rig.hasten()
    assert len(rig.room.sent) == before and "message.edited" not in rig.kinds()


async def test_without_buttons_the_notice_says_what_to_do(tmp_path: Path) -> None:
    async with Rig(tmp_path, room=Room(can=SurfaceCan(chat=True))) as rig:
        await rig.store.write(admit)
        await say(rig, "!hold door\n!text one", "m1")
        await rig.held("door")
        await edit(rig, "!text two", "m1")
        await rig.delivered("m1@room:a:edited")
        assert "send the correction as a new message" in rig.room.texts[-1]


async def test_a_deleted_message_is_taken_back_while_it_is_queued(rig: Rig) -> None:
    first = await say(rig, "!hold door\n!text one", "m1")
    await rig.held("door")
    second = await say(rig, "!text two", "m2")
    third = await say(rig, "!text three", "m3")
    await rig.engine.inbox.deleted("room", "m2")
    await rig.engine.inbox.deleted("elsewhere", "m3")
    assert (await rig.ended(second.turn)).state == "interrupted"
    await rig.delivered("m2@room:a:deleted")
    await rig.engine.inbox.deleted("room", "m1")
    await rig.delivered("m1@room:a:deleted")
    assert "/stop stops it" in rig.room.texts[-1]
    rig.scripted.holds.release("door")
    await rig.ended(first.turn)
    assert (await rig.ended(third.turn)).text == "three"


async def test_an_edit_reaches_the_turn_that_continues_a_cut_one(tmp_path: Path) -> None:
    async with Rig(tmp_path, room=Room(can=CAN)) as rig:
        await rig.store.write(admit)
        first = await say(rig, "!hold door\n!text one", "m1")
        await rig.held("door")
    async with Rig(tmp_path, room=Room(can=CAN)) as rig:
        begun = await rig.until(lambda entry: entry.kind == "turn.claimed" and entry.turn != first.turn)
        await rig.held("door")
        await edit(rig, "!text newer", "m1")
        await rig.delivered("m1@room:a:edited")
        sent = await say(rig, "edit:m1", "p1", pressed=True, quoted="message-1")
        assert (sent.fate, sent.turn) == (Fate.STEER, begun.turn)
        rig.scripted.holds.release("door")


async def test_what_waits_for_an_account_is_taken_back_and_an_edit_of_it_is_offered(tmp_path: Path) -> None:
    room = Room(can=SurfaceCan(chat=True, edit=True, buttons=8))
    async with Limited(tmp_path, room=room) as rig:
        await rig.store.write(admit)
        said = await say(rig, "go", "m1")
        await rig.parked(said.thread)
        await edit(rig, "go elsewhere please", "m1")
        await rig.delivered("m1@room:a:edited")
        assert await request(rig, said.turn) == ["go"]  # that is in the history
        await rig.engine.inbox.deleted("room", "m1")
        await rig.delivered("m1@room:a:deleted")
        assert "will not run any more" in rig.room.texts[-1]
        assert (await rig.ended(said.turn)).state == "interrupted"
        assert (await rig.thread(said.thread)).status == "idle"


async def test_whoever_deletes_what_was_said_into_a_running_turn_is_told(tmp_path: Path) -> None:
    async with Rig(tmp_path, room=Room(can=CAN)) as rig:
        await rig.store.write(admit)
        first = await say(rig, "!hold door\n!text one", "m1")
        await rig.held("door")
        assert (await say(rig, "and this", "m2")).fate is Fate.STEER
        await rig.engine.inbox.deleted("room", "m2")
        await rig.delivered("m2@room:a:deleted")
        assert "/stop stops it" in rig.room.texts[-1]
        rig.scripted.holds.release("door")
        await rig.ended(first.turn)


async def test_every_message_of_a_merged_backlog_can_be_edited(tmp_path: Path) -> None:
    async with Rig(tmp_path, room=Room(can=CAN), config=patient(parallel=1)) as rig:
        await rig.store.write(admit)
        other = await say(rig, "!hold door\n!text other", "m0", room="b")
        await rig.held("door")
        old = rig.clock.now() - 3_600_000
        first = await say(rig, "!text one", "m1", sent_at=old)
        await say(rig, "!text two", "m2", sent_at=old)
        await say(rig, "merge", "m3")
        await edit(rig, "!text zwei", "m2")
        assert await request(rig, first.turn) == ["!text one", "!text zwei"]
        rig.scripted.holds.release("door")
        await rig.ended(other.turn)


async def test_a_damaged_turn_elsewhere_keeps_no_message_from_being_taken_back(rig: Rig) -> None:
    bad = await say(rig, "!hold b\n!text one", "b1", room="b")
    await rig.held("b")
    await say(rig, "!hold door\n!text one", "m1")
    await rig.held("door")
    second = await say(rig, "!text two", "m2")
    await rig.store.write(lambda tx: tx.run("UPDATE turns SET request = '[{' WHERE id = ?", bad.turn))
    await rig.engine.inbox.deleted("room", "m2")
    assert (await rig.ended(second.turn)).state == "interrupted"


async def test_one_deleted_message_of_a_burst_leaves_the_others(tmp_path: Path) -> None:
    async with Rig(tmp_path, room=Room(can=CAN), debounce=5.0) as rig:
        await rig.store.write(admit)
        first = await say(rig, "oops", "m1")
        await say(rig, "!text two", "m2")
        await rig.engine.inbox.deleted("room", "m1")
        assert await request(rig, first.turn) == ["!text two"]
        await edit(rig, "!text 二", "m2")
        assert await request(rig, first.turn) == ["!text 二"]
        await rig.engine.inbox.deleted("room", "m2")
        assert (await rig.ended(first.turn)).state == "interrupted"
