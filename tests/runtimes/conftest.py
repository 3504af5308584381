"""The scripted model, a Codex home that uses it, and the runtime. One app-server serves a complete module, because
starting it is slow; a test that kills it uses `own_runtime`."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Protocol

import pytest
from msgspec.structs import replace

from clew.model.gates import Policy
from clew.model.runtime import Seat
from clew.process.scan import Marks
from clew.runtimes.codex import threads
from clew.runtimes.codex.runtime import CodexRuntime
from clew.runtimes.codex.settings import CodexConfig
from clew.support.clock import Clock, SystemClock
from clew.testing.scripted_model import ScriptedModel, write_codex_home
from tests.runtimes.codex.raw import RawCodex


@pytest.fixture(scope="module")
def clock() -> SystemClock:
    return SystemClock()


@pytest.fixture(scope="module")
def marks(clock: SystemClock) -> Marks:
    return Marks(f"test{clock.token()[:8]}", "now")


@pytest.fixture(scope="module")
async def model() -> AsyncIterator[ScriptedModel]:
    async with ScriptedModel() as model:
        yield model


@pytest.fixture
async def own_model() -> AsyncIterator[ScriptedModel]:
    """One model per check, because a released hold stays released."""
    async with ScriptedModel() as model:
        yield model


@pytest.fixture(scope="module")
def home(model: ScriptedModel, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_codex_home(tmp_path_factory.mktemp("codex"), model.url)


@pytest.fixture(scope="module")
def config(home: Path) -> CodexConfig:
    return CodexConfig(home=str(home), start_timeout=60)


@pytest.fixture(scope="module")
async def runtime(config: CodexConfig, clock: SystemClock, marks: Marks) -> AsyncIterator[CodexRuntime]:
    runtime = CodexRuntime(config, clock, marks)
    await runtime._servers.main.connect()  # now, so that it does not count as a leftover of a test
    yield runtime
    await runtime.close()


class MakeRuntime(Protocol):
    def __call__(self, config: CodexConfig, marks: Marks | None = None, clock: Clock | None = None) -> CodexRuntime: ...


@pytest.fixture
async def make_runtime(clock: SystemClock, marks: Marks) -> AsyncIterator[MakeRuntime]:
    """Make runtimes that are closed after the test."""
    made: list[CodexRuntime] = []
    ours, time = marks, clock

    def make(config: CodexConfig, marks: Marks | None = None, clock: Clock | None = None) -> CodexRuntime:
        made.append(CodexRuntime(config, clock or time, marks or ours))
        return made[-1]

    yield make
    for each in made:
        await each.close()


@pytest.fixture
def own_runtime(make_runtime: MakeRuntime, config: CodexConfig) -> CodexRuntime:
    return make_runtime(config)


@pytest.fixture
def seat(tmp_path: Path) -> Seat:
    """A seat whose policy asks nothing inside the workspace."""
    return Seat(thread="thread", workspace=str(tmp_path), policy=Policy.TRUSTED)


@pytest.fixture
def careful(seat: Seat) -> Seat:
    """A seat whose policy makes Codex ask before everything."""
    return replace(seat, policy=Policy.CAREFUL)


@pytest.fixture
def free(seat: Seat, monkeypatch: pytest.MonkeyPatch) -> Seat:
    """A seat without sandbox, so that pids are real, and without questions."""
    monkeypatch.setitem(threads.POLICIES, Policy.YOLO, ("danger-full-access", "never"))
    return replace(seat, policy=Policy.YOLO)


@pytest.fixture
async def raw(home: Path, clock: SystemClock, marks: Marks) -> AsyncIterator[Callable[[], RawCodex]]:
    """Make app-servers that a test talks to directly."""
    made: list[RawCodex] = []

    def make() -> RawCodex:
        made.append(RawCodex(home, clock, marks))
        return made[-1]

    yield make
    for each in made:
        await each.end()
