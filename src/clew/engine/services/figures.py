"""Figures of the last day: ended turns, their durations, how long gates waited for people. Read-only and cached for a
few seconds."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from clew.engine.core import Core
from clew.model.views import Bucket, FiguresView
from clew.store import Tx, metrics
from clew.store.metrics import Span

STEP = 30 * 60 * 1000  # milliseconds of a bucket
BUCKETS = 48
FRESH = 5_000  # milliseconds that a result is cached


class Figures:
    def __init__(self, core: Core) -> None:
        self._core = core
        self._cached: tuple[int, FiguresView] | None = None

    async def last_day(self) -> FiguresView:
        now = self._core.clock.now()
        if self._cached is None or not 0 <= now - self._cached[0] < FRESH:
            begins = (now // STEP - BUCKETS + 1) * STEP

            def read(tx: Tx) -> FiguresView:
                return summed(begins, now, metrics.turns_since(tx, begins), metrics.gates_since(tx, begins))

            self._cached = now, await self._core.store.read(read)
        return self._cached[1]


def summed(begins: int, now: int, turns: Sequence[Span], gates: Sequence[Span]) -> FiguresView:
    """Aggregate turns and gates into buckets. Pure."""
    ended: list[list[Span]] = [[] for _ in range(BUCKETS)]
    for turn in turns:
        ended[min(((turn.end or now) - begins) // STEP, BUCKETS - 1)].append(turn)
    waits = _waits(begins, now, gates)
    return FiguresView(begins, STEP, tuple(_bucket(some, waited) for some, waited in zip(ended, waits, strict=True)))


def _bucket(turns: Sequence[Span], waited: int | None) -> Bucket:
    took = sorted((turn.end or 0) - turn.begin for turn in turns)
    return Bucket(
        len(turns), sum(turn.failed for turn in turns), _percentile(took, 0.5), _percentile(took, 0.95), waited
    )


def _percentile(ordered: Sequence[int], share: float) -> int | None:
    return max(0, ordered[min(int(len(ordered) * share), len(ordered) - 1)]) if ordered else None


def _waits(begins: int, now: int, gates: Sequence[Span]) -> Iterator[int | None]:
    """For each bucket, the longest time that a gate had been open."""
    for begin in range(begins, begins + BUCKETS * STEP, STEP):
        end = min(begin + STEP, now)
        ages = [min(gate.end or now, end) - gate.begin for gate in gates if _waited_in(gate, begin, end)]
        yield max(ages, default=0) or None


def _waited_in(gate: Span, begin: int, end: int) -> bool:
    return gate.begin < end and (gate.end is None or gate.end >= begin)
