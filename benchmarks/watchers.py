"""(j) 500 watchers and 100 events a second: the delay of each event at each watcher. They read real sockets in a
separate process, so that the server only pays for writing."""

from __future__ import annotations

import asyncio
import multiprocessing
import re
import statistics
import tempfile
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

from benchmarks.report import Line
from clew.engine.live import Live
from clew.engine.services.events import EventService
from clew.model.events.logged import RuntimeNotice, TurnEnded
from clew.model.views import Snapshot
from clew.server import sse
from clew.store import Store
from clew.store.migrate import open_store
from clew.support.clock import SystemClock

WATCHERS, RATE, SECONDS = 500, 100, 5
END = b"event: turn.ended"
AT = re.compile(rb'"kind":"notice","at":(\d+)')


async def measure() -> list[Line]:
    with tempfile.TemporaryDirectory() as folder:
        store, live = open_store(Path(folder) / "clew.db", SystemClock()), Live()
        store.listen(live.committed)
        server = await asyncio.start_unix_server(
            lambda _, out: _serve(store, live, out), f"{folder}/sock", backlog=1024
        )
        context = multiprocessing.get_context("spawn")
        lags, ready = context.Queue(), context.Event()
        readers = context.Process(target=_watch_all, args=(f"{folder}/sock", lags, ready))
        readers.start()
        await asyncio.to_thread(ready.wait)
        await _happen(store)
        found = await asyncio.to_thread(lags.get)
        await asyncio.to_thread(readers.join)
        live.close()
        server.close()
        await asyncio.sleep(0.5)  # so that every stream has ended
        store.close()
    return _lines(found)


def _lines(lags: list[float]) -> list[Line]:
    assert len(lags) == WATCHERS * RATE * SECONDS, len(lags)
    name = f"{WATCHERS} watchers, {RATE} events/s, lag"
    worst = statistics.quantiles(lags, n=100)[98]
    return [
        Line(f"{name}, median", statistics.median(lags), "ms"),
        Line(f"{name}, slowest in a hundred", worst, "ms"),
    ]


async def _serve(store: Store, live: Live, out: asyncio.StreamWriter) -> None:
    async def snapshot(thread: str | None) -> Snapshot:
        return Snapshot((), (), ())

    with suppress(ConnectionError):
        async for chunk in sse.stream(live, EventService(store), "T", None, lambda: None, snapshot):
            out.write(chunk)
            await out.drain()


async def _happen(store: Store) -> None:
    """Send events; each contains its scheduled time by this machine's clock."""
    began = time.time()
    for number in range(RATE * SECONDS):
        await asyncio.sleep(began + number / RATE - time.time())
        at = time.time_ns() // 1000
        await store.write(lambda tx, at=at: tx.log("T", None, at, RuntimeNotice("x")))  # type: ignore[misc]
    await store.write(lambda tx: tx.log("T", None, 0, TurnEnded("completed")))


def _watch_all(path: str, lags: Any, ready: Any) -> None:
    lags.put(asyncio.run(_all(path, ready)))


async def _all(path: str, ready: Any) -> list[float]:
    started = asyncio.Semaphore(0)
    async with asyncio.TaskGroup() as group:
        watching = [group.create_task(_watch(path, started)) for _ in range(WATCHERS)]
        for _ in range(WATCHERS):
            await started.acquire()
        ready.set()
    return [lag for each in watching for lag in each.result()]


async def _watch(path: str, started: asyncio.Semaphore) -> list[float]:
    reader, writer = await asyncio.open_unix_connection(path)
    await reader.readuntil(b"\n\n")
    started.release()
    lags: list[float] = []
    rest = b""
    while more := await reader.read(1 << 16):
        now = time.time_ns() / 1e6
        whole, _, rest = (rest + more).rpartition(b"\n\n")
        lags += [now - int(at) / 1000 for at in AT.findall(whole)]
        if END in whole:
            break
    writer.close()
    return lags


if __name__ == "__main__":
    for line in asyncio.run(measure()):
        print(line)
