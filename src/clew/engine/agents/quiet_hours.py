"""Quiet hours: in them no thread goes on by itself after a limit. Pure."""

from __future__ import annotations

from datetime import datetime, timedelta


def after_quiet_hours(at: int, hours: str | None) -> int:
    """The time itself, or the end of the quiet hours that it is in, by this machine's clock. In milliseconds."""
    if hours is None:
        return at
    begin, end = (_minutes(part) for part in hours.split("-"))
    moment = datetime.fromtimestamp(at / 1000)
    minute = moment.hour * 60 + moment.minute
    is_quiet = begin <= minute < end if begin < end else (minute >= begin or minute < end)
    if begin == end or not is_quiet:
        return at
    day = moment.date() + timedelta(days=1 if end <= minute else 0)
    return int(datetime(day.year, day.month, day.day, *divmod(end, 60)).timestamp() * 1000)


def _minutes(clock: str) -> int:
    hours, minutes = clock.split(":")
    return int(hours) * 60 + int(minutes)
