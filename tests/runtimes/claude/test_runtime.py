"""Claude Code as a runtime: what the engine may rely on, with the real program and the scripted model."""

from __future__ import annotations

import asyncio
import base64
import json
import os
import signal
from collections.abc import AsyncIterator
from dataclasses import replace as changed
from pathlib import Path

import pytest
from msgspec.structs import replace

from clew.model.events import (
    Activity,
    ActivityKind,
    GateClosed,
    GateOpened,
    Limits,
    LimitStatus,
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
from clew.model.gates import Answer, Decision, GateKind
from clew.model.messages import Attachment, PromptMessage
from clew.model.runtime import HealthState, RecordState, Runtime, Seat, Session
from clew.model.shared_sessions import PastTurn
from clew.model.threads import ForkPoint, SessionBegan
from clew.model.turns import TurnState
from clew.process.scan import Marks
from clew.runtimes.claude.record import transcript
from clew.runtimes.claude.record.position import Position
from clew.runtimes.claude.runtime import ClaudeRuntime
from clew.runtimes.claude.session import ClaudeSession
from clew.runtimes.claude.settings import ClaudeConfig
from clew.support.clock import SystemClock
from clew.support.coded import Text
from clew.support.errors import RuntimeHeld, RuntimeLost
from clew.testing.scripted_model import ScriptedModel
from tests.runtimes.claude.between import between
from tests.runtimes.claude.turns import GUARD, NO, YES, collect, ended, next_of, only, play, request

PIXEL = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
)
BOX = """\
import json, sys
for line in sys.stdin:
    asked = json.loads(line)
    if "id" not in asked:
        continue
    answers = {
        "initialize": {"protocolVersion": "2025-06-18", "capabilities": {"tools": {}},
                       "serverInfo": {"name": "box", "version": "1"}},
        "tools/list": {"tools": [{"name": "open", "description": "d", "inputSchema": {"type": "object"}}]},
        "tools/call": {"content": [{"type": "text", "text": "opened"}]},
    }
    print(json.dumps({"jsonrpc": "2.0", "id": asked["id"], "result": answers.get(asked["method"], {})}), flush=True)
"""

pytestmark = pytest.mark.process


@pytest.fixture
async def session(runtime: ClaudeRuntime, seat: Seat) -> AsyncIterator[ClaudeSession]:
    session = await runtime.open(seat)
    yield session
    await session.close()


async def kill(runtime: ClaudeRuntime) -> None:
    pid = (await runtime.health()).pid
    assert pid is not None
    os.kill(pid, signal.SIGKILL)


def done(events: list[object]) -> list[Activity]:
    return [each for each in events if isinstance(each, Activity) and each.phase is Phase.DONE]


def test_it_implements_the_runtime_protocol() -> None:
    runtime: type[Runtime] = ClaudeRuntime
    session: type[Session] = ClaudeSession
    assert (runtime, session) == (ClaudeRuntime, ClaudeSession)


async def test_a_turn_has_its_texts_thoughts_commands_changes_and_usage_in_order(
    session: ClaudeSession, tmp_path: Path
) -> None:
    script = "!think hmm\n!text one two\n!approve echo out; exit 3\n!patch new.txt hello\n!text it is done"
    events = await play(session, script)
    assert isinstance(events[0], TurnStarted)
    assert [(each.offset, each.text) for each in only(events, TextDelta)][:2] == [(0, "one"), (3, " two")]
    assert [each.text for each in only(events, TextDone)] == ["one two", "it is done"]
    thought, command, change = done([*events])
    assert (thought.kind, thought.detail) == (ActivityKind.THOUGHT, "hmm")
    assert (command.title, command.detail, command.exit_code) == ("echo out; exit 3", "out", 3)
    assert (command.outcome, command.folder) == (Outcome.FAILED, str(tmp_path))
    assert (change.kind, change.outcome) == (ActivityKind.CHANGE, Outcome.OK)
    assert change.detail.startswith("--- /dev/null\n+++ ") and "+hello" in change.detail
    assert (tmp_path / "new.txt").read_text() == "hello"
    (spent,) = only(events, Usage)
    assert spent.tokens.total_tokens == spent.tokens.input_tokens + spent.tokens.output_tokens > 0
    assert ended(events) == TurnEnded(TurnState.COMPLETED, "it is done", messages=frozenset({"turn"}))


