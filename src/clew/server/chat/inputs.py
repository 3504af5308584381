"""The inputs of the chat reducer: a small closed union. Some are events of the stream, without characters that a front
end must not show; kinds that front ends do not need are dropped."""

from __future__ import annotations

from msgspec import Struct
from msgspec.structs import replace

from clew.model.events import ActivityKind
from clew.model.events.live import ActivityOutput, OpenText, TextDone, TextPiece, WrittenText
from clew.model.events.logged import (
    ActivityChanged,
    GateAnswered,
    GateExpired,
    GateOpened,
    GateTaken,
    GateVoid,
    RuntimeNotice,
    TurnStarted,
)
from clew.model.events.stream import StreamEvent
from clew.model.turns import Problem, Usage
from clew.support.text import clean, visible


class Queued(Struct, frozen=True):
    """The message waits in the queue; `detail` may say why."""

    detail: str | None = None


class PlanChanged(Struct, frozen=True):
    steps: int


class GateClosed(Struct, frozen=True):
    """A gate is not open any more: answered, taken, void or expired."""

    gate: str
    code: str
    how: str


class Steered(Struct, frozen=True):
    """The message was added to the running turn."""


class TurnReplaced(Struct, frozen=True):
    """Another turn handles the message: the first was cut off, or ended before the message reached it."""

    stage: str


class TurnResult(Struct, frozen=True):
    """How the turn ended, with its answer."""

    state: str
    text: str
    problem: Problem | None = None
    usage: Usage | None = None


class StreamEnded(Struct, frozen=True):
    """The stream ends here, but the turn continues."""

    code: str
    words: str


Input = (
    Queued
    | TurnStarted
    | TextPiece
    | TextDone
    | ActivityChanged
    | PlanChanged
    | GateOpened
    | GateClosed
    | RuntimeNotice
    | Steered
    | TurnReplaced
    | TurnResult
    | StreamEnded
)


def to_input(event: StreamEvent) -> Input | None:
    match event:
        case TurnStarted():
            return event
        case TextPiece(item, offset, text) | OpenText(item, _, text, offset):
            return TextPiece(item, offset, clean(text))
        case WrittenText(item, _, text):
            return TextDone(item, clean(text))
        case TextDone(item, text, cut):
            return TextDone(item, clean(text), cut)
        case ActivityChanged():
            return replace(event, title=safe(event.title))
        case ActivityOutput(activity=ActivityKind.PLAN, detail=steps) if steps:
            return PlanChanged(len(steps.splitlines()))  # a plan is sent as lines, and again at each change
        case GateOpened():
            return replace(event, title=safe(event.title))
        case GateAnswered(gate, code, decision):
            return GateClosed(gate, code, decision)
        case GateTaken(gate, code):
            return GateClosed(gate, code, "taken")
        case GateVoid(gate, code):
            return GateClosed(gate, code, "void")
        case GateExpired(gate, code):
            return GateClosed(gate, code, "expired")
        case RuntimeNotice():
            return replace(event, text=safe(event.text))
        case _:
            return None


def safe(text: str) -> str:
    """Text without control characters. Works character by character, so that pieces join to the same text."""
    return visible(clean(text))
