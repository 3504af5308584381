"""What is heard of a turn while it is followed: a small closed union, and how a frame of the live stream becomes one of
it. Kinds that a front end is not told about are nothing here."""

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
    """It waits for its time; `detail` says why, where there is more to say."""

    detail: str | None = None


class Began(Struct, frozen=True):
    pass


class Wrote(Struct, frozen=True):
    """A piece of an item, from `offset` on."""

    item: str
    offset: int
    text: str


class Whole(Struct, frozen=True):
    """An item's text is complete; or it was given up, and counts for nothing."""

    item: str
    text: str
    cut: bool = False


class Did(Struct, frozen=True):
    kind: str
    title: str
    done: bool = False
    outcome: str | None = None


class Planned(Struct, frozen=True):
    steps: int


class Asked(Struct, frozen=True):
    gate: str
    code: str
    title: str


class Settled(Struct, frozen=True):
    """What became of a gate: answered, taken, void, expired."""

    gate: str
    code: str
    how: str


class Noticed(Struct, frozen=True):
    kind: str
    text: str


class Steered(Struct, frozen=True):
    """The message is in the running turn."""


class MovedOn(Struct, frozen=True):
    """Another turn goes on with it: it was cut off, or came too late for the one it was meant for."""

    stage: str


class Ended(Struct, frozen=True):
    state: str
    text: str
    problem: Problem | None = None
    usage: Usage | None = None


class Lost(Struct, frozen=True):
    """The stream ends here, and the turn does not."""

    code: str
    words: str


Heard = Queued | Began | Wrote | Whole | Did | Planned | Asked | Settled | Noticed | Steered | MovedOn | Ended | Lost


class Wire(msgspec.Struct, frozen=True):
    """The fields of a live frame that matter here; stored ones have the rest of theirs in `data`."""

    turn: str | None = None
    item: str = ""
    offset: int = 0
    text: str = ""
    cut: bool = False
    activity: str = ""
    detail: str = ""
    data: dict[str, Any] = {}


_decode = msgspec.json.Decoder(Wire).decode


def read(frame: Frame) -> Wire:
    return _decode(frame.data)


def heard(kind: str, wire: Wire) -> Heard | None:
    reader = _READERS.get(kind)
    return reader(wire) if reader else None


def safe(text: str) -> str:
    """What may be shown anywhere: no control characters. Character by character, so that pieces and wholes agree."""
    return visible(clean(text))


def of_activity(kind: str, title: str, phase: str, outcome: str | None) -> Did:
    return Did(kind, safe(title), phase == Phase.DONE, outcome)


def _activity(wire: Wire) -> Heard:
    data = wire.data
    return of_activity(data["activity"], data["title"], data["phase"], data.get("outcome"))


def _plan(wire: Wire) -> Heard | None:
    """A plan comes as lines, and again at each change of it."""
    return Planned(len(wire.detail.splitlines())) if wire.activity == "plan" and wire.detail else None


def _settled(how: str) -> Callable[[Wire], Heard]:
    return lambda wire: Settled(wire.data["gate"], wire.data["code"], wire.data.get("decision") or how)


_READERS: dict[str, Callable[[Wire], Heard | None]] = {
    "turn.started": lambda wire: Began(),
    "text": lambda wire: Wrote(wire.item, wire.offset, clean(wire.text)),
    "open": lambda wire: Wrote(wire.item, wire.offset, clean(wire.text)),
    "written": lambda wire: Whole(wire.item, clean(wire.text)),
    "text.done": lambda wire: Whole(wire.item, clean(wire.text), wire.cut),
    "activity": _activity,
    "activity.live": _plan,
    "gate.opened": lambda wire: Asked(wire.data["gate"], wire.data["code"], safe(wire.data["title"])),
    "gate.answered": _settled("answered"),
    "gate.taken": _settled("taken"),
    "gate.void": _settled("void"),
    "gate.expired": _settled("expired"),
    "notice": lambda wire: Noticed(wire.data["notice"], safe(wire.data["text"])),
}
