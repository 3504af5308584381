"""Saying `/home` elsewhere made clew forget the direct chat of an owner. A migration keeps it beside the home."""

from __future__ import annotations

import asyncio
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from clew.model.messages import Conversation
from clew.store import Tx, migrate
from clew.store.migrate import open_store
from clew.store.tables import places
from clew.support.clock import SystemClock

BEFORE = """
    INSERT INTO homes (surface, address, owner) VALUES ('phone', 'own', '7'), ('room', 'group', NULL);
"""


async def test_owners_keep_their_direct_chat_and_rooms_their_home(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file, every = tmp_path / "clew.db", migrate.migrations()
    [number] = [number for number, path in every if path.name.endswith("_direct_chats.sql")]
    monkeypatch.setattr(migrate, "migrations", lambda: every[: number - 1])
    open_store(file, SystemClock()).close()
    with closing(sqlite3.connect(file)) as raw:
        raw.executescript(BEFORE)
    monkeypatch.undo()
    store = open_store(file, SystemClock())

    def body(tx: Tx) -> list[object]:
        return [found for name in ("phone", "room") for found in (places.home(tx, name), places.owner_chat(tx, name))]

    found = await store.read(body)
    await asyncio.to_thread(store.close)
    assert found == [None, (Conversation("phone", "own"), "7"), Conversation("room", "group"), None]
