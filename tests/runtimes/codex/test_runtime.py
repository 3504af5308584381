"""Codex as a runtime: what the engine may rely on, with the real binary and the scripted model."""

from __future__ import annotations

import asyncio
import base64
import contextlib
import dataclasses
import os
import signal
from collections.abc import AsyncIterator
from pathlib import Path
from typing import cast

import pytest
from msgspec.structs import replace

from clew.model.events import (
    Activity,
    ActivityKind,
    Notice,
    NoticeKind,
    Outcome,
    Phase,
    TextDelta,
    TextDone,
    TurnEnded,
    TurnStarted,
    Usage,
)
from clew.model.messages import Attachment, PromptMessage
from clew.model.runtime import HealthState, RecordState, Runtime, Seat, Session, TurnRequest
from clew.model.threads import Continuity, ForkPoint, SessionBegan
from clew.model.turns import TurnState
from clew.process import scan
from clew.process.scan import Marks
from clew.runtimes.codex.runtime import CodexRuntime
from clew.runtimes.codex.session import CodexSession
from clew.runtimes.codex.settings import CodexConfig
from clew.runtimes.process import Child
from clew.support.clock import SystemClock
from clew.support.errors import RuntimeLost, RuntimeTrouble
from clew.testing.scripted_model import ScriptedModel, write_codex_home
from tests.helpers.clocks import IdleClock
from tests.runtimes.codex.raw import GUARD, collect, ended, next_of, only, release_when_followed, request, said
from tests.runtimes.conftest import MakeRuntime

PIXEL = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
)


@pytest.fixture
async def session(runtime: CodexRuntime, seat: Seat) -> AsyncIterator[CodexSession]:
    session = await runtime.open(seat)
    yield session
    await session.close()


async def pid_of(runtime: CodexRuntime) -> int:
    return cast("int", (await runtime.health()).pid)


async def kill(runtime: CodexRuntime) -> None:
    os.kill(await pid_of(runtime), signal.SIGKILL)


def test_it_implements_the_runtime_protocol() -> None:
    runtime: type[Runtime] = CodexRuntime
    session: type[Session] = CodexSession
    assert (runtime, session) == (CodexRuntime, CodexSession)


@pytest.mark.process
async def test_the_events_of_a_turn_are_in_order_and_end_once(session: CodexSession) -> None:
    events = await collect(session.run(request("!think hmm\n!text it is done")))
    assert isinstance(events[0], TurnStarted)
    kinds = [type(event) for event in events if isinstance(event, TextDelta | TextDone | Usage | TurnEnded)]
    assert kinds == [TextDelta, TextDelta, TextDelta, TextDone, Usage, TurnEnded]
    assert [(delta.offset, delta.text) for delta in only(events, TextDelta)] == [(0, "it"), (2, " is"), (5, " done")]
    assert only(events, TextDone)[0].text == "it is done"
    assert ended(events) == TurnEnded(TurnState.COMPLETED, "it is done", messages=frozenset({"turn"}))


async def test_thoughts_commands_and_changes_are_activities_with_their_output(
    session: CodexSession, tmp_path: Path
) -> None:
    script = "!think let me see\n!shell echo out; exit 3\n!patch new.txt hello\n!text ok"
    events = await collect(session.run(request(script)))
    done = [act for act in only(events, Activity) if act.phase is Phase.DONE]
    thought, command, change = done
    assert (thought.kind, thought.detail) == (ActivityKind.THOUGHT, "let me see")
    assert command.kind is ActivityKind.COMMAND and "echo out" in command.title
    assert (command.detail, command.exit_code, command.outcome) == ("out\n", 3, Outcome.FAILED)
    assert command.folder == str(tmp_path)
    assert (change.kind, change.outcome) == (ActivityKind.CHANGE, Outcome.OK)
    assert (change.title, change.detail) == ("new.txt", "--- /dev/null\n+++ new.txt\n+hello\n")
    assert {act.item for act in only(events, Activity) if act.phase is Phase.STARTED} == {act.item for act in done}
    assert (tmp_path / "new.txt").read_text() == "hello\n"


