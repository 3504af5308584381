"""Doubts about a request of an agent: why only a person may allow it."""

from __future__ import annotations

from collections.abc import Sequence

from clew.support.coded import Text
from clew.support.display.as_code import as_code
from clew.texts.catalogue import say


def joined(doubts: Sequence[str]) -> str:
    """All doubts as one text. A sentence of clew keeps its code; words of an agent in the others are escaped, since
    nobody escapes the arguments of a code."""
    first, *more = [each for each in doubts if each] or [""]
    return say("approvals.also", first=_shown(first), other=_shown(joined(more))) if more else first


def _shown(doubt: str) -> str:
    return doubt if isinstance(doubt, Text) else as_code(doubt, lines=False)
