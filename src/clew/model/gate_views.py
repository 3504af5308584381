"""What the outside sees of gates and rules: shapes of the API and of `--json`. Names here are a promise to scripts."""

from __future__ import annotations

from msgspec import Struct

from clew.model.gates import Decision, Effect, RuleKind, Scope


class QuestionView(Struct, frozen=True):
    id: str
    text: str
    options: tuple[str, ...]
    free: bool
    several: bool
    secret: bool


class QuestionShown(Struct, frozen=True):
    text: str
    options: tuple[str, ...]  # in the order of the question's own


class GateShown(Struct, frozen=True):
    """The texts of a gate as a person has to see them: what is invisible, or passes for another character, is an escape
    such as `\\u0441`. Lines of code stay lines."""

    title: str
    detail: str  # shortened where the gate's is
    folder: str | None
    reason: str
    questions: tuple[QuestionShown, ...]
    rule: str | None
    replies: tuple[tuple[str, ...], ...]


class GateView(Struct, frozen=True):
    """A question that the runtime cannot pass without a person. Texts are as the runtime gave them: show people those
    of `shown`."""

    id: str
    code: str
    thread: str
    turn: str
    kind: str
    title: str
    detail: str  # shortened in lists; `GET /api/gates/{id}` has the whole
    options: tuple[str, ...]  # what can be chosen, in the order of its numbers
    state: str
    asked_at: int
    answered_by: str | None
    answered_at: int | None = None
    decision: str | None = None
    why: str = ""  # why it is void
    folder: str | None = None
    reason: str = ""
    warning: str = ""
    questions: tuple[QuestionView, ...] = ()
    blocking: bool = True
    replies: tuple[tuple[str, ...], ...] = ()  # what was answered to each question; of a secret one only that
    rule: str | None = None  # the pattern of the rule that is offered with a yes
    answer_reason: str = ""  # why the answer was no
    closed_at: int | None = None  # when the runtime took the answer, or nobody could answer any more
    shown: GateShown | None = None  # always there in an answer of this version
    leaves_sandbox: bool = False  # a command that would run outside of the sandbox that the rest of the turn runs in


class AnswerGate(Struct, frozen=True):
    """What a person decides. `once`, for this `thread` from now on, or with a `rule`."""

    decision: Decision
    extent: str = "once"  # once | thread | rule
    pattern: str | None = None  # of the rule; else the one that is offered
    scope: Scope = Scope.WORKSPACE
    lasts: int | None = None  # milliseconds; None: as offered, or for ever with a pattern of one's own
    reason: str = ""
    replies: tuple[tuple[str, ...], ...] = ()  # for each question, in their order
    sender: str = "you"


class NewRuleView(Struct, frozen=True):
    effect: Effect
    pattern: str
    kind: RuleKind | None = None  # None: what the pattern can only mean; if that is not clear it is refused
    scope: Scope = Scope.EVERYWHERE
    place: str = ""  # a thread's id or a folder, by scope
    lasts: int | None = None  # milliseconds
    sender: str = "you"


class RuleView(Struct, frozen=True):
    id: str
    effect: str
    kind: str
    pattern: str
    scope: str
    place: str
    until: int | None
    created_at: int
    created_by: str
    shown: str = ""  # the pattern as a person has to see it


class RuleTest(Struct, frozen=True):
    """What would become of a request, and why."""

    effect: str
    why: str
    note: str = ""  # a rule of another kind that has such a pattern, and so says nothing here


class Verdict(Struct, frozen=True):
    thread: str
    sound: bool
    nodes: int
    bad_node: str | None = None
    reason: str | None = None