async def test_a_gate_shows_the_command_the_change_and_the_tool(session: ClaudeSession, tmp_path: Path) -> None:
    (tmp_path / "old.txt").write_text("one\ntwo\n")
    edit = {"file_path": str(tmp_path / "old.txt"), "old_string": "two", "new_string": "three"}
    fetch = {"url": "http://127.0.0.1:9/x", "prompt": "p"}
    script = (
        f"!approve echo hi\n!tool Read {json.dumps({'file_path': edit['file_path']})}\n!tool Edit {json.dumps(edit)}\n"
        f"!tool WebFetch {json.dumps(fetch)}\n!text ok"
    )
    command, change, tool = [gate.asked for gate in only(await play(session, script), GateOpened)]
    assert (command.kind, command.title, command.folder) == (GateKind.COMMAND, "echo hi", str(tmp_path))
    assert (change.kind, change.paths) == (GateKind.CHANGE, (edit["file_path"],))
    assert change.detail.endswith(" one\n-two\n+three")
    assert (tool.kind, tool.title) == (GateKind.PERMISSION, "WebFetch") and "127.0.0.1:9" in tool.detail
    assert (tmp_path / "old.txt").read_text() == "one\nthree\n"


async def test_the_reason_of_a_no_reaches_the_model(session: ClaudeSession, model: ScriptedModel) -> None:
    await play(session, "!approve echo no-reason\n!text ok", answer=Answer(Decision.DECLINE, "the build is frozen"))
    (told,) = [each.outputs[-1] for each in model.requests if "no-reason" in each.prompt and each.acts_done]
    assert told == "The person declined this: the build is frozen"


@pytest.mark.heavy
async def test_a_change_of_a_file_that_has_changed_since_is_not_made(session: ClaudeSession, tmp_path: Path) -> None:
    events = session.run(request("!patch meanwhile.txt mine\n!text ok"))
    gate = await next_of(events, GateOpened)
    (tmp_path / "meanwhile.txt").write_text("theirs")
    assert await session.answer(gate.ref, YES)
    (closed,) = only(await collect(session, events), GateClosed)
    assert closed.changed and (tmp_path / "meanwhile.txt").read_text() == "theirs"


async def test_questions_and_plans_are_gates(session: ClaudeSession, model: ScriptedModel) -> None:
    script = "!ask Which colour? | Red | Blue\n!tool EnterPlanMode {}\n!plan look | leap\n!text ok"
    events = session.run(request(script))
    asked = await next_of(events, GateOpened)
    (question,) = asked.asked.questions
    assert (asked.asked.kind, question.text, question.options) == (
        GateKind.QUESTION,
        "Which colour?",
        ("Red", "Blue"),
    )
    await session.answer(asked.ref, Answer(Decision.REPLY, replies=((question.id, ("Blue",)),)))
    plan = await next_of(events, GateOpened)
    assert plan.asked.kind is GateKind.PERMISSION and "1. look\n2. leap" in plan.asked.detail
    assert plan.asked.unjudged
    await session.answer(plan.ref, YES)
    assert ended(await collect(session, events)).text == "ok"
    assert any("Blue" in output for output in model.requests[-1].outputs)


async def test_it_asks_whatever_the_persons_settings_allow_and_writes_none(
    runtime: ClaudeRuntime, seat: Seat, home: Path, tmp_path: Path
) -> None:
    allowed = ["Bash(echo:*)", "Edit", "Write", "NotebookEdit", "WebFetch", "mcp__box__open"]
    before = (home / "settings.json").read_text()
    own = {**json.loads(before), "permissions": {"allow": allowed, "defaultMode": "acceptEdits"}}
    (tmp_path / "box.py").write_text(BOX)
    box = {"mcpServers": {"box": {"command": "python3", "args": [str(tmp_path / "box.py")]}}}
    known = (home / ".claude.json").read_text() if (home / ".claude.json").exists() else "{}"
    (home / "settings.json").write_text(json.dumps(own))
    (home / ".claude.json").write_text(json.dumps({**json.loads(known), **box}))
    try:
        session = await runtime.open(seat)
        notebook = {"notebook_path": str(tmp_path / "n.ipynb"), "new_source": "2", "cell_id": "c"}
        cells = '{"cells":[{"cell_type":"code","id":"c","metadata":{},"outputs":[],"execution_count":null,"source":""}]'
        script = (
            f'!approve echo hi\n!patch n.ipynb {cells},"metadata":{{}},"nbformat":4,"nbformat_minor":5}}\n'
            f'!tool NotebookEdit {json.dumps(notebook)}\n!tool WebFetch {{"url":"http://127.0.0.1:9/","prompt":"p"}}\n'
            "!tool box.open {}\n!text ok"
        )
        gates = only(await play(session, script), GateOpened)
        titles = [gate.asked.title for gate in gates]
        assert titles == ["echo hi", str(tmp_path / "n.ipynb"), "NotebookEdit", "WebFetch", "box.open"]
        assert json.loads((home / "settings.json").read_text()) == own
        assert not (tmp_path / ".claude").exists()
    finally:
        (home / "settings.json").write_text(before)
        (home / ".claude.json").write_text(known)


