"""Lists are sorted by a stored time. A migration fills it in for threads that are older than the column."""

from __future__ import annotations

import asyncio
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from clew.model.threads import ThreadFilter
from clew.store import migrate
from clew.store.migrate import open_store
from clew.store.tables import threads
from clew.support.clock import SystemClock

ROWS = [("A", 10, None, "T1"), ("B", 20, None, None), ("C", 30, None, "T2")]


async def test_older_threads_are_listed_by_the_end_of_their_last_turn(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, before = tmp_path / "clew.db", [each for each in migrate.migrations() if each[0] < 23]
    with monkeypatch.context() as patch:
        patch.setattr(migrate, "migrations", lambda: before)
        open_store(path, SystemClock()).close()
    with closing(sqlite3.connect(path)) as raw, raw:
        for row in ROWS:
            raw.execute(
                "INSERT INTO threads (id, kind, status, title, runtime, workspace, created_at, completed_at, last_turn)"
                " VALUES (?, 'chat', 'idle', '', 'demo', '/', ?, ?, ?)",
                row,
            )
        for turn, thread, ended in (("T1", "A", 40), ("T2", "C", 35)):
            raw.execute(
                "INSERT INTO turns (id, thread, seq, state, origin, request, queued_at, ended_at)"
                " VALUES (?, ?, 1, 'completed', 'person', '[]', 1, ?)",
                (turn, thread, ended),
            )
    store = open_store(path, SystemClock())
    listed = await store.read(lambda tx: threads.page(tx, ThreadFilter()))
    await asyncio.to_thread(store.close)
    assert [(row.thread.id, row.thread.active_at) for row in listed] == [("A", 40), ("C", 35), ("B", 20)]
