"""The guard of conftest.py finds every way to look at a file in the body of a transaction."""

from __future__ import annotations

import asyncio
import io
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from clew.support.clock import SystemClock
from tests.helpers.stores import open_quickly

LOOKS: dict[str, Callable[[Path], object]] = {
    "open": lambda path: open(path).close(),  # noqa: PTH123
    "io.open": lambda path: io.open(path).close(),  # noqa: UP020
    "Path.read_text": lambda path: path.read_text(encoding="utf-8"),
    "Path.exists": lambda path: path.exists(),
    "Path.is_symlink": lambda path: path.is_symlink(),
    "os.listdir": lambda path: os.listdir(path.parent),  # noqa: PTH208
    "os.walk": lambda path: list(os.walk(path.parent)),
}


@pytest.mark.parametrize("name", LOOKS)
async def test_a_look_at_a_file_in_a_body_is_found(name: str, tmp_path: Path, bodies_read_no_files: list[str]) -> None:
    (tmp_path / "file").write_text("x")
    store = open_quickly(tmp_path / "clew.db", SystemClock())
    await store.write(lambda tx: tx.all("SELECT 1 AS one"))
    assert bodies_read_no_files == []
    await store.write(lambda tx: LOOKS[name](tmp_path / "file"))
    await asyncio.to_thread(store.close)
    assert bodies_read_no_files
    bodies_read_no_files.clear()
