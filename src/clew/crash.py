"""Named kill points: places where one side effect is done and the next is not.

`CLEW_CRASH=outbox.sent-not-recorded` makes the process die there by SIGKILL, as if the power had gone; with `:N` behind
it, at the N-th passing; with `@children`, what it has started dies instead. Not armed, a point costs one comparison.
The simulation puts its own function in `hook`.
"""

from __future__ import annotations

import os
import signal
from collections.abc import Callable
from pathlib import Path

hook: Callable[[str], None] | None = None


def point(name: str) -> None:
    if hook is not None:
        hook(name)


def arm(spec: str) -> None:
    """Arm one point: `NAME`, `NAME:N`, and either with `@children`."""
    global hook
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
                os.kill(pid, signal.SIGKILL)

    hook = die


def _children() -> list[int]:
    """What this process has started itself."""
    tasks = Path("/proc/self/task").iterdir()
    return [int(pid) for task in tasks for pid in (task / "children").read_text().split()]


if spec := os.environ.get("CLEW_CRASH"):
    arm(spec)
