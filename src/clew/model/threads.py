"""A thread of work: its kind, its status, what it waits for, and what is stored of its sessions on runtimes. Frozen,
no I/O."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from types import MappingProxyType

from msgspec import Struct

from clew.model.gates import Policy


class ThreadKind(StrEnum):
    CHAT = "chat"  # idle after each turn
    TASK = "task"  # one job; completed when its turn completes
    WORKFLOW = "workflow"  # runs a graph of roles; completed at its end


class ThreadStatus(StrEnum):
    """The stored status. `running` is never stored: it is derived from a turn's live lease."""

    IDLE = "idle"
    SUSPENDED = "suspended"  # waits outside a turn, for a person or until a time
    COMPLETED = "completed"
    CANCELLED = "cancelled"  # never runs again; can be forked


class SuspendedBy(StrEnum):
    CUT = "cut"  # a turn was cut off and may have done things: continue or stop?
    BACKLOG = "backlog"  # messages waited too long while clew was down
    FAILURE = "failure"  # a task's turn failed
    BUDGET = "budget"  # a budget is used up, and a turn waits: go on, raise or stop?
    LIMIT = "limit"  # parked until its agent's account may work again: `wake_at`, if that is known


class Priority(StrEnum):
    """Which threads go first if more turns wait than may run. One that waits long goes before newer ones of a higher
    priority."""

    HIGH = "high"
    NORMAL = "normal"
    LOW = "low"


class SessionKey(Struct, frozen=True):
    """Names a session: a thread has one for each runtime and role that works in it."""

    thread: str
    runtime: str
    role: str = ""  # empty: the thread's only role


class SessionBegan(StrEnum):
    """How a runtime's session of a thread began. The session itself reports it."""

    RESUMED = "resumed"  # the runtime loaded or forked its own earlier session
    REBUILT = "rebuilt"  # a new session that is given the thread's history
    FRESH = "fresh"  # a new session that knows nothing of the thread


class Continuity(Struct, frozen=True):
    """What to store so that a runtime can resume a thread. Only the runtime interprets `data`."""

    data: str


class ForkPoint(Struct, frozen=True):
    """Where a fork starts: after which of the runtime's own turns."""

    continuity: Continuity
    runtime_turn: str | None


class LimitChoices(Struct, frozen=True):
    """What a person chose for a thread whose agent cannot work. None: as the settings say."""

    fallback: tuple[str, ...] | None = None  # the agents that take its turns; empty: nobody
    on_limit: str | None = None
    limit_waits: int | None = None  # for how many usage windows in a row it waits by itself
    quiet_hours: str | None = None  # empty: none


class Thread(Struct, frozen=True):
    id: str
    kind: ThreadKind
    status: ThreadStatus
    title: str
    runtime: str
    workspace: str
    created_at: int
    model: str | None = None
    effort: str | None = None
    head: str | None = None  # hash of the newest node
    completed_at: int | None = None
    suspended_by: SuspendedBy | None = None
    suspend_message: str | None = None
    notify_target: str | None = None
    forked_from: str | None = None
    last_turn: str | None = None  # the newest ended turn
    policy: Policy = Policy.CAREFUL
    handle: str | None = None  # a short name that never changes; the store makes it
    active_at: int = 0  # when something last happened in it; the store keeps it
    priority: Priority = Priority.NORMAL
    wake_at: int | None = None  # parked: when it goes on; idle: its next turn may try an account at its limit
    limit_waits: int = 0  # for how many usage windows in a row it has waited
    limit_window: int | None = None  # when the last of them ends
    choices: LimitChoices = LimitChoices()

    @property
    def name(self) -> str:
        """What people call it: its handle."""
        return self.handle or self.id

    @property
    def main_session(self) -> SessionKey:
        """The session of the thread's own runtime, in its only role."""
        return SessionKey(self.id, self.runtime)


class ThreadSettings(Struct, frozen=True):
    """Settings of a thread that a person can change. They hold from its next turn. None: as it is."""

    model: str | None = None
    effort: str | None = None
    policy: Policy | None = None
    runtime: str | None = None  # the agent
    priority: Priority | None = None
    choices: Mapping[str, str] = MappingProxyType({})  # by the names of `LimitChoices`, as words


class ListPosition(Struct, frozen=True):
    """A place in a list of threads, which are sorted by their last activity: that of a thread when it was listed."""

    active_at: int
    thread: str

    def __str__(self) -> str:
        return f"{self.thread}@{self.active_at}"


class ThreadFilter(Struct, frozen=True):
    """Which threads a list shows."""

    history: bool = False
    status: ThreadStatus | None = None
    text: str | None = None
    workspace: str | None = None
    before: ListPosition | None = None  # the end of the previous page
    limit: int = 50
    running: bool = False  # only threads with a live turn, whatever their stored status
    since: ListPosition | None = None  # the last place to look at
    among: tuple[str, ...] | None = None  # only these
    waiting: bool = False  # only threads that wait for a person: their turn at a gate, or suspended
    newest: bool = False  # only the thread that was made last, active or finished
