"""The seam between the engine and an agent program.

A runtime makes sessions and owns its child processes. A session is one thread on one runtime. Past this edge there is
no vendor: the engine sees events, records and continuity, and nothing else.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from enum import StrEnum
from typing import Protocol, runtime_checkable

from msgspec import Struct, field

from clew.model.events import Activity, Event
from clew.model.gates import Answer, Policy
from clew.model.messages import PromptMessage
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
    is_there: bool = True  # its program is installed


class ProgramInfo(Struct, frozen=True):
    """What a runtime's program says of itself. A runtime may have `look() -> Look`, which raises RuntimeTrouble."""

    version: str
    path: str
    logged_in: bool | None  # None: it needs no login


class RuntimeCan(Struct, frozen=True):
    """What a runtime can do: declared data, not type checks."""

    steer: bool = False
    interrupt: bool = False
    record: bool = False  # keeps a record of its own that can be asked after a crash
    fork: bool = False
    images: bool = False
    questions: bool = False
    outlives: bool = False  # goes on working when the daemon dies
    adopt: bool = False  # its sessions can be begun outside clew and taken over: it is a `runtimes.lender.Lender`


class Continuity(Struct, frozen=True):
    """What to store so that a runtime can come back to a thread. Only the runtime reads `data`."""

    data: str


class ForkPoint(Struct, frozen=True):
    """A thread that begins from another one: after which of the runtime's own turns."""

    continuity: Continuity
    runtime_turn: str | None


class PastMessage(Struct, frozen=True):
    """Something that was said in a thread, by a person or by an agent."""

    author: str
    text: str
    by_agent: bool = False


async def no_history() -> tuple[PastMessage, ...]:
    return ()


class Seat(Struct, frozen=True):
    """Where a session sits: the thread, its folder, and what the runtime needs to come back to it."""

    thread: str
    workspace: str
    continuity: Continuity | None = None
    fork: ForkPoint | None = None  # only where there is no continuity yet
    model: str | None = None
    effort: str | None = None
    policy: Policy = Policy.CAREFUL
    history: Callable[[], Awaitable[tuple[PastMessage, ...]]] = (
        no_history  # before the turn that is to come, oldest first
    )
    longest_text: int = LONGEST  # bytes of one text of the agent: what is longer is cut, as `long_text` does it
    lent: bool = False  # other programs use the session too: it is never begun anew, and once closed it is theirs


class TurnRequest(Struct, frozen=True):
    turn: str  # our turn id; the runtime's record must be searchable by it
    messages: tuple[PromptMessage, ...]


class RecordState(StrEnum):
    ALIVE = "alive"  # the runtime still works on it
    COMPLETED = "completed"
    FAILED = "failed"
    CUT = "cut"  # it was begun and has no end of its own


class TurnRecord(Struct, frozen=True):
    """What a runtime's own record says about a turn. No record at all: it never ran."""

    state: RecordState
    runtime_turn: str
    text: str = ""  # the final text; empty where there is none
    problem: Problem | None = None
    usage: Usage | None = None
    activities: tuple[Activity, ...] = ()  # the recorded ones
    messages: frozenset[str] = field(default_factory=frozenset)  # ids of people's messages in it


class Session(Protocol):
    """One thread on one runtime."""

    def run(self, request: TurnRequest) -> AsyncIterator[Event]:
        """Work one turn. `TurnEnded` is last. Raises RuntimeLost where the outcome is in doubt."""

    def attach(self, turn: str) -> AsyncIterator[Event]:
        """Follow a turn whose record is `alive`, from now on, to its end."""

    async def steer(self, message: PromptMessage) -> bool:
        """Give a message to the running turn. False: not taken, and it never will be."""

    async def interrupt(self) -> None:
        """Ask the running turn to end; its `TurnEnded` follows. Open gates are answered with "cancelled" first."""

    async def answer(self, ref: str, answer: Answer) -> bool:
        """Give a person's answer to the request behind a gate; its `GateClosed` follows when the runtime took it.

        False: there is no such request any more, and the answer had no effect. Raises RuntimeLost where that is in
        doubt.
        """

    async def record(self, turn: str) -> TurnRecord | None:
        """The truth about a turn. Raises RuntimeTrouble where it cannot be had now."""

    def continuity(self) -> Continuity | None:
        """What to store now, to come back later."""

    async def close(self) -> None:
        """Let go of the thread; the runtime may free what it holds for it."""


class Runtime(Protocol):
    """Makes sessions; owns its child processes."""

    @property
    def name(self) -> str: ...

    @property
    def can(self) -> RuntimeCan: ...

    async def open(self, seat: Seat) -> Session:
        """Raises RuntimeTrouble with what is wrong and what to do."""

    async def health(self) -> Health: ...

    async def close(self) -> None:
        """End every child and descendant; sessions still open raise RuntimeLost."""


@runtime_checkable
class Outliving(Protocol):
    """A runtime some of whose programs may live on without a daemon, and work meanwhile."""

    def come_back(self) -> None:
        """A new daemon: find what an earlier one left. Must not block; sessions wait for it where they have to."""

    async def leave(self) -> None:
        """As `close`, but what works on something goes on, for the next daemon."""
