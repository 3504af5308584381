"""Events that a runtime emits while it works on a turn: one closed union.

A runtime may discard text and start it again (retry, steer). The final text is the one in `TurnEnded`, never the sum
of the deltas.
"""

from __future__ import annotations

from enum import StrEnum

from msgspec import Struct, field

from clew.model.gates import Asked
from clew.model.turns import Problem, TurnState
from clew.model.turns import Usage as Tokens


class ActivityKind(StrEnum):
    COMMAND = "command"
    CHANGE = "change"  # files
    TOOL = "tool"
    SEARCH = "search"
    THOUGHT = "thought"
    PLAN = "plan"
    OTHER = "other"  # `title` has its name


class Phase(StrEnum):
    STARTED = "started"
    UPDATED = "updated"
    DONE = "done"


class Outcome(StrEnum):
    OK = "ok"
    FAILED = "failed"
    DECLINED = "declined"


class NoticeKind(StrEnum):
    RETRYING = "retrying"  # no sign of life
    COMPACTED = "compacted"
    DECLINED = "declined"  # clew could not ask a person about a request, so it was declined
    SHORTENED = "shortened"  # a text was too long; the rest of it was left out
    WARNING = "warning"


MISSED = -1  # the offset of text whose position is unknown, because we did not receive its beginning


class TurnStarted(Struct, frozen=True):
    """The runtime has started the turn. `runtime_turn` is the runtime's own id for it."""

    runtime_turn: str


class TextDelta(Struct, frozen=True):
    item: str
    offset: int  # in characters, from the beginning of the item; MISSED: unknown
    text: str


class TextDone(Struct, frozen=True):
    """An item's text is complete; with `cut`, it was abandoned, and what was shown of it does not count."""

    item: str
    text: str
    cut: bool = False


class Activity(Struct, frozen=True):
    item: str
    kind: ActivityKind
    phase: Phase
    title: str  # the command, the path, the tool
    detail: str = ""  # output, diff, thought; complete when done
    outcome: Outcome | None = None
    exit_code: int | None = None
    folder: str | None = None
    image: str | None = None  # the path of an image that it made
    parent: str | None = None  # the activity that began the sub-agent that does it; None: the agent itself does it


class GateOpened(Struct, frozen=True):
    """The runtime asks a person. An event with the same `ref` is a repeat of the same request."""

    ref: str  # the runtime's own reference: unique over all its processes, also after a restart
    asked: Asked


class GateClosed(Struct, frozen=True):
    """The runtime's request is settled: the runtime took an answer, or no longer wants one."""

    ref: str
    ran_out: bool = False  # nobody answered before the runtime's own timeout
    changed: bool = False  # no answer counts: what it would do has changed, and the runtime asks about that separately


class Usage(Struct, frozen=True):
    """The tokens that the whole turn has used so far."""

    tokens: Tokens


class LimitStatus(StrEnum):
    OK = "ok"
    WARNING = "warning"
    REACHED = "reached"


class LimitWindow(Struct, frozen=True):
    """A window of time in which an account may use so much."""

    name: str  # the agent's own; `MODEL NAME` if it is only of one model
    status: LimitStatus = LimitStatus.OK
    used: float | None = None  # from 0 to 1
    resets_at: int | None = None  # milliseconds
    minutes: int | None = None  # how long it is

    @property
    def is_main(self) -> bool:
        """Whether it holds for every model."""
        return " " not in self.name


class Limits(Struct, frozen=True):
    """What the agent reports of the usage limits of its account; windows that it leaves out stay as they were."""

    windows: tuple[LimitWindow, ...]


class Notice(Struct, frozen=True):
    kind: NoticeKind
    text: str


class TurnEnded(Struct, frozen=True):
    """The last event of a turn. `messages`: ids of the people's messages that the runtime's record contains."""

    state: TurnState
    text: str = ""
    problem: Problem | None = None
    messages: frozenset[str] = field(default_factory=frozenset)


Event = TurnStarted | TextDelta | TextDone | Activity | GateOpened | GateClosed | Usage | Limits | Notice | TurnEnded
