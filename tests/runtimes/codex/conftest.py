"""Runtimes that keep their app-server on a socket, as one daemon after the other would make them."""

from __future__ import annotations

import dataclasses
from collections.abc import AsyncIterator, Callable
from pathlib import Path

import pytest

from clew.process import kept_programs, scan
from clew.process.scan import Marks
from clew.runtimes.codex.runtime import CodexRuntime
from clew.runtimes.codex.settings import CodexConfig
from clew.support.clock import SystemClock
from clew.support.home import Home

Make = Callable[..., CodexRuntime]


@pytest.fixture
def root(tmp_path: Path) -> Home:
    home = Home(tmp_path / "clew")
    home.prepare()
    return home


@pytest.fixture
async def make(config: CodexConfig, clock: SystemClock, root: Home) -> AsyncIterator[Make]:
    """Make a runtime as the next daemon would; all of them use one home."""
    marks = Marks(f"kept{clock.token()[:8]}", "now")
    made: list[CodexRuntime] = []

    def runtime(**changed: object) -> CodexRuntime:
        wanted = dataclasses.replace(config, **{"transport": "socket", "keep_alive": 600.0, **changed})  # type: ignore[arg-type]
        made.append(CodexRuntime(wanted, clock, marks, keeps=root))
        made[-1].come_back()
        return made[-1]

    yield runtime
    for each in made:
        await each.close()
    await kept_programs.end_all(root, clock, 0)
    assert scan.children(marks.store) == []
