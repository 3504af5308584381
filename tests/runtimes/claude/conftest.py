"""The scripted model, a home of Claude that uses it, and the runtime, for a complete module."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from clew.model.gates import Policy
from clew.model.runtime import Seat
from clew.process.scan import Marks
from clew.runtimes.claude.runtime import ClaudeRuntime
from clew.runtimes.claude.settings import ClaudeConfig
from clew.support.clock import SystemClock
from clew.testing.scripted_model import ScriptedModel, write_claude_home
from tests.runtimes.claude_program import PROGRAM, skip_without_claude


@pytest.fixture(scope="module")
def home(model: ScriptedModel, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_claude_home(tmp_path_factory.mktemp("claude"), model.address)


@pytest.fixture(scope="module")
def config(home: Path) -> ClaudeConfig:
    skip_without_claude()
    return ClaudeConfig(PROGRAM, str(home), start_timeout=60)


@pytest.fixture
async def runtime(config: ClaudeConfig, clock: SystemClock, marks: Marks) -> AsyncIterator[ClaudeRuntime]:
    runtime = ClaudeRuntime(config, clock, marks)
    yield runtime
    await runtime.close()


@pytest.fixture
def seat(tmp_path: Path) -> Seat:
    return Seat(thread="thread", workspace=str(tmp_path), policy=Policy.CAREFUL)
