"""Tells when an agent has given no sign of life for a while, as when it tries again to reach its model. An agent that
waits for a person, or runs a tool, may be silent."""

from __future__ import annotations

from clew.model.events import Notice, NoticeKind
from clew.runtimes.acp.turn.live_turn import Live
from clew.support.clock import Clock
from clew.texts.catalogue import say

LONGEST = 10.0  # seconds


async def watch(live: Live, clock: Clock) -> None:
    """Send one notice for each silence, until cancelled."""
    while True:
        while (left := live.heard_at + LONGEST - clock.monotonic()) > 0:
            await clock.sleep(left)
        live.heard.clear()
        if not (live.gates or live.translation.is_at_work or live.is_ending):
            live.add_events([Notice(NoticeKind.RETRYING, say("acp.no_sign_of_life", seconds=f"{LONGEST:g}"))])
        await live.heard.wait()
