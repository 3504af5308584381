"""A turn's events, kept from the moment they arrive, so that whoever follows it may come late or leave."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

from clew.errors import RuntimeLost
from clew.events import Event, TurnEnded

Events = asyncio.Queue[Event | RuntimeLost]


async def follow(events: Events) -> AsyncIterator[Event]:
    """To the turn's end. Raises RuntimeLost where that is in doubt."""
    while True:
        event = await events.get()
        if isinstance(event, RuntimeLost):
            raise event
        yield event
        if isinstance(event, TurnEnded):
            return
