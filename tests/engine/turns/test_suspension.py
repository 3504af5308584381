"""A backlog: where it asks, and what a merge does not change."""

from __future__ import annotations

import asyncio
from pathlib import Path

from tests.engine.turns.test_signals import _delay
from tests.helpers.rig import Rig, patient


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
