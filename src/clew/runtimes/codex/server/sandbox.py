"""Tries Codex's sandbox on this machine: a command in it must be able to write in the workspace, and not beside it."""

from __future__ import annotations

import tempfile
from pathlib import Path

from clew.process.scan import Marks
from clew.runtimes.codex import problems
from clew.runtimes.codex.server import binary
from clew.runtimes.codex.server.connection import environment
from clew.runtimes.codex.settings import CodexConfig
from clew.runtimes.process import spawn
from clew.support.clock import Clock
from clew.texts.catalogue import say

TIME_LIMIT = 10.0  # seconds; the first start of a home waits for it

# The folders of the trial may be temporary ones, in which the sandbox could write otherwise.
_SETTINGS = (
    'sandbox_mode="workspace-write"',
    "sandbox_workspace_write.exclude_slash_tmp=true",
    "sandbox_workspace_write.exclude_tmpdir_env_var=true",
)
_SCRIPT = 'echo > inside; echo > "$0/outside"'


async def try_sandbox(config: CodexConfig, clock: Clock, marks: Marks) -> None:
    """Raises RuntimeTrouble if the sandbox cannot be set up, or does not hold."""
    path = binary.locate(config)
    with (
        tempfile.TemporaryDirectory(prefix="clew-sandbox-") as workspace,
        tempfile.TemporaryDirectory(prefix="clew-beside-") as beside,
    ):
        said = await _run(path, workspace, beside, config, clock, marks)
        if _has_files(beside):
            raise problems.sandbox_fails(say("codex.sandbox_leaks"))
        if not _has_files(workspace):
            raise problems.sandbox_fails(said)


def _has_files(folder: str) -> bool:
    return any(Path(folder).iterdir())


async def _run(path: str, workspace: str, beside: str, config: CodexConfig, clock: Clock, marks: Marks) -> str:
    """Run the script in the sandbox. Returns the last words of Codex."""
    given = [part for setting in _SETTINGS for part in ("-c", setting)]
    argv = [path, "sandbox", *given, "--", "/bin/sh", "-c", _SCRIPT, beside]
    try:
        child = await spawn(
            argv, marks.next(), clock, lambda line: None, name="codex", env=environment(config), cwd=workspace
        )
    except OSError as error:
        raise problems.cannot_start(path, error) from error
    try:
        await child.wait_exited(TIME_LIMIT)
        hangs = child.exit_code is None
    finally:
        await child.end()
    if hangs:
        raise problems.sandbox_fails(say("codex.sandbox_silent", seconds=f"{TIME_LIMIT:g}"))
    return child.stderr_tail[-1] if child.stderr_tail else f"exit {child.exit_code}"
