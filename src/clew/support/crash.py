"""Named kill points, for crash tests: places where one side effect is done and the next is not.

`CLEW_CRASH=outbox.sent-not-recorded` kills the process there by SIGKILL, like a power cut; with `:N` appended, at the
N-th pass; with `@children`, its child processes die instead. `CLEW_CRASH=record:FILE` kills nothing and writes the name
of each passed point to a file. A point that is not armed costs one comparison. Simulations set `hook` to their own
function.
"""

from __future__ import annotations

import contextlib
import os
import signal
from collections.abc import Callable
from pathlib import Path

RECORD = "record:"
hook: Callable[[str], None] | None = None
detached: set[int] = set()  # pids that this process has started and that are no longer its children


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
    """Pids that this process has started itself."""
    tasks = Path("/proc/self/task").iterdir()
    return [*detached, *(int(pid) for task in tasks for pid in (task / "children").read_text().split())]


if spec := os.environ.get("CLEW_CRASH"):
    arm(spec)