async def test_a_plan_is_an_activity(session: CodexSession) -> None:
    events = await collect(session.run(request("!plan look | leap\n!text ok")))
    (plan,) = [act for act in only(events, Activity) if act.kind is ActivityKind.PLAN]
    assert plan.detail == "[>] look\n[ ] leap"


async def test_a_merged_backlog_is_one_turn_with_all_messages_in_order(
    session: CodexSession, model: ScriptedModel
) -> None:
    events = await collect(session.run(request("backlog-1 first", "second", "!text third", turn="merged")))
    assert ended(events).text == "third"
    assert model.count("backlog-1") == 1
    assert [r.prompt for r in model.requests if "backlog-1" in r.prompt] == ["backlog-1 first\nsecond\n!text third"]
    assert ended(events).messages == {"merged"}


async def test_usage_is_the_turns_own_over_all_its_requests(session: CodexSession) -> None:
    first = await collect(session.run(request("!shell true\n!text one two", turn="a")))
    second = await collect(session.run(request("!text one two three", turn="b")))
    assert only(first, Usage)[-1].tokens.output_tokens == 2
    assert only(first, Usage)[-1].tokens.input_tokens == 2 * 5, "both requests carry the five words"
    assert only(second, Usage)[-1].tokens.output_tokens == 3


async def test_model_and_effort_go_with_each_turn(runtime: CodexRuntime, seat: Seat, model: ScriptedModel) -> None:
    session = await runtime.open(replace(seat, model="gpt-5.5-scripted", effort="high"))
    await collect(session.run(request("marker-effort")))
    body = next(r.body for r in model.requests if "marker-effort" in r.prompt)
    assert (body["model"], body["reasoning"]["effort"]) == ("gpt-5.5-scripted", "high")


async def test_a_changed_model_and_effort_hold_from_the_next_turn(
    runtime: CodexRuntime, seat: Seat, model: ScriptedModel
) -> None:
    session = await runtime.open(replace(seat, model="gpt-5.5-scripted", effort="high"))
    await collect(session.run(request("marker-before", turn="a")))
    await session.reseat(replace(seat, model="gpt-5.6-scripted", effort="low"))
    await collect(session.run(request("marker-after", turn="b")))
    body = next(r.body for r in model.requests if "marker-after" in r.prompt)
    assert (body["model"], body["reasoning"]["effort"]) == ("gpt-5.6-scripted", "low")


async def test_it_lists_its_models_with_their_efforts(runtime: CodexRuntime) -> None:
    models = await runtime.models()
    assert len([each for each in models if each.is_default]) == 1
    assert all(each.name and "low" in each.efforts for each in models)


async def test_images_are_shown_and_files_are_named(
    session: CodexSession, model: ScriptedModel, tmp_path: Path
) -> None:
    picture = tmp_path / "dot.png"
    picture.write_bytes(PIXEL)
    attached = (Attachment("dot.png", str(picture), "image/png"), Attachment("a.csv", "/data/a.csv", "text/csv"))
    await collect(session.run(TurnRequest("turn", (PromptMessage("m", "me", "marker-image", attached),))))
    body = next(r.body for r in model.requests if "marker-image" in r.prompt)
    parts = [part for item in body["input"] if item.get("role") == "user" for part in item["content"]]
    assert any(part["type"] == "input_image" and part["image_url"].startswith("data:image/png") for part in parts)
    assert any("[attached file: /data/a.csv]" in part.get("text", "") for part in parts)


async def test_a_thread_knows_its_past_when_it_is_opened_again(runtime: CodexRuntime, seat: Seat) -> None:
    session = await runtime.open(seat)
    await collect(session.run(request("the very first words", turn="a")))
    continuity = session.continuity()
    await session.close()
    again = await runtime.open(replace(seat, continuity=continuity))
    assert (session.began(), again.began()) == (SessionBegan.FRESH, SessionBegan.RESUMED)
    events = await collect(again.run(request("!recall", turn="b")))
    assert ended(events).text == "I remember 2 messages. The first was: the very first words"
    assert again.continuity() == continuity


