"""Dropped turns: their senders are notified once, and no placeholder goes on saying "working"."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from clew.model.messages import Accepted, Person, Role
from clew.model.surface import SurfaceCan
from clew.store.tables import deliveries, people
from tests.helpers.rig import Rig, Room, patient

CHAT = SurfaceCan(chat=True, edit=True)


async def _told(rig: Rig, thread: str | None) -> dict[str, str]:
    """The notices about dropped turns by conversation, at most one in each."""
    rows = await rig.store.read(lambda tx: deliveries.of_thread(tx, thread or "", 100))
    told = [(str(row.conversation), row.body) for row in rows if row.id.endswith(":dropped")]
    assert len(told) == len(dict(told))
    return dict(told)


async def test_cancelling_notifies_each_conversation_with_queued_turns_once(tmp_path: Path) -> None:
    async with Rig(tmp_path) as rig:
        first = await rig.say("!hold for-ever")
        await rig.held("for-ever")
        second = await rig.say("!text two", queue=True)
        await rig.say("!text three", queue=True)
        fourth = await rig.say("!text four", thread=first.thread, room="b", queue=True)
        await rig.engine.threads.cancel(first.thread or "")
        for delivery in (f"{first.turn}:final", f"{second.turn}:dropped", f"{fourth.turn}:dropped"):
            await rig.delivered(delivery)
        assert await _told(rig, first.thread) == {
            "room:a": "2 messages that waited here do not run: the thread was cancelled.",
            "room:b": "A message that waited here does not run: the thread was cancelled.",
        }
    assert len(rig.room.sent) == 3


@pytest.mark.parametrize(
    ("wish", "why"),
    [
        (lambda rig, accepted: rig.engine.threads.stop(accepted.thread), "it was stopped before it began"),
        (lambda rig, accepted: rig.engine.threads.unqueue(accepted.turn), "it was taken back"),
    ],
)
async def test_stopping_or_withdrawing_locally_notifies_the_sender(
    tmp_path: Path, wish: Callable[[Rig, Accepted], Awaitable[object]], why: str
) -> None:
    rig = Rig(tmp_path)  # it has not begun to run anything
    accepted = await rig.say("!text one")
    await wish(rig, accepted)
    assert await _told(rig, accepted.thread) == {"room:a": f"A message that waited here does not run: {why}."}
    await rig.kill()


async def test_dropping_in_the_same_conversation_sends_no_extra_notice(tmp_path: Path) -> None:
    rig = Rig(tmp_path)
    first = await rig.say("!text one")
    await rig.say("!text two", thread=first.thread, room="b")
    await rig.kill()
    async with Rig(tmp_path, config=patient(stale_after=-1)) as rig:
        await rig.saw("delivery.sent")
        assert (await rig.say("skip")).words == "Skipped 2."
        told = await _told(rig, first.thread)
    assert told == {"room:b": "A message that waited here does not run: skipped by ann."}


async def test_the_placeholder_of_a_requeued_turn_ends_when_it_is_dropped(tmp_path: Path) -> None:
    room = Room(can=CHAT)
    async with Rig(tmp_path, room=room) as rig:
        await rig.store.write(lambda tx: people.add(tx, Person("room", "7", "ann", Role.OWNER, 0, "me")))
        accepted = await rig.say("先做这个\n!hold for-ever", sender_id="7")
        await rig.held("for-ever")
        await rig.delivered(f"{accepted.turn}:placeholder")
    rig = Rig(tmp_path, room=room)
    await rig.store.write(lambda tx: tx.run("UPDATE turns SET state = 'queued', owner = NULL"))
    await rig.kill()
    async with Rig(tmp_path, room=room, config=patient(stale_after=-1)) as rig:
        await rig.saw("delivery.sent")
        await rig.engine.threads.cancel(accepted.thread or "")
        await rig.delivered(f"{accepted.turn}:placeholder:over")
        told = await _told(rig, accepted.thread)
    assert told == {"room:a": "这里等待的 1 条消息不再运行：会话已取消。"}
    assert [edit.text[:1] for _, edit in room.edits if edit.id.endswith("placeholder:over")] == ["⏹"]
