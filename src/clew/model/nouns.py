"""The nouns of clew and their states. Frozen, no I/O: a change is a new value and a row."""

from __future__ import annotations

from enum import StrEnum

from msgspec import Struct

from clew.model.gates import Policy


class ThreadKind(StrEnum):
    CHAT = "chat"  # idle after each turn
    TASK = "task"  # one errand; completed when its turn completes
    WORKFLOW = "workflow"  # walks a graph of roles; completed at its end


class ThreadStatus(StrEnum):
    """What is stored. `running` is never stored: it is derived from a turn's live lease."""

    IDLE = "idle"
    SUSPENDED = "suspended"  # waits outside a turn, for a person or for a time
    COMPLETED = "completed"
    CANCELLED = "cancelled"  # never runs again; can be forked


class TurnState(StrEnum):
    QUEUED = "queued"
    RUNNING = "running"
    WAITING = "waiting"  # stands at a gate
    COMPLETED = "completed"
    FAILED = "failed"
    INTERRUPTED = "interrupted"


ENDED = frozenset({TurnState.COMPLETED, TurnState.FAILED, TurnState.INTERRUPTED})


class Origin(StrEnum):
    """Why a turn exists."""

    MESSAGE = "message"  # somebody said something
    RESUME = "resume"  # a finished or suspended thread was picked up again
    CONTINUATION = "continuation"  # an earlier turn was cut off
    GREETING = "greeting"  # clew asked the agent to say hello where its thread was handed to
    OUTSIDE = "outside"  # it was asked in the runtime's own program, without clew


class Fate(StrEnum):
    """What became of an inbound message. Each has exactly one."""

    TURN = "turn"
    STEER = "steer"
    ANSWER = "answer"
    COMMAND = "command"
    REFUSED = "refused"


class SteerState(StrEnum):
    OFFERED = "offered"  # accepted, not yet given to the runtime
    SENT = "sent"  # the runtime said yes; its record decides at the turn's end
    TAKEN = "taken"  # it is in the runtime's record
    QUEUED = "queued"  # refused or lost: it became a turn of its own


class DeliveryState(StrEnum):
    PENDING = "pending"
    SENDING = "sending"
    SENT = "sent"
    FAILED = "failed"
    NO_TARGET = "no_target"
    SUPERSEDED = "superseded"


class DeliveryKind(StrEnum):
    FINAL = "final"  # the answer of a turn
    ASK = "ask"  # a question to the person that has to be acted on
    NOTICE = "notice"  # one line about what became of a message
    PLACEHOLDER = "placeholder"  # "working on it", where the surface can edit
    REDRAW = "redraw"  # rewrites an earlier message
    HANDOFF = "handoff"  # the first words where a thread is handed to; their receipt completes it
    FILE = "file"  # something that the agent made, behind the answer that names it


class Role(StrEnum):
    """What somebody in a chat may do."""

    OWNER = "owner"  # everything
    DRIVER = "driver"  # send, and answer gates
    WATCHER = "watcher"  # look on


class HandoffState(StrEnum):
    PENDING = "pending"
    RUNNING = "running"
    COMPLETED = "completed"
    FAILED = "failed"


class SuspendedBy(StrEnum):
    CUT = "cut"  # a turn was cut off and may have done things: continue or stop?
    BACKLOG = "backlog"  # messages waited too long while clew was away
    FAILURE = "failure"  # a task's turn failed


class Conversation(Struct, frozen=True):
    """An opaque address that a surface gives for one place to talk. Only that surface reads `address`."""

    surface: str
    address: str = ""

    @classmethod
    def parse(cls, text: str) -> Conversation:
        """What a person types: `SURFACE` or `SURFACE:ADDRESS`."""
        surface, _, address = text.partition(":")
        return cls(surface, address)

    def __str__(self) -> str:
        return f"{self.surface}:{self.address}" if self.address else self.surface


class Attachment(Struct, frozen=True):
    """A file or an image that hangs on a message, kept in clew's own folder."""

    name: str
    path: str
    media_type: str

    @property
    def is_image(self) -> bool:
        return self.media_type.startswith("image/")


class Said(Struct, frozen=True):
    """One message of a person, as it is given to a runtime. `id` is chosen by whoever sent it."""

    id: str
    author: str
    text: str
    attachments: tuple[Attachment, ...] = ()
    among: bool = False  # several people speak there, so the agent is told who this was

    @property
    def told(self) -> str:
        """As a runtime is given it."""
        return f"{self.author}: {self.text}" if self.among and self.text else self.text


class Usage(Struct, frozen=True):
    input_tokens: int = 0
    cached_input_tokens: int = 0
    output_tokens: int = 0
    reasoning_tokens: int = 0
    total_tokens: int = 0

    def __add__(self, other: Usage) -> Usage:
        return Usage(
            self.input_tokens + other.input_tokens,
            self.cached_input_tokens + other.cached_input_tokens,
            self.output_tokens + other.output_tokens,
            self.reasoning_tokens + other.reasoning_tokens,
            self.total_tokens + other.total_tokens,
        )


