"""The gates that are on the screen, and since when: a line that was typed before a gate appeared does not answer it."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from clew.model.gate_views import GateView

MIN_REACTION = 0.6  # seconds; nobody reads and answers a gate faster


class ShownGates:
    """The gates shown as open, and whether one has just appeared, so that an entered line was typed before it."""

    def __init__(self, now: Callable[[], float] = time.monotonic) -> None:
        self.gates: Sequence[GateView] = ()
        self._now = now
        self._appeared = float("-inf")  # when the newest gate was shown

    def show(self, open_now: Sequence[GateView]) -> bool:
        """Returns whether one of them is new."""
        before, after = ({view.id for view in gates} for gates in (self.gates, open_now))
        is_new = bool(after - before)
        if is_new:
            self._appeared = self._now()
        self.gates = open_now
        return is_new

    def is_too_new_for(self, line: str) -> bool:
        """Whether a new gate may have been shown too late for this line. A command or a code is explicit."""
        from clew.texts.slash_commands import Place, parse

        is_command = parse(line, Place.TERMINAL) is not None
        is_explicit = is_command or any(view.code in line.upper() for view in self.gates)
        return bool(self.gates) and not is_explicit and self._now() - self._appeared < MIN_REACTION

    def why_held(self) -> str:
        codes = ", ".join(view.code for view in self.gates)
        return f"{codes} appeared just as you pressed Enter: nothing was sent"
