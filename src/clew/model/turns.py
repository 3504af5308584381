"""A turn: one request to a runtime, and everything until its end. Frozen, no I/O."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from enum import StrEnum

from msgspec import Struct
from msgspec.structs import replace

from clew.model.messages import Conversation, PromptMessage
from clew.model.threads import SessionKey
from clew.support.coded import Coded, Text, coded_of
from clew.support.errors import Unable


class TurnState(StrEnum):
    QUEUED = "queued"
    RUNNING = "running"
    WAITING = "waiting"  # at a gate
    COMPLETED = "completed"
    FAILED = "failed"
    INTERRUPTED = "interrupted"


ENDED = frozenset({TurnState.COMPLETED, TurnState.FAILED, TurnState.INTERRUPTED})


class Origin(StrEnum):
    """Why a turn exists."""

    MESSAGE = "message"  # somebody said something
    RESUME = "resume"  # a finished or suspended thread was resumed
    CONTINUATION = "continuation"  # it continues a turn that was cut off
    GREETING = "greeting"  # clew asked the agent to say hello in the new place of its thread
    OPINION = "opinion"  # somebody asked another agent about the thread that this one is a fork of
    OUTSIDE = "outside"  # it ran in the runtime's own program, without clew


class SteerState(StrEnum):
    OFFERED = "offered"  # accepted by clew, not yet sent to the runtime
    SENT = "sent"  # the runtime accepted it; its record decides at the turn's end
    TAKEN = "taken"  # it is in the runtime's record
    QUEUED = "queued"  # refused or lost: it became a turn of its own


class Usage(Struct, frozen=True):
    input_tokens: int = 0
    cached_input_tokens: int = 0
    output_tokens: int = 0
    reasoning_tokens: int = 0
    total_tokens: int = 0
    reported_cost: int = 0  # as the agent says, in millionths of a US dollar; 0: it says nothing

    def __add__(self, other: Usage) -> Usage:
        return Usage(
            self.input_tokens + other.input_tokens,
            self.cached_input_tokens + other.cached_input_tokens,
            self.output_tokens + other.output_tokens,
            self.reasoning_tokens + other.reasoning_tokens,
            self.total_tokens + other.total_tokens,
            self.reported_cost + other.reported_cost,
        )

    def since(self, before: Usage) -> Usage:
        """Of two running totals: what came after the first."""
        return Usage(*(getattr(self, name) - getattr(before, name) for name in self.__struct_fields__))

    def costing(self, reported: int) -> Usage:
        return replace(self, reported_cost=max(0, reported))


USAGE_LIMIT = "usage_limit"  # the code of a problem


class Problem(Struct, frozen=True, omit_defaults=True):
    """Why a turn failed, for a person: what happened and what to do next."""

    code: str
    message: str
    said: Coded | None = None  # the message, if it is a sentence of clew; None: of the agent, or of an older version
    until: int | None = None  # of a usage limit: when it ends, in milliseconds; not stored
    unable: Unable | None = None  # why its agent could not work at all

    @classmethod
    def of(cls, code: str, text: str, unable: Unable | None = None) -> Problem:
        return cls(code, str.__str__(text), coded_of(text), unable=unable)

    @property
    def text(self) -> str:
        """The message, with its code if it has one."""
        return Text(self.message, self.said) if self.said else self.message


class PreludeSummary(Struct, frozen=True):
    """That a turn's agent was told what had happened in the thread before it came, or since it left."""

    runtime: str
    messages: int  # how many it was told
    left_out: int = 0  # how many older ones did not fit


class Prelude(Struct, frozen=True):
    """What a turn's agent was told, as it got it."""

    runtime: str
    since: str | None  # the node up to which the session knew the thread; None: it knew nothing
    text: str
    messages: int
    left_out: int
    at: int


class Burst(Struct, frozen=True):
    """Several messages of one person in a short time are one request: until when a queued turn waits for more of
    them, and whose."""

    until: int  # milliseconds
    sender_id: str  # the platform's id
    album: str = ""  # the platform's id of the album that they are parts of


AGAIN = "."  # between the id of a turn and the number of its refusals


def without_refusals(sent_as: str) -> str:
    """The id of a turn, of the id under which a runtime got it."""
    return sent_as.partition(AGAIN)[0]


class Turn(Struct, frozen=True):
    id: str
    thread: str
    seq: int
    state: TurnState
    origin: Origin
    request: tuple[PromptMessage, ...]
    conversation: Conversation | None  # where it was asked, and so where the answer goes
    queued_at: int
    runtime: str  # which runtime works on it
    role: str = ""  # the part it plays in its thread; empty: the thread's only role
    owner: str | None = None  # the daemon run that holds its lease
    generation: int = 0  # fencing token: a late write with an older generation changes nothing
    attempts: int = 0
    continues: str | None = None
    stop_asked: bool = False
    runtime_turn: str | None = None  # the runtime's own id for it
    request_node: str | None = None  # hash of the node that holds its request
    node: str | None = None  # hash of the node that holds its outcome
    started_at: int | None = None
    ended_at: int | None = None
    problem: Problem | None = None
    usage: Usage | None = None
    burst: Burst | None = None  # None: it does not wait
    tried: tuple[str, ...] = ()  # runtimes that could not begin it

    refused: int = 0  # how often its runtime refused it at once

    @property
    def sent_as(self) -> str:
        """The id under which its runtime gets it, and has a record of it. A turn that was refused gets another one:
        runtimes run an id once."""
        return f"{self.id}{AGAIN}{self.refused}" if self.refused else self.id

    @property
    def session(self) -> SessionKey:
        """The session that it runs in."""
        return SessionKey(self.thread, self.runtime, self.role)


class Steer(Struct, frozen=True):
    """A message for a turn that already runs."""

    message: PromptMessage
    turn: str
    thread: str
    conversation: Conversation | None
    state: SteerState


TEXT = "text"  # the kind of an item that is text of the agent


class Item(Struct, frozen=True):
    """A text or an activity of a live turn."""

    item: str
    kind: str  # `text`, or the kind of an activity
    phase: str
    title: str = ""
    body: str = ""
    outcome: str | None = None
    exit_code: int | None = None
    folder: str | None = None
    position: int = 0  # in the order in which they started
    parent: str | None = None  # the item under which it is shown: what a sub-agent does, under its own


def in_tree_order(items: Iterable[Item]) -> list[Item]:
    """Each item right after its parent and that one's other items; otherwise in the order given."""
    seen: set[str] = set()
    under: dict[str | None, list[Item]] = {}
    for item in items:
        under.setdefault(item.parent if item.parent in seen else None, []).append(item)
        seen.add(item.item)
    return list(_subtree(None, under))


def _subtree(parent: str | None, under: Mapping[str | None, Sequence[Item]]) -> Iterator[Item]:
    for item in under.get(parent, ()):
        yield item
        yield from _subtree(item.item, under)
