"""`clew.run`: one question and its answer, without asyncio. For everything else there is `clew.Clew`."""

from __future__ import annotations

import asyncio
from contextlib import aclosing
from pathlib import Path

from msgspec import Struct

from clew.client.api import Clew, Policy
from clew.client.requests import Sent
from clew.model.events.kinds import EventKind
from clew.model.views import ThreadView, TurnView
from clew.support.errors import BadInput, TimedOut, TurnFailed, WaitsForPerson
from clew.texts.catalogue import say

_LOOK_AFTER = frozenset(
    {
        EventKind.HELLO,
        EventKind.RESET,
        EventKind.GATE_OPENED,
        EventKind.TURN_ENDED,
        EventKind.THREAD_STATUS,
    }
)


class RunResult(Struct, frozen=True):
    """The answer of a completed turn. `text` is what the agent said last."""

    text: str
    thread: str
    turn: str
    state: str


class Request(Struct, frozen=True):
    """The arguments of `run`."""

    prompt: str
    workspace: str | Path | None
    runtime: str | None
    policy: Policy | None
    timeout: float | None


def run(
    prompt: str,
    *,
    workspace: str | Path | None = None,
    runtime: str | None = None,
    policy: Policy | None = None,
    timeout: float | None = None,
) -> RunResult:
    """Run one turn in a new thread and return its answer, as `clew run` does. Starts the daemon if none runs.

    Raises `TurnFailed` if the turn failed or was stopped, `WaitsForPerson` if the agent asks something, and `TimedOut`
    after `timeout` seconds. After the last two the thread still lives: its id is in `error.thread`.
    """
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return asyncio.run(_run(Request(prompt, workspace, runtime, policy, timeout)))
    raise BadInput(say("turns.run_in_a_loop"))


async def _run(asked: Request) -> RunResult:
    async with Clew() as clew:
        sent = await clew.start(
            asked.prompt, kind="chat", workspace=asked.workspace, runtime=asked.runtime, policy=asked.policy
        )
        try:
            async with asyncio.timeout(asked.timeout):
                turn = await _outcome(clew, sent)
        except TimeoutError:
            late = say("turns.run_timed_out", seconds=f"{asked.timeout:g}", thread=sent.thread)
            raise TimedOut(late, sent.thread) from None
    return RunResult(turn.text, turn.thread, turn.id, turn.state)


async def _outcome(clew: Clew, sent: Sent) -> TurnView:
    async with aclosing(clew.events(sent)) as events:
        async for event in events:
            if event.kind in _LOOK_AFTER and (turn := await _ended(clew, sent)) is not None:
                return turn
    raise AssertionError("a stream of events ends only by an error")


async def _ended(clew: Clew, sent: Sent) -> TurnView | None:
    """The completed turn; None while it works."""
    turn = await clew.turn(sent.turn or "")
    while turn.continued_by is not None:
        turn = await clew.turn(turn.continued_by)
    if turn.state == "completed":
        return turn
    thread = await clew.show(sent.thread)
    if (turn.state == "waiting" and thread.gates) or (turn.state == "interrupted" and thread.status == "suspended"):
        raise WaitsForPerson(_waits(thread), thread.id)
    if turn.state in ("failed", "interrupted"):
        why = turn.error or say("turns.run_stopped")
        raise TurnFailed(say("turns.run_failed", why=why, thread=thread.id), thread.id)
    return None


def _waits(thread: ThreadView) -> str:
    if thread.gates:
        return say("turns.run_waits", codes=", ".join(thread.gates), code=thread.gates[0], thread=thread.id)
    return say("turns.run_suspended", why=thread.suspend_message or "", thread=thread.id)
