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


def windows(bucket: wire.LimitBucket) -> tuple[LimitWindow, ...]:
    """The windows of one bucket."""
    prefix = "" if name_of(bucket) == MAIN else f"{bucket.limit_name or bucket.limit_id} "
    found = ((bucket.primary, "primary"), (bucket.secondary, "secondary"))
    return tuple(_window(each, f"{prefix}{name}") for each, name in found if each is not None)


def all_windows(answer: wire.AllLimits) -> tuple[LimitWindow, ...]:
    """The windows of all buckets, as Codex answers if it is asked."""
    buckets = (answer.rate_limits_by_limit_id or {}).values() or (answer.rate_limits,)
    return tuple(window for bucket in buckets if bucket is not None for window in windows(bucket))


def name_of(bucket: wire.LimitBucket) -> str:
    return bucket.limit_id or MAIN


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