async def test_what_people_say_is_never_expanded(
    session: ClaudeSession, model: ScriptedModel, tmp_path_factory: pytest.TempPathFactory
) -> None:
    secret = tmp_path_factory.mktemp("elsewhere") / "secret.txt"
    secret.write_text("the-hidden-word")
    events = await play(session, f"look-at @{secret}\n!text seen")
    assert ended(events).text == "seen"
    assert "the-hidden-word" not in json.dumps(model.requests[-1].body)
    assert ended(await play(session, "/compact it all", "second")).text.startswith("You said: /compact it all")


@pytest.mark.heavy
async def test_a_file_outside_of_the_workspace_is_not_read_without_a_yes(
    session: ClaudeSession, tmp_path: Path, tmp_path_factory: pytest.TempPathFactory, model: ScriptedModel
) -> None:
    (tmp_path / "inside.txt").write_text("inside-word")
    secret = tmp_path_factory.mktemp("elsewhere") / "secret.txt"
    secret.write_text("outside-word")
    (tmp_path / "link").symlink_to(secret)
    read = "!tool Read " + json.dumps({"file_path": str(tmp_path / "inside.txt")})
    events = await play(session, f"{read}\n!text ok")
    assert only(events, GateOpened) == [] and "inside-word" in model.requests[-1].outputs[-1]
    for turn, path in (("direct", secret), ("linked", tmp_path / "link")):
        read = "!tool Read " + json.dumps({"file_path": str(path)})
        (gate,) = only(await play(session, f"{read}\n!text ok", turn, NO), GateOpened)
        assert gate.asked.title == "Read" and str(path) in gate.asked.detail
        assert "outside-word" not in json.dumps(model.requests[-1].body)


@pytest.mark.heavy
async def test_an_image_and_a_file_reach_the_model(
    session: ClaudeSession, model: ScriptedModel, tmp_path: Path
) -> None:
    (tmp_path / "dot.png").write_bytes(PIXEL)
    files = (
        Attachment("dot.png", str(tmp_path / "dot.png"), "image/png"),
        Attachment("a.txt", str(tmp_path / "a.txt"), "text/plain"),
    )
    events = await collect(session, session.run(request("with-files\n!text seen", "turn", *files)))
    assert ended(events).text == "seen"
    body = json.dumps([each for each in model.requests if "with-files" in each.prompt][-1].body["messages"])
    assert '"type": "image"' in body and f"[attached file: {tmp_path / 'a.txt'}]" in body


async def test_a_steer_during_a_command_is_read_in_the_same_turn(session: ClaudeSession, model: ScriptedModel) -> None:
    events = session.run(request("!approve true\n!text done"))
    gate = await next_of(events, GateOpened)
    assert await session.steer(PromptMessage("also", "ann", "be-quick"))
    await session.answer(gate.ref, YES)
    end = ended(await collect(session, events))
    assert (end.text, end.messages) == ("done", frozenset({"turn", "also"}))
    assert "be-quick" in json.dumps(model.requests[-1].body)
    record = await session.record("turn")
    assert record is not None and record.messages == {"turn", "also"}, "the transcript says so too"


