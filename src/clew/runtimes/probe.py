"""Checks a runtime without a daemon: which program it is, whether it is logged in, and whether one tiny turn works.
Errors have the same texts as everywhere."""

from __future__ import annotations

import asyncio
import tempfile
from collections.abc import AsyncIterator

from msgspec import Struct

from clew.model.events import Event, GateOpened, TurnEnded
from clew.model.gates import Answer, Decision, Policy
from clew.model.messages import PromptMessage
from clew.model.runtime import ProgramInfo, Runtime, Seat, Session, TurnRequest
from clew.model.turns import TurnState
from clew.support.clock import Clock
from clew.support.errors import RuntimeTrouble
from clew.texts.catalogue import say

PROMPT = "Answer with the one word: pong"
TIME_LIMIT = 120.0


class PingStep(Struct, frozen=True):
    name: str  # find, start, turn, stop
    seconds: float
    detail: str = ""


async def look(runtime: Runtime) -> ProgramInfo:
    """Return the program's version, path and login. Empty if the runtime has no `look`. Raises RuntimeTrouble."""
    looked = getattr(runtime, "look", None)
    found: ProgramInfo = await looked() if looked is not None else ProgramInfo("", "", None)
    return found


async def ping(runtime: Runtime, clock: Clock, time_limit: float = TIME_LIMIT) -> AsyncIterator[PingStep]:
    """Run one tiny turn, and yield each step with its time. Raises RuntimeTrouble at the step that fails. Leaves no
    process. A runtime that has the method `ping_steps` does it in its own way."""
    if (own := getattr(runtime, "ping_steps", None)) is not None:
        async for step in own(time_limit):
            yield step
        return
    with tempfile.TemporaryDirectory(prefix="clew-ping-") as folder:
        try:
            began = clock.monotonic()
            session = await runtime.open(Seat("ping", folder, policy=Policy.READ_ONLY))
            pid = (await runtime.health()).pid
            yield PingStep("start", clock.monotonic() - began, f"pid {pid}" if pid else "")
            began = clock.monotonic()
            text = await answer(_tiny_turn(session), time_limit)
            yield PingStep("turn", clock.monotonic() - began, text)
            began = clock.monotonic()
        finally:
            await runtime.close()
        yield PingStep("stop", clock.monotonic() - began)


async def _tiny_turn(session: Session) -> AsyncIterator[Event]:
    async for event in session.run(TurnRequest("ping", (PromptMessage("ping", "clew", PROMPT),))):
        if isinstance(event, GateOpened):
            await session.answer(event.ref, Answer(Decision.DECLINE))
        yield event


async def answer(events: AsyncIterator[Event], time_limit: float) -> str:
    """Return the final text of a turn. Raises RuntimeTrouble if the turn fails or takes too long."""
    ended = TurnEnded(TurnState.FAILED)
    try:
        async with asyncio.timeout(time_limit):
            async for event in events:
                if isinstance(event, TurnEnded):
                    ended = event
    except TimeoutError:
        raise RuntimeTrouble(say("runtimes.model_silent", seconds=f"{time_limit:g}")) from None
    if ended.problem is not None:
        raise RuntimeTrouble(ended.problem.text)
    return ended.text
