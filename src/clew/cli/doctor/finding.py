"""What one check of `clew doctor` found."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar


@dataclass(frozen=True, slots=True)
class Finding:
    check: str
    ok: bool | None  # None: it is not there, and nothing needs it
    detail: str
    todo: str | None = None
    exit: ClassVar[int] = 1  # the exit code, if it is broken


class Unanswered(Finding):
    """The daemon is there, and does not answer."""

    exit: ClassVar[int] = 3