async def test_a_fork_knows_the_past_up_to_its_point(runtime: CodexRuntime, seat: Seat) -> None:
    session = await runtime.open(seat)
    first = await collect(session.run(request("one", turn="a")))
    await collect(session.run(request("two", turn="b")))
    point = ForkPoint(session.continuity(), only(first, TurnStarted)[0].runtime_turn)
    fork = await runtime.open(replace(seat, thread="fork", fork=point))
    events = await collect(fork.run(request("!recall", turn="c")))
    assert ended(events).text == "I remember 2 messages. The first was: one"
    assert fork.continuity() != session.continuity() and fork.began() is SessionBegan.RESUMED
    whole = await runtime.open(replace(seat, thread="whole", fork=ForkPoint(session.continuity(), None)))
    assert ended(await collect(whole.run(request("!recall")))).text.startswith("I remember 3 messages")


@pytest.mark.parametrize("data", ['{"thread":"01a1e0dc-0f0f-72f1-aa5f-2cd00853d01f"}', "rubbish"])
async def test_a_thread_that_codex_does_not_know_begins_anew(runtime: CodexRuntime, seat: Seat, data: str) -> None:
    session = await runtime.open(replace(seat, continuity=Continuity(data)))
    assert session.continuity().data != data and session.began() is SessionBegan.FRESH
    assert await session.record("turn") is None
    assert ended(await collect(session.run(request("!recall")))).text.startswith("I remember 1 messages")
    fork = await runtime.open(replace(seat, fork=ForkPoint(Continuity(data), None)))
    assert ended(await collect(fork.run(request("!text fresh")))).text == "fresh"
    assert fork.began() is SessionBegan.FRESH


PRELUDE = "ann said:\n> !text one\n> !hold for ever\n\nYou answered:\n> 一\n\n"


@pytest.mark.parametrize("known", ["continuity", "fork", "nothing"])
async def test_a_codex_that_does_not_know_the_thread_gets_the_history_once(
    runtime: CodexRuntime, seat: Seat, known: str
) -> None:
    lost = Continuity('{"thread":"01a1e0dc-0f0f-72f1-aa5f-2cd00853d01f"}')
    seat = {
        "continuity": replace(seat, continuity=lost),
        "fork": replace(seat, fork=ForkPoint(lost, None)),
        "nothing": seat,
    }[known]
    session = await runtime.open(replace(seat, has_past=True))
    assert session.began() is SessionBegan.REBUILT
    events = await collect(session.run(replace(request("!recall", turn="a"), prelude=PRELUDE)))
    assert "ann said: > !text one > !hold for ever You answered: > 一" in ended(events).text
    notices = [notice.text for notice in only(events, Notice)]
    assert notices == (
        ["Codex has lost its record of this thread. clew has given it the history."] if known == "continuity" else []
    )
    again = await collect(session.run(request("!recall", turn="b")))
    assert ended(again).text.startswith("I remember 2 messages") and not only(again, Notice), "it was told twice"
    later = await runtime.open(replace(seat, continuity=session.continuity(), has_past=True))
    assert later.began() is SessionBegan.RESUMED
    assert ended(await collect(later.run(request("!recall", turn="c")))).text.startswith("I remember 3 messages")


@pytest.mark.process
async def test_a_thread_whose_first_turn_was_not_stored_gets_the_history_once(
    config: CodexConfig, make_runtime: MakeRuntime, seat: Seat
) -> None:
    """clew may die in the first turn, before it stored that Codex got the history."""
    seat = replace(seat, has_past=True)
    first = make_runtime(config)
    session = await first.open(seat)
    kept = session.continuity()
    await collect(session.run(replace(request("!text two", turn="a"), prelude=PRELUDE)))
    await first.close()
    again = await make_runtime(config).open(replace(seat, continuity=kept))
    assert again.began() is SessionBegan.RESUMED
    assert ended(await collect(again.run(request("!recall", turn="b")))).text.startswith("I remember 2 messages")


