"""(h) Durable commits per second: the store with 1 and with 64 writers, against bare sqlite3 with an fsync each."""

from __future__ import annotations

import asyncio
import sqlite3
import tempfile
import time
from pathlib import Path

from benchmarks.report import Line
from clew.clock import SystemClock
from clew.store import Store, Tx
from clew.store.migrate import open_store

EACH = 1_500


async def measure() -> list[Line]:
    with tempfile.TemporaryDirectory() as folder:
        bare = _bare(Path(folder) / "bare.db")
        store = open_store(Path(folder) / "clew.db", SystemClock())
        one = await _rate(store, 1, EACH)
        many = await _rate(store, 64, EACH * 10)
        await asyncio.to_thread(store.close)
    return [
        Line("durable commits, 1 writer, to bare sqlite3 in one thread", one, "/s", one / bare),
        Line("durable commits, 64 writers, to bare sqlite3 in one thread", many, "/s", many / bare, at_least=4.0),
    ]


def _bare(path: Path) -> float:
    raw = sqlite3.connect(path, isolation_level=None)
    raw.execute("PRAGMA journal_mode = WAL")
    raw.execute("PRAGMA synchronous = FULL")
    raw.execute("CREATE TABLE notes (text TEXT)")
    began = time.perf_counter()
    for _ in range(EACH):
        raw.execute("INSERT INTO notes VALUES (?)", ("x" * 200,))
    raw.close()
    return EACH / (time.perf_counter() - began)


async def _rate(store: Store, writers: int, total: int) -> float:
    async def write() -> None:
        for _ in range(total // writers):
            await store.write(_note)

    began = time.perf_counter()
    await asyncio.gather(*(write() for _ in range(writers)))
    return total / (time.perf_counter() - began)


def _note(tx: Tx) -> None:
    tx.log("thread", None, "note", 1, text="x" * 200)
