"""The queue of a turn's events, so that a follower may start late or stop."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

from clew.model.events import Event, TurnEnded
from clew.support.errors import RuntimeLost

Events = asyncio.Queue[Event | RuntimeLost]


async def follow(events: Events) -> AsyncIterator[Event]:
    """Yield events until the turn ends. Raises RuntimeLost if its outcome is unknown."""
    while True:
        event = await events.get()
        if isinstance(event, RuntimeLost):
            raise event
        yield event
        if isinstance(event, TurnEnded):
            return
