"""The gates that are on the screen, and since when: a line that was typed before a gate appeared does not answer it."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from clew.cli.language import phrase

if TYPE_CHECKING:
    from clew.model.gate_views import GateView

MIN_REACTION = 0.6  # seconds; nobody reads and answers a gate faster
_NO_AND_MORE = r"(n|no|不|拒绝|不同意)([:,;.!]?\s+|\s*[：，；。！]\s*)(.+)"


def name_gate(line: str, gates: Sequence[GateView]) -> str:
    """`n REASON` with the code of the gate, if it is the only one that is shown: a no with this reason. In a chat app
    it could be a message to the agent; here the gate is right above the line. A reason that may begin with its `no`,
    such as `no tests please`, keeps it."""
    found = re.fullmatch(_NO_AND_MORE, line.strip(), re.IGNORECASE | re.DOTALL)
    if found is None or len(gates) != 1 or gates[0].kind == "question":
        return line
    no, between, rest = found.groups()
    is_part = no.lower() in ("no", "不") and not between.strip()
    return f"{gates[0].code} n {line.strip() if is_part else rest}"


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
        return phrase("cli_gates.just_appeared", codes=codes)