@pytest.mark.heavy
async def test_a_steer_that_comes_too_late_is_answered_in_the_same_turn_of_clew(
    session: ClaudeSession, model: ScriptedModel
) -> None:
    events = session.run(request("!text first\n!hold late"))
    await next_of(events, TextDelta)
    assert await session.steer(PromptMessage("also", "ann", "!text second"))
    model.release("late")
    end = ended(await collect(session, events))
    assert (end.text, end.messages) == ("first\n\nsecond", frozenset({"turn", "also"}))
    record = await session.record("turn")
    assert record is not None and (record.text, record.messages) == (end.text, end.messages)


async def test_a_stop_ends_the_turn_and_its_command_and_the_session_goes_on(session: ClaudeSession) -> None:
    events = session.run(request("!approve tail -f /dev/null\n!text no"))
    gate = await next_of(events, GateOpened)
    await session.answer(gate.ref, YES)
    await session.interrupt()
    assert ended(await collect(session, events)).state is TurnState.INTERRUPTED
    assert ended(await play(session, "!text well", "second")).text == "well"


@pytest.mark.heavy
async def test_a_cancel_at_a_gate_ends_the_turn(session: ClaudeSession, tmp_path: Path) -> None:
    events = session.run(request("!approve touch ran\n!text no"))
    gate = await next_of(events, GateOpened)
    assert await session.answer(gate.ref, Answer(Decision.CANCEL))
    assert ended(await collect(session, events)).state is TurnState.INTERRUPTED
    assert not await session.answer(gate.ref, YES)
    assert not (tmp_path / "ran").exists()


# Crashes


async def test_a_finished_turn_that_is_sent_again_asks_the_model_nothing(
    runtime: ClaudeRuntime, seat: Seat, model: ScriptedModel, tmp_path: Path
) -> None:
    session = await runtime.open(seat)
    script = "once-only\n!approve echo x >> ran\n!text the answer"
    await play(session, script)
    asked = model.count("once-only")
    kept = session.continuity()
    await kill(runtime)
    await session.close()
    again = await runtime.open(replace(seat, continuity=kept))
    events = await play(again, script)
    assert ended(events) == TurnEnded(TurnState.COMPLETED, "the answer", messages=frozenset({"turn"}))
    assert (model.count("once-only"), (tmp_path / "ran").read_text()) == (asked, "x\n")
    here = await play(again, script)  # also in the same process
    assert (ended(here).text, model.count("once-only")) == ("the answer", asked)


async def test_after_kill_9_the_transcript_says_absent_cut_or_complete(
    runtime: ClaudeRuntime, seat: Seat, model: ScriptedModel, config: ClaudeConfig
) -> None:
    session = await runtime.open(seat)
    await play(session, "!text whole", "complete")
    events = session.run(request("!approve true\n!text more\n!hold cut-here", "cut"))
    gate = await next_of(events, GateOpened)
    await session.answer(gate.ref, YES)
    await model.held("cut-here")
    assert (alive := await session.record("cut")) is not None and alive.state is RecordState.ALIVE
    await _written(config, session, "cut")
    await kill(runtime)
    with pytest.raises(RuntimeLost):
        await collect(session, events)
    whole, cut = await session.record("complete"), await session.record("cut")
    assert whole is not None and (whole.state, whole.text) == (RecordState.COMPLETED, "whole")
    assert cut is not None and cut.state is RecordState.CUT
    assert {act.title for act in cut.activities} <= {"true"}, "Claude writes up to 0.1 s late"
    assert await session.record("absent") is None


async def _written(config: ClaudeConfig, session: ClaudeSession, turn: str) -> None:
    """Claude writes its transcript some time after it has asked the model, later on a busy machine."""
    position = Position.read(session.continuity())
    path = transcript.find(config, position.session) if position else None
    assert path is not None
    async with asyncio.timeout(GUARD):
        while await asyncio.to_thread(transcript.newest_turn, path, turn) is None:
            pass


@pytest.mark.heavy
async def test_a_session_that_was_killed_before_it_was_written_begins_under_its_id(
    runtime: ClaudeRuntime, seat: Seat
) -> None:
    session = await runtime.open(seat)
    kept = session.continuity()
    await kill(runtime)
    await session.close()
    again = await runtime.open(replace(seat, continuity=kept))
    assert (again.continuity(), again.began()) == (kept, SessionBegan.FRESH)
    assert ended(await play(again, "!text well")).text == "well"


