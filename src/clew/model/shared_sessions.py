"""The seam for a runtime whose sessions people use without clew too, in its own program: which there are, what was said
in them, who has one open. It is asked only where `RuntimeCan.adopt` says so."""

from __future__ import annotations

from collections.abc import AsyncIterator, Collection, Mapping, Sequence
from typing import Protocol

from msgspec import Struct

from clew.model.events import Event, TurnEnded
from clew.model.messages import PromptMessage
from clew.model.runtime import Continuity


class OutsideSession(Struct, frozen=True):
    """A session of a runtime that was begun outside clew."""

    id: str  # the runtime's own
    continuity: Continuity
    title: str
    workspace: str
    source: str  # what it was begun with, in the runtime's words
    created_at: int
    updated_at: int


class PastTurn(Struct, frozen=True):
    """A turn as a runtime's record tells it, whoever asked for it."""

    runtime_turn: str
    said: tuple[PromptMessage, ...]  # what it was asked, and what was said into it
    events: tuple[Event, ...]  # what it wrote and did, in order
    end: TurnEnded
    began_at: int | None
    ended_at: int | None  # None: it has no end of its own; it may still run in another program


class SharesSessions(Protocol):
    """A runtime whose sessions people also use without clew. `RuntimeCan.adopt` says that it is one."""

    def outside(self, folders: Sequence[str] = ()) -> AsyncIterator[OutsideSession]:
        """Its sessions in these folders, else in all of them, newest first; clew's own too."""

    async def past(self, continuity: Continuity, after: str | None = None) -> list[PastTurn]:
        """What was said and done in a session, oldest first, after that turn. It takes hold of nothing."""

    async def holders(self, sessions: Collection[Continuity]) -> Mapping[Continuity, str]:
        """Which of these are open in a program now, and in which, in words. Where that cannot be known: none."""

    def way_back(self, continuity: Continuity) -> str:
        """The command that goes on with the session without clew."""
