"""The nouns of asking: what a runtime asks a person, what a person answers, and the rules that answer for one. Frozen,
no I/O."""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING

from msgspec import Struct

if TYPE_CHECKING:
    from clew.model.messages import Conversation


class GateKind(StrEnum):
    COMMAND = "command"
    CHANGE = "change"  # of files
    PERMISSION = "permission"  # anything else that the runtime may not do by itself, a tool among it
    QUESTION = "question"


class GateState(StrEnum):
    OPEN = "open"
    ANSWERED = "answered"  # a person decided; the runtime has not confirmed it
    TAKEN = "taken"  # the runtime took the answer
    VOID = "void"  # the runtime's request is gone
    EXPIRED = "expired"  # nobody answered within the time that the config gives


class Decision(StrEnum):
    ACCEPT = "accept"
    DECLINE = "decline"
    CANCEL = "cancel"  # no, and stop the turn
    REPLY = "reply"  # to questions


class Policy(StrEnum):
    """How much a thread may do without asking."""

    CAREFUL = "careful"
    TRUSTED = "trusted"  # writes in its workspace without asking
    READ_ONLY = "read-only"
    YOLO = "yolo"  # everything; has to be spelled out


class Question(Struct, frozen=True):
    id: str
    text: str
    options: tuple[str, ...] = ()
    free: bool = True  # other words than the options are fine
    several: bool = False  # more than one option may be chosen
    secret: bool = False  # the answer is kept in memory only


class Reason(Struct, frozen=True):
    """Why a command that seems only to read is asked about: a code, for which `words.py` has the sentence, and what it
    is about. It is shown with the gate."""

    code: str
    about: str = ""  # a key of git's config, a folder

    def __str__(self) -> str:
        return f"{self.code}:{self.about}"


class Asked(Struct, frozen=True):
    """What a runtime wants from a person, in its own words."""

    kind: GateKind
    title: str  # the exact command, the paths, the tool, the question
    detail: str = ""  # the whole diff; what else there is to see
    folder: str | None = None  # where a command would run
    reason: str = ""  # why the runtime asks
    paths: tuple[str, ...] = ()  # that a change touches
    questions: tuple[Question, ...] = ()
    item: str | None = None  # the activity that stands at this gate
    blocking: bool = True  # False: the turn goes on meanwhile, and the answer is simply a message
    leaves_sandbox: bool = False  # the runtime would run it outside of the sandbox that the rest of the turn runs in
    unjudged: str = ""  # why no rule over words and no default may allow it, only a person who sees it; empty: they may
    removes: bool = False  # a change that deletes or moves files away
    doubt: Reason | None = None  # the same as a code, if there is one

    @property
    def subject(self) -> str:
        """What a yes is about, to the byte: a yes to one thing never counts for another. It is stored as a hash, so
        what is not there adds nothing."""
        kind = f"{self.kind} outside of the sandbox" if self.leaves_sandbox else self.kind
        questions = [f"{each.text}\0{each.options}\0{each.secret}" for each in self.questions]
        more = [each for each in (self.unjudged, "removes" if self.removes else "") if each]
        return "\0".join((kind, self.folder or "", self.title, self.detail, *questions, *more))


class Answer(Struct, frozen=True):
    """A person's decision about one gate."""

    decision: Decision
    reason: str = ""  # of a no: it reaches the agent
    replies: tuple[tuple[str, tuple[str, ...]], ...] = ()  # question id and what was said to it

    @property
    def is_yes(self) -> bool:
        return self.decision is Decision.ACCEPT


class Gate(Struct, frozen=True):
    id: str
    code: str  # what a person types
    thread: str
    turn: str
    ref: str  # the runtime's own reference: unique over all its processes
    asked: Asked
    state: GateState
    asked_at: int
    warning: str = ""  # such as "may already have run"
    answer: Answer | None = None  # without what was secret
    answered_by: str | None = None
    answered_at: int | None = None
    sent_at: int | None = None  # when the answer was about to leave for the runtime: from here on it may have counted
    closed_at: int | None = None  # taken, void or expired
    why: str = ""  # why it is void
    card: str | None = None  # the delivery that shows it
    where: Conversation | None = None  # the conversation that it was shown in
    whole_in: int = 0  # messages in which it is whole there: 1: its card; more: its card and the parts before; 0: never
    offer: str | None = None  # the pattern of the rule that is offered with a yes, as seen when it was opened
    carried: bool = False  # an unsent answer of a void gate, waiting for the same request to come again
    reminded: bool = False


class Effect(StrEnum):
    DENY = "deny"
    ASK = "ask"
    ALLOW = "allow"


class RuleKind(StrEnum):
    COMMAND = "command"  # `pytest *`, word by word
    CHANGE = "change"  # paths: `src/**`
    TOOL = "tool"  # `github.*`
    EXACT = "exact"  # one subject, to the byte: made by "accept for this thread"


class Scope(StrEnum):
    THREAD = "thread"
    WORKSPACE = "workspace"
    EVERYWHERE = "everywhere"


class Rule(Struct, frozen=True):
    id: str
    effect: Effect
    kind: RuleKind
    pattern: str
    scope: Scope
    place: str  # the thread's id, the workspace's folder; empty where it holds everywhere
    created_at: int
    until: int | None = None  # milliseconds; None: for ever
    created_by: str = ""


class Verdict(Struct, frozen=True):
    """What the rules and the thread's policy say about a request, and which of them it was."""

    effect: Effect
    why: str = ""  # `the rule allow pytest * (K3…)`, `the policy trusted`
    reason: Reason | None = None
