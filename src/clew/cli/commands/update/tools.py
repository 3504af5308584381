"""Runs the programs that update clew (git, uv, pipx, the new clew itself) and reports their failures."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Sequence
from pathlib import Path

from clew.support.errors import ClewError
from clew.texts.catalogue import say

LIMIT = 900.0  # seconds for one program: it may have to fetch 150 MB


class ToolFailed(ClewError):
    """A program that updates clew failed."""

    code = "update_failed"


def output_of(command: Sequence[str], folder: Path | None = None) -> str:
    """Run a program and return what it prints. Raises ToolFailed with its last words."""
    environ = {**os.environ, "GIT_TERMINAL_PROMPT": "0"}  # it would wait for a password that nobody sees asked
    try:
        done = subprocess.run(
            command,
            cwd=folder,
            env=environ,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=LIMIT,
        )
    except subprocess.TimeoutExpired:
        raise ToolFailed(_failed(command, say("update.timed_out", seconds=f"{LIMIT:g}"))) from None
    except OSError as error:
        raise ToolFailed(_failed(command, f"{error.strerror or error}.")) from None
    if done.returncode:
        lines = (done.stderr or done.stdout).strip().splitlines()
        said = " ".join(lines[-3:]) or say("update.exit_code", code=done.returncode)
        raise ToolFailed(_failed(command, said if said.endswith(".") else f"{said}."))
    return done.stdout


def _failed(command: Sequence[str], said: str) -> str:
    return say("update.failed", command=" ".join([Path(command[0]).name, *command[1:]]), said=said)
