"""Server-sent events: what the log holds after a number, then what happens from now on, without a gap or a double.

`id` is the durable sequence number; frames of live text carry none. The stream begins with `hello`, whose id is the
place it starts from, and ends with `bye` where the daemon stops on purpose. Where the log is not kept that far back,
`reset` comes instead of what is missing, with a snapshot of how things stand.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from functools import partial

import msgspec

from clew.engine.live import Frame, Live, Subscription, frame_of
from clew.model.views import Snapshot
from clew.store import Entry, Store, Tx
from clew.store.tables import log

HEARTBEAT = 15.0  # seconds
PAGE = 500  # entries of the log that are read at once
MEDIA_TYPE = "text/event-stream"
HEADERS = {"Cache-Control": "no-store", "X-Accel-Buffering": "no"}

BEAT = b":\n\n"


async def stream(
    live: Live,
    store: Store,
    thread: str | None,
    after: int | None,
    why_over: Callable[[], str | None],
    snapshot: Callable[[str | None], Awaitable[Snapshot]],
) -> AsyncIterator[bytes]:
    """`why_over` tells why the daemon stops; None while it does not."""
    newest, _ = await store.read(log.newest)
    seen = newest if after is None else min(after, newest)
    # The place is known before we subscribe, and the log is read after: what falls between is in both, and told once.
    with live.subscribe(thread) as subscription:
        yield Frame("hello", seen, msgspec.json.encode({"seq": seen, "newest": newest})).wire
        async for frames in _replay(store, thread, seen, snapshot):
            seen = frames[-1].seq or seen
            yield b"".join(frame.wire for frame in frames)
        async for chunk in _follow(subscription, seen):
            yield chunk
    if reason := why_over():
        yield Frame("bye", None, msgspec.json.encode({"reason": reason})).wire


async def _replay(
    store: Store, thread: str | None, seen: int, snapshot: Callable[[str | None], Awaitable[Snapshot]]
) -> AsyncIterator[list[Frame]]:
    """Up to what is the newest now; the rest waits in the mailbox, in its order. What is not kept any more, be it
    pruned in this very moment, is made up for by how things stand."""
    newest, _ = await store.read(log.newest)
    while seen < newest:
        is_lost, entries = await store.read(partial(_page, seen=seen, thread=thread))
        if is_lost:
            yield [await _reset(thread, newest, snapshot)]
            return
        if not entries:
            return
        seen = entries[-1].seq
        yield [frame_of(entry) for entry in entries]


def _page(tx: Tx, seen: int, thread: str | None) -> tuple[bool, list[Entry]]:
    return log.is_lost(tx, seen, thread), log.after(tx, seen, thread, PAGE)


async def _reset(thread: str | None, seq: int, snapshot: Callable[[str | None], Awaitable[Snapshot]]) -> Frame:
    """All that happened up to `seq` is in it, and perhaps more."""
    body = {"seq": seq, "snapshot": await snapshot(thread)}
    return Frame("reset", seq, msgspec.json.encode(body))


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
