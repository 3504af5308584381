"""A handoff: the move of a thread to another surface. Frozen, no I/O."""

from __future__ import annotations

from enum import StrEnum

from msgspec import Struct, field

from clew.model.messages import Conversation
from clew.support.coded import Coded


class HandoffState(StrEnum):
    PENDING = "pending"
    RUNNING = "running"
    COMPLETED = "completed"
    FAILED = "failed"


class Handoff(Struct, frozen=True):
    """The move of a thread to another surface."""

    id: str
    thread: str
    surface: str
    target: Conversation | None  # where it goes, or the parent of a new thread there; None: the surface's home
    state: HandoffState
    asked_by: str
    requested_at: int
    expires_at: int
    asked_in: Conversation | None = None  # None: in the local client
    say: str = ""  # a message of the person for the agent, sent with the handoff
    quiet: bool = False  # the agent does not greet in the new place
    owner: str | None = None
    generation: int = 0
    opening_at: int | None = None  # when a new thread of the platform was requested: from then on one may exist
    opened: Conversation | None = None  # where it went, as the surface names it
    displaced: str | None = None  # the thread that was bound there before
    displaced_drove: bool = False  # that thread was driven from there
    former: Conversation | None = None  # the conversation that drove it before; None: the local client
    ended_at: int | None = None
    error: str | None = None
    message_id: str | None = None  # chosen by the asker: asked again with it, it is the same handoff


class HandoffView(Struct, frozen=True):
    """The move of a thread to another surface."""

    id: str
    thread: str
    surface: str
    conversation: str | None  # where it went, as the surface names it
    state: str  # pending, running, completed or failed
    asked_by: str
    requested_at: int
    ended_at: int | None
    error: str | None
    texts: dict[str, Coded] = field(default_factory=dict)  # the codes of texts above that are sentences of clew
