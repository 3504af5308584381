"""The writer thread of the store, if even its rollback fails."""

from __future__ import annotations

import asyncio
import sqlite3
from pathlib import Path

import pytest

from clew.store import Tx
from clew.store.migrate import open_store
from clew.store.sqlite.driver import WriterThread
from clew.support.clock import SystemClock
from clew.support.errors import StoreError


async def test_a_writer_that_cannot_even_roll_back_says_so_and_goes_on(tmp_path: Path) -> None:
    store = open_store(tmp_path / "clew.db", SystemClock())
    executor = store._executor
    assert isinstance(executor, WriterThread)
    good = executor._connection.raw

    class Broken:
        in_transaction = True

        def execute(self, sql: str, *params: object) -> None:
            raise sqlite3.OperationalError("disk I/O error")

        def close(self) -> None:
            good.close()

    executor._connection.raw = Broken()  # type: ignore[assignment]
    with pytest.raises(StoreError):
        await store.write(_note)
    await store.write(_note)
    assert await store.read(lambda tx: len(tx.all("SELECT 1 FROM meta WHERE name = 'note'"))) == 1
    await asyncio.to_thread(store.close)


def _note(tx: Tx) -> None:
    tx.run("INSERT INTO meta (name, value) VALUES ('note', 'x')")