@pytest.mark.heavy
async def test_a_lost_session_gets_the_history_and_says_so(
    runtime: ClaudeRuntime, seat: Seat, config: ClaudeConfig, model: ScriptedModel
) -> None:
    session = await runtime.open(seat)
    await play(session, "!text alpha")
    kept = session.continuity()
    await session.close()
    path = transcript.find(config, json.loads(kept.data)["session"])
    assert path is not None
    path.unlink()
    again = await runtime.open(replace(seat, continuity=kept, has_past=True))
    assert again.began() is SessionBegan.REBUILT
    told = replace(request("!text well", "second"), prelude="ann said:\n> remember the alpha\n\n")
    events = await collect(again, again.run(told))
    assert "remember the alpha" in json.dumps(model.requests[-1].body["messages"])
    assert [notice.text.coded.code for notice in only(events, Notice) if isinstance(notice.text, Text)] == [
        "claude.record_lost"
    ]


# Sessions


@pytest.mark.heavy
async def test_a_fork_knows_the_past_up_to_its_point_and_leaves_the_source_alone(
    runtime: ClaudeRuntime, seat: Seat, config: ClaudeConfig, model: ScriptedModel
) -> None:
    session = await runtime.open(seat)
    await play(session, "!text first-answer", "one")
    await play(session, "!text second-answer", "two")
    kept = session.continuity()
    await session.close()
    source = transcript.find(config, json.loads(kept.data)["session"])
    assert source is not None
    before = source.read_bytes()
    fork = await runtime.open(replace(seat, thread="fork", fork=ForkPoint(kept, "one")))
    assert fork.began() is SessionBegan.RESUMED and fork.continuity() != kept
    await play(fork, "!text third", "three")
    body = json.dumps(model.requests[-1].body["messages"])
    assert "first-answer" in body and "second-answer" not in body
    assert source.read_bytes() == before
    reopened = await runtime.open(replace(seat, thread="fork", continuity=fork.continuity()))
    assert reopened.began() is SessionBegan.RESUMED


@pytest.mark.heavy
async def test_an_idle_process_is_ended_and_the_next_turn_starts_it_again(
    config: ClaudeConfig, seat: Seat, clock: SystemClock, marks: Marks
) -> None:
    runtime = ClaudeRuntime(changed(config, idle_stop=0.2), clock, marks)
    try:
        session = await runtime.open(seat)
        await play(session, "!text alpha")
        async with asyncio.timeout(30):
            while (await runtime.health()).state is not HealthState.STOPPED:
                await asyncio.to_thread(os.stat, seat.workspace)
        assert "alpha" in ended(await play(session, "!text alpha again", "second")).text
    finally:
        await runtime.close()


async def test_a_warm_turn_starts_no_process(runtime: ClaudeRuntime, session: ClaudeSession) -> None:
    await play(session, "!text one", "one")
    before = (await runtime.health()).pid
    await play(session, "!text two", "two")
    assert (await runtime.health()).pid == before


def agent(name: str, script: str, **more: object) -> str:
    """A call that begins a sub-agent."""
    given = {"description": name, "subagent_type": "general-purpose", "prompt": script, **more}
    return f"!tool Agent {json.dumps(given)}"


async def test_what_a_sub_agent_of_a_sub_agent_does_and_asks_is_under_its_parents(session: ClaudeSession) -> None:
    deep = agent("third", "!approve echo from-third\n!text three")
    script = agent("look around", f"{agent('dig deeper', deep)}\n!text below")
    events = await play(session, f"{script}\n!text above")
    (gate,) = only(events, GateOpened)
    assert (gate.asked.title, gate.asked.agents) == ("echo from-third", ("look around", "dig deeper", "third"))
    command, third, second, first = done([*events])
    assert (command.title, command.outcome, command.exit_code) == ("echo from-third", Outcome.OK, 0)
    assert (command.parent, third.parent, second.parent) == (third.item, second.item, first.item)
    assert gate.asked.item == command.item and first.parent is None
    assert ended(events).text == "above"
    record = await session.record("turn")
    assert record is not None
    assert [(act.item, act.parent) for act in record.activities] == [
        (first.item, None),
        (second.item, first.item),
        (third.item, second.item),
        (command.item, third.item),
    ]


