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
