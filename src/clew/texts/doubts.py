"""Doubts about a request of an agent: why only a person may allow it."""

from __future__ import annotations

from collections.abc import Sequence

from clew.support.coded import Text
from clew.texts.catalogue import chinese, say


def joined(doubts: Sequence[str]) -> str:
    """All doubts as one text. A sentence of clew keeps its code."""
    first, *more = [each for each in doubts if each] or [""]
    return say("approvals.also", first=first, other=joined(more)) if more else first


def in_both(text: Text) -> str:
    """A sentence in both languages, for the detail of a request, which has no language of its own."""
    return f"{text} · {chinese(text.coded)}"