@pytest.mark.parametrize("wishes", [{}, {"run_in_background": True}])
async def test_a_sub_agent_ends_before_its_turn_so_that_it_can_ask(
    session: ClaudeSession, wishes: dict[str, object]
) -> None:
    """Otherwise Claude runs it in the background, and ends the turn meanwhile."""
    script = agent("look around", "!approve echo one\n!approve echo two\n!text below", **wishes)
    events = await play(session, f"{script}\n!text above")
    assert [gate.asked.title for gate in only(events, GateOpened)] == ["echo one", "echo two"]
    assert [act.title for act in done([*events])] == ["echo one", "echo two", "Agent look around"]
    assert ended(events).text == "above"


@pytest.mark.heavy
async def test_a_sub_agent_of_a_trusted_project_cannot_switch_asking_off(
    config: ClaudeConfig, clock: SystemClock, marks: Marks, seat: Seat, tmp_path: Path
) -> None:
    """Of a folder that is not trusted Claude knows no sub-agents."""
    runtime = ClaudeRuntime(changed(config, trust_projects=True), clock, marks)
    agents = tmp_path / ".claude" / "agents"
    agents.mkdir(parents=True)
    text = "---\nname: sly\ndescription: d\npermissionMode: bypassPermissions\ntools: Bash\n---\nDo it.\n"
    (agents / "sly.md").write_text(text)
    call = {"description": "go", "subagent_type": "sly", "run_in_background": False}
    script = {**call, "prompt": "!approve touch sly-was-here\n!text below"}
    session = await runtime.open(seat)
    (gate,) = only(await play(session, f"!tool Agent {json.dumps(script)}\n!text ok", answer=NO), GateOpened)
    assert gate.asked.title == "touch sly-was-here" and not (tmp_path / "sly-was-here").exists()
    await runtime.close()


@pytest.mark.heavy
async def test_a_turn_that_nobody_asked_for_is_told_and_does_not_end_ours(runtime: ClaudeRuntime, seat: Seat) -> None:
    """A background command that ends wakes Claude; what it says then belongs to no turn of clew."""
    told: asyncio.Queue[PastTurn] = asyncio.Queue()
    session = await runtime.open(replace(seat, on_unasked=told.put_nowait))
    background = {"command": "sleep 2", "run_in_background": True, "description": "look"}
    end = ended(await play(session, f"!tool Bash {json.dumps(background)}\n!text ok", "one"))
    async with asyncio.timeout(GUARD):
        turn = await told.get()
    assert (end.text, turn.end.state) == ("ok", TurnState.COMPLETED)
    ((said,), text) = turn.said, turn.end.text
    assert said.author == "claude" and "look" in said.text and text
    assert ended(await play(session, "!text mine", "two")).text == "mine"
    record = await session.record("one")
    assert record is not None and record.text == "ok"


@pytest.mark.heavy
async def test_a_session_that_another_program_has_open_is_not_taken(
    runtime: ClaudeRuntime, config: ClaudeConfig, clock: SystemClock, seat: Seat
) -> None:
    other = ClaudeRuntime(config, clock, Marks("another", "now"))
    try:
        session = await other.open(seat)
        await play(session, "!text theirs")
        kept = session.continuity()
        assert list(await runtime.holders([kept])) == [kept]
        with pytest.raises(RuntimeHeld, match=r"claude, pid \d+"):
            await runtime.open(replace(seat, continuity=kept))
        await session.close()
        assert await runtime.holders([kept]) == {}
    finally:
        await other.close()


@pytest.mark.heavy
async def test_sessions_are_listed_with_their_past(runtime: ClaudeRuntime, seat: Seat) -> None:
    session = await runtime.open(seat)
    await play(session, "!approve echo hi\n!text first", "one")
    await play(session, "!text second", "two")
    kept = session.continuity()
    await session.close()
    (found,) = [each async for each in runtime.outside([seat.workspace])]
    assert (found.continuity, found.workspace, found.source) == (kept, seat.workspace, "sdk-cli")
    assert found.title == "!approve echo hi"
    one, two = await runtime.past(kept)
    assert (one.runtime_turn, one.end.text, two.end.text) == ("one", "first", "second")
    assert [act.title for act in done([*one.events])] == ["echo hi"]
    assert one.began_at is not None and one.ended_at is not None
    assert [turn.runtime_turn for turn in await runtime.past(kept, "one")] == ["two"]
    assert runtime.way_back(kept).endswith(f"--resume {found.id}")


