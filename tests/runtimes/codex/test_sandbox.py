"""Trying Codex's sandbox: the real one works or says why not, and one that does not hold is found out."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest

from clew.runtimes.codex.runtime import CodexRuntime
from clew.runtimes.codex.server import sandbox
from clew.runtimes.codex.settings import CodexConfig
from clew.support.errors import RuntimeTrouble

pytestmark = pytest.mark.process

Fake = Callable[[str], CodexRuntime]


@pytest.fixture
def fake(tmp_path: Path, make_runtime: Callable[[CodexConfig], CodexRuntime]) -> Fake:
    """Make a runtime whose Codex is a shell script. Its last two arguments are the trial's script and a folder."""

    def make(script: str) -> CodexRuntime:
        program = tmp_path / "codex"
        program.write_text(f"#!/bin/bash\n{script}\n")
        program.chmod(0o755)
        return make_runtime(CodexConfig(str(program)))

    return make


async def test_the_sandbox_of_the_real_codex_works_here(own_runtime: CodexRuntime) -> None:
    await own_runtime.try_sandbox()


@pytest.mark.parametrize(
    ("script", "why"),
    [
        ('exec /bin/sh -c "${@: -2:1}" "${@: -1}"', "a command in it could write outside of the workspace"),
        (
            "echo bwrap: No permissions to create new namespace >&2; exit 1",
            "bwrap: No permissions to create new namespace",
        ),
        ("exit 3", "exit 3"),
    ],
    ids=["leaks", "cannot be set up", "silent"],
)
async def test_a_sandbox_that_does_not_work_is_named(fake: Fake, script: str, why: str) -> None:
    with pytest.raises(RuntimeTrouble, match=re.escape(f"sandbox does not work on this machine: {why}")) as failed:
        await fake(script).try_sandbox()
    assert failed.value.code == "codex_refuses"


async def test_a_sandbox_that_hangs_is_given_up(fake: Fake, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sandbox, "TIME_LIMIT", 0.1)
    with pytest.raises(RuntimeTrouble, match="no answer within"):
        await fake("exec sleep 600").try_sandbox()
