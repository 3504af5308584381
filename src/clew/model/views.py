"""Views: what the API and `--json` return. Scripts rely on these names (docs/reference/cli.md)."""

from __future__ import annotations

from msgspec import Struct, field

from clew.model.gate_views import GateView
from clew.model.gates import Policy
from clew.model.history import Deed
from clew.model.messages import Attachment
from clew.model.threads import Priority, ThreadKind
from clew.model.turns import PreludeSummary, Problem, Usage
from clew.support.coded import Coded


class NewThread(Struct, frozen=True):
    """The parameters of a new thread and its first message."""

    message_id: str
    text: str
    workspace: str | None = None
    kind: ThreadKind = ThreadKind.CHAT
    title: str | None = None
    runtime: str | None = None
    model: str | None = None
    effort: str | None = None
    policy: Policy | None = None
    notify: str | None = None  # SURFACE or SURFACE:ADDRESS
    sender: str = "you"
    attachments: tuple[Attachment, ...] = ()
    id: str | None = None  # the id for the thread, if the caller generated one
    priority: Priority = Priority.NORMAL


class BoundView(Struct, frozen=True):
    """A conversation that is bound to a thread."""

    surface: str
    conversation: str
    drives: bool  # answers and questions of the thread go there


class ThreadView(Struct, frozen=True):
    id: str
    status: str  # `running` while a turn holds a live lease, else as stored; `damaged` if the row cannot be read
    kind: str
    title: str
    runtime: str
    workspace: str
    head: str | None
    created_at: int
    completed_at: int | None
    suspended_by: str | None
    suspend_message: str | None
    notify_target: str | None
    notification_status: str | None
    notified_at: int | None
    notification_error: str | None
    model: str | None = None
    effort: str | None = None
    forked_from: str | None = None
    turn: str | None = None  # the live one, else the newest ended one
    turn_runtime: str | None = None  # the runtime of that turn
    turn_role: str | None = None  # its role; empty: the thread's only role
    queued: int = 0
    last_line: str | None = None  # of the newest answer
    policy: str = Policy.CAREFUL
    policy_now: str | None = None  # under which a turn runs now, if that is another one
    policy_reason: str | None = None  # why
    priority: str = Priority.NORMAL  # in the queue
    fallback: tuple[str, ...] | None = None  # who takes its turns; this and the next three: null: as the settings say
    on_limit: str | None = None  # `auto`, `ask` or `never`
    limit_waits: int | None = None
    quiet_hours: str | None = None  # empty: none
    gates: tuple[str, ...] = ()  # codes of its open gates
    adopted: str | None = None  # the runtime's id of the adopted session, which other programs use too
    bound: tuple[BoundView, ...] = ()  # the conversations that are bound to it, without the local client
    asks: str | None = None  # the question of a suspended thread; give it as `answers` to answer no other question
    held: str | None = None  # why its next turn does not start yet
    wake_at: int | None = None  # of a thread that is suspended by a limit: when it goes on by itself
    other_agent: str | None = None  # of such a thread: an agent that could take the work now
    handle: str | None = None  # a short name that never changes, such as `flaky-retry-2`; accepted in place of the id
    active_at: int = 0  # when something last happened in it; lists are sorted by it
    texts: dict[str, Coded] = field(default_factory=dict)  # the codes of texts above that are sentences of clew


class Page(Struct, frozen=True):
    threads: tuple[ThreadView, ...]
    next: str | None  # give it as `before` to get the next page


class ItemView(Struct, frozen=True):
    """A text or an activity of a turn before its answer: `kind` is `text` or the kind of the activity."""

    item: str
    kind: str
    phase: str
    title: str
    body: str
    outcome: str | None = None
    exit_code: int | None = None
    cut: bool = False  # `body` is only the beginning; the turn has all of it
    reason: str = ""  # of a gate: why the answer was no
    replies: tuple[str, ...] = ()  # of a question: what was answered; of a secret one only that there was an answer
    parent: str | None = None  # the item that began the sub-agent that does it; it comes before
    texts: dict[str, Coded] = field(default_factory=dict)  # the codes of texts above that are sentences of clew


class QueuedView(Struct, frozen=True):
    """A message that waits in the queue of its thread."""

    turn: str
    message: str
    author: str
    text: str
    queued_at: int
    files: tuple[str, ...] = ()


class TurnView(Struct, frozen=True):
    id: str
    thread: str
    state: str
    origin: str
    request: str  # what was asked, as text
    text: str  # the answer; empty until the turn has ended
    error: str | None
    usage: Usage | None
    queued_at: int
    started_at: int | None
    ended_at: int | None
    continues: str | None = None
    continued_by: str | None = None
    items: tuple[ItemView, ...] = ()
    runtime: str = ""
    role: str = ""  # the part it plays in its thread; empty: the thread's only role
    prelude: PreludeSummary | None = None  # what its agent was told of what had happened before
    stopped_by: str | None = None  # the person who stopped it; `you`: at the computer
    texts: dict[str, Coded] = field(default_factory=dict)  # the codes of texts above that are sentences of clew


