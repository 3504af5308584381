"""Reads what Codex reports of its account's usage limits. Pure. There are several buckets, each with two windows; only
numbers count, never the words of an error."""

from __future__ import annotations

from collections.abc import Iterable

from clew.model.events import LimitStatus, LimitWindow
from clew.runtimes.codex import wire

NEARLY = 90  # percent, from which a window is shown as nearly used up
FULL = 100
MAIN = "codex"  # the bucket that every account has
SECONDS = 10**11  # a smaller number is in seconds, a larger one in milliseconds


def windows(note: wire.LimitsNote) -> tuple[LimitWindow, ...]:
    """The windows of one bucket."""
    bucket = note.rate_limits
    prefix = "" if bucket_of(note) == MAIN else f"{bucket.limit_name or bucket.limit_id} "
    found = ((bucket.primary, "primary"), (bucket.secondary, "secondary"))
    return tuple(_window(each, f"{prefix}{name}") for each, name in found if each is not None)


def bucket_of(note: wire.LimitsNote) -> str:
    return note.rate_limits.limit_id or MAIN


def free_again(reports: Iterable[Iterable[LimitWindow]]) -> int | None:
    """When the bucket is free again that refused a turn: of those that are used up the one that was reported last,
    since Codex reports it just before the error. `reports`: the newest of each bucket, in their order. None: none is
    used up, or it is not known of each of its windows."""
    of_each = ([each for each in report if each.status is LimitStatus.REACHED] for report in reports)
    *_, full = [], *filter(None, of_each)
    times = [window.resets_at for window in full if window.resets_at is not None]
    return max(times) if times and len(times) == len(full) else None


def _window(window: wire.LimitWindow, name: str) -> LimitWindow:
    used = window.used_percent
    status = LimitStatus.REACHED if used >= FULL else LimitStatus.WARNING if used >= NEARLY else LimitStatus.OK
    resets_at = moment(window.resets_at) if window.resets_at else None
    return LimitWindow(name, status, min(max(used / 100, 0.0), 1.0), resets_at, window.window_duration_mins)


def moment(number: float) -> int:
    """Milliseconds, of a time in seconds or in milliseconds."""
    return int(number * 1000) if abs(number) < SECONDS else int(number)
