"""The events of the stream, typed: one `Event`, whose `what` is one of a closed union. docs/reference/events.md lists
the kinds and their fields."""

from __future__ import annotations

from msgspec import Struct, field
from msgspec.structs import replace

from clew.client.wire import Frame, JsonObject
from clew.model.events.kinds import EventKind
from clew.model.events.live import (
    ActivityOutput,
    Announced,
    Bye,
    Cut,
    Hello,
    OpenText,
    Reset,
    TextDone,
    TextPiece,
    WrittenText,
)
from clew.model.events.logged import (
    AccountLimit,
    ActivityChanged,
    AgentSwitched,
    DeliveryFailed,
    DeliveryOwed,
    DeliverySent,
    DriverChanged,
    GateAnswered,
    GateExpired,
    GateOpened,
    GateReminded,
    GateTaken,
    GateVoid,
    HandoffCompleted,
    HandoffFailed,
    HandoffRequested,
    MessageAccepted,
    MessageEdited,
    MessageTakenBack,
    OpinionGiven,
    PersonAsked,
    PersonAway,
    PersonBack,
    RuntimeNotice,
    SessionReleased,
    SettingsChanged,
    StatusChanged,
    SteerOffered,
    SteerQueued,
    SteerSent,
    StopAsked,
    ThreadCreated,
    TitleChanged,
    TurnClaimed,
    TurnEnded,
    TurnQueued,
    TurnsImported,
    TurnStarted,
)
from clew.model.events.stream import StreamEvent, Unknown, opened, typed
from clew.support.text import Pieces

__all__ = [
    "AccountLimit",
    "ActivityChanged",
    "ActivityOutput",
    "AgentSwitched",
    "Announced",
    "Bye",
    "Cut",
    "DeliveryFailed",
    "DeliveryOwed",
    "DeliverySent",
    "DriverChanged",
    "Event",
    "GateAnswered",
    "GateExpired",
    "GateOpened",
    "GateReminded",
    "GateTaken",
    "GateVoid",
    "HandoffCompleted",
    "HandoffFailed",
    "HandoffRequested",
    "Hello",
    "MessageAccepted",
    "MessageEdited",
    "MessageTakenBack",
    "OpenText",
    "OpinionGiven",
    "PersonAsked",
    "PersonAway",
    "PersonBack",
    "Reset",
    "RuntimeNotice",
    "SessionReleased",
    "SettingsChanged",
    "StatusChanged",
    "SteerOffered",
    "SteerQueued",
    "SteerSent",
    "StopAsked",
    "TextDone",
    "TextPiece",
    "TextProgress",
    "ThreadCreated",
    "TitleChanged",
    "TurnClaimed",
    "TurnEnded",
    "TurnQueued",
    "TurnStarted",
    "TurnsImported",
    "Unknown",
    "WrittenText",
    "event_of",
]


class Event(Struct, frozen=True):
    """One event. docs/reference/events.md lists the kinds."""

    kind: str
    seq: int | None = None  # its number in the log; None for live events, such as text that is being written
    thread: str | None = None
    turn: str | None = None
    at: int | None = None  # milliseconds since 1970
    data: JsonObject = field(default_factory=dict)

    @property
    def what(self) -> StreamEvent:
        """`data`, typed."""
        return typed(self.kind, self.data)


def event_of(frame: Frame) -> Event:
    envelope = opened(frame.data)
    return Event(frame.kind, frame.seq, envelope.thread, envelope.turn, envelope.at, envelope.data or {})


class TextProgress:
    """Tracks how much of each open text was sent, so that nothing is sent twice after a reconnect."""

    def __init__(self) -> None:
        self._sent: dict[tuple[str | None, str], Pieces] = {}

    def without_repeats(self, event: Event) -> Event | None:
        """The event, or its new part. The complete text at the start of a new connection is cut to what is new."""
        match event.what:
            case TextPiece(item, offset, text):
                self._record((event.turn, item), offset, text)
            case TextDone(item):
                self._sent.pop((event.turn, item), None)
            case TurnEnded():
                self._sent = {key: text for key, text in self._sent.items() if key[0] != event.turn}
            case OpenText(item, "text", text):
                return self._rest(event, item, text)
            case OpenText():
                return None
        return event

    def _rest(self, event: Event, item: str, complete: str) -> Event | None:
        key = event.turn, item
        sent = self._sent.get(key) or Pieces()
        offset = sent.length if complete.startswith(sent.text()) else 0
        if len(complete) == offset:
            return None
        self._record(key, offset, complete[offset:])
        return replace(event, kind=EventKind.TEXT, data={"item": item, "offset": offset, "text": complete[offset:]})

    def _record(self, key: tuple[str | None, str], offset: int, text: str) -> None:
        sent = self._sent.setdefault(key, Pieces())
        if offset != sent.length:
            sent = self._sent[key] = Pieces(sent.text()[:offset])
        sent.add(text)
