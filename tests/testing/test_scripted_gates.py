"""Gates of the scripted runtime: asked once, answered once, one execution per yes, and kept for a later attach."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from clew.model.events import Activity, Event, GateClosed, GateOpened, Outcome, Phase
from clew.model.gates import Answer, Asked, Decision, GateKind, Policy, Question
from clew.model.runtime import RecordState, Seat
from clew.model.turns import TurnState
from clew.support.clock import SystemClock
from clew.support.errors import BadInput, RuntimeLost
from clew.testing.scripted_runtime import FileLedger, Played, ScriptedRuntime
from clew.testing.scripted_runtime.session import ScriptedSession
from tests.runtimes.codex.raw import collect, ended, next_of, only, request

YES, NO, CANCEL = (Answer(each) for each in (Decision.ACCEPT, Decision.DECLINE, Decision.CANCEL))
NAME = "scripted-thread"


def reply(*said: str) -> Answer:
    return Answer(Decision.REPLY, replies=(("question", said),))


class Harness:
    """A runtime with a ledger in a folder. A second one in the same folder acts as the restarted program."""

    def __init__(self, folder: Path, *, outlives: bool = False) -> None:
        self.ledger = FileLedger(folder)
        self.runtime = ScriptedRuntime(SystemClock(), self.ledger, outlives=outlives)

    async def sit(self, policy: Policy = Policy.CAREFUL) -> ScriptedSession:
        session = await self.runtime.open(Seat("thread", "/w", policy=policy))
        assert isinstance(session, ScriptedSession)
        return session

    @property
    def played(self) -> Played:
        return self.ledger.load(NAME)[-1]


@pytest.fixture
def harness(tmp_path: Path) -> Harness:
    return Harness(tmp_path)


async def at_gate(session: ScriptedSession, script: str) -> tuple[AsyncIterator[Event], GateOpened]:
    events = session.run(request(script))
    return events, await next_of(events, GateOpened)


async def test_a_yes_runs_it_once(harness: Harness) -> None:
    session = await harness.sit()
    events, gate = await at_gate(session, "!approve make\n!text done")
    assert gate.asked == Asked(GateKind.COMMAND, "make", item=gate.asked.item)
    assert not harness.played.executions
    assert await session.answer(gate.ref, YES)
    assert not await session.answer(gate.ref, YES)
    rest = await collect(events)
    assert only(rest, GateClosed) == [GateClosed(gate.ref)]
    assert [(act.item, act.outcome) for act in only(rest, Activity)] == [(gate.asked.item, Outcome.OK)]
    assert ended(rest).text == "done"
    assert harness.played.executions == ("make",)
    assert not await session.answer(gate.ref, YES)


async def test_a_no_runs_nothing_and_the_agent_gets_the_reason(harness: Harness) -> None:
    session = await harness.sit()
    events, gate = await at_gate(session, "!approve make")
    assert await session.answer(gate.ref, Answer(Decision.DECLINE, "not now"))
    rest = await collect(events)
    assert ended(rest).text == "declined: not now"
    assert [act.outcome for act in only(rest, Activity)] == [Outcome.DECLINED]
    assert harness.played.executions == ()


@pytest.mark.parametrize("how", ["cancel", "interrupt"])
async def test_a_cancelled_gate_is_closed_and_ends_the_turn(harness: Harness, how: str) -> None:
    session = await harness.sit()
    events, first = await at_gate(session, "!both one | two\n!text done")
    second = await next_of(events, GateOpened)
    if how == "cancel":
        assert await session.answer(second.ref, CANCEL)
    else:
        await session.interrupt()
        assert not await session.answer(first.ref, YES)
    rest = await collect(events)
    assert {closed.ref for closed in only(rest, GateClosed)} == {first.ref, second.ref}
    assert ended(rest).state is TurnState.INTERRUPTED
    assert not await session.answer(first.ref, YES)
    assert harness.played.executions == ()


async def test_two_at_once_are_answered_in_any_order(harness: Harness) -> None:
    session = await harness.sit()
    events, first = await at_gate(session, "!both one | two\n!text done")
    second = await next_of(events, GateOpened)
    assert await session.answer(second.ref, YES)
    assert await session.answer(first.ref, YES)
    rest = await collect(events)
    assert only(rest, GateClosed) == [GateClosed(second.ref), GateClosed(first.ref)]
    assert harness.played.executions == ("two", "one")


async def test_a_question_is_answered_with_words(harness: Harness) -> None:
    session = await harness.sit()
    events, gate = await at_gate(session, "!ask Which? | A | B")
    assert gate.asked.questions == (Question("question", "Which?", ("A", "B")),)
    with pytest.raises(BadInput):
        await session.answer(gate.ref, YES)
    assert await session.answer(gate.ref, reply("A"))
    assert ended(await collect(events)).text == "A"


async def test_a_command_is_not_answered_with_words(harness: Harness) -> None:
    session = await harness.sit()
    events, gate = await at_gate(session, "!approve make")
    with pytest.raises(BadInput):
        await session.answer(gate.ref, reply("sure"))
    assert await session.answer(gate.ref, NO)
    assert ended(await collect(events)).text == "declined"


async def test_a_secret_reaches_the_agent_and_is_not_stored(harness: Harness, tmp_path: Path) -> None:
    session = await harness.sit()
    events, gate = await at_gate(session, "!secret Token?")
    assert gate.asked.questions[0].secret
    assert await session.answer(gate.ref, reply("hush"))
    assert ended(await collect(events)).text == "a secret of 4 characters"
    assert "hush" not in (tmp_path / f"{NAME}.json").read_text()


async def test_a_non_blocking_question_does_not_stop_the_turn(harness: Harness) -> None:
    session = await harness.sit()
    events = await collect(session.run(request("!aside Which? | A\n!text went on")))
    (gate,) = only(events, GateOpened)
    assert not gate.asked.blocking
    assert ended(events).text == "went on"
    assert not await session.answer(gate.ref, reply("A"))


async def test_after_a_death_its_gates_are_gone(harness: Harness, tmp_path: Path) -> None:
    session = await harness.sit()
    events, gate = await at_gate(session, "!approve make\n!text done")
    harness.runtime.lose()
    with pytest.raises(RuntimeLost):
        await collect(events)
    with pytest.raises(RuntimeLost):
        await session.answer(gate.ref, YES)
    again = await Harness(tmp_path).sit()
    record = await again.record("turn")
    assert record is not None and record.state is RecordState.CUT
    assert not await again.answer(gate.ref, YES)
    assert harness.played.executions == ()


@pytest.mark.parametrize("answered", [False, True])
async def test_a_turn_that_outlives_the_daemon_keeps_its_gates(tmp_path: Path, answered: bool) -> None:
    session = await Harness(tmp_path, outlives=True).sit()
    events, gate = await at_gate(session, "!approve make\n!text done")
    if answered:
        assert await session.answer(gate.ref, YES)
    await events.aclose()  # type: ignore[attr-defined]
    harness = Harness(tmp_path, outlives=True)
    again = await harness.sit()
    followed = again.attach("turn")
    if not answered:
        assert await next_of(followed, GateOpened) == gate
        assert await again.answer(gate.ref, YES)
    rest = await collect(followed)
    assert only(rest, GateOpened) == []
    assert only(rest, GateClosed) == [GateClosed(gate.ref)]
    assert ended(rest).text == "done"
    assert harness.played.executions == ("make",)


async def test_a_yes_whose_result_was_lost_is_not_executed_again(tmp_path: Path) -> None:
    session = await Harness(tmp_path, outlives=True).sit()
    events, gate = await at_gate(session, "!approve make\n!text done")
    assert await session.answer(gate.ref, YES)
    while (await next_of(events, Activity)).phase is not Phase.DONE:
        pass
    await events.aclose()  # type: ignore[attr-defined]
    harness = Harness(tmp_path, outlives=True)
    assert ended(await collect((await harness.sit()).attach("turn"))).text == "done"
    assert harness.played.executions == ("make",)
