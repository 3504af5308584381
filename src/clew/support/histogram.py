"""A histogram of durations since the daemon started. In memory only."""

from __future__ import annotations

from bisect import bisect_left
from itertools import accumulate

LIMITS = (0.1, 0.5, 1.0, 5.0, 30.0, 300.0)  # seconds


class Histogram:
    def __init__(self) -> None:
        self._counts = [0] * (len(LIMITS) + 1)
        self.sum = 0.0

    @property
    def count(self) -> int:
        return sum(self._counts)

    def add(self, value: float) -> None:
        self._counts[bisect_left(LIMITS, value)] += 1
        self.sum += value

    def cumulative(self) -> list[tuple[float, int]]:
        """(limit, how many values are at most that)."""
        return list(zip(LIMITS, accumulate(self._counts), strict=False))
