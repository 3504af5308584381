"""Helpers to run a turn on a session and answer what it asks."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import TypeVar

from clew.model.events import Event, GateOpened, TurnEnded
from clew.model.gates import Answer, Decision
from clew.model.messages import Attachment, PromptMessage
from clew.model.runtime import TurnRequest
from clew.runtimes.claude.session import ClaudeSession

YES, NO = Answer(Decision.ACCEPT), Answer(Decision.DECLINE)
GUARD = 60.0  # seconds

E = TypeVar("E", bound=Event)


def request(text: str, turn: str = "turn", *attachments: Attachment) -> TurnRequest:
    return TurnRequest(turn, (PromptMessage(f"{turn}:said", "ann", text, attachments),))


async def play(session: ClaudeSession, text: str, turn: str = "turn", answer: Answer = YES) -> list[Event]:
    """Run a turn to its end, and give this answer to every gate."""
    return await collect(session, session.run(request(text, turn)), answer)


async def collect(session: ClaudeSession, events: AsyncIterator[Event], answer: Answer = YES) -> list[Event]:
    found: list[Event] = []
    async with asyncio.timeout(GUARD):
        async for event in events:
            found.append(event)
            if isinstance(event, GateOpened):
                await session.answer(event.ref, answer)
    return found


def only(events: list[Event], kind: type[E]) -> list[E]:
    return [event for event in events if isinstance(event, kind)]


def ended(events: list[Event]) -> TurnEnded:
    assert isinstance(events[-1], TurnEnded), events
    return events[-1]


async def next_of(events: AsyncIterator[Event], kind: type[E]) -> E:
    async with asyncio.timeout(GUARD):
        async for event in events:
            if isinstance(event, kind):
                return event
    raise AssertionError(f"there is no {kind.__name__}")
