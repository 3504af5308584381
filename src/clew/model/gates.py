"""Gates and rules: what a runtime asks a person, what the person answers, and the rules that answer for them. Frozen,
no I/O."""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING

from msgspec import Struct

from clew.support.coded import stable

if TYPE_CHECKING:
    from clew.model.messages import Conversation


class GateKind(StrEnum):
    COMMAND = "command"
    CHANGE = "change"  # of files
    PERMISSION = "permission"  # anything else that the runtime may not do by itself, such as using a tool
    QUESTION = "question"


class GateState(StrEnum):
    OPEN = "open"
    ANSWERED = "answered"  # a person decided; the runtime has not confirmed it
    TAKEN = "taken"  # the runtime took the answer
    VOID = "void"  # the runtime's request is gone
    EXPIRED = "expired"  # nobody answered within `gates.expire_after`


class Decision(StrEnum):
    ACCEPT = "accept"
    DECLINE = "decline"
    CANCEL = "cancel"  # no, and stop the turn
    REPLY = "reply"  # to questions


class Policy(StrEnum):
    """How much a thread may do without asking."""

    CAREFUL = "careful"
    SANDBOX = "sandbox"  # runs commands in the runtime's sandbox without asking; without one it is `careful`
    TRUSTED = "trusted"  # writes in its workspace without asking
    READ_ONLY = "read-only"
    YOLO = "yolo"  # everything; must be named explicitly

    def is_looser_than(self, other: Policy) -> bool:
        return _BY_LOOSENESS.index(self) > _BY_LOOSENESS.index(other)


_BY_LOOSENESS = (Policy.READ_ONLY, Policy.CAREFUL, Policy.SANDBOX, Policy.TRUSTED, Policy.YOLO)


class Question(Struct, frozen=True):
    id: str
    text: str
    options: tuple[str, ...] = ()
    free: bool = True  # a free text is also accepted
    several: bool = False  # more than one option may be chosen
    secret: bool = False  # the answer is held in memory only


class Reason(Struct, frozen=True):
    """Why clew asks about a command that seems to only read: a code, whose sentence is in `texts/reasons.py`, and what
    it is about. It is shown with the gate."""

    code: str
    about: str = ""  # a key of git's config, a folder

    def __str__(self) -> str:
        return f"{self.code}:{self.about}"


class Asked(Struct, frozen=True):
    """A runtime's request to a person, in the runtime's own words. If clew says something in it, that keeps its code
    (see `support/coded.py`). A yes counts for its English, in whatever language a person read it."""

    kind: GateKind
    title: str  # the exact command, the paths, the tool, the question
    detail: str = ""  # the complete diff, or other details
    folder: str | None = None  # where a command would run
    reason: str = ""  # why it is asked, in the words of who asks
    paths: tuple[str, ...] = ()  # that a change touches, or that more access is asked for
    questions: tuple[Question, ...] = ()
    item: str | None = None  # the activity that waits at this gate
    blocking: bool = True  # False: the turn goes on meanwhile, and the answer is an ordinary message
    leaves_sandbox: bool = False  # the runtime would run it outside the sandbox of the rest of the turn
    unjudged: str = ""  # why only a person may allow it, no pattern rule and no default; empty: rules may
    removes: bool = False  # a change that deletes files or moves them away
    is_for_people: bool = False  # it changes nothing, such as whether a plan is good: no policy denies it
    doubt: Reason | None = None  # `unjudged` as a code, if there is one
    links: tuple[tuple[str, str], ...] = ()  # names in it that are links, and where each leads; set by the engine
    about: GateKind | None = None  # of a question: its options allow this or not, so it is judged and shown as such
    # What it may do besides, if the runtime does not say it clearly. All of it is shown in the detail.
    may_run: tuple[str, ...] = ()  # commands, for rules that deny or ask
    may_touch: tuple[str, ...] = ()  # paths that it may change, for rules that deny or ask
    mentions: tuple[str, ...] = ()  # other words in it: if they are those of such a rule, a person is asked
    unshown: bool = False  # it only has a name, and does not show what it would do: a yes is for once
    agents: tuple[str, ...] = ()  # the sub-agents for which it is asked, outermost first; empty: the agent itself
    asker: str = ""  # who else asks, as a sentence of clew; empty: the agent
    workspace: str = ""  # of its thread, to show paths relative to it; set by the engine

    @property
    def only_once(self) -> bool:
        """Whether a yes is for this one request, and no rule is offered with it."""
        return self.unshown or bool(self.agents)

    @property
    def shown_as(self) -> GateKind:
        return self.about or self.kind

    @property
    def subject(self) -> str:
        """Exactly what a yes allows, byte by byte: a yes to one thing never counts for another. It is stored as a hash;
        fields that are not set add nothing, so that old hashes stay valid."""
        return self._subject(stable(self.unjudged))

    @property
    def former_subject(self) -> str:
        """The subject as versions computed it that took the words of a doubt instead of its code."""
        return self._subject(str.__str__(self.unjudged))

    def is_same(self, other: Asked) -> bool:
        """Whether a yes to one is a yes to the other."""
        return self.subject == other.subject or self.former_subject == other.former_subject

    def _subject(self, unjudged: str) -> str:
        kind = f"{self.kind} outside of the sandbox" if self.leaves_sandbox else self.kind
        questions = [f"{each.text}\0{each.options}\0{each.secret}" for each in self.questions]
        more = [each for each in (unjudged, "removes" if self.removes else "") if each]
        more += [f"{name}\0leads to\0{where}" for name, where in self.links]
        return "\0".join((kind, self.folder or "", self.title, self.detail, *questions, *more))


