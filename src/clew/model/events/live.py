"""What streams send besides the log. These events are not stored, and not repeated."""

from __future__ import annotations

from typing import ClassVar

from msgspec import Struct

from clew.model.events.kinds import EventKind
from clew.model.views import Snapshot


class LiveEvent(Struct, frozen=True, kw_only=True):
    """The data of an event that is only published."""

    event: ClassVar[EventKind]


class ControlEvent(LiveEvent, frozen=True, kw_only=True):
    """About the stream itself, not about a thread."""


class TurnOutput(LiveEvent, frozen=True, kw_only=True):
    """What a running turn writes or does."""


class Hello(ControlEvent, frozen=True):
    """The stream begins: from `seq` on nothing is missed. Sent at each connection."""

    event: ClassVar[EventKind] = EventKind.HELLO
    seq: int
    newest: int = 0


class Reset(ControlEvent, frozen=True):
    """The events that were asked for are pruned. `snapshot` is the state now."""

    event: ClassVar[EventKind] = EventKind.RESET
    seq: int
    snapshot: Snapshot


class Bye(ControlEvent, frozen=True):
    """The daemon stops on purpose."""

    event: ClassVar[EventKind] = EventKind.BYE
    reason: str


class Cut(ControlEvent, frozen=True):
    """This reader was too slow. Connect again with `Last-Event-ID`; nothing is lost."""

    event: ClassVar[EventKind] = EventKind.CUT
    reason: str = ""
    hint: str = ""


class ActivityOutput(TurnOutput, frozen=True):
    """An activity goes on; `detail` is its output so far."""

    event: ClassVar[EventKind] = EventKind.ACTIVITY_LIVE
    item: str
    activity: str
    phase: str
    title: str
    detail: str
    parent: str | None = None  # the activity that began the sub-agent that does it


class OpenText(TurnOutput, frozen=True):
    """At the beginning of a stream: a text that is being written, so far."""

    event: ClassVar[EventKind] = EventKind.OPEN
    item: str
    kind: str
    text: str
    offset: int = 0


class WrittenText(TurnOutput, frozen=True):
    """At the beginning of a stream: a text of the running turn that is complete."""

    event: ClassVar[EventKind] = EventKind.WRITTEN
    item: str
    kind: str
    text: str
    offset: int = 0


class TextPiece(TurnOutput, frozen=True):
    """A piece of the text that is being written."""

    event: ClassVar[EventKind] = EventKind.TEXT
    item: str
    offset: int
    text: str


class TextDone(TurnOutput, frozen=True):
    """One text is complete. `cut`: it was given up and does not count."""

    event: ClassVar[EventKind] = EventKind.TEXT_DONE
    item: str
    text: str
    cut: bool = False


class Announced(LiveEvent, frozen=True):
    """An answer for whoever watches at this machine (`--notify local`)."""

    event: ClassVar[EventKind] = EventKind.ANNOUNCE
    text: str
    delivery: str = ""


AnyLive = Hello | Reset | Bye | Cut | ActivityOutput | OpenText | WrittenText | TextPiece | TextDone | Announced
