"""A turn's events, kept from the moment they arrive, so that whoever follows it may come late or leave."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

from clew.model.events import Event, TurnEnded
from clew.support.errors import RuntimeLost

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
