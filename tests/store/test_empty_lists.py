"""An empty list of parameters never becomes `IN ()`, which PostgreSQL refuses; see also tests/conftest.py."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path

import pytest

from clew.model.threads import ThreadFilter
from clew.store import Tx
from clew.store.tables import bindings, preludes, threads, turns
from clew.support.clock import SystemClock
from tests.helpers.stores import open_quickly

OF_NOTHING: dict[str, Callable[[Tx], object]] = {
    "when turns began": lambda tx: turns.start_times(tx, []),
    "sessions of turns": lambda tx: turns.sessions(tx, []),
    "threads among": lambda tx: threads.page(tx, ThreadFilter(among=())),
    "the newest runtime": lambda tx: threads.newest_runtime(tx, []),
    "bindings": lambda tx: bindings.of_threads(tx, []),
    "preludes": lambda tx: preludes.summaries(tx, []),
}


@pytest.mark.parametrize("name", OF_NOTHING)
async def test_what_belongs_to_nothing_is_nothing(tmp_path: Path, name: str) -> None:
    store = open_quickly(tmp_path / "clew.db", SystemClock())
    found = await store.read(OF_NOTHING[name])
    await asyncio.to_thread(store.close)
    assert not found


async def test_a_statement_with_an_empty_list_fails_a_test(tmp_path: Path) -> None:
    store = open_quickly(tmp_path / "clew.db", SystemClock())
    with pytest.raises(AssertionError, match="PostgreSQL refuses an empty list"):
        await store.read(lambda tx: tx.all("SELECT id FROM turns WHERE id IN ()"))
    await asyncio.to_thread(store.close)
