"""What the Python API returns: the outcome of a message, and events."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from msgspec import Struct, field
from msgspec.structs import replace

from clew.client import sync
from clew.model.messages import Fate
from clew.support.text import Pieces


class Sent(Struct, frozen=True):
    """The outcome of a message. It is stored: it stays true even if the daemon crashes now."""

    thread: str
    turn: str | None  # the turn that it started, or that it was steered into
    fate: Fate  # `turn`, `steer`, `answer` or `command`
    state: str | None = None  # the turn's, when it was accepted
    words: str = ""  # the reply for a person; empty if the agent's answer is enough
    repeated: bool = False  # this id was accepted before; this is the outcome of the first one


class Event(Struct, frozen=True):
    """One event. docs/reference/events.md lists the kinds."""

    kind: str
    seq: int | None = None  # its number in the log; None for live events, such as text that is being written
    thread: str | None = None
    turn: str | None = None
    at: int | None = None  # milliseconds since 1970
    data: Mapping[str, Any] = field(default_factory=dict)


def event_of(frame: sync.Event) -> Event:
    """Stored events have their data in `data`; live ones have it at the top level."""
    wire = frame.data
    data = wire["data"] if "data" in wire else {key: wire[key] for key in wire if key not in ("thread", "turn")}
    return Event(frame.kind, frame.seq, wire.get("thread"), wire.get("turn"), wire.get("at"), data)


class TextProgress:
    """Tracks how much of each open text was sent, so that nothing is sent twice after a reconnect."""

    def __init__(self) -> None:
        self._sent: dict[tuple[str | None, Any], Pieces] = {}

    def without_repeats(self, event: Event) -> Event | None:
        """The event, or its new part. The complete text at the start of a new connection is cut to what is new."""
        match event.kind:
            case "text":
                self._record(event, event.data["offset"], event.data["text"])
            case "text.done":
                self._sent.pop(self._key(event), None)
            case "turn.ended":
                self._sent = {key: text for key, text in self._sent.items() if key[0] != event.turn}
            case "open":
                return self._rest(event) if event.data["kind"] == "text" else None
        return event

    def _rest(self, event: Event) -> Event | None:
        sent, complete = self._sent.get(self._key(event)) or Pieces(), event.data["text"]
        offset = sent.length if complete.startswith(sent.text()) else 0
        if len(complete) == offset:
            return None
        self._record(event, offset, complete[offset:])
        data = {"item": event.data["item"], "offset": offset, "text": complete[offset:]}
        return replace(event, kind="text", data=data)

    def _record(self, event: Event, offset: int, text: str) -> None:
        key = self._key(event)
        sent = self._sent.setdefault(key, Pieces())
        if offset != sent.length:
            sent = self._sent[key] = Pieces(sent.text()[:offset])
        sent.add(text)

    @staticmethod
    def _key(event: Event) -> tuple[str | None, Any]:
        return event.turn, event.data["item"]
