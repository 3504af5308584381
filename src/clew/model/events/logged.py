"""What the log stores of each kind of event: ids and a few words; content is in the other tables. Streams send it too.

A field may be added; none may be renamed or removed, since clients and old rows rely on them.
"""

from __future__ import annotations

from typing import ClassVar

from msgspec import Struct, field

from clew.model.events.kinds import EventKind
from clew.support.coded import Coded


class Logged(Struct, frozen=True, kw_only=True):
    """The data of a stored event."""

    event: ClassVar[EventKind]
    texts: dict[str, Coded] = field(default_factory=dict)  # the codes of those fields that are sentences of clew


class MessageAccepted(Logged, frozen=True):
    """A message got its fate."""

    event: ClassVar[EventKind] = EventKind.MESSAGE_ACCEPTED
    fate: str


class MessageEdited(Logged, frozen=True):
    """The text of a queued message changed."""

    event: ClassVar[EventKind] = EventKind.MESSAGE_EDITED
    message: str


class MessageTakenBack(Logged, frozen=True):
    """A queued message was deleted by its author."""

    event: ClassVar[EventKind] = EventKind.MESSAGE_TAKEN_BACK
    message: str


class ThreadCreated(Logged, frozen=True):
    """A thread began."""

    event: ClassVar[EventKind] = EventKind.THREAD_CREATED
    thread_kind: str
    title: str
    forked_from: str | None = None
    priority: str | None = None  # left out: normal


class StatusChanged(Logged, frozen=True):
    """A thread changed its status."""

    event: ClassVar[EventKind] = EventKind.THREAD_STATUS
    status: str


class TitleChanged(Logged, frozen=True):
    """A thread was renamed."""

    event: ClassVar[EventKind] = EventKind.THREAD_TITLE
    title: str


class SettingsChanged(Logged, frozen=True):
    """Somebody changed settings of a thread; they hold from its next turn. A setting that did not change is left
    out."""

    event: ClassVar[EventKind] = EventKind.THREAD_SETTINGS
    by: str
    model: str | None = None
    effort: str | None = None
    policy: str | None = None
    former_policy: str | None = None
    priority: str | None = None
    budget: str | None = None  # limits of its own, such as `tokens=5000`
    limits: str | None = None  # what it does if its agent cannot work, such as `on_limit=ask, fallback=claude`
    notify: str | None = None  # where its answers go if nobody asked from a chat; `none`: nowhere


class AgentSwitched(Logged, frozen=True):
    """From its next turn on, another agent works on the thread."""

    event: ClassVar[EventKind] = EventKind.THREAD_SWITCHED
    by: str
    former: str
    runtime: str
    model: str | None = None


class OpinionGiven(Logged, frozen=True):
    """Another agent was asked about the thread, and has answered."""

    event: ClassVar[EventKind] = EventKind.THREAD_OPINION
    runtime: str
    fork: str


class DriverChanged(Logged, frozen=True):
    """Another conversation drives the thread."""

    event: ClassVar[EventKind] = EventKind.THREAD_DRIVER
    where: str
    by: str | None = None


class TurnsImported(Logged, frozen=True):
    """An adopted thread: turns that were made outside clew are now in its history."""

    event: ClassVar[EventKind] = EventKind.THREAD_IMPORTED
    turns: int


class SessionReleased(Logged, frozen=True):
    """An adopted thread: its session is free for its own program."""

    event: ClassVar[EventKind] = EventKind.THREAD_RELEASED


class TurnQueued(Logged, frozen=True):
    """A turn waits for its place."""

    event: ClassVar[EventKind] = EventKind.TURN_QUEUED
    origin: str
    continues: str | None = None
    again: bool = False


class TurnClaimed(Logged, frozen=True):
    """The scheduler took a turn."""

    event: ClassVar[EventKind] = EventKind.TURN_CLAIMED
    attempt: int


class TurnStarted(Logged, frozen=True):
    """The runtime began the turn."""

    event: ClassVar[EventKind] = EventKind.TURN_STARTED


class StopAsked(Logged, frozen=True):
    """A person wants the turn to stop."""

    event: ClassVar[EventKind] = EventKind.TURN_STOP_ASKED
    by: str = ""  # `you`: at the computer


class TurnEnded(Logged, frozen=True):
    """The turn ended."""

    event: ClassVar[EventKind] = EventKind.TURN_ENDED
    state: str
    error: str | None = None
    stopped_by: str | None = None  # the person who stopped it


class ActivityChanged(Logged, frozen=True):
    """A command, a change, a tool call or a thought began or ended."""

    event: ClassVar[EventKind] = EventKind.ACTIVITY
    item: str
    activity: str
    phase: str
    title: str
    outcome: str | None = None
    parent: str | None = None  # the activity that began the sub-agent that does it


