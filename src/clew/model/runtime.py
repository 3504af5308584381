"""The interface between the engine and an agent program.

A runtime opens sessions and owns its child processes. A session is one thread on one runtime. Everything specific to a
vendor stays below this interface: the engine sees only events, records and continuity.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Collection, Mapping
from enum import StrEnum
from typing import Protocol, runtime_checkable

from msgspec import Struct, field

from clew.model.events import Activity, Event, LimitWindow
from clew.model.gates import Answer, Asked, Policy
from clew.model.messages import PromptMessage
from clew.model.shared_sessions import PastTurn
from clew.model.threads import Continuity, ForkPoint, SessionBegan
from clew.model.turns import Problem, Usage
from clew.support.text import LONGEST


class HealthState(StrEnum):
    HEALTHY = "healthy"
    DEGRADED = "degraded"
    STOPPED = "stopped"


class Health(Struct, frozen=True):
    state: HealthState
    reason: str = ""  # why it is not healthy, and what to do
    pid: int | None = None
    is_there: bool = True  # whether its program is installed


class ProgramInfo(Struct, frozen=True):
    """What a runtime's program reports about itself. A runtime may have `look() -> ProgramInfo`, which raises
    RuntimeTrouble."""

    version: str
    path: str
    logged_in: bool | None  # None: it needs no login, or does not say


@runtime_checkable
class TriesSandbox(Protocol):
    """A runtime that can try its sandbox on this machine, without a session."""

    @property
    def name(self) -> str: ...

    async def try_sandbox(self) -> None:
        """Raises RuntimeTrouble if the sandbox cannot be set up here, or does not hold."""


class RuntimeCan(Struct, frozen=True):
    """What a runtime can do: declared data, not type checks."""

    steer: bool = False  # messages can be sent into a running turn; otherwise they are queued
    record: bool = False  # it has its own record of turns, which clew reads after a crash
    images: bool = False  # it takes images; otherwise clew tells the sender of one that the agent cannot see it
    outlives: bool = False  # goes on working when the daemon dies
    adopt: bool = False  # sessions started outside clew can be adopted: it is a `shared_sessions.SharesSessions`
    sandbox: bool = False  # under the policy `sandbox` it runs commands in a sandbox that can write in the workspace


class ModelInfo(Struct, frozen=True):
    """A model that a runtime offers."""

    name: str  # what a person types
    title: str = ""
    efforts: tuple[str, ...] = ()
    is_default: bool = False


async def nothing_before() -> str:
    return ""


async def has_no_rules(asked: Asked) -> bool:
    return False


def drop_unasked(turn: PastTurn) -> None:
    """Nobody wants to know."""


class Seat(Struct, frozen=True):
    """What a session is opened with: the thread, its folder, and what the runtime needs to resume it."""

    thread: str
    workspace: str
    continuity: Continuity | None = None
    fork: ForkPoint | None = None  # only if there is no continuity yet
    model: str | None = None
    effort: str | None = None
    policy: Policy = Policy.CAREFUL
    has_past: bool = False  # turns have ended in the thread, so that a new session is `REBUILT`, not `FRESH`
    longest_text: int = LONGEST  # bytes of one text of the agent; longer texts are cut by `long_text`
    role: str = ""  # the part that the session plays in the thread; empty: the thread's only role
    lent: bool = False  # shared with other programs: the runtime never starts it anew, and releases it when closed
    # Told of each turn that the agent made in the session by itself, such as when a background task had ended.
    on_unasked: Callable[[PastTurn], None] = drop_unasked
    # Whether a rule of a person denies this, or wants it asked. A runtime that would allow something without opening a
    # gate looks here first, and then opens one.
    is_restricted: Callable[[Asked], Awaitable[bool]] = has_no_rules


class TurnRequest(Struct, frozen=True):
    turn: str  # our turn id; the runtime's record must be searchable by it
    messages: tuple[PromptMessage, ...]
    # What happened before that the session does not know: a text to put before the messages. Empty: it knows all.
    prelude: str = ""
    # All that happened before, for a session that turns out to be lost and is begun anew in the middle of its turn.
    whole: Callable[[], Awaitable[str]] = nothing_before


class RecordState(StrEnum):
    ALIVE = "alive"  # the runtime still works on it
    COMPLETED = "completed"
    FAILED = "failed"
    CUT = "cut"  # it was started, and the record has no end of it


class TurnRecord(Struct, frozen=True):
    """What a runtime's own record says about a turn. A turn without a record did not end, and did nothing but what
    `run` told of it: an agent may write its record a moment later (Claude: up to 100 ms)."""

    state: RecordState
    runtime_turn: str
    text: str = ""  # the final text; empty if there is none
    problem: Problem | None = None
    usage: Usage | None = None
    activities: tuple[Activity, ...] = ()  # the recorded ones
    messages: frozenset[str] = field(default_factory=frozenset)  # ids of people's messages in it


class Session(Protocol):
    """One thread on one runtime."""

    def run(self, request: TurnRequest) -> AsyncIterator[Event]:
        """Run one turn. `TurnEnded` is the last event. Raises RuntimeLost if the outcome is unknown."""

    def attach(self, turn: str) -> AsyncIterator[Event]:
        """Follow a turn whose record is `alive`, from now until its end."""

    async def steer(self, message: PromptMessage) -> bool:
        """Give a message to the running turn. False: the turn did not take it, and never will."""

    async def interrupt(self) -> None:
        """Ask the running turn to end; its `TurnEnded` follows. Answers open gates with "cancelled" first."""

    async def answer(self, ref: str, answer: Answer) -> bool:
        """Give a person's answer to the request of a gate; its `GateClosed` follows when the runtime took it.

        False: there is no such request any more, and the answer had no effect. Raises RuntimeLost if that is unknown.
        """

    async def record(self, turn: str) -> TurnRecord | None:
        """What the runtime's record says about a turn. Raises RuntimeTrouble if it cannot be read now."""

    def continuity(self) -> Continuity | None:
        """What to store now, to resume the thread later."""

    def began(self) -> SessionBegan:
        """How this session began, or began again after its program was lost."""

    async def close(self) -> None:
        """Release the thread; the runtime may free what it holds for it."""