async def test_the_record_has_all_that_matters(session: CodexSession) -> None:
    assert await session.record("none") is None
    events = await collect(session.run(request("!shell echo seen\n!text the answer", turn="kept")))
    record = await session.record("kept")
    assert record is not None
    assert (record.state, record.text, record.messages) == (RecordState.COMPLETED, "the answer", frozenset({"kept"}))
    assert record.runtime_turn == only(events, TurnStarted)[0].runtime_turn
    assert [(act.kind, act.detail) for act in record.activities] == [(ActivityKind.COMMAND, "seen\n")]
    assert await session.record("other") is None


async def test_an_old_turn_is_found_behind_many_newer_ones(
    session: CodexSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("clew.runtimes.codex.record.PAGE", 2)
    for number in range(5):
        await collect(session.run(request(f"!text {number}", turn=f"t{number}")))
    record = await session.record("t0")
    assert record is not None and record.text == "0"
    assert await session.record("t9") is None


async def test_a_failed_turn_is_recorded_with_its_problem(session: CodexSession) -> None:
    events = await collect(session.run(request("!error context_length_exceeded", turn="bad")))
    record = await session.record("bad")
    assert record is not None and record.state is RecordState.FAILED
    assert record.problem == ended(events).problem
    assert record.problem is not None and record.problem.code == "context_window"


async def test_a_message_is_steered_into_the_running_turn(session: CodexSession, model: ScriptedModel) -> None:
    events = session.run(request("!text first\n!hold steer-here", turn="a"))
    await next_of(events, TextDelta)
    await model.held("steer-here")
    assert await session.steer(said("!text heard you", "steer-1"))
    rest = await collect(events)
    assert ended(rest).text == "heard you"
    assert ended(rest).messages == {"a", "steer-1"}
    record = await session.record("a")
    assert record is not None and record.messages == {"a", "steer-1"}


async def test_an_idle_thread_takes_no_steer(session: CodexSession) -> None:
    assert not await session.steer(said("too early"))
    await collect(session.run(request("!text a")))
    assert not await session.steer(said("too late"))


async def test_an_interrupt_ends_the_turn(session: CodexSession, model: ScriptedModel) -> None:
    events = session.run(request("!text begun\n!hold stop-here", turn="a"))
    await next_of(events, TextDelta)
    await session.interrupt()
    rest = await collect(events)
    assert ended(rest).state is TurnState.INTERRUPTED
    assert only(rest, TextDone) == [TextDone(only(rest, TextDone)[0].item, "begun", cut=True)]
    record = await session.record("a")
    assert record is not None and (record.state, record.text) == (RecordState.CUT, "")
    assert ended(await collect(session.run(request("!text again", turn="b")))).text == "again"


async def test_a_second_turn_on_a_busy_thread_is_refused(session: CodexSession, model: ScriptedModel) -> None:
    events = session.run(request("!hold busy\n!text one", turn="a"))
    await next_of(events, TurnStarted)
    with pytest.raises(RuntimeTrouble, match="already runs"):
        await collect(session.run(request("!text two", turn="b")))
    model.release("busy")
    assert ended(await collect(events)).text == "one"


async def test_a_follower_that_left_can_attach_again(session: CodexSession, model: ScriptedModel) -> None:
    events = session.run(request("!hold left\n!text still here", turn="a"))
    await next_of(events, TurnStarted)
    await events.aclose()  # type: ignore[attr-defined]
    record = await session.record("a")
    assert record is not None and record.state is RecordState.ALIVE
    model.release("left")
    assert ended(await collect(session.attach("a"))).text == "still here"


async def test_a_turn_is_followed_from_a_new_session(
    runtime: CodexRuntime, seat: Seat, model: ScriptedModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    session = await runtime.open(seat)
    events = session.run(request("!text whole\n!hold join\n!text message", turn="a"))
    await next_of(events, TextDelta)
    again = await runtime.open(replace(seat, continuity=session.continuity()))
    with pytest.raises(RuntimeTrouble, match="busy"):
        await collect(again.run(request("!text b", turn="b")))
    record = await again.record("a")
    assert record is not None and record.state is RecordState.ALIVE
    release_when_followed(monkeypatch, model, "join")
    assert ended(await collect(again.attach("a"))).text == "whole\nmessage"


async def test_a_turn_that_does_not_run_cannot_be_attached(session: CodexSession) -> None:
    await collect(session.run(request("!text a", turn="a")))
    for turn in ("a", "nothing"):
        with pytest.raises(RuntimeLost):
            await collect(session.attach(turn))


async def test_closing_a_session_ends_its_followers(runtime: CodexRuntime, seat: Seat) -> None:
    session = await runtime.open(seat)
    events = session.run(request("!hold closed", turn="a"))
    await next_of(events, TurnStarted)
    await session.close()
    with pytest.raises(RuntimeLost, match="closed"):
        await collect(events)


async def test_many_threads_share_one_server(runtime: CodexRuntime, seat: Seat) -> None:
    before = await pid_of(runtime)
    sessions = [await runtime.open(replace(seat, thread=f"t{number}")) for number in range(6)]
    runs = [collect(each.run(request(f"!text {number}"))) for number, each in enumerate(sessions)]
    assert [ended(events).text for events in await asyncio.gather(*runs)] == [str(number) for number in range(6)]
    assert await pid_of(runtime) == before


async def test_a_thousand_deltas_are_all_there(session: CodexSession) -> None:
    events = await collect(session.run(request("!say 1000")))
    text = ended(events).text
    assert "".join(delta.text for delta in only(events, TextDelta)) == text
    assert len(text.split()) == 1000


@pytest.mark.process
async def test_health_follows_the_server(own_runtime: CodexRuntime, seat: Seat) -> None:
    assert (await own_runtime.health()).state is HealthState.STOPPED
    session = await own_runtime.open(seat)
    health = await own_runtime.health()
    assert health.state is HealthState.HEALTHY and scan.get(cast("int", health.pid)) is not None
    events = session.run(request("!hold never", turn="a"))
    await next_of(events, TurnStarted)
    await kill(own_runtime)
    with pytest.raises(RuntimeLost):
        await collect(events)
    health = await own_runtime.health()
    assert health.state is HealthState.DEGRADED and "SIGKILL" in health.reason
    await session.record("a")
    assert (await own_runtime.health()).state is HealthState.HEALTHY


@pytest.mark.process
async def test_a_dead_server_leaves_the_turn_in_doubt_and_the_session_recovers(
    own_runtime: CodexRuntime, seat: Seat, model: ScriptedModel
) -> None:
    session = await own_runtime.open(seat)
    other = await own_runtime.open(replace(seat, thread="other"))
    await collect(session.run(request("the first words", turn="a")))
    events = session.run(request("!text begun\n!hold dead", turn="b"))
    others = other.run(request("!hold dead", turn="c"))
    await next_of(events, TextDelta)
    await next_of(others, TurnStarted)
    await kill(own_runtime)
    for each in (events, others):
        with pytest.raises(RuntimeLost, match="gone"):
            await collect(each)
    record = await session.record("b")
    assert record is not None and (record.state, record.text) == (RecordState.CUT, "")
    assert ended(await collect(session.run(request("!shell touch made\n!recall", turn="d")))).text.startswith(
        "I remember 3 messages. The first was: the first words"
    )
    assert (Path(seat.workspace) / "made").exists(), "the sandbox was sent again"


@pytest.mark.process
async def test_an_unwritten_thread_is_started_again_before_its_next_turn(own_runtime: CodexRuntime, seat: Seat) -> None:
    session = await own_runtime.open(seat)
    stored = session.continuity()
    await kill(own_runtime)
    with pytest.raises(RuntimeLost):
        await collect(session.run(request("!text a", turn="a")))
        await collect(session.run(request("!text a", turn="a")))
    assert await session.record("a") is None
    assert session.continuity() != stored and session.began() is SessionBegan.FRESH
    assert ended(await collect(session.run(request("!text a", turn="a")))).text == "a"


@pytest.mark.process
async def test_closing_fails_open_turns_and_leaves_no_process(
    config: CodexConfig, clock: SystemClock, seat: Seat, model: ScriptedModel
) -> None:
    marks = Marks(clock.token()[:8], "x")
    runtime = CodexRuntime(config, clock, marks)
    session = await runtime.open(seat)
    events = session.run(request("!shell sleep 1000 & echo started; wait"))
    await next_of(events, Activity)
    assert scan.children(marks.store)
    await runtime.close()
    with pytest.raises(RuntimeLost, match="stopped"):
        await collect(events)
    assert scan.children(marks.store) == []
    with pytest.raises(RuntimeTrouble, match="closed"):
        await runtime.open(seat)


@pytest.mark.process
async def test_a_long_idle_server_is_stopped_and_started_again_on_need(
    config: CodexConfig, seat: Seat, marks: Marks, model: ScriptedModel
) -> None:
    clock = IdleClock(1234.5)
    runtime = CodexRuntime(dataclasses.replace(config, idle_stop=clock.idle), clock, marks)
    session = await runtime.open(seat)
    connection = await runtime._servers.main.connect()
    events = session.run(request("!hold idle\n!text a", turn="a"))
    await next_of(events, TurnStarted)
    clock.passed.set()
    model.release("idle")
    assert ended(await collect(events)).text == "a"
    async with asyncio.timeout(GUARD):
        assert isinstance(connection._transport, Child)
        await connection._transport._closed.wait()
        await runtime._servers.main._lock.acquire()
        runtime._servers.main._lock.release()
    clock.passed.clear()
    assert (await runtime.health()).state is HealthState.STOPPED
    assert ended(await collect(session.run(request("!recall", turn="b")))).text.startswith("I remember 2 messages")
    await runtime.close()


@pytest.mark.process
async def test_a_server_that_dies_again_and_again_is_started_with_growing_waits(
    tmp_path: Path, clock: SystemClock, marks: Marks, seat: Seat
) -> None:
    class Impatient(SystemClock):
        def __init__(self) -> None:
            super().__init__()
            self.slept: list[float] = []

        async def sleep(self, seconds: float) -> None:
            if seconds > 0.1:
                self.slept.append(seconds)
            else:
                await super().sleep(seconds)

    impatient = Impatient()
    runtime = CodexRuntime(CodexConfig(command=str(fake(tmp_path, "exit 1"))), impatient, marks)
    for _ in range(5):
        with pytest.raises(RuntimeTrouble):
            await runtime.open(seat)
    assert len(impatient.slept) >= 3
    assert impatient.slept[-1] > impatient.slept[0]
    await runtime.close()


def fake(folder: Path, app_server: str, version: str = "codex-cli 99.0.0") -> Path:
    """Make a program that reports a version and then does not behave like Codex."""
    path = folder / "codex"
    path.write_text(f'#!/bin/sh\n[ "$1" = --version ] && echo "{version}" && exit 0\n{app_server}\n')
    path.chmod(0o755)
    return path


@contextlib.asynccontextmanager
async def closing(runtime: CodexRuntime) -> AsyncIterator[CodexRuntime]:
    try:
        yield runtime
    finally:
        await runtime.close()


@pytest.mark.process
async def test_a_compacted_history_is_noticed(
    tmp_path: Path, clock: SystemClock, marks: Marks, model: ScriptedModel
) -> None:
    home = write_codex_home(tmp_path / "home", model.url)
    text = (home / "config.toml").read_text()
    (home / "config.toml").write_text(f"model_auto_compact_token_limit = 5\n{text}")
    async with closing(CodexRuntime(CodexConfig(home=str(home)), clock, marks)) as runtime:
        session = await runtime.open(Seat("t", str(tmp_path)))
        await collect(session.run(request("!say 30", turn="a")))
        events = await collect(session.run(request("!text after", turn="b")))
    assert [n.kind for n in only(events, Notice) if n.kind is NoticeKind.COMPACTED] == [NoticeKind.COMPACTED]
    assert ended(events).text == "after"
