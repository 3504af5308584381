"""(h) Durable commits per second: the store with 1 and with 64 writers, against bare sqlite3 with an fsync each."""

from __future__ import annotations

import asyncio
import sqlite3
import statistics
import tempfile
import time
from pathlib import Path

from benchmarks.report import Line
from clew.model.events.logged import RuntimeNotice
from clew.store import Store, Tx
from clew.store.migrate import open_store
from clew.support.clock import SystemClock

EACH = 300  # commits of one writer in a round
ROUNDS = 5  # interleaved, so that a noisy machine affects all alike


async def measure() -> list[Line]:
    with tempfile.TemporaryDirectory() as folder:
        raw = _open_bare(Path(folder) / "bare.db")
        store = open_store(Path(folder) / "clew.db", SystemClock())
        rounds = [
            (_bare(raw), await _rate(store, 1, EACH), await _rate(store, 64, EACH * 10)) for _ in range(ROUNDS + 1)
        ]
        await asyncio.to_thread(store.close)
        raw.close()
    bare, one, many = (statistics.median(rates) for rates in zip(*rounds[1:], strict=True))
    return [
        Line("durable commits, 1 writer, to bare sqlite3 in one thread", one, "/s", one / bare),
        Line("durable commits, 64 writers, to bare sqlite3 in one thread", many, "/s", many / bare, at_least=4.0),
    ]


def _open_bare(path: Path) -> sqlite3.Connection:
    raw = sqlite3.connect(path, isolation_level=None)
    raw.execute("PRAGMA journal_mode = WAL")
    raw.execute("PRAGMA synchronous = FULL")
    raw.execute("CREATE TABLE notes (text TEXT)")
    return raw


def _bare(raw: sqlite3.Connection) -> float:
    began = time.perf_counter()
    for _ in range(EACH):
        raw.execute("INSERT INTO notes VALUES (?)", ("x" * 200,))
    return EACH / (time.perf_counter() - began)


async def _rate(store: Store, writers: int, total: int) -> float:
    async def write() -> None:
        for _ in range(total // writers):
            await store.write(_note)

    began = time.perf_counter()
    await asyncio.gather(*(write() for _ in range(writers)))
    return total / (time.perf_counter() - began)


def _note(tx: Tx) -> None:
    tx.log("thread", None, 1, RuntimeNotice("x" * 200))
