"""The inputs of the chat reducer: a small closed union, and how a live frame becomes one of them. Kinds that front
ends do not need are dropped."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec
from msgspec import Struct

from clew.engine.live import Frame
from clew.model.events import Phase
from clew.model.turns import Problem, Usage
from clew.support.text import clean, visible


class Queued(Struct, frozen=True):
    """The message waits in the queue; `detail` may say why."""

    detail: str | None = None


class Started(Struct, frozen=True):
    pass


class TextPiece(Struct, frozen=True):
    """A piece of the text of an item, starting at `offset`."""

    item: str
    offset: int
    text: str


class TextComplete(Struct, frozen=True):
    """The text of an item is complete; or, with `cut`, it was discarded."""

    item: str
    text: str
    cut: bool = False


class Activity(Struct, frozen=True):
    kind: str
    title: str
    done: bool = False
    outcome: str | None = None


class PlanChanged(Struct, frozen=True):
    steps: int


class GateOpened(Struct, frozen=True):
    gate: str
    code: str
    title: str


class GateClosed(Struct, frozen=True):
    """A gate is not open any more: answered, taken, void or expired."""

    gate: str
    code: str
    how: str


class Notice(Struct, frozen=True):
    kind: str
    text: str


class Steered(Struct, frozen=True):
    """The message was added to the running turn."""


class TurnReplaced(Struct, frozen=True):
    """Another turn handles the message: the first was cut off, or ended before the message reached it."""

    stage: str


class TurnEnded(Struct, frozen=True):
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
    | Started
    | TextPiece
    | TextComplete
    | Activity
    | PlanChanged
    | GateOpened
    | GateClosed
    | Notice
    | Steered
    | TurnReplaced
    | TurnEnded
    | StreamEnded
)


class Wire(msgspec.Struct, frozen=True):
    """The needed fields of a live frame; stored events have theirs in `data`."""

    turn: str | None = None
    item: str = ""
    offset: int = 0
    text: str = ""
    cut: bool = False
    activity: str = ""
    detail: str = ""
    data: dict[str, Any] = {}


_decode = msgspec.json.Decoder(Wire).decode


def decode(frame: Frame) -> Wire:
    return _decode(frame.data)


def to_input(kind: str, wire: Wire) -> Input | None:
    reader = _READERS.get(kind)
    return reader(wire) if reader else None


def safe(text: str) -> str:
    """Text without control characters. Works character by character, so that pieces join to the same text."""
    return visible(clean(text))


def activity_input(kind: str, title: str, phase: str, outcome: str | None) -> Activity:
    return Activity(kind, safe(title), phase == Phase.DONE, outcome)


def _activity(wire: Wire) -> Input:
    data = wire.data
    return activity_input(data["activity"], data["title"], data["phase"], data.get("outcome"))


def _plan(wire: Wire) -> Input | None:
    """A plan is sent as lines, and again at each change."""
    return PlanChanged(len(wire.detail.splitlines())) if wire.activity == "plan" and wire.detail else None


def _closed(how: str) -> Callable[[Wire], Input]:
    return lambda wire: GateClosed(wire.data["gate"], wire.data["code"], wire.data.get("decision") or how)


_READERS: dict[str, Callable[[Wire], Input | None]] = {
    "turn.started": lambda wire: Started(),
    "text": lambda wire: TextPiece(wire.item, wire.offset, clean(wire.text)),
    "open": lambda wire: TextPiece(wire.item, wire.offset, clean(wire.text)),
    "written": lambda wire: TextComplete(wire.item, clean(wire.text)),
    "text.done": lambda wire: TextComplete(wire.item, clean(wire.text), wire.cut),
    "activity": _activity,
    "activity.live": _plan,
    "gate.opened": lambda wire: GateOpened(wire.data["gate"], wire.data["code"], safe(wire.data["title"])),
    "gate.answered": _closed("answered"),
    "gate.taken": _closed("taken"),
    "gate.void": _closed("void"),
    "gate.expired": _closed("expired"),
    "notice": lambda wire: Notice(wire.data["notice"], safe(wire.data["text"])),
}
