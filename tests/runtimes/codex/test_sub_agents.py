"""Sub-agents of Codex, with the real binary and the scripted model: what they do and ask, and when their turn ends."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from msgspec.structs import replace

from clew.model.events import Activity, Event, GateClosed, GateOpened, Outcome, Phase, Usage
from clew.model.gates import Answer, Decision
from clew.model.runtime import Seat
from clew.model.turns import TurnState
from clew.runtimes.codex.runtime import CodexRuntime
from clew.runtimes.codex.session import CodexSession
from clew.runtimes.codex.settings import CodexConfig
from clew.runtimes.codex.turn.sub_agents import SubAgents
from clew.runtimes.codex.wire import Item
from clew.testing.scripted_model import ScriptedModel, write_codex_home
from tests.runtimes.codex.raw import GUARD, ended, next_of, only, request
from tests.runtimes.conftest import MakeRuntime

YES, NO = Answer(Decision.ACCEPT), Answer(Decision.DECLINE, "not here")


def spawn(script: str) -> str:
    return f"!tool multi_agent_v1.spawn_agent {json.dumps({'message': script})}"


@pytest.fixture
async def session(runtime: CodexRuntime, careful: Seat) -> AsyncIterator[CodexSession]:
    session = await runtime.open(careful)
    yield session
    await session.close()


async def play(session: CodexSession, script: str, answer: Answer = YES) -> list[Event]:
    events: list[Event] = []
    async with asyncio.timeout(GUARD):
        async for event in session.run(request(script)):
            events.append(event)
            if isinstance(event, GateOpened):
                await session.answer(event.ref, answer)
    return events


def done(events: list[Event]) -> list[Activity]:
    return [act for act in only(events, Activity) if act.phase is Phase.DONE]


async def test_what_a_sub_agent_does_and_asks_is_under_the_call_that_began_it(
    session: CodexSession, tmp_path: Path
) -> None:
    events = await play(session, f"{spawn('!approve touch from-below')}\n!text above")
    (gate,) = only(events, GateOpened)
    assert "touch from-below" in gate.asked.title and gate.asked.agents == ("!approve touch from-below",)
    command, call = done(events)
    assert (command.title, command.parent, command.outcome) == ("touch from-below", call.item, Outcome.OK)
    assert gate.asked.item == command.item
    assert (call.title, call.parent) == ("spawnAgent !approve touch from-below", None)
    assert Path(command.folder or "", "from-below").exists()


async def test_a_turn_ends_after_its_sub_agents(session: CodexSession) -> None:
    events = await play(session, f"{spawn('!approve echo below')}\n!text above")
    assert only(events, GateClosed) and ended(events).text == "above"
    assert ended(events).state is TurnState.COMPLETED


async def test_the_record_of_a_turn_has_what_its_sub_agents_did(session: CodexSession) -> None:
    await play(session, f"{spawn('!approve echo below')}\n!text above")
    record = await session.record("turn")
    assert record is not None
    call, command = record.activities
    assert (command.title, command.parent, command.exit_code) == ("echo below", call.item, 0)


async def test_a_no_to_a_sub_agent_ends_with_the_turn_of_that_one(session: CodexSession) -> None:
    events = await play(session, f"{spawn('!approve touch never')}\n!text above", NO)
    assert [act.outcome for act in done(events)] == [Outcome.DECLINED, Outcome.OK]
    assert ended(events).state is TurnState.COMPLETED


async def test_a_stop_reaches_a_sub_agent_whose_parent_has_ended(session: CodexSession) -> None:
    events = session.run(request(f"{spawn('!approve sleep 600')}\n!text above"))
    gate = await next_of(events, GateOpened)
    await session.answer(gate.ref, YES)
    await next_of(events, GateClosed)
    await session.interrupt()
    async with asyncio.timeout(GUARD):
        rest = [event async for event in events]
    assert ended(rest).state is TurnState.INTERRUPTED


async def test_no_and_stop_at_the_gate_of_a_sub_agent_ends_the_turn(session: CodexSession) -> None:
    events = await play(session, f"{spawn('!approve touch never')}\n!text above", Answer(Decision.CANCEL))
    assert ended(events).state is TurnState.INTERRUPTED


@pytest.mark.process
async def test_a_sub_agent_of_a_sub_agent_is_named_with_its_parent(
    make_runtime: MakeRuntime, own_model: ScriptedModel, careful: Seat, tmp_path: Path
) -> None:
    home = write_codex_home(tmp_path / "home", own_model.url)
    with (home / "config.toml").open("a") as config:
        config.write("\n[agents]\nmax_depth = 2\n")
    session = await make_runtime(CodexConfig(home=str(home), start_timeout=60)).open(careful)
    deep = spawn("!approve echo deep")
    events = await play(session, f"{spawn(deep)}\n!text above")
    (gate,) = only(events, GateOpened)
    assert len(gate.asked.agents) == 2 and gate.asked.agents[-1] == "!approve echo deep"
    command, inner, outer = done(events)
    assert (outer.parent, inner.parent, command.parent) == (None, outer.item, inner.item)


def test_a_turn_that_is_joined_does_not_wait_for_a_sub_agent_whose_end_nobody_heard() -> None:
    agents = SubAgents("/work")
    item = Item("collabAgentToolCall", "call", tool="spawnAgent", receiver_thread_ids=("below",))
    agents.place([item], is_past=True)
    assert not agents.is_working
    agents.place([replace(item, receiver_thread_ids=("new",))])
    assert agents.is_working


async def test_what_a_sub_agent_uses_counts_for_its_turn(session: CodexSession, model: ScriptedModel) -> None:
    before = len(model.requests)
    spent = only(await play(session, f"{spawn('!approve echo below')}\n!text above"), Usage)[-1].tokens
    asked = model.requests[before:]
    assert len(asked) == 4, "the agent asks the model twice, and so does its sub-agent"
    assert spent.input_tokens == sum(len(each.prompt.split()) for each in asked)
    assert spent.total_tokens == spent.input_tokens + spent.output_tokens
