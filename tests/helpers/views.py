"""Views with sensible values for the fields that a test does not name."""

from __future__ import annotations

from typing import Any, TypeVar

import msgspec

from clew.model.gate_views import GateView, QuestionView
from clew.model.views import ThreadView, TurnView

T = TypeVar("T")

VALUES = {str: "", int: 0, bool: False}


def made(kind: type[T], /, **given: Any) -> T:
    """A view with these fields. Required ones that are missing get empty values."""
    empty: dict[str, Any] = {}
    for field in msgspec.structs.fields(kind):  # type: ignore[arg-type]
        if field.required:
            optional = type(None) in getattr(field.type, "__args__", ())
            empty[field.name] = None if optional else VALUES.get(field.type, ())
    return msgspec.convert(empty | msgspec.to_builtins(given), kind)


def thread_view(name: str = "T", **given: Any) -> ThreadView:
    return made(ThreadView, **{"id": name, "status": "idle", "runtime": "codex", "created_at": 1, **given})


def turn_view(name: str = "T", **given: Any) -> TurnView:
    return made(TurnView, **{"id": name, "state": "completed", "ended_at": 1, **given})


def gate_view(code: str = "K7Q2", kind: str = "command", **given: Any) -> GateView:
    plain = {"id": f"id-{code}", "thread": "T", "turn": "U", "title": "make all", "state": "open"}
    return made(GateView, **{**plain, "options": ["allow", "decline"], "code": code, "kind": kind, **given})


def question_view(text: str = "Which?", *options: str, **given: Any) -> QuestionView:
    return made(QuestionView, **{"text": text, "options": options, "free": True, **given})
