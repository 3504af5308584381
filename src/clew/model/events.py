"""What a runtime says while it works a turn: one closed union, small enough to remember.

Text may be cut and begun again by a runtime (retry, steer). The final text is the one in `TurnEnded`, never the sum of
the deltas.
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
    OTHER = "other"  # kept by its own name in `title`


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
    DECLINED = "declined"  # a request that nobody could be asked about
    SHORTENED = "shortened"  # a text was too long, and the rest of it was left out
    WARNING = "warning"


MISSED = -1  # the offset of text whose place is not known, because its beginning was told to somebody else


class TurnStarted(Struct, frozen=True):
    """The runtime has begun the turn, under this id of its own."""

    runtime_turn: str


class TextDelta(Struct, frozen=True):
    item: str
    offset: int  # in characters, from the beginning of the item; MISSED: nobody here heard that
    text: str


class TextDone(Struct, frozen=True):
    """An item's text is whole (or `cut`: it was given up, and what was shown of it counts for nothing)."""

    item: str
    text: str
    cut: bool = False


class Activity(Struct, frozen=True):
    item: str
    kind: ActivityKind
    phase: Phase
    title: str  # the command, the path, the tool
    detail: str = ""  # output, diff, thought; whole when done
    outcome: Outcome | None = None
    exit_code: int | None = None
    folder: str | None = None
    image: str | None = None  # the path of a picture that it made


class GateOpened(Struct, frozen=True):
    """The runtime asks a person. The same `ref` again is the same request, told once more."""

    ref: str  # the runtime's own reference: unique over all its processes, also after a restart
    asked: Asked


class GateClosed(Struct, frozen=True):
    """The runtime's request is settled: it took an answer, or does not want one any more."""

    ref: str
    ran_out: bool = False  # nobody answered in the time that the runtime gives
    changed: bool = False  # no answer to it counts: what it would do has changed, and that is asked by itself


class Usage(Struct, frozen=True):
    """What the whole turn has used so far."""

    tokens: Tokens


class Notice(Struct, frozen=True):
    kind: NoticeKind
    text: str


class TurnEnded(Struct, frozen=True):
    """The last event of a turn. `messages` are the ids of people's messages that the runtime's record contains."""

    state: TurnState
    text: str = ""
    problem: Problem | None = None
    messages: frozenset[str] = field(default_factory=frozenset)


Event = TurnStarted | TextDelta | TextDone | Activity | GateOpened | GateClosed | Usage | Notice | TurnEnded
