"""A delivery: a message that is owed to a conversation. Frozen, no I/O."""

from __future__ import annotations

from enum import StrEnum

from msgspec import Struct

from clew.model.messages import Attachment, Conversation


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
