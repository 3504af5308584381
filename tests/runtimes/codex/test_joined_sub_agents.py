"""Sub-agents of a Codex that outlives the daemon: the next daemon hears them, and what they ask reaches a person."""

from __future__ import annotations

import asyncio
from pathlib import Path

import msgspec
import pytest
from msgspec.structs import replace

from clew.model.events import Activity, GateClosed, GateOpened, Outcome
from clew.model.runtime import RecordState, Seat
from clew.model.turns import TurnState
from clew.runtimes.codex.server.connection import Connection
from clew.runtimes.codex.session import CodexSession
from clew.runtimes.codex.turn import agent_routes
from clew.runtimes.codex.turn.agent_routes import OnEnd
from clew.runtimes.codex.turn.live_turn import Live
from clew.testing.scripted_model import ScriptedModel
from tests.runtimes.codex.conftest import Make
from tests.runtimes.codex.raw import GUARD, collect, ended, next_of, request
from tests.runtimes.codex.test_sub_agents import YES, done, spawn


@pytest.fixture
def is_heard(monkeypatch: pytest.MonkeyPatch) -> asyncio.Event:
    """Set when a turn is joined, and hears its sub-agents."""
    heard, catch_up = asyncio.Event(), agent_routes.catch_up

    async def catch_up_and_tell(connection: Connection, live: Live, thread: str, on_end: OnEnd) -> bool:
        is_alive = await catch_up(connection, live, thread, on_end)
        heard.set()
        return is_alive

    monkeypatch.setattr(agent_routes, "catch_up", catch_up_and_tell)
    return heard


@pytest.mark.process
@pytest.mark.parametrize("is_answered", [False, True], ids=["while the agent works", "when the agent has answered"])
async def test_a_sub_agent_that_asks_when_the_daemon_leaves_asks_the_next_one_again(
    make: Make, careful: Seat, model: ScriptedModel, tmp_path: Path, is_answered: bool
) -> None:
    before = make()
    session = await before.open(careful)
    wait = "" if is_answered else "!hold above\n"
    events = session.run(request(f"{spawn(f'!approve echo ran >> {tmp_path}/runs')}\n{wait}!text above"))
    asked = await next_of(events, GateOpened)
    if is_answered:
        await agent_has_answered(session)
    await before.leave()
    joined = await make().open(replace(careful, continuity=session.continuity()))
    record = await joined.record("turn")
    assert record is not None and record.state is RecordState.ALIVE
    following = joined.attach("turn")
    again = await next_of(following, GateOpened)
    assert (again.ref, again.asked.title, again.asked.agents) == (asked.ref, asked.asked.title, asked.asked.agents)
    assert again.asked.agents[0].startswith("!approve echo ran")
    assert await joined.answer(again.ref, YES)
    model.release("above")
    rest = await collect(following)
    assert ended(rest).text == "above" and ended(rest).state is TurnState.COMPLETED
    command, call = done(rest)
    assert (command.parent, command.outcome, call.parent) == (call.item, Outcome.OK, None)
    assert (tmp_path / "runs").read_text() == "ran\n"


async def agent_has_answered(session: CodexSession) -> None:
    """Wait until the agent's own part of the turn is over."""
    live, over = session._live, asyncio.Event()
    assert live is not None
    feed = live.feed

    def feed_and_look(method: str, params: msgspec.Raw) -> None:
        feed(method, params)
        if live.translation.is_ended:
            over.set()

    live.feed = feed_and_look  # type: ignore[method-assign]
    if not live.translation.is_ended:
        async with asyncio.timeout(GUARD):
            await over.wait()


@pytest.mark.process
async def test_what_a_sub_agent_asks_only_after_the_next_daemon_came_is_a_gate_too(
    make: Make, careful: Seat, model: ScriptedModel, tmp_path: Path, is_heard: asyncio.Event
) -> None:
    before, inner = make(), f"!hold late-below\n!approve touch {tmp_path}/made"
    session = await before.open(careful)
    events = session.run(request(f"{spawn(inner)}\n!hold late-above\n!text above"))
    await next_of(events, Activity)
    await model.held("late-below")
    await model.held("late-above")
    await before.leave()
    joined = await make().open(replace(careful, continuity=session.continuity()))
    following = joined.attach("turn")
    asked = asyncio.create_task(next_of(following, GateOpened))
    await is_heard.wait()
    model.release("late-below")
    gate = await asked
    assert len(gate.asked.agents) == 1 and gate.asked.agents[0].startswith("!hold late-below")
    assert await joined.answer(gate.ref, YES)
    model.release("late-above")
    assert ended(await collect(following)).text == "above" and (tmp_path / "made").exists()


@pytest.mark.process
async def test_a_stop_of_a_joined_turn_reaches_its_sub_agent(
    make: Make, careful: Seat, is_heard: asyncio.Event
) -> None:
    before = make()
    session = await before.open(careful)
    events = session.run(request(f"{spawn('!approve sleep 600')}\n!text above"))
    gate = await next_of(events, GateOpened)
    await session.answer(gate.ref, YES)
    await next_of(events, GateClosed)
    await agent_has_answered(session)
    await before.leave()
    joined = await make().open(replace(careful, continuity=session.continuity()))
    following = asyncio.create_task(collect(joined.attach("turn")))
    await is_heard.wait()
    await joined.interrupt()
    assert ended(await following).state is TurnState.INTERRUPTED
