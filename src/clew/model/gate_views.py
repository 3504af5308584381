"""Views of gates and rules: what the API and `--json` return. Scripts rely on these names."""

from __future__ import annotations

from msgspec import Struct, field

from clew.model.gates import Decision, Effect, RuleKind, Scope
from clew.support.coded import Coded


class QuestionView(Struct, frozen=True):
    id: str
    text: str
    options: tuple[str, ...]
    free: bool
    several: bool
    secret: bool
    texts: dict[str, Coded] = field(default_factory=dict)  # the codes of texts above that are sentences of clew


class QuestionShown(Struct, frozen=True):
    text: str
    options: tuple[str, ...]  # in the order of the question's own
    texts: dict[str, Coded] = field(default_factory=dict)  # the codes of texts above that are sentences of clew


class GateShown(Struct, frozen=True):
    """The texts of a gate as a person must see them: invisible and lookalike characters are escapes such as `\\u0441`.
    Lines of code stay lines. Paths of a change inside the thread's workspace are relative to it."""

    title: str
    detail: str  # shortened if the gate's detail is
    folder: str | None  # None too if it is the thread's workspace
    reason: str
    questions: tuple[QuestionShown, ...]
    rule: str | None
    replies: tuple[tuple[str, ...], ...]
    agents: tuple[str, ...] = ()
    asker: str = ""
    texts: dict[str, Coded] = field(default_factory=dict)  # the codes of texts above that are sentences of clew


class GateView(Struct, frozen=True):
    """A question that a person has to answer before the runtime goes on. Texts are as the runtime gave them: show
    people the texts in `shown`."""

    id: str
    code: str
    thread: str
    turn: str
    kind: str
    title: str
    detail: str  # shortened in lists; `GET /api/gates/{id}` has all of it
    options: tuple[str, ...]  # the choices, in the order of their numbers; `numbers` has these
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
    replies: tuple[tuple[str, ...], ...] = ()  # the answers to each question; of a secret one only that there was one
    rule: str | None = None  # the pattern of the rule that is offered with a yes
    answer_reason: str = ""  # why the answer was no
    closed_at: int | None = None  # when the runtime took the answer, or nobody could answer any more
    shown: GateShown | None = None  # always set in responses of this version
    leaves_sandbox: bool = False  # a command that would run outside the sandbox of the rest of the turn
    about: str | None = None  # of a question whose options allow a command or a change: that kind; show it as such
    cut: bool = False  # `detail` is shortened
    asker: str = ""  # who asks; empty: the agent
    only_once: bool = False  # a yes is for once: a sub-agent asks, or it does not show what it would do
    agents: tuple[str, ...] = ()  # the sub-agents for which it is asked, outermost first; empty: the agent itself
    numbers: tuple[int, ...] = ()  # of the choices: yes is 1, no 2, in this thread 3, a rule 4, no and stop 5
    texts: dict[str, Coded] = field(default_factory=dict)  # the codes of texts above that are sentences of clew


class AnswerGate(Struct, frozen=True):
    """What a person decides. `once`, for this `thread` from now on, or with a `rule`."""

    decision: Decision
    extent: str = "once"  # once | thread | rule
    pattern: str | None = None  # of the rule; None: the offered one
    scope: Scope = Scope.WORKSPACE
    lasts: int | None = None  # milliseconds; None: as offered, or for ever if `pattern` is given
    reason: str = ""
    replies: tuple[tuple[str, ...], ...] = ()  # one per question, in order
    sender: str = "you"


class NewRuleView(Struct, frozen=True):
    effect: Effect
    pattern: str
    kind: RuleKind | None = None  # None: derived from the pattern; refused if that is ambiguous
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
    shown: str = ""  # the pattern as a person must see it
    texts: dict[str, Coded] = field(default_factory=dict)  # the codes of texts above that are sentences of clew


class RuleTest(Struct, frozen=True):
    """What the rules would do with a request, and why."""

    effect: str
    why: str
    note: str = ""  # a rule of another kind whose pattern matches, but which does not apply here
    texts: dict[str, Coded] = field(default_factory=dict)  # the codes of texts above that are sentences of clew


class Verdict(Struct, frozen=True):
    thread: str
    sound: bool
    nodes: int
    bad_node: str | None = None
    reason: str | None = None
    texts: dict[str, Coded] = field(default_factory=dict)  # the codes of texts above that are sentences of clew