class Asked(Struct, frozen=True):
    """The question that another agent was asked about a thread."""

    by: str
    question: str
    thread: str  # the fork that it worked on


class Passage(Struct, frozen=True):
    """One message of a transcript. `role` is person, agent or clew."""

    role: str
    author: str
    text: str
    at: int
    turn: str | None
    state: str | None = None
    items: tuple[ItemView, ...] = ()
    files: tuple[str, ...] = ()  # names of the attached files
    outside: bool = False  # said or done in the runtime's own program, without clew
    node: str | None = None  # of history, to page by: give it as `before`; null while it is being said
    message: str | None = None  # the id that its sender chose
    steer: bool = False  # sent into a running turn
    started_at: int | None = None  # of an answer: when the work on it began
    waited: int = 0  # of that work, the milliseconds in which a gate waited for a person
    usage: Usage | None = None
    error: str | None = None  # why the turn failed
    cut: bool = False  # `interrupted`, but not by a person
    continued_by: str | None = None  # the turn that continues the one that was cut off
    prelude: PreludeSummary | None = None  # of an answer: its agent was told what had happened before
    asked: Asked | None = None  # it is the opinion of another agent, which was asked this
    stopped_by: str | None = None  # the person who stopped the turn; `you`: at the computer
    texts: dict[str, Coded] = field(default_factory=dict)  # the codes of texts above that are sentences of clew


class Diagnostics(Struct, frozen=True):
    """What a runtime did on the way to its answer."""

    deeds: tuple[Deed, ...]


class AttachmentView(Struct, frozen=True):
    """An attachment of a message: a `file`, an `image`, or a runtime's own `diagnostics`, with the runtime's name."""

    kind: str
    name: str
    media_type: str | None = None
    runtime: str | None = None
    data: Diagnostics | None = None


class UploadView(Struct, frozen=True):
    """An uploaded file. A message attaches it by naming its id in `files`."""

    id: str
    name: str
    media_type: str
    size: int


class MessageView(Struct, frozen=True):
    """A message of a conversation. `role` is person, agent or clew."""

    id: str
    role: str
    author: str
    content: str  # without control characters, so that it can be shown anywhere
    at: int
    turn: str | None
    state: str | None = None  # of the turn; `completed` for a complete answer
    attachments: tuple[AttachmentView, ...] = ()
    error: Problem | None = None
    texts: dict[str, Coded] = field(default_factory=dict)  # the codes of texts above that are sentences of clew


class ConversationView(Struct, frozen=True):
    conversation_id: str
    thread: str
    runtime: str
    status: str  # of the thread
    messages: tuple[MessageView, ...]
    next: str | None  # give it as `before` to get earlier messages


class WhereRow(Struct, frozen=True):
    """The receipt of one delivery."""

    delivery: str
    kind: str
    conversation: str | None
    state: str
    attempts: int
    message_id: str | None
    sent_at: int | None
    error: str | None
    turn: str | None = None  # whose answer it is, or which asks
    runtime: str | None = None  # the agent of that turn
    texts: dict[str, Coded] = field(default_factory=dict)  # the codes of texts above that are sentences of clew


class ContinuityView(Struct, frozen=True):
    """The state of a thread on one runtime, in one role."""

    runtime: str
    status: str | None  # `warm`, `resumed` or `cold`: how the newest turn started; `error`: it did not; null: none yet
    reference: str | None  # by which the runtime resumes the thread; only the runtime interprets it
    used_at: int | None
    restarts: int  # how often it was resumed
    health: str | None  # of the runtime now; null if there is no runtime of that name any more
    reason: str  # what is or was wrong
    role: str = ""  # empty: the thread's only role
    began: str | None = None  # how its session began, as the session says: `resumed`, `rebuilt` or `fresh`
    seen: str | None = None  # the thread's head after its newest turn there; null: the session has seen nothing yet
    texts: dict[str, Coded] = field(default_factory=dict)  # the codes of texts above that are sentences of clew


class AdoptableView(Struct, frozen=True):
    """A session that was started outside clew, in the runtime's own program."""

    id: str  # the runtime's own
    runtime: str
    title: str
    workspace: str
    source: str  # the program that started it, in the runtime's words
    created_at: int
    updated_at: int
    in_use: str | None  # the program that has it open now, if that is known


class ReleasedView(Struct, frozen=True):
    """A session that clew has released for the runtime's own program."""

    thread: str
    runtime: str
    session: str
    command: str  # continues it there


class AskingView(Struct, frozen=True):
    """Somebody who has written to clew and is not paired yet."""

    id: str  # SURFACE:ID
    name: str  # as they call themselves
    code: str
    asked_at: int


