"""A webhook's conversation that is named like the webhook had two addresses. A migration leaves one."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from clew.store import migrate
from clew.store.migrate import open_store
from clew.support.clock import SystemClock

BOUND = [
    ("webhook", "ci/ci", "ci"),
    ("webhook", "ci/main", "ci/main"),
    ("webhook", "a/b/a/b", "a/b/a/b"),
    ("webhook", "构建/构建", "构建"),
    ("webhook", "cd/cd", "cd/cd"),  # the other address is taken
    ("webhook", "cd", "cd"),
    ("room", "x/x", "x/x"),
]

WHOLE = ("asked_in", "former", "notify_target")  # with the surface
COLUMNS = [
    ("steers", "address"),
    ("places", "address"),
    ("homes", "address"),
    ("away", "address"),
    ("handoffs", "address"),
    ("handoffs", "opened"),
    *(("threads" if column == "notify_target" else "handoffs", column) for column in WHOLE),
]
EVERYWHERE = "".join(
    f"""
    INSERT INTO steers (surface, address, message_id, turn, thread, message, state, seq)
        VALUES ('{surface}', '{name}', 'm', 't', 'h', '', 'taken', 1);
    INSERT INTO places (surface, address) VALUES ('{surface}', '{name}');
    INSERT INTO homes (surface, address) VALUES ('{surface}', '{name}');
    INSERT INTO away VALUES ('{surface}', '{name}', 1);
    INSERT INTO handoffs (id, thread, surface, address, opened, asked_in, former, state, asked_by, say, quiet,
        requested_at, expires_at) VALUES ('{name}', '{name}', '{surface}', '{name}', '{name}', '{surface}:{name}',
        '{surface}:{name}', 'completed', 'ann', '', 0, 1, 1);
    INSERT INTO threads (id, kind, status, title, runtime, workspace, created_at, notify_target)
        VALUES ('{name}', 'chat', 'idle', '', 'demo', '/', 1, '{surface}:{name}');
    """
    for surface, name in (("webhook", "构建/构建"), ("room", "x/x"))
)


def test_a_conversation_named_like_its_webhook_has_one_address(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path, before = tmp_path / "clew.db", [each for each in migrate.migrations() if each[0] < 18]
    with monkeypatch.context() as patch:
        patch.setattr(migrate, "migrations", lambda: before)
        open_store(path, SystemClock()).close()
    with closing(sqlite3.connect(path)) as raw, raw:
        for surface, address, _ in BOUND:
            raw.execute("INSERT INTO bindings VALUES (?, ?, ?, 0, 0)", (surface, address, address))
            raw.execute(
                "INSERT INTO inbox (surface, address, message_id, sender, fate, words, received_at)"
                " VALUES (?, ?, 'm', '', 'turn', '', 0)",
                (surface, address),
            )
    open_store(path, SystemClock()).close()
    with closing(sqlite3.connect(path)) as raw:
        assert dict(raw.execute("SELECT thread, address FROM bindings")) == {was: now for _, was, now in BOUND}
        found = raw.execute("SELECT address FROM inbox").fetchall()
    assert sorted(address for (address,) in found) == sorted(now for _, _, now in BOUND)


def test_no_table_keeps_the_address_that_was_left(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path, before = tmp_path / "clew.db", [each for each in migrate.migrations() if each[0] < 18]
    with monkeypatch.context() as patch:
        patch.setattr(migrate, "migrations", lambda: before)
        open_store(path, SystemClock()).close()
    with closing(sqlite3.connect(path)) as raw, raw:
        raw.executescript(EVERYWHERE)
    open_store(path, SystemClock()).close()
    with closing(sqlite3.connect(path)) as raw:
        found = {
            f"{table}.{column}": raw.execute(f"SELECT {column} FROM {table} ORDER BY rowid").fetchall()
            for table, column in COLUMNS
        }
    assert found == {
        f"{table}.{column}": [("webhook:构建",), ("room:x/x",)] if column in WHOLE else [("构建",), ("x/x",)]
        for table, column in COLUMNS
    }