async def test_a_history_that_is_summed_up_is_told_now_and_in_the_imported_past(
    runtime: ClaudeRuntime, seat: Seat, home: Path
) -> None:
    before = (home / "settings.json").read_text()
    settings = json.loads(before)
    settings["env"] |= {"CLAUDE_CODE_AUTO_COMPACT_WINDOW": "20000", "CLAUDE_AUTOCOMPACT_PCT_OVERRIDE": "10"}
    (home / "settings.json").write_text(json.dumps(settings))
    try:
        session = await runtime.open(seat)
        await play(session, "!text one", "one")
        await play(session, "word " * 20_000 + "\n!text two", "two")
        events = await play(session, "!text three", "three")
    finally:
        (home / "settings.json").write_text(before)
    assert [notice.kind for notice in only(events, Notice)] == [NoticeKind.COMPACTED]
    assert ended(events).text == "three"
    past = await runtime.past(session.continuity())
    assert [[each.kind for each in only([*turn.events], Notice)] for turn in past] == [[], [], [NoticeKind.COMPACTED]]
    assert [turn.end.text for turn in past] == ["one", "two", "three"]


# Odd output


@pytest.mark.parametrize("what", ["huge", "halves"])
async def test_a_very_long_line_and_lines_in_pieces_do_not_end_the_session(
    what: str,
    config: ClaudeConfig,
    clock: SystemClock,
    marks: Marks,
    seat: Seat,
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    program = between(tmp_path_factory.mktemp("odd"), what)
    runtime = ClaudeRuntime(changed(config, command=program), clock, marks)
    try:
        session = await runtime.open(seat)
        assert ended(await play(session, "!text one", "one")).text == "one"
        assert ended(await play(session, "!text two", "two")).text == "two"
    finally:
        await runtime.close()


# Errors


async def test_a_request_that_is_tried_again_is_told_once(session: ClaudeSession) -> None:
    events = await play(session, "!status 529 2\n!text at last")
    told = [notice for notice in only(events, Notice) if notice.kind is NoticeKind.RETRYING]
    assert [notice.text for notice in told] == ["The model could not be reached (529); Claude tries again."]
    assert ended(events).text == "at last"


@pytest.mark.heavy
@pytest.mark.parametrize(
    ("script", "code"),
    [("!status 400", "bad_request"), ("!limit five_hour 4102444800", "rate_limit")],
)
async def test_a_refused_request_is_a_problem_with_a_code(
    runtime: ClaudeRuntime, seat: Seat, script: str, code: str, home: Path
) -> None:
    settings = json.loads((home / "settings.json").read_text())
    settings["env"]["CLAUDE_CODE_MAX_RETRIES"] = "0"
    before = (home / "settings.json").read_text()
    (home / "settings.json").write_text(json.dumps(settings))
    try:
        session = await runtime.open(seat)
        end = ended(await play(session, script))
    finally:
        (home / "settings.json").write_text(before)
    assert (end.state, end.problem is not None and end.problem.code) == (TurnState.FAILED, code)
    record = await session.record("turn")
    assert record is not None and record.state is RecordState.FAILED
    assert record.problem is not None and record.problem.code == code


@pytest.mark.heavy
async def test_a_used_up_window_of_a_subscription_is_a_usage_limit(
    runtime: ClaudeRuntime, seat: Seat, home: Path
) -> None:
    before = (home / "settings.json").read_text()
    settings = json.loads(before)
    del settings["env"]["ANTHROPIC_API_KEY"]
    settings["env"]["CLAUDE_CODE_OAUTH_TOKEN"] = "scripted"
    (home / "settings.json").write_text(json.dumps(settings))
    try:
        session = await runtime.open(seat)
        events = await play(session, "!limit five_hour 4102444800")
    finally:
        (home / "settings.json").write_text(before)
    problem, [limits] = ended(events).problem, only(events, Limits)
    assert problem is not None and (problem.code, problem.until) == ("usage_limit", 4_102_444_800_000)
    window = limits.windows[0]
    assert (window.name, window.status) == ("five_hour", LimitStatus.REACHED)
    record = await session.record("turn")
    assert record is not None and record.problem == problem, "the transcript says so too"