class PersonView(Struct, frozen=True):
    """Somebody who may write on a chat surface."""

    id: str  # SURFACE:ID, the id as the platform gives it
    name: str
    role: str
    added_at: int
    added_by: str


class Snapshot(Struct, frozen=True):
    """The current state: one thread, or the newest open threads; their running turns; their open gates."""

    threads: tuple[ThreadView, ...]
    turns: tuple[TurnView, ...]
    gates: tuple[GateView, ...]


class Notified(Struct, frozen=True):
    """What one pass of `clew notify` did, or would do, with one answer."""

    delivery: str
    thread: str
    target: str | None
    state: str  # `would send`, `sent`, `pending`, `failed`
    error: str | None = None
    texts: dict[str, Coded] = field(default_factory=dict)  # the codes of texts above that are sentences of clew


class RuntimeView(Struct, frozen=True):
    name: str
    health: str
    reason: str
    pid: int | None
    installed: bool = True  # whether its program is; a choice that is not is only the default
    texts: dict[str, Coded] = field(default_factory=dict)  # the codes of texts above that are sentences of clew


class OwedView(Struct, frozen=True):
    """A delivery that has not arrived."""

    delivery: str
    kind: str
    thread: str
    turn: str | None
    conversation: str | None
    state: str  # pending, sending or failed
    attempts: int
    error: str | None
    created_at: int
    next_at: int | None  # when it is tried again
    texts: dict[str, Coded] = field(default_factory=dict)  # the codes of texts above that are sentences of clew


class Bucket(Struct, frozen=True):
    """A part of the last day. Times in milliseconds; null if there was nothing."""

    ended: int  # turns
    failed: int  # of them
    median: int | None  # from request to answer
    p95: int | None
    oldest_gate: int | None  # how long the oldest gate had waited at its end


class FiguresView(Struct, frozen=True):
    """The last day, in equal parts."""

    begins: int
    step: int
    buckets: tuple[Bucket, ...]


class TargetView(Struct, frozen=True):
    """A target that `clew handoff` accepts."""

    target: str
    surface: str
    name: str  # `home`, or the title of the thread that is bound there
    state: str  # `up` or `down`
    reason: str
    texts: dict[str, Coded] = field(default_factory=dict)  # the codes of texts above that are sentences of clew


class ChoicesView(Struct, frozen=True):
    """The options for a new thread, and the targets of a handoff."""

    runtimes: tuple[RuntimeView, ...]
    default_runtime: str
    policies: tuple[str, ...]
    default_policy: str
    workspaces: tuple[str, ...]  # of the newest threads, newest first
    default_workspace: str
    targets: tuple[TargetView, ...]


class AwayView(Struct, frozen=True):
    """Where messages go while the person is away."""

    conversation: str | None


class SurfaceView(Struct, frozen=True):
    name: str
    state: str  # `up` or `down`
    reason: str
    pending: int
    delivery: str = "best effort"  # idempotent, verifiable, editable or best effort
    backlog: str = "none"  # what happens to messages while clew is down: platform, history or none
    texts: dict[str, Coded] = field(default_factory=dict)  # the codes of texts above that are sentences of clew


class SteerView(Struct, frozen=True):
    """A message on its way into a running turn."""

    message: str
    author: str
    text: str


class DaemonView(Struct, frozen=True):
    pid: int
    since: int
    version: str
    home: str
    http: str | None  # the address of the TCP listener
    supervised: bool
    outdated: bool = False  # config.toml has changed since the start
    recovered_at: int | None = None  # when a daemon last started after one that nobody had stopped: a crash, a kill
    environment: dict[str, str] = field(
        default_factory=dict
    )  # fingerprints without values; see `clew.runtimes.codex.server.environment`
    left_out: list[str] = field(default_factory=list)  # runtimes and surfaces that could not be created, and why
    texts: dict[str, Coded] = field(default_factory=dict)  # the codes of texts above that are sentences of clew


class LoginView(Struct, frozen=True):
    """A login link for a browser; it works once."""

    url: str
    expires_at: int


class DamagedRow(Struct, frozen=True):
    """A row of the database that cannot be read. `clew repair` sets it aside, unless `stays` says why not."""

    table: str
    key: str
    thread: str | None  # to which it belongs, as far as the row says
    reason: str
    stays: str | None = None  # `history`: nodes are never changed; `newer`: a newer clew may have written it
    message: str | None = None  # a message that does not run now: `told` or `not_told` to its conversation
    conversation: str | None = None  # of that message; None: the row does not say it


class StatusView(Struct, frozen=True):
    daemon: DaemonView
    runtimes: list[RuntimeView]
    surfaces: list[SurfaceView]
    fates: dict[str, int]
    gates: int = 0  # open ones
    damaged: list[DamagedRow] = field(default_factory=list)  # rows that the daemon met and could not read
