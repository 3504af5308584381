"""Rows of continuity: one for each thread, runtime and role; and how an older file gets them."""

from __future__ import annotations

import asyncio
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from clew.model.threads import Continuity, ForkPoint, SessionBegan, SessionKey
from clew.store import Store, Tx, migrate
from clew.store.migrate import migrations, open_store
from clew.store.tables import continuity, turns
from clew.support.clock import SystemClock

BEFORE = 13  # the newest migration that knows no roles
THREAD = (
    "INSERT INTO threads (id, kind, status, title, runtime, workspace, head, created_at)"
    " VALUES (?, 'chat', 'idle', '', ?, '/', ?, 1)"
)
TURN = (
    "INSERT INTO turns (id, thread, seq, state, origin, request, runtime, runtime_turn, node, queued_at)"
    " VALUES (?, ?, ?, ?, 'message', '[]', ?, ?, ?, 1)"
)
ROWS: tuple[tuple[str, tuple[object, ...]], ...] = (
    (THREAD, ("A", "codex", "node-2")),
    (THREAD, ("B", "hermes", "node-3")),
    (THREAD, ("C", "codex", "node-0")),
    (TURN, ("a1", "A", 1, "completed", "codex", "codex-1", "node-1")),
    (TURN, ("a2", "A", 2, "failed", None, None, "node-2")),  # its runtime never got it
    (TURN, ("a3", "A", 3, "queued", None, None, None)),
    (TURN, ("b1", "B", 1, "completed", "hermes", "hermes-1", "node-3")),
    (TURN, ("b2", "B", 2, "running", "hermes", "hermes-2", None)),
    ("INSERT INTO continuity (thread, runtime, data, status, used_at, restarts) VALUES (?, ?, ?, ?, ?, ?)",
     ("A", "codex", "codex-session", "resumed", 5, 2)),
    ("INSERT INTO continuity (thread, runtime, data, status, used_at, trouble) VALUES (?, ?, ?, ?, ?, ?)",
     ("B", "hermes", "hermes-session", "error", 6, "gone")),
    ("INSERT INTO continuity (thread, runtime, fork_data, fork_turn) VALUES (?, ?, ?, ?)",
     ("C", "codex", "codex-session", "codex-1")),
)  # fmt: skip


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "clew.db"


def make_old(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file of an earlier clew with three threads on two runtimes."""
    known = migrations()[:BEFORE]
    with monkeypatch.context() as earlier:
        earlier.setattr(migrate, "migrations", lambda: known)
        open_store(path, SystemClock()).close()
    with closing(sqlite3.connect(path)) as raw, raw:
        for sql, values in ROWS:
            raw.execute(sql, values)


async def links(store: Store, thread: str) -> list[continuity.RuntimeLink]:
    return await store.read(lambda tx: continuity.links(tx, thread))


async def test_turns_of_an_older_file_get_the_runtime_of_their_thread(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    make_old(path, monkeypatch)
    store = open_store(path, SystemClock())
    rows = await store.read(turns.all_rows)
    await asyncio.to_thread(store.close)
    assert {row.id: (row.runtime, row.role) for row in rows} == {
        "a1": ("codex", ""),
        "a2": ("codex", ""),
        "a3": ("codex", ""),
        "b1": ("hermes", ""),
        "b2": ("hermes", ""),
    }


async def test_continuity_of_an_older_file_is_kept_for_the_only_role(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    make_old(path, monkeypatch)
    store = open_store(path, SystemClock())
    [codex], [hermes], [fork] = [await links(store, thread) for thread in "ABC"]
    point = await store.read(lambda tx: continuity.get(tx, SessionKey("C", "codex")))
    await asyncio.to_thread(store.close)
    assert (codex.runtime, codex.role, codex.reference, codex.seen) == ("codex", "", "codex-session", "node-1")
    assert (codex.began, codex.status, codex.used_at, codex.restarts) == (None, "resumed", 5, 2)
    assert (hermes.reference, hermes.seen, hermes.trouble) == ("hermes-session", "node-3", "gone")
    assert point == (None, ForkPoint(Continuity("codex-session"), "codex-1")) and fork.seen is None


async def test_each_runtime_and_role_has_its_own_row(path: Path) -> None:
    keys = [SessionKey("A", "codex"), SessionKey("A", "codex", "critic"), SessionKey("A", "hermes")]

    def write(tx: Tx) -> None:
        for number, key in enumerate(keys):
            continuity.save(tx, key, Continuity(f"session {number}"))
            continuity.set_seen(tx, key, f"node-{number}")
        continuity.record_use(tx, keys[1], "cold", SessionBegan.FRESH, 7)
        continuity.record_failure(tx, keys[2], "gone", 8)

    store = open_store(path, SystemClock())
    await store.write(write)
    found = await links(store, "A")
    await asyncio.to_thread(store.close)
    assert [(row.runtime, row.role, row.reference, row.seen, row.status) for row in found] == [
        ("codex", "", "session 0", "node-0", None),
        ("codex", "critic", "session 1", "node-1", "cold"),
        ("hermes", "", "session 2", "node-2", "error"),
    ]


@pytest.mark.parametrize("began", list(SessionBegan))
async def test_only_a_resumed_session_has_seen_what_it_saw_before(path: Path, began: SessionBegan) -> None:
    key = SessionKey("A", "codex")

    def write(tx: Tx) -> None:
        continuity.set_seen(tx, key, "node-1")
        continuity.record_opened(tx, key, began)

    store = open_store(path, SystemClock())
    await store.write(write)
    [row] = await links(store, "A")
    await asyncio.to_thread(store.close)
    assert (row.began, row.seen) == (began, "node-1" if began is SessionBegan.RESUMED else None)
