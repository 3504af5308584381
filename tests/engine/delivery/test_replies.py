"""An answer replies to its question, and what was heard is marked."""

from __future__ import annotations

from pathlib import Path

from clew.model.messages import Fate
from clew.model.surface import SurfaceCan
from tests.helpers.rig import Rig, Room

CAN = SurfaceCan(chat=True, replies=True, reactions=True, max_length=200)


async def test_the_first_part_of_an_answer_replies_to_the_newest_message_of_its_turn(tmp_path: Path) -> None:
    async with Rig(tmp_path, room=Room(can=CAN), debounce=1.0) as rig:
        await rig.allow("7")
        first = await rig.say("look at this", id="m1", sender_id="7")
        second = await rig.say(f"!text {'word ' * 100}", id="m2", sender_id="7")
        assert first.turn == second.turn
        await rig.delivered(f"{first.turn}:final:2")
        finals = [sent for sent in rig.room.sent if sent.kind == "final"]
        assert [sent.reply_to for sent in finals] == ["m2", *[None] * (len(finals) - 1)]
        assert all(sent.reply_to is None for sent in rig.room.sent if sent.kind != "final")


async def test_an_answer_elsewhere_or_on_a_surface_without_replies_is_plain(tmp_path: Path) -> None:
    async with Rig(tmp_path, room=Room(can=CAN)) as rig:
        await rig.allow("7")
        task = await rig.start("!text done", notify="room:b")
        await rig.delivered(f"{task.turn}:final")
        assert [sent.reply_to for sent in rig.room.sent] == [None]
    (tmp_path / "other").mkdir()
    async with Rig(tmp_path / "other") as rig:
        said = await rig.say("!text done")
        await rig.delivered(f"{said.turn}:final")
        assert [sent.reply_to for sent in rig.room.sent] == [None]


async def test_a_reply_that_was_not_sent_before_a_crash_still_replies(tmp_path: Path) -> None:
    async with Rig(tmp_path, room=Room(can=CAN)) as rig:
        await rig.allow("7")
        said = await rig.say("!hold door\n!text done", id="m1", sender_id="7")
        await rig.held("door")
    room = Room(can=CAN)
    async with Rig(tmp_path, room=room) as rig:
        await rig.held("door")
        rig.scripted.holds.release("door")
        await rig.until(lambda entry: entry.kind == "delivery.sent" and str(entry.data["delivery"]).endswith(":final"))
        assert [sent.reply_to for sent in room.sent if sent.kind == "final"] == ["m1"]
    assert said.fate is Fate.TURN


async def test_what_is_for_the_agent_is_marked_as_heard_once(tmp_path: Path) -> None:
    async with Rig(tmp_path, room=Room(can=CAN)) as rig:
        await rig.allow("7")
        said = await rig.say("!hold door\n!text done", id="m1", sender_id="7")
        await rig.held("door")
        assert (await rig.say("!text more", id="m2", sender_id="7")).fate is Fate.STEER
        await rig.say("/status", id="m3", sender_id="7")
        await rig.say("!text again", id="m1", sender_id="7")
        await rig.say("hello", id="m4", sender_id="a stranger")
        rig.scripted.holds.release("door")
        await rig.delivered(f"{said.turn}:final")
        assert rig.room.reacted == ["m1", "m2"]


async def test_a_reaction_that_fails_costs_nothing(tmp_path: Path) -> None:
    room = Room(can=CAN, react_error=RuntimeError("not allowed"))
    async with Rig(tmp_path, room=room) as rig:
        await rig.allow("7")
        for number in range(8):
            said = await rig.say(f"!text {number}", id=f"m{number}", sender_id="7")
            await rig.delivered(f"{said.turn}:final")
        assert len(room.reacted) == 5  # then this chat is left alone
        room.marked.clear()
        await rig.say("!text elsewhere", id="m9", room="b", sender_id="7")
        await room.marked.wait()
        assert room.reacted[-1] == "m9"
