"""The events of the stream, typed: one `Event`, whose `what` is one of a closed union. docs/reference/events.md lists
the kinds and their fields; a test keeps this module equal to it."""

from __future__ import annotations

import msgspec
from msgspec import Struct, field
from msgspec.structs import replace

from clew.client.wire import Frame, JsonObject
from clew.model.views import Snapshot
from clew.support.text import Pieces


class Hello(Struct, frozen=True):
    """The stream begins: from `seq` on nothing is missed. Comes after each connect."""

    seq: int
    newest: int = 0


class Reset(Struct, frozen=True):
    """The requested events are pruned; this is the state now."""

    seq: int
    snapshot: Snapshot


class Bye(Struct, frozen=True):
    """The daemon stops on purpose."""

    reason: str


class Cut(Struct, frozen=True):
    """This reader was too slow. The client reconnects, and nothing is lost."""

    reason: str = ""
    hint: str = ""


class MessageAccepted(Struct, frozen=True):
    fate: str


class ThreadCreated(Struct, frozen=True):
    title: str = ""
    thread_kind: str = ""
    forked_from: str | None = None


class StatusChanged(Struct, frozen=True):
    status: str


class TitleChanged(Struct, frozen=True):
    title: str


class DriverChanged(Struct, frozen=True):
    """Another conversation drives the thread."""

    where: str
    by: str | None = None


class TurnsImported(Struct, frozen=True):
    turns: int


class SessionReleased(Struct, frozen=True):
    pass


class TurnQueued(Struct, frozen=True):
    origin: str = ""
    continues: str | None = None
    again: bool = False


class TurnClaimed(Struct, frozen=True):
    attempt: int = 0


class TurnStarted(Struct, frozen=True):
    pass


class StopAsked(Struct, frozen=True):
    pass


class TurnEnded(Struct, frozen=True):
    state: str
    error: str | None = None


class ActivityChanged(Struct, frozen=True):
    """A command, a change, a tool call or a thought began or ended."""

    item: str
    activity: str
    phase: str
    title: str
    outcome: str | None = None


class ActivityOutput(Struct, frozen=True):
    """An activity goes on; `detail` is its output so far."""

    item: str
    activity: str = ""
    phase: str = ""
    title: str = ""
    detail: str = ""


class RuntimeNotice(Struct, frozen=True):
    text: str
    notice: str = ""


class OpenText(Struct, frozen=True):
    """At the beginning of a stream: a text that is being written, so far."""

    item: str
    kind: str
    text: str
    offset: int = 0


class WrittenText(Struct, frozen=True):
    """At the beginning of a stream: a complete text of the running turn."""

    item: str
    kind: str
    text: str
    offset: int = 0


class TextPiece(Struct, frozen=True):
    item: str
    offset: int
    text: str


class TextDone(Struct, frozen=True):
    """One text is complete; with `cut` it was discarded."""

    item: str
    text: str
    cut: bool = False


class GateOpened(Struct, frozen=True):
    gate: str
    code: str = ""
    asks: str = ""
    title: str = ""


class GateAnswered(Struct, frozen=True):
    gate: str
    code: str
    decision: str
    by: str
    title: str = ""


class GateTaken(Struct, frozen=True):
    gate: str
    code: str


class GateVoid(Struct, frozen=True):
    gate: str
    code: str
    why: str = ""


class GateExpired(Struct, frozen=True):
    gate: str
    code: str


class GateReminded(Struct, frozen=True):
    gate: str
    code: str = ""


class SteerOffered(Struct, frozen=True):
    message: str


class SteerSent(Struct, frozen=True):
    message: str


class SteerQueued(Struct, frozen=True):
    message: str


class DeliveryOwed(Struct, frozen=True):
    surface: str = ""


class DeliverySent(Struct, frozen=True):
    delivery: str


class DeliveryFailed(Struct, frozen=True):
    delivery: str
    error: str | None = None


class HandoffRequested(Struct, frozen=True):
    handoff: str
    surface: str = ""


class HandoffCompleted(Struct, frozen=True):
    handoff: str
    where: str | None = None


class HandoffFailed(Struct, frozen=True):
    handoff: str
    error: str | None = None


class PersonAsked(Struct, frozen=True):
    surface: str = ""


class PersonAway(Struct, frozen=True):
    where: str | None = None


class PersonBack(Struct, frozen=True):
    pass


