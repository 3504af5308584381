"""What the Python door hands out: what became of a message, and events."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from msgspec import Struct, field
from msgspec.structs import replace

from clew.client import sync
from clew.model.messages import Fate
from clew.support.text import Pieces


class Sent(Struct, frozen=True):
    """What became of a message. It is committed: whatever dies now, this stays true."""

    thread: str
    turn: str | None  # the turn that it began, or that it was steered into
    fate: Fate  # `turn`, `steer`, `answer` or `command`
    state: str | None = None  # the turn's, when it was accepted
    words: str = ""  # what a person would be told; empty where the answer itself is enough
    repeated: bool = False  # this id was seen before, and this is what became of the first one


class Event(Struct, frozen=True):
    """Something that happened. docs/reference/python.md lists the kinds."""

    kind: str
    seq: int | None = None  # its place in the log; None for what is only live, such as text that is being written
    thread: str | None = None
    turn: str | None = None
    at: int | None = None  # milliseconds since 1970
    data: Mapping[str, Any] = field(default_factory=dict)


def event_of(frame: sync.Event) -> Event:
    """Stored events have their data inside; live ones beside the rest."""
    wire = frame.data
    data = wire["data"] if "data" in wire else {key: wire[key] for key in wire if key not in ("thread", "turn")}
    return Event(frame.kind, frame.seq, wire.get("thread"), wire.get("turn"), wire.get("at"), data)


class TextProgress:
    """How far each item that is being written was told, so that nothing is told twice after a reconnection."""

    def __init__(self) -> None:
        self._told: dict[tuple[str | None, Any], Pieces] = {}

    def without_repeats(self, event: Event) -> Event | None:
        """The event, or what is new of it. The whole text that a new connection begins with becomes its new part."""
        match event.kind:
            case "text":
                self._tell(event, event.data["offset"], event.data["text"])
            case "text.done":
                self._told.pop(self._key(event), None)
            case "turn.ended":
                self._told = {key: text for key, text in self._told.items() if key[0] != event.turn}
            case "open":
                return self._rest(event) if event.data["kind"] == "text" else None
        return event

    def _rest(self, event: Event) -> Event | None:
        told, whole = self._told.get(self._key(event)) or Pieces(), event.data["text"]
        offset = told.length if whole.startswith(told.text()) else 0
        if len(whole) == offset:
            return None
        self._tell(event, offset, whole[offset:])
        data = {"item": event.data["item"], "offset": offset, "text": whole[offset:]}
        return replace(event, kind="text", data=data)

    def _tell(self, event: Event, offset: int, text: str) -> None:
        key = self._key(event)
        told = self._told.setdefault(key, Pieces())
        if offset != told.length:
            told = self._told[key] = Pieces(told.text()[:offset])
        told.add(text)

    @staticmethod
    def _key(event: Event) -> tuple[str | None, Any]:
        return event.turn, event.data["item"]
