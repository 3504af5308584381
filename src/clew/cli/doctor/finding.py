"""What one check of `clew doctor` found."""

from __future__ import annotations

from typing import ClassVar

from clew.config.plugin import Finding


class Unanswered(Finding):
    """The daemon runs, but does not answer."""

    exit: ClassVar[int] = 3
