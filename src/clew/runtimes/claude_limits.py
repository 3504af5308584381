"""Reads what Claude says about the limits of a subscription, by itself and through its ACP adapter. Pure.

It says it at the first answer and on changes; with an API key there is nothing. A time may be in seconds or in
milliseconds: which one is seen by its size.
"""

from __future__ import annotations

from math import isfinite
from typing import Any

from msgspec import Struct

from clew.model.events import LimitStatus, LimitWindow

_MILLISECONDS = 100_000_000_000  # as seconds this is the year 5138, as milliseconds 1973
_STATUSES = {"rejected": LimitStatus.REACHED, "allowed_warning": LimitStatus.WARNING, "allowed": LimitStatus.OK}


class ClaudeLimits(Struct, frozen=True):
    is_refused: bool = False  # the account takes no turn now
    windows: tuple[LimitWindow, ...] = ()  # the one that decides comes first

    @property
    def resets_at(self) -> int | None:
        """When work can go on: the reset of the window that decides, in milliseconds."""
        return self.windows[0].resets_at if self.windows else None


def parse(info: object) -> ClaudeLimits | None:
    """Read `rate_limit_info`; None if it is of unknown shape, or has an unknown status."""
    if not isinstance(info, dict) or (status := _status(info)) is None:
        return None
    name, others = info.get("rateLimitType"), info.get("unifiedWindows")
    deciding = _window(name if isinstance(name, str) else "", info, status)
    windows = _windows(others if isinstance(others, dict) else {})
    same = next((each for each in windows if each.name == deciding.name), None)
    rest = [each for each in windows if each is not same]
    return ClaudeLimits(status is LimitStatus.REACHED, (_joined(deciding, same), *rest))


def milliseconds(value: object) -> int | None:
    """A time since 1970 in milliseconds, whether it was given in seconds or milliseconds."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value < 1e15:
        return None
    return int(value) if value >= _MILLISECONDS else int(value * 1000)


def _windows(told: dict[Any, Any]) -> list[LimitWindow]:
    named = [(str(name), each) for name, each in told.items() if isinstance(each, dict)]
    return [_window(name, each, status) for name, each in named if (status := _status(each)) is not None]


def _window(name: str, told: dict[str, Any], status: LimitStatus) -> LimitWindow:
    return LimitWindow(name, status, _fraction(told.get("utilization")), milliseconds(told.get("resetsAt")))


def _joined(first: LimitWindow, other: LimitWindow | None) -> LimitWindow:
    """What the first does not say, the other may."""
    if other is None:
        return first
    used = first.used if first.used is not None else other.used
    return LimitWindow(first.name, first.status, used, first.resets_at or other.resets_at)


def _status(told: dict[str, Any]) -> LimitStatus | None:
    status = told.get("status")
    return _STATUSES.get(status) if isinstance(status, str) else None


def _fraction(value: object) -> float | None:
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    return min(float(value), 1.0) if is_number and isfinite(value) and value >= 0 else None  # type: ignore[arg-type,operator]
