"""The real Claude Code. `./check` installs it from npm and names it in CLEW_CLAUDE. Without it, tests are skipped."""

from __future__ import annotations

import functools
import os
import shutil
import subprocess

import pytest

PROGRAM = os.environ.get("CLEW_CLAUDE") or shutil.which("claude") or "claude"


@functools.cache
def _runs() -> bool:
    try:
        done = subprocess.run([PROGRAM, "--version"], capture_output=True, timeout=60, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return False
    return done.returncode == 0


def skip_without_claude() -> None:
    if not _runs():
        pytest.skip("Claude Code is not installed here")
