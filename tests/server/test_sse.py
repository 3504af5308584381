"""The event stream: no gap and no repeat, however replay and live events overlap."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest

from clew.engine.live import Live
from clew.engine.services import events
from clew.engine.services.events import EventService
from clew.model.events.logged import RuntimeNotice, ThreadCreated
from clew.model.views import Snapshot
from clew.server import sse
from clew.store import Store
from clew.store.migrate import open_store
from clew.store.tables import log
from clew.support.clock import SystemClock
from tests.helpers.json_client import RawEvent as Event
from tests.helpers.json_client import parse_sse


class Stream:
    """A stream as a client reads it."""

    def __init__(self, chunks: AsyncIterator[bytes]) -> None:
        self._chunks = chunks
        self._events: list[Event] = []

    async def next(self) -> Event:
        while not self._events:
            self._events = list(parse_sse(iter([await anext(self._chunks)])))
        return self._events.pop(0)

    async def numbers(self, last: int) -> list[int]:
        """The sequence numbers of events up to `last`."""
        seen: list[int] = []
        while not seen or seen[-1] < last:
            event = await self.next()
            seen += [event.seq] if event.seq is not None and event.kind != "hello" else []
        return seen


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    store = open_store(tmp_path / "clew.db", SystemClock())
    yield store
    store.close()


@pytest.fixture
def live(store: Store) -> Live:
    live = Live()
    store.listen(live.committed)
    return live


async def happen(store: Store, thread: str = "T", count: int = 1) -> None:
    for _ in range(count):
        await store.write(lambda tx: tx.log(thread, None, 0, RuntimeNotice("x")))


def opened(
    live: Live, store: Store, thread: str | None = "T", after: int | None = None, reason: str | None = None
) -> Stream:
    return Stream(chunks(live, store, thread, after, reason))


def chunks(
    live: Live, store: Store, thread: str | None = "T", after: int | None = None, reason: str | None = None
) -> AsyncIterator[bytes]:
    async def snapshot(thread: str | None) -> Snapshot:
        return Snapshot((), (), ())

    return sse.stream(live, EventService(store), thread, after, lambda: reason, snapshot)


async def test_a_stream_begins_with_hello_and_its_start_seq(store: Store, live: Live) -> None:
    await happen(store, count=3)
    stream = opened(live, store)
    hello = await stream.next()
    assert (hello.kind, hello.seq) == ("hello", 3)
    await happen(store)
    assert (await stream.next()).seq == 4


async def test_missed_events_come_before_live_ones(store: Store, live: Live, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(events, "PAGE", 4)
    await happen(store, count=10)
    stream = opened(live, store, after=3)
    await stream.next()
    await happen(store, count=2)
    assert await stream.numbers(12) == list(range(4, 13))


async def test_nothing_is_missed_or_repeated_under_constant_writes(
    store: Store, live: Live, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(events, "PAGE", 7)
    newest = 300
    async with asyncio.TaskGroup() as group:
        reading = {}
        for after in range(0, 200, 10):
            await happen(store, count=10)
            reading[after] = group.create_task(opened(live, store, after=after).numbers(newest))
        group.create_task(happen(store, count=newest - 200))
    for after, seen in reading.items():
        assert seen.result() == list(range(after + 1, newest + 1))


async def test_a_thread_stream_has_only_its_events_and_the_global_one_all(store: Store, live: Live) -> None:
    one, every = opened(live, store, "T", after=0), opened(live, store, None, after=0)
    await happen(store, "other")
    await happen(store, "T")
    assert await one.numbers(2) == [2]
    assert await every.numbers(2) == [1, 2]


async def test_a_seq_from_the_future_is_treated_as_the_newest(store: Store, live: Live) -> None:
    await happen(store)
    stream = opened(live, store, after=1000)
    assert (await stream.next()).seq == 1
    await happen(store)
    assert (await stream.next()).seq == 2


async def test_open_text_is_sent_from_its_start_and_then_live(store: Store, live: Live) -> None:
    live.text("T", "turn", "item", 0, "so far")
    stream = opened(live, store, after=0)
    await stream.next()
    first = await stream.next()
    assert (first.kind, first.seq, first.data["text"]) == ("open", None, "so far")
    live.text("T", "turn", "item", 6, " and on")
    more = await stream.next()
    assert (more.kind, more.data["offset"], more.data["text"]) == ("text", 6, " and on")


async def test_a_quiet_stream_sends_heartbeats(store: Store, live: Live, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sse, "HEARTBEAT", 0.001)
    told = chunks(live, store)
    await anext(told)
    assert await anext(told) == b":\n\n"


async def test_a_stream_ends_with_bye_when_the_daemon_stops(store: Store, live: Live) -> None:
    stream = opened(live, store, reason="stopping")
    await stream.next()
    live.close()
    bye = await stream.next()
    assert (bye.kind, bye.data) == ("bye", {"reason": "stopping"})
    with pytest.raises(StopAsyncIteration):
        await stream.next()


async def test_a_closed_stream_is_unsubscribed(store: Store, live: Live) -> None:
    told = chunks(live, store)
    await anext(told)
    waiting = asyncio.ensure_future(anext(told))
    await asyncio.sleep(0)
    waiting.cancel()
    await asyncio.gather(waiting, return_exceptions=True)
    assert not live._watched("T")


async def test_a_pruned_seq_gets_a_reset_and_continues_from_there(store: Store, live: Live) -> None:
    await happen(store, count=10)
    await store.write(lambda tx: log.prune(tx, 5))
    stream = opened(live, store, after=3)
    hello, reset = await stream.next(), await stream.next()
    assert (hello.kind, reset.kind, reset.seq) == ("hello", "reset", 10)
    assert reset.data["snapshot"] == {"threads": [], "turns": [], "gates": []}
    await happen(store)
    assert (await stream.next()).seq == 11


async def test_a_seq_that_is_still_stored_gets_no_reset(store: Store, live: Live) -> None:
    await happen(store, count=10)
    await store.write(lambda tx: log.prune(tx, 5))
    stream = opened(live, store, after=5)
    assert await stream.numbers(10) == [6, 7, 8, 9, 10]


async def test_a_thread_with_its_first_event_stored_gets_no_reset(store: Store, live: Live) -> None:
    await happen(store, "old", count=5)
    await store.write(lambda tx: tx.log("T", None, 0, ThreadCreated("chat", "")))
    await happen(store, count=2)
    await store.write(lambda tx: log.prune(tx, 4))
    assert await opened(live, store, "T", after=0).numbers(8) == [6, 7, 8]
    assert (await _second(opened(live, store, "old", after=0))).kind == "reset"


async def test_pruning_during_a_read_gives_a_reset_too(
    store: Store, live: Live, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(events, "PAGE", 2)
    await happen(store, count=10)
    stream = opened(live, store, after=0)
    assert await stream.numbers(2) == [1, 2]
    await store.write(lambda tx: log.prune(tx, 7))
    reset = await stream.next()
    assert (reset.kind, reset.seq) == ("reset", 10)


async def _second(stream: Stream) -> Event:
    await stream.next()
    return await stream.next()