class Problem(Struct, frozen=True):
    """Why a turn failed, in words for a person: what happened and what to do next."""

    code: str
    message: str


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


class Turn(Struct, frozen=True):
    id: str
    thread: str
    seq: int
    state: TurnState
    origin: Origin
    request: tuple[Said, ...]
    conversation: Conversation | None  # where it was asked, and so where the answer goes
    queued_at: int
    owner: str | None = None  # the daemon incarnation that holds its lease
    generation: int = 0  # fencing: a late writer of an older generation changes nothing
    attempts: int = 0
    continues: str | None = None
    stop_asked: bool = False
    runtime: str | None = None
    runtime_turn: str | None = None  # the runtime's own id for it
    request_node: str | None = None  # hash of the node that holds its request
    node: str | None = None  # hash of the node that holds its outcome
    started_at: int | None = None
    ended_at: int | None = None
    problem: Problem | None = None
    usage: Usage | None = None


class Steer(Struct, frozen=True):
    """A message for a turn that already runs."""

    message: Said
    turn: str
    thread: str
    conversation: Conversation | None
    state: SteerState


class Button(Struct, frozen=True):
    """Something to press. Pressing it is saying `says` in that conversation, as a quote of the message it is on."""

    label: str
    says: str  # at most 64 bytes


class Delivery(Struct, frozen=True):
    """A message that is owed to a conversation. Its id is chosen, not drawn."""

    id: str
    kind: DeliveryKind
    thread: str
    turn: str | None
    conversation: Conversation | None
    body: str
    state: DeliveryState
    created_at: int
    attempts: int = 0
    due_at: int = 0
    generation: int = 0
    in_doubt: bool = False  # an earlier process died between sending it and recording that
    first_sent_at: int | None = None  # when the platform's idempotency window began
    message_id: str | None = None  # the platform's id of it: the receipt
    sent_at: int | None = None
    error: str | None = None
    note: str = ""  # small print beside the body, such as "continued after a restart"
    edits: str | None = None  # the delivery that this one rewrites
    buttons: tuple[Button, ...] = ()
    file: Attachment | None = None  # kept until it is sent


class Handoff(Struct, frozen=True):
    """The move of a thread to another surface."""

    id: str
    thread: str
    surface: str
    target: Conversation | None  # where it goes, or below what; None: the surface's home
    state: HandoffState
    asked_by: str
    requested_at: int
    expires_at: int
    asked_in: Conversation | None = None  # None: at the desk
    say: str = ""  # what the person says there with it
    quiet: bool = False  # the agent does not greet
    owner: str | None = None
    generation: int = 0
    opening_at: int | None = None  # a fresh thread of the platform was asked for, so there may be one
    opened: Conversation | None = None  # where it went, as the surface names it
    displaced: str | None = None  # the thread that was bound there before
    displaced_drove: bool = False  # and was driven from there
    former: Conversation | None = None  # the place that drove it before; None: the desk
    ended_at: int | None = None
    error: str | None = None


class Person(Struct, frozen=True):
    """Somebody who may speak on a surface."""

    surface: str
    id: str  # the platform's own
    name: str
    role: Role
    added_at: int
    added_by: str


class Inbound(Struct, frozen=True):
    """A message as a surface received it, before anything is decided about it."""

    conversation: Conversation
    message_id: str
    sender: str
    text: str
    attachments: tuple[Attachment, ...] = ()
    sent_at: int | None = None  # by the platform's clock, where it tells
    thread: str | None = None  # named by the client; else the conversation's binding decides
    queue: bool = False  # never steer
    sees: tuple[str, ...] | None = None  # ids or codes of the gates that its sender sees as open; None: nobody knows
    answers: str | None = None  # the question of a suspended thread that its sender sees: such a word answers no other
    runtime: str | None = None  # for a thread that this message begins, where the surface's config says so
    workspace: str | None = None
    begins: str | None = None  # the id of that thread, where it was drawn before
    sender_id: str = ""  # the platform's own name for the sender; `sender` is what people call them
    direct: bool = True  # said to clew: alone with it, by a mention, by a reply or by a button
    in_group: bool = False  # others read along
    in_thread: bool = False  # said in a thread or topic of the platform, which is a conversation of its own
    quoted: str | None = None  # the platform's id of the message that it quotes, or whose button was pressed
    quoted_in: Conversation | None = None  # where that message stands, where it is another place than this
    hangs: bool = False  # the quoted message is what this thread of the platform hangs on: all said here quotes it
    pressed: bool = False  # by a button: whoever pressed it is told at once, and not by a message
    relayed: bool = False  # forwarded, struck out or all a quote: for the agent, and no answer to a gate


class Accepted(Struct, frozen=True):
    """What became of an inbound message, for the surface to tell its sender."""

    fate: Fate
    thread: str | None
    turn: str | None
    state: str | None = None  # the turn's state now
    words: str = ""  # what the sender is told; empty where the answer itself is enough
    repeated: bool = False  # seen before: this is what became of the first one
