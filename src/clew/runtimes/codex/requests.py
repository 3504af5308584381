"""Requests of the server that only a person could decide. For now nobody can be asked, so all are declined, each in the
shape that its kind wants, and visibly."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import msgspec

from clew.runtimes.codex import wire

_DENIED = {"decision": {"denied": {"rejection": "nobody can be asked yet"}}}


@dataclass(frozen=True, slots=True)
class Declined:
    """What to answer, and what the request was about."""

    result: object
    about: str
    item: str | None = None
    thread: str | None = None


def decline(method: str, params: msgspec.Raw) -> Declined | None:
    """None: a kind of request that we do not know."""
    if (shape := _SHAPES.get(method)) is None:
        return None
    asked = wire.read(params, wire.Asked) or wire.Asked()
    return Declined(shape(asked), _about(method, asked), asked.item_id, asked.thread_id)


def _about(method: str, asked: wire.Asked) -> str:
    if asked.questions:
        return " / ".join(question.question for question in asked.questions)
    command = asked.command if isinstance(asked.command, str) else " ".join(asked.command or ())
    return command or asked.message or asked.tool or asked.reason or ""


_SHAPES: dict[str, Callable[[wire.Asked], object]] = {
    "item/commandExecution/requestApproval": lambda asked: {"decision": "decline"},
    "item/fileChange/requestApproval": lambda asked: {"decision": "decline"},
    "item/permissions/requestApproval": lambda asked: {"permissions": {}},
    "item/tool/requestUserInput": lambda asked: {"answers": {each.id: {"answers": []} for each in asked.questions}},
    "item/tool/call": lambda asked: {"success": False, "contentItems": [{"type": "inputText", "text": "unknown tool"}]},
    "mcpServer/elicitation/request": lambda asked: {"action": "decline"},
    "applyPatchApproval": lambda asked: _DENIED,
    "execCommandApproval": lambda asked: _DENIED,
}
