"""The figures of a soak beside its verdict, one line each."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from statistics import linear_regression

from benchmarks.soak_count import Count, Counted, Weight
from benchmarks.soak_verdict import answers
from clew.model.delivery import DeliveryKind
from clew.model.turns import TurnState

WARM = 30.0  # seconds until a daemon has loaded everything
ENOUGH = 60.0  # seconds after that for a meaningful slope
NAMES = {DeliveryKind.FINAL: "answers", DeliveryKind.NOTICE: "notices", DeliveryKind.ASK: "asks"}


def figures(counted: Counted) -> Iterator[str]:
    count, turns = counted.count, counted.rows.turns
    ran = [turn for turn in turns if turn.started_at is not None]
    yield from (f"{name}: {count.seen[name]}" for name in sorted(count.seen))
    yield f"messages in: {len(counted.rows.heard)}, of them acknowledged to their sender: {len(count.taken)}"
    yield f"fates: {_listed(counted.fates)}"
    yield f"turns that ran: {len(ran)}, of them failed: {sum(turn.state is TurnState.FAILED for turn in ran)}"
    yield f"commands run: {counted.runs.total()}, of {len(counted.runs)}"
    yield f"at the receiver: {_listed(_kinds(count))}"
    yield f"answered once more: {_repeats(counted)}"
    yield f"memory of the daemon: {memory(count.weights)}"
    yield f"open files of the daemon: {_files(count.weights)}"


def memory(weights: dict[int, list[Weight]]) -> str:
    """Return the memory growth of the daemon that was measured longest; a slope never spans two daemons."""
    longest = max(weights.values(), key=lambda each: each[-1].at - each[0].at, default=[])
    warm = [each for each in longest if each.at - longest[0].at >= WARM]
    seconds = warm[-1].at - warm[0].at if warm else 0.0
    if seconds < ENOUGH:
        return f"too short to tell ({seconds:.0f} s of one warm daemon, not {ENOUGH:.0f})"
    slope = linear_regression([each.at for each in warm], [each.megabytes for each in warm]).slope * 60
    return f"{warm[0].megabytes:.0f} to {warm[-1].megabytes:.0f} MB, {slope:+.2f} MB a minute over {seconds:.0f} s"


def _files(weights: dict[int, list[Weight]]) -> str:
    """Return the open files of all daemons, newest last."""
    seen = [each.files for each in sorted((each for one in weights.values() for each in one), key=lambda each: each.at)]
    return f"{seen[-1]} at last, {max(seen)} at most" if seen else "never looked at"


def _kinds(count: Count) -> dict[str, int]:
    kinds = Counter(bodies[0].kind for bodies in count.told.values())
    return {name: kinds.pop(kind, 0) for kind, name in NAMES.items()} | dict(kinds)


def _repeats(counted: Counted) -> str:
    unmarked, marked = answers(counted, marked=False), answers(counted, marked=True)
    both = sum(times - (number not in unmarked) for number, times in marked.items())
    return f"{both} with a mark, {sum(times - 1 for times in unmarked.values())} without"


def _listed(counts: dict[str, int]) -> str:
    return ", ".join(f"{number} {name}" for name, number in counts.items())
