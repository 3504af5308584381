"""Server-sent events: the log after a given number, then live events, without gaps or repeats.

`id` is the stored sequence number; live text has none. The stream begins with `hello`, whose id is where it starts, and
ends with `bye` if the daemon is stopped on purpose. If the requested part of the log was pruned, `reset` replaces it,
with a snapshot of the current state.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable

import msgspec

from clew.engine.live import Frame, Live, Subscription, frame_of
from clew.engine.services.events import EventService
from clew.model.events.live import Bye, Hello, LiveEvent, Reset
from clew.model.views import Snapshot
from clew.support.coded import plain

HEARTBEAT = 15.0  # seconds
MEDIA_TYPE = "text/event-stream"
HEADERS = {"Cache-Control": "no-store", "X-Accel-Buffering": "no"}

BEAT = b":\n\n"
_encode = msgspec.json.Encoder(enc_hook=plain).encode


async def stream(
    live: Live,
    events: EventService,
    thread: str | None,
    after: int | None,
    stop_reason: Callable[[], str | None],
    snapshot: Callable[[str | None], Awaitable[Snapshot]],
) -> AsyncIterator[bytes]:
    """`stop_reason` returns why the daemon stops, or None while it runs."""
    newest = await events.newest()
    seen = newest if after is None else min(after, newest)
    # Read the position before subscribing, and the log after it: an event in between is in both, and is sent once.
    with live.subscribe(thread) as subscription:
        yield _frame(Hello(seen, newest), seen).wire
        async for frames in _replay(events, thread, seen, snapshot):
            seen = frames[-1].seq or seen
            yield b"".join(frame.wire for frame in frames)
        async for chunk in _follow(subscription, seen):
            yield chunk
    if reason := stop_reason():
        yield _frame(Bye(reason)).wire


async def _replay(
    events: EventService, thread: str | None, seen: int, snapshot: Callable[[str | None], Awaitable[Snapshot]]
) -> AsyncIterator[list[Frame]]:
    """Send the log up to the newest entry; later ones wait in the subscription, in order. If entries were pruned, also
    just now, send a reset with a snapshot instead."""
    newest = await events.newest()
    while seen < newest:
        is_lost, entries = await events.page(seen, thread)
        if is_lost:
            yield [await _reset(thread, newest, snapshot)]
            return
        if not entries:
            return
        seen = entries[-1].seq
        yield [frame_of(entry) for entry in entries]


async def _reset(thread: str | None, seq: int, snapshot: Callable[[str | None], Awaitable[Snapshot]]) -> Frame:
    """The snapshot contains everything up to `seq`, and perhaps more."""
    return _frame(Reset(seq, await snapshot(thread)), seq)


def _frame(happened: LiveEvent, seq: int | None = None) -> Frame:
    return Frame(happened.event, seq, _encode(happened))


async def _follow(subscription: Subscription, seen: int) -> AsyncIterator[bytes]:
    while True:
        try:
            async with asyncio.timeout(HEARTBEAT):
                frames = await subscription.batch()
        except TimeoutError:
            yield BEAT
            continue
        if not frames:
            return
        if fresh := b"".join(frame.wire for frame in frames if frame.seq is None or frame.seq > seen):
            yield fresh
