"""A backlog: where it asks, and what a merge does not change."""

from __future__ import annotations

import asyncio
from pathlib import Path

from clew.model.messages import Accepted
from clew.model.surface import SurfaceCan
from tests.engine.turns.test_signals import _delay
from tests.helpers.rig import Rig, Room, patient


async def test_a_backlog_asks_where_the_thread_notifies(tmp_path: Path) -> None:
    rig = Rig(tmp_path)
    accepted = await rig.start("!text two", notify="room:a")
    await rig.kill()
    async with Rig(tmp_path, config=patient(stale_after=-1)) as rig:
        await rig.delivered(f"{accepted.turn}:backlog")
    assert "1 message waited" in rig.room.texts[0]


async def test_a_merge_keeps_turns_whose_request_is_in_history(tmp_path: Path) -> None:
    rig = Rig(tmp_path)
    opening, never = asyncio.Event(), asyncio.Event()
    _delay(rig, opening, never)
    async with rig:
        first = await rig.say("!text one")
        await opening.wait()
        second = await rig.say("!text two", queue=True)
        third = await rig.say("!text three", queue=True)
        await rig.kill()
    idle = Rig(tmp_path)
    await idle.store.write(lambda tx: tx.run("UPDATE turns SET state = 'queued', owner = NULL"))
    await idle.kill()
    async with Rig(tmp_path, config=patient(stale_after=-1)) as rig:
        await rig.saw("delivery.sent")
        await rig.say("merge")
        one, both = await rig.ended(first.turn), await rig.ended(second.turn)
        dropped = await rig.engine.threads.turn(third.turn or "")
    assert (one.text, both.request) == ("one", "!text two\n\n!text three")
    assert (dropped.state, dropped.request) == ("interrupted", "")  # what was said is said once


async def old(rig: Rig, text: str) -> Accepted:
    """Say something that was sent an hour ago."""
    return await rig.say(text, sent_at=rig.clock.now() - 3_600_000, sender_id="7")


async def test_messages_of_a_backlog_are_counted_in_one_question(tmp_path: Path) -> None:
    async with Rig(tmp_path, room=Room(can=SurfaceCan(chat=True, edit=True, buttons=8))) as rig:
        await rig.allow("7")
        first = await old(rig, "!text one")
        assert [(await old(rig, text)).words for text in ("!text two", "!text three")] == ["", ""]
        await rig.delivered(f"{first.turn}:backlog")
        assert [sent.text.split(".")[0] for sent in rig.room.sent] == ["clew was away, and 3 messages waited here"]
        assert (await old(rig, "!text four")).words == ""
        await rig.delivered(f"{first.turn}:backlog:rephrased")
        [(_, edit)] = rig.room.edits
        assert "4 messages waited" in edit.text and [button.says for button in edit.buttons] == [
            "run all",
            "merge",
            "skip",
        ]
        fresh = await rig.say("!text five", sender_id="7")
        assert "behind the 4 that wait" in fresh.words
        assert "5 messages waited" in (await rig.engine.threads.get(first.thread or "")).suspend_message  # type: ignore[operator]
        await rig.say("run all", pressed=True, quoted="message-1", sender_id="7")
        assert (await rig.ended(fresh.turn)).text == "five"


async def test_where_nothing_can_be_edited_late_messages_of_a_backlog_get_a_reply(tmp_path: Path) -> None:
    async with Rig(tmp_path, room=Room(can=SurfaceCan(chat=True))) as rig:
        await rig.allow("7")
        first = await old(rig, "!text one")
        await rig.delivered(f"{first.turn}:backlog")
        assert "behind the 1 that wait" in (await old(rig, "!text two")).words
