"""What one check of `clew doctor` found."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar


@dataclass(frozen=True, slots=True)
class Finding:
    check: str
    ok: bool | None  # None: missing, but not needed
    detail: str
    todo: str | None = None
    exit: ClassVar[int] = 1  # exit code if the check failed


class Unanswered(Finding):
    """The daemon runs, but does not answer."""

    exit: ClassVar[int] = 3
