"""The interface of a runtime whose sessions people also use without clew, in its own program: which sessions exist,
what was said in them, who has one open. Used only if `RuntimeCan.adopt` is set."""

from __future__ import annotations

from collections.abc import AsyncIterator, Collection, Mapping, Sequence
from typing import Protocol

from msgspec import Struct

from clew.model.events import Event, TurnEnded
from clew.model.messages import PromptMessage
from clew.model.threads import Continuity


class OutsideSession(Struct, frozen=True):
    """A session of a runtime that was started outside clew."""

    id: str  # the runtime's own
    continuity: Continuity
    title: str
    workspace: str
    source: str  # the program that started it, in the runtime's words
    created_at: int
    updated_at: int


class PastTurn(Struct, frozen=True):
    """A turn in a runtime's record, whoever asked for it."""

    runtime_turn: str
    said: tuple[PromptMessage, ...]  # its request, and the steers
    events: tuple[Event, ...]  # what it wrote and did, in order
    end: TurnEnded
    began_at: int | None
    ended_at: int | None  # None: no end is recorded; it may still run in another program


class SharesSessions(Protocol):
    """A runtime whose sessions people also use without clew. `RuntimeCan.adopt` says that it is one."""

    def outside(self, folders: Sequence[str] = ()) -> AsyncIterator[OutsideSession]:
        """Its sessions in these folders, or in all folders, newest first. Includes clew's own."""

    async def past(self, continuity: Continuity, after: str | None = None) -> list[PastTurn]:
        """The turns of a session after `after`, oldest first. Does not open the session."""

    async def holders(self, sessions: Collection[Continuity]) -> Mapping[Continuity, str]:
        """Which of these sessions are open in a program now, with a description of it. Empty if that is unknown."""

    def way_back(self, continuity: Continuity) -> str:
        """The command that continues the session without clew."""
