"""Named kill points: places where one side effect is done and the next is not.

`CLEW_CRASH=outbox.sent-not-recorded` makes the process die there by SIGKILL, as if the power had gone; with `:N` behind
it, at the N-th passing; with `@children`, what it has started dies instead. `CLEW_CRASH=record:FILE` kills nobody and
writes down which points are passed, a line each. Not armed, a point costs one comparison. The simulation puts its own
function in `hook`.
"""

from __future__ import annotations

import contextlib
import os
import signal
from collections.abc import Callable
from pathlib import Path

RECORD = "record:"
hook: Callable[[str], None] | None = None
detached: set[int] = set()  # what this process has started and left to itself


def point(name: str) -> None:
    if hook is not None:
        hook(name)


def arm(spec: str) -> None:
    """Arm one point, `NAME` or `NAME:N`, and either with `@children`; or `record:FILE`."""
    global hook
    if spec.startswith(RECORD):
        hook = _recorder(spec.removeprefix(RECORD))
        return
    where, _, whom = spec.partition("@")
    name, _, count = where.partition(":")
    left = int(count or 1)

    def die(passed: str) -> None:
        nonlocal left
        if passed != name:
            return
        left -= 1
        if left == 0:
            for pid in _children() if whom else [os.getpid()]:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)

    hook = die


def _recorder(file: str) -> Callable[[str], None]:
    log = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)

    def write(passed: str) -> None:
        os.write(log, f"{passed}\n".encode())

    return write


def _children() -> list[int]:
    """What this process has started itself."""
    tasks = Path("/proc/self/task").iterdir()
    return [*detached, *(int(pid) for task in tasks for pid in (task / "children").read_text().split())]


if spec := os.environ.get("CLEW_CRASH"):
    arm(spec)
