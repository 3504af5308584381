"""A delivery: a message that clew has to send to a conversation. Frozen, no I/O."""

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
    PLACEHOLDER = "placeholder"  # "working on it", if the surface can edit messages
    REDRAW = "redraw"  # rewrites an earlier message
    HANDOFF = "handoff"  # the first message in the new place of a thread; its receipt completes the handoff
    FILE = "file"  # a file that the agent made, sent after the answer that names it


class Button(Struct, frozen=True):
    """A button on a message. Pressing it counts as the message `says`, quoting the message that the button is on."""

    label: str
    says: str  # at most 64 bytes


class Delivery(Struct, frozen=True):
    """A message to send to a conversation. Its id is derived from what it is about, not random: enqueueing it twice
    enqueues it once."""

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
    note: str = ""  # a footnote to the body, such as "continued after a restart"
    edits: str | None = None  # the delivery that this one rewrites
    buttons: tuple[Button, ...] = ()
    file: Attachment | None = None  # stored until it is sent
    gate: str | None = None  # the gate that it shows, or a part or copy of it
    handoff: str | None = None  # the handoff that is complete once this is sent
    card: str | None = None  # of a part: the delivery that it comes before; of a copy: the one that it shows again
    part: int | None = None  # the number of a part, or of a message of an answer; the first is 1
    reply_to: str | None = None  # the platform's id of the message that it replies to
