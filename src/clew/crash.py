"""Named kill points: places where one side effect is done and the next is not.

`CLEW_CRASH=outbox.sent-not-recorded` makes the process die there by SIGKILL, as if the power had gone; with `:N` behind
it, at the N-th passing. Not armed, a point costs one comparison. The simulation puts its own function in `hook`.
"""

from __future__ import annotations

import os
import signal
from collections.abc import Callable

hook: Callable[[str], None] | None = None


def point(name: str) -> None:
    if hook is not None:
        hook(name)


def arm(spec: str) -> None:
    """Arm one point: `NAME` or `NAME:N`."""
    global hook
    name, _, count = spec.partition(":")
    left = int(count or 1)

    def die(passed: str) -> None:
        nonlocal left
        if passed != name:
            return
        left -= 1
        if left == 0:
            os.kill(os.getpid(), signal.SIGKILL)

    hook = die


if spec := os.environ.get("CLEW_CRASH"):
    arm(spec)
