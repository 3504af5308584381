"""Holds at which a scripted turn waits for another process."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path

import pytest

from clew.testing.scripted_runtime.holds import Holds


async def test_a_hold_created_by_two_processes_at_once_is_one_hold(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    make = os.mkfifo

    def somebody_was_faster(path: Path, mode: int) -> None:
        make(path, mode)
        make(path, mode)

    monkeypatch.setattr(os, "mkfifo", somebody_was_faster)
    waiting = asyncio.create_task(Holds(tmp_path).wait("here"))
    await asyncio.sleep(0)
    os.close(os.open(tmp_path / "here", os.O_WRONLY | os.O_NONBLOCK))
    await waiting