class Runtime(Protocol):
    """Opens sessions; owns its child processes."""

    @property
    def name(self) -> str: ...

    @property
    def can(self) -> RuntimeCan: ...

    async def open(self, seat: Seat) -> Session:
        """Open a session. Raises RuntimeTrouble that says what is wrong and what to do."""

    async def health(self) -> Health: ...

    async def close(self) -> None:
        """End every child and descendant; sessions still open raise RuntimeLost."""


@runtime_checkable
class Outliving(Protocol):
    """A runtime whose programs may outlive the daemon and go on working."""

    def come_back(self) -> None:
        """Called when a daemon starts: find programs that an earlier daemon left. Must not block; sessions wait for it
        if they need it."""

    async def leave(self) -> None:
        """Like `close`, but programs that work on something go on, for the next daemon."""


@runtime_checkable
class FinishesAlone(Protocol):
    """A runtime whose programs finish the turn that they work on if the daemon dies, as long as they need nobody."""

    async def take_over(self, left: Mapping[int, str]) -> Collection[int]:
        """Called when a daemon starts, before it ends what an earlier one left: its programs, with their starts. Return
        the pids of those that may finish; they are then for the runtime to end, and their turns are `alive`."""
        ...


@runtime_checkable
class Installed(Protocol):
    """A runtime that knows quickly whether its program is installed. Others count as installed."""

    def is_there(self) -> bool: ...


@runtime_checkable
class ListsModels(Protocol):
    """A runtime that can tell which models it offers."""

    async def models(self) -> tuple[ModelInfo, ...]:
        """Raises RuntimeTrouble. Empty: it does not know yet."""


@runtime_checkable
class TellsLimits(Protocol):
    """A runtime that can be asked for the usage limits of its account."""

    async def limits(self) -> tuple[LimitWindow, ...]:
        """Raises RuntimeTrouble. Empty: its account has none, or it does not know."""


@runtime_checkable
class Reseatable(Protocol):
    """A session that takes other settings without being opened anew. Others are closed and opened again."""

    async def reseat(self, seat: Seat) -> None:
        """Use the model, effort and policy of `seat` from the next turn on; no turn runs now. Raises RuntimeTrouble."""
