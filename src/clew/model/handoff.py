"""A handoff: the move of a thread to another surface. Frozen, no I/O."""

from __future__ import annotations

from enum import StrEnum

from msgspec import Struct

from clew.model.messages import Conversation


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
