"""What one check of `clew doctor` found."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from clew.config.plugin import Finding
from clew.support.coded import Text
from clew.texts.catalogue import say


class Unanswered(Finding):
    """The daemon runs, but does not answer."""

    exit: ClassVar[int] = 3


class AgentFinding(Finding):
    """Of an agent that is installed, or that a setting names."""


class NotInstalled(Finding):
    """Of an agent that is not installed, and that no setting names."""


def not_checked(error: Exception) -> Text:
    """A check that failed."""
    return say("doctor.not_checked", error=f"{type(error).__name__}: {error}")


def all_of(told: Sequence[str]) -> str:
    """Several sentences as one; each keeps its code."""
    whole = told[0]
    for each in told[1:]:
        whole = say("doctor.both", first=whole, second=each)
    return whole
