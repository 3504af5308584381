"""The agent's account in the simulation. In some stories it comes to its usage limit; what it says about the end of
that is right, missing, past or absurd."""

from __future__ import annotations

import random
from collections.abc import Callable

from clew.model.runtime import TurnRequest
from clew.testing.scripted_model import script
from clew.testing.scripted_model.script import Step

QUOTA = script.Error("insufficient_quota")
SPANS = (20.0, 100.0, 900.0, 20_000.0)  # seconds that a limit holds


class Account:
    def __init__(self, seed: int, now: Callable[[], float], wall: Callable[[], int]) -> None:
        """`now`: seconds that never go back; `wall`: the clock, which may be wrong."""
        self._chance = random.Random(f"limits {seed}")
        self.is_limited = seed % 10 == 0  # by seed: it draws no chance
        self._now, self._wall = now, wall
        self._until = 0.0
        self._decided: dict[tuple[str, int], tuple[Step, ...] | None] = {}
        self.says: int | None = None

    def refuses(self, request: TurnRequest, times: int) -> tuple[Step, ...] | None:
        """The steps of a turn that is refused; None: it is not. The same each time that it is asked about one start."""
        key = request.turn, times
        if self.is_limited and key not in self._decided:
            self._decided[key] = self._decide()
        return self._decided.get(key)

    def _decide(self) -> tuple[Step, ...] | None:
        if self._now() >= self._until:
            if self._chance.random() > 0.15:
                return None
            self._until = self._now() + self._chance.choice(SPANS)
        right = self._wall() + int((self._until - self._now()) * 1000)
        self.says = self._chance.choice((right, right, None, 0, right - 40_000_000, right * 2))
        return (script.Shell("make"), QUOTA) if self._chance.random() < 0.2 else (QUOTA,)