class RuleKind(StrEnum):
    COMMAND = "command"  # `pytest *`, word by word
    CHANGE = "change"  # paths: `src/**`
    TOOL = "tool"  # `github.*`
    EXACT = "exact"  # one `Asked.subject`, byte by byte: made by "accept for this thread"


class GrantedRule(Struct, frozen=True):
    """A rule that was made with a yes, for people to see."""

    kind: RuleKind
    pattern: str = ""  # empty for EXACT
    lasts: int | None = None  # milliseconds; None: for ever


class Answer(Struct, frozen=True):
    """A person's decision about one gate."""

    decision: Decision
    reason: str = ""  # of a no; the agent gets it
    replies: tuple[tuple[str, tuple[str, ...]], ...] = ()  # question id and what was said to it
    judged: bool = False  # no person said it: clew judged the request by how the workspace was just then
    rule: GrantedRule | None = None  # that was made with a yes
    expired: bool = False  # no person said it: nobody answered in time

    @property
    def is_yes(self) -> bool:
        return self.decision is Decision.ACCEPT


FIXED_NUMBERS = 2  # each kind of answer has its number; 1: by position, yes and no first; 0: by position, no later


class Gate(Struct, frozen=True):
    id: str
    code: str  # what a person types
    thread: str
    turn: str
    ref: str  # the runtime's own reference, unique over all its processes
    asked: Asked
    state: GateState
    asked_at: int
    warning: str = ""  # such as "may already have run"
    answer: Answer | None = None  # without secret replies
    answered_by: str | None = None
    answered_at: int | None = None
    sent_at: int | None = None  # set just before the answer is sent to the runtime: from then on it may have counted
    closed_at: int | None = None  # taken, void or expired
    why: str = ""  # why it is void
    card: str | None = None  # the delivery that shows it
    where: Conversation | None = None  # the conversation in which it was shown
    whole_in: int = 0  # how many messages show it completely: 1: its card; more: the parts before it too; 0: none do
    offer: str | None = None  # the pattern of the rule that is offered with a yes, decided when the gate was opened
    choice_order: int = FIXED_NUMBERS  # how its answers are numbered; less: as the version that asked showed them
    carried: bool = False  # an unsent answer of a void gate, to be used if the same request comes again
    reminded: bool = False


class Effect(StrEnum):
    DENY = "deny"
    ASK = "ask"
    ALLOW = "allow"


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
    place: str  # the thread's id or the workspace's folder, by scope; empty for EVERYWHERE
    created_at: int
    until: int | None = None  # milliseconds; None: for ever
    created_by: str = ""
    is_readable: bool = True  # False: its row is damaged, so nobody knows what it forbids


class Verdict(Struct, frozen=True):
    """The decision of the rules and the thread's policy about a request, and which of them decided."""

    effect: Effect
    why: str = ""  # `the rule allow pytest * (K3…)`, `the policy trusted`
    reason: Reason | None = None
    is_exact: bool = False  # a person said it of exactly this request, whatever the workspace is like