class Announced(Struct, frozen=True):
    """An answer for whoever watches at this machine."""

    text: str
    delivery: str = ""


class Unknown(Struct, frozen=True):
    """Of a kind that this version does not know, or without the fields that it needs."""


What = (
    Hello
    | Reset
    | Bye
    | Cut
    | MessageAccepted
    | ThreadCreated
    | StatusChanged
    | TitleChanged
    | DriverChanged
    | TurnsImported
    | SessionReleased
    | TurnQueued
    | TurnClaimed
    | TurnStarted
    | StopAsked
    | TurnEnded
    | ActivityChanged
    | ActivityOutput
    | RuntimeNotice
    | OpenText
    | WrittenText
    | TextPiece
    | TextDone
    | GateOpened
    | GateAnswered
    | GateTaken
    | GateVoid
    | GateExpired
    | GateReminded
    | SteerOffered
    | SteerSent
    | SteerQueued
    | DeliveryOwed
    | DeliverySent
    | DeliveryFailed
    | HandoffRequested
    | HandoffCompleted
    | HandoffFailed
    | PersonAsked
    | PersonAway
    | PersonBack
    | Announced
    | Unknown
)

KINDS: dict[str, type[What]] = {
    "hello": Hello,
    "reset": Reset,
    "bye": Bye,
    "cut": Cut,
    "message.accepted": MessageAccepted,
    "thread.created": ThreadCreated,
    "thread.status": StatusChanged,
    "thread.title": TitleChanged,
    "thread.wheel": DriverChanged,
    "thread.taken_in": TurnsImported,
    "thread.released": SessionReleased,
    "turn.queued": TurnQueued,
    "turn.claimed": TurnClaimed,
    "turn.started": TurnStarted,
    "turn.stop_asked": StopAsked,
    "turn.ended": TurnEnded,
    "activity": ActivityChanged,
    "activity.live": ActivityOutput,
    "notice": RuntimeNotice,
    "open": OpenText,
    "written": WrittenText,
    "text": TextPiece,
    "text.done": TextDone,
    "gate.opened": GateOpened,
    "gate.answered": GateAnswered,
    "gate.taken": GateTaken,
    "gate.void": GateVoid,
    "gate.expired": GateExpired,
    "gate.reminded": GateReminded,
    "steer.offered": SteerOffered,
    "steer.sent": SteerSent,
    "steer.queued": SteerQueued,
    "delivery.owed": DeliveryOwed,
    "delivery.sent": DeliverySent,
    "delivery.failed": DeliveryFailed,
    "handoff.requested": HandoffRequested,
    "handoff.completed": HandoffCompleted,
    "handoff.failed": HandoffFailed,
    "person.asked": PersonAsked,
    "person.away": PersonAway,
    "person.back": PersonBack,
    "announce": Announced,
}


class Event(Struct, frozen=True):
    """One event. docs/reference/events.md lists the kinds."""

    kind: str
    seq: int | None = None  # its number in the log; None for live events, such as text that is being written
    thread: str | None = None
    turn: str | None = None
    at: int | None = None  # milliseconds since 1970
    data: JsonObject = field(default_factory=dict)

    @property
    def what(self) -> What:
        """`data`, typed."""
        try:
            return msgspec.convert(self.data, KINDS.get(self.kind, Unknown))
        except msgspec.ValidationError:
            return Unknown()


class _Wire(Struct, frozen=True):
    """The fields around the data. Only stored events have their data in `data`; live ones have it at the top level."""

    thread: str | None = None
    turn: str | None = None
    at: int | None = None
    data: JsonObject | None = None


_decode = msgspec.json.Decoder(_Wire).decode


def event_of(frame: Frame) -> Event:
    wire = _decode(frame.data)
    data = wire.data
    if data is None:
        found: JsonObject = msgspec.json.decode(frame.data)
        data = {name: found[name] for name in found if name not in ("thread", "turn")}
    return Event(frame.kind, frame.seq, wire.thread, wire.turn, wire.at, data)


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
        return replace(event, kind="text", data={"item": item, "offset": offset, "text": complete[offset:]})

    def _record(self, key: tuple[str | None, str], offset: int, text: str) -> None:
        sent = self._sent.setdefault(key, Pieces())
        if offset != sent.length:
            sent = self._sent[key] = Pieces(sent.text()[:offset])
        sent.add(text)
