"""Cleans a request of characters that cannot be stored, and says which part of it had such characters."""

from __future__ import annotations

import hashlib

from msgspec.structs import replace

from clew.model.gates import Asked, Question, Reason
from clew.support.coded import with_arguments
from clew.support.text import clean
from clew.texts import doubts, reasons

LONGEST_NAME = 80  # characters of a sub-agent's name: it stands on each card


def unstorable_part(asked: Asked) -> Reason | None:
    """The part of a request that cannot be stored unchanged. The stored text would name something else, so no rule may
    judge it."""
    parts = (asked.title, asked.folder or "", *asked.paths)
    unstorable = [ascii(part) for part in dict.fromkeys(parts) if clean(part) != part]
    if unstorable:
        return Reason("name.odd", ", ".join(unstorable))
    return Reason("detail.odd", _digest(asked.detail)) if clean(asked.detail) != asked.detail else None


def _digest(text: str) -> str:
    """Distinguishes two texts that are equal after they are cleaned."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:32]


def clean_request(asked: Asked) -> Asked:
    unstorable = unstorable_part(asked)
    return replace(
        asked,
        title=_cleaned(asked.title),
        detail=_cleaned(asked.detail),
        reason=_cleaned(asked.reason),
        asker=_cleaned(asked.asker),
        unjudged=doubts.joined([_cleaned(asked.unjudged), reasons.reason(unstorable) if unstorable else ""]),
        doubt=replace(asked.doubt, about=clean(asked.doubt.about)) if asked.doubt else None,
        folder=clean(asked.folder) if asked.folder else asked.folder,
        paths=tuple(map(clean, asked.paths)),
        may_run=tuple(map(clean, asked.may_run)),
        may_touch=tuple(map(clean, asked.may_touch)),
        mentions=tuple(map(clean, asked.mentions)),
        questions=tuple(map(_clean_question, asked.questions)),
        agents=tuple(_short(clean(name)) for name in asked.agents),
    )


def _short(name: str) -> str:
    return name if len(name) <= LONGEST_NAME else f"{name[: LONGEST_NAME - 1]}…"


def _cleaned(text: str) -> str:
    """A sentence of clew keeps its code."""
    return with_arguments(text, clean)


def _clean_question(question: Question) -> Question:
    return replace(
        question, id=clean(question.id), text=_cleaned(question.text), options=tuple(map(_cleaned, question.options))
    )