class RuntimeNotice(Logged, frozen=True):
    """The runtime reports something, such as a retry."""

    event: ClassVar[EventKind] = EventKind.NOTICE
    text: str
    notice: str = ""


class GateOpened(Logged, frozen=True):
    """The agent asks a person."""

    event: ClassVar[EventKind] = EventKind.GATE_OPENED
    gate: str
    code: str
    asks: str
    title: str


class GateAnswered(Logged, frozen=True):
    """Somebody, or a rule, answered a gate."""

    event: ClassVar[EventKind] = EventKind.GATE_ANSWERED
    gate: str
    code: str
    decision: str
    by: str
    title: str


class GateTaken(Logged, frozen=True):
    """The runtime took the answer."""

    event: ClassVar[EventKind] = EventKind.GATE_TAKEN
    gate: str
    code: str


class GateVoid(Logged, frozen=True):
    """The gate is gone without an answer that counts."""

    event: ClassVar[EventKind] = EventKind.GATE_VOID
    gate: str
    code: str
    why: str


class GateExpired(Logged, frozen=True):
    """Nobody answered in time."""

    event: ClassVar[EventKind] = EventKind.GATE_EXPIRED
    gate: str
    code: str


class GateReminded(Logged, frozen=True):
    """The gate was shown again as a reminder."""

    event: ClassVar[EventKind] = EventKind.GATE_REMINDED
    gate: str
    code: str


class SteerOffered(Logged, frozen=True):
    """A message for the running turn is stored."""

    event: ClassVar[EventKind] = EventKind.STEER_OFFERED
    message: str


class SteerSent(Logged, frozen=True):
    """The runtime took that message."""

    event: ClassVar[EventKind] = EventKind.STEER_SENT
    message: str


class SteerQueued(Logged, frozen=True):
    """The message did not reach the turn and became a turn of its own."""

    event: ClassVar[EventKind] = EventKind.STEER_QUEUED
    message: str


class DeliveryOwed(Logged, frozen=True):
    """Something has to be delivered."""

    event: ClassVar[EventKind] = EventKind.DELIVERY_OWED
    surface: str


class DeliverySent(Logged, frozen=True):
    """It was delivered, and there is a receipt."""

    event: ClassVar[EventKind] = EventKind.DELIVERY_SENT
    delivery: str


class DeliveryFailed(Logged, frozen=True):
    """It failed for good."""

    event: ClassVar[EventKind] = EventKind.DELIVERY_FAILED
    delivery: str
    error: str | None = None


class HandoffRequested(Logged, frozen=True):
    """A thread is to move to another surface."""

    event: ClassVar[EventKind] = EventKind.HANDOFF_REQUESTED
    handoff: str
    surface: str


class HandoffCompleted(Logged, frozen=True):
    """It moved."""

    event: ClassVar[EventKind] = EventKind.HANDOFF_COMPLETED
    handoff: str
    where: str


class HandoffFailed(Logged, frozen=True):
    """It did not move; everything is as before."""

    event: ClassVar[EventKind] = EventKind.HANDOFF_FAILED
    handoff: str
    error: str | None = None


class AccountLimit(Logged, frozen=True):
    """An account refused a turn of the thread because of its usage limit, is asked again by it, or is free again."""

    event: ClassVar[EventKind] = EventKind.ACCOUNT_LIMIT
    runtime: str
    state: str
    until: int | None = None
    known: bool = False
    short: bool = False


class PersonAsked(Logged, frozen=True):
    """A stranger wrote in a chat and got a pairing code."""

    event: ClassVar[EventKind] = EventKind.PERSON_ASKED
    surface: str


class PersonAway(Logged, frozen=True):
    """You are away: this conversation gets what the terminal would show."""

    event: ClassVar[EventKind] = EventKind.PERSON_AWAY
    where: str


class PersonBack(Logged, frozen=True):
    """You are back."""

    event: ClassVar[EventKind] = EventKind.PERSON_BACK


AnyLogged = (
    MessageAccepted
    | MessageEdited
    | MessageTakenBack
    | ThreadCreated
    | StatusChanged
    | TitleChanged
    | SettingsChanged
    | AgentSwitched
    | OpinionGiven
    | DriverChanged
    | TurnsImported
    | SessionReleased
    | TurnQueued
    | TurnClaimed
    | TurnStarted
    | StopAsked
    | TurnEnded
    | ActivityChanged
    | RuntimeNotice
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
    | AccountLimit
    | PersonAsked
    | PersonAway
    | PersonBack
)
