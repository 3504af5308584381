"""What Codex really does, by sections 3 to 5 of the fact sheet, and how clew handles it.

If our own code has to handle it, a session drives it. What we do not use is tested on Codex directly.
"""

from __future__ import annotations

import asyncio
import os
import signal
import socket
from collections.abc import AsyncIterator, Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from clew.model.events import (
    Activity,
    ActivityKind,
    GateOpened,
    Notice,
    NoticeKind,
    Outcome,
    Phase,
    TextDelta,
    TextDone,
    TurnStarted,
)
from clew.model.gates import Answer, Decision
from clew.model.runtime import RecordState, Seat
from clew.model.turns import TurnState
from clew.process import scan
from clew.process.scan import Marks
from clew.runtimes.codex import wire
from clew.runtimes.codex.runtime import CodexRuntime
from clew.runtimes.codex.session import CodexSession
from clew.runtimes.codex.settings import CodexConfig
from clew.runtimes.codex.threads import Position
from clew.runtimes.jsonrpc import RpcError, RpcTimeout
from clew.runtimes.turn_events import follow
from clew.support.clock import SystemClock
from clew.support.errors import RuntimeLost, RuntimeTrouble
from clew.testing.scripted_model import ScriptedModel, responses, write_codex_home
from tests.runtimes.codex.raw import (
    GUARD,
    RawCodex,
    collect,
    cut_texts,
    ended,
    next_of,
    only,
    release_when_followed,
    request,
    said,
)
from tests.runtimes.conftest import MakeRuntime

MakeRaw = Callable[[], RawCodex]

CHATTER = "while :; do echo up; sleep 0.05; done"  # its first output may be missing
ASKS = {"approvalPolicy": "untrusted", "sandbox": "read-only"}


@pytest.fixture
async def session(runtime: CodexRuntime, seat: Seat) -> AsyncIterator[CodexSession]:
    session = await runtime.open(seat)
    yield session
    await session.close()


@pytest.fixture
async def codex(raw: MakeRaw) -> RawCodex:
    return await raw().start()


def is_item(method: str, kind: str) -> Callable[[str, dict[str, Any]], bool]:
    return lambda heard, params: heard == method and params["item"]["type"] == kind


def is_method(method: str) -> Callable[[str, dict[str, Any]], bool]:
    return lambda heard, params: heard == method


# Section 3: turns


@pytest.mark.process
async def test_the_events_of_a_plain_turn_have_a_fixed_order(codex: RawCodex, tmp_path: Path) -> None:
    thread = await codex.thread(tmp_path)
    codex.heard.clear()
    turn = await codex.turn(thread, "!think hmm\n!text one two")
    end = await codex.hear("turn/completed")
    told = [(method, params.get("item", {}).get("type")) for method, params in codex.heard]
    expected = [
        ("turn/started", None),
        ("item/started", "userMessage"),
        ("item/completed", "userMessage"),
        ("item/started", "reasoning"),
        ("item/completed", "reasoning"),
        ("item/started", "agentMessage"),
        ("item/agentMessage/delta", None),
        ("item/completed", "agentMessage"),
        ("thread/tokenUsage/updated", None),
        ("turn/completed", None),
    ]
    assert [told.index(each) for each in expected] == sorted(told.index(each) for each in expected)
    assert end["turn"]["id"] == turn
    assert [item["type"] for item in end["turn"]["items"]] == ["agentMessage"]


@pytest.mark.process
async def test_an_empty_input_is_accepted(codex: RawCodex, tmp_path: Path) -> None:
    thread = await codex.thread(tmp_path)
    await codex.ask("turn/start", threadId=thread, input=[])
    assert (await codex.hear("turn/completed"))["turn"]["status"] == "completed"


@pytest.mark.process
async def test_a_turn_on_a_busy_thread_steers_silently_so_we_refuse_it(
    codex: RawCodex, session: CodexSession, model: ScriptedModel, tmp_path: Path
) -> None:
    thread = await codex.thread(tmp_path)
    first = await codex.turn(thread, "!hold silent\n!text a", "one")
    await model.held("silent")
    assert await codex.turn(thread, "!text b", "two") == first
    model.release("silent")
    await codex.hear("turn/completed")
    assert len(await codex.turns(thread)) == 1

    events = session.run(request("!hold ours\n!text a", turn="a"))
    await next_of(events, TurnStarted)
    with pytest.raises(RuntimeTrouble):
        await collect(session.run(request("!text b", turn="b")))
    model.release("ours")
    assert ended(await collect(events)).messages == {"a"}


async def test_a_steer_during_a_message_discards_the_message(session: CodexSession, model: ScriptedModel) -> None:
    events = session.run(request("!text lost words\n!hold midway", turn="a"))
    lost = await next_of(events, TextDelta)
    await model.held("midway")
    assert await session.steer(said("!text better", "s"))
    rest = await collect(events)
    assert [done.cut for done in only(rest, TextDone) if done.item == lost.item] == [True]
    assert ended(rest).text == "better"
    record = await session.record("a")
    assert record is not None and record.text == "better"


async def test_a_steer_is_taken_before_the_turn_has_begun_and_refused_when_idle(
    session: CodexSession, model: ScriptedModel
) -> None:
    live = await session._begin(request("!hold early\n!text a", turn="a"))
    assert await session.steer(said("!text both heard", "s"))
    model.release("early")
    assert ended(await collect(follow(live.events))).messages == {"a", "s"}
    assert not await session.steer(said("too late"))


@pytest.mark.process
async def test_an_interrupt_before_the_beginning_is_refused_so_ours_waits(
    codex: RawCodex, session: CodexSession, tmp_path: Path
) -> None:
    thread = await codex.thread(tmp_path)
    turn = await codex.turn(thread, "!text a")
    try:
        await codex.ask("turn/interrupt", threadId=thread, turnId=turn)
        expected = "interrupted"  # it had already started
    except RpcError as error:
        assert "no active turn" in error.message
        expected = "completed"
    assert (await codex.hear("turn/completed"))["turn"]["status"] == expected

    live = await session._begin(request("!hold at once", turn="a"))
    await session.interrupt()
    assert ended(await collect(follow(live.events))).state is TurnState.INTERRUPTED


@pytest.mark.process
async def test_a_second_interrupt_is_never_answered_so_ours_is_sent_once(
    codex: RawCodex, session: CodexSession, tmp_path: Path
) -> None:
    thread = await codex.thread(tmp_path)
    turn = await codex.turn(thread, "!hold twice")
    await codex.hear("turn/started")
    await codex.ask("turn/interrupt", threadId=thread, turnId=turn)
    await codex.hear("turn/completed")
    with pytest.raises(RpcTimeout):
        await codex.ask("turn/interrupt", threadId=thread, turnId=turn, within=0.3)

    events = session.run(request("!hold thrice", turn="a"))
    await next_of(events, TurnStarted)
    async with asyncio.timeout(GUARD):
        await asyncio.gather(session.interrupt(), session.interrupt())
        assert ended(await collect(events)).state is TurnState.INTERRUPTED
        await session.interrupt()


@pytest.mark.process
async def test_an_interrupt_of_a_completed_turn_is_a_clean_refusal(codex: RawCodex, tmp_path: Path) -> None:
    thread = await codex.thread(tmp_path)
    turn = await codex.turn(thread, "!text a")
    await codex.hear("turn/completed")
    with pytest.raises(RpcError) as caught:
        await codex.ask("turn/interrupt", threadId=thread, turnId=turn)
    assert caught.value.code == -32600


@pytest.mark.process
async def test_an_interrupt_loses_the_open_message_and_a_late_answer_is_ignored(
    codex: RawCodex, session: CodexSession, tmp_path: Path
) -> None:
    events = session.run(request("!text half a\n!hold open", turn="a"))
    await next_of(events, TextDelta)
    await session.interrupt()
    rest = await collect(events)
    assert len(cut_texts(rest)) == 1 and ended(rest).text == ""

    thread = await codex.thread(tmp_path, **ASKS)
    turn = await codex.turn(thread, "!shell touch x")
    id, _, _ = await codex.asked_for()
    await codex.ask("turn/interrupt", threadId=thread, turnId=turn)
    await codex.hear("serverRequest/resolved")
    order = [method for method, _ in codex.heard if method in ("turn/completed", "serverRequest/resolved")]
    assert order == ["turn/completed", "serverRequest/resolved"]
    codex.peer.answer(id, {"decision": "accept"})
    await codex.turn(thread, "!text fine", "later")
    assert (await codex.hear("turn/completed", lambda p: p["turn"]["id"] != turn))["turn"]["status"] == "completed"
    assert not (tmp_path / "x").exists()


@pytest.mark.process
async def test_an_interrupt_does_not_stop_the_command_so_we_clean_up_behind_it(
    codex: RawCodex, runtime: CodexRuntime, free: Seat, tmp_path: Path
) -> None:
    thread = await codex.thread(tmp_path)
    turn = await codex.turn(thread, f"!shell {CHATTER}")
    await codex.hear("item/commandExecution/outputDelta")
    await codex.ask("turn/interrupt", threadId=thread, turnId=turn)
    await codex.hear("turn/completed")
    assert not any(is_item("item/completed", "commandExecution")(*each) for each in codex.heard)
    await codex.ask("thread/backgroundTerminals/clean", threadId=thread)
    item = await codex.hear_item("item/completed", "commandExecution")
    assert item["status"] == "failed" and item["exitCode"] in (-1, 137)  # it may send either

    session = await runtime.open(free)
    events = session.run(request(f"!shell echo $$ > pid; {CHATTER}", turn="a"))
    while (await next_of(events, Activity)).phase is not Phase.UPDATED:
        pass
    watch = os.pidfd_open(int((tmp_path / "pid").read_text()))
    await session.interrupt()
    assert ended(await collect(events)).state is TurnState.INTERRUPTED
    await readable(watch)
    assert ended(await collect(session.run(request("!text next", turn="b")))).text == "next"


async def readable(fd: int) -> None:
    """Whether the process has ended: then its handle is readable."""
    gone = asyncio.Event()
    loop = asyncio.get_running_loop()
    loop.add_reader(fd, gone.set)
    try:
        async with asyncio.timeout(GUARD):
            await gone.wait()
    finally:
        loop.remove_reader(fd)
        os.close(fd)


async def test_the_whole_output_of_a_command_comes_at_its_end(session: CodexSession) -> None:
    events = await collect(session.run(request("!shell echo first; echo second\n!text ok")))
    (done,) = [act for act in only(events, Activity) if act.phase is Phase.DONE]
    assert done.detail == "first\nsecond\n"


# Section 3: failures of the model


@pytest.mark.parametrize(
    ("script", "code", "words"),
    [
        ("!status 500", "model_error", "Try again"),
        ("!status 429", "rate_limit", "too many requests"),
        ("!status 401", "not_logged_in", "codex login"),
        ("!status 400", "failed", "the script says 400"),
        ("!text a\n!cut", "connection", "stream disconnected"),
        ("!error server_error", "connection", "stream disconnected"),
        ("!error context_length_exceeded", "context_window", "new thread"),
        ("!error rate_limit_exceeded", "rate_limit", "too many requests"),
        ("!error insufficient_quota", "usage_limit", "usage limit"),
    ],
)
async def test_a_failure_of_the_model_ends_the_turn_with_a_reason_and_the_thread_lives_on(
    session: CodexSession, script: str, code: str, words: str
) -> None:
    end = ended(await collect(session.run(request(script, turn="a"))))
    assert end.state is TurnState.FAILED
    assert end.problem is not None and end.problem.code == code
    assert words in end.problem.message
    assert ended(await collect(session.run(request("!text fine again", turn="b")))).text == "fine again"


async def test_a_turn_with_an_unreadable_start_response_is_joined(
    session: CodexSession, model: ScriptedModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(wire, "TurnAnswer", list[int])
        with pytest.raises(RuntimeLost, match="a shape that clew does not know"):
            await collect(session.run(request("!hold odd\n!text one", turn="a")))
    await model.held("odd")
    release_when_followed(monkeypatch, model, "odd")
    assert ended(await collect(session.attach("a"))).text == "one"
    assert ended(await collect(session.run(request("!text two", turn="b")))).text == "two"


@pytest.mark.process
async def test_a_retried_stream_starts_a_new_message_and_ends_the_cut_one(
    make_runtime: MakeRuntime, model: ScriptedModel, seat: Seat, tmp_path: Path
) -> None:
    home = write_codex_home(tmp_path / "patient", model.url, stream_retries=2)
    session = await make_runtime(CodexConfig(home=str(home))).open(seat)
    events = await collect(session.run(request("!text once more\n!cut 1", turn="a")))
    assert cut_texts(events) == ["once more"]
    assert [n.kind for n in only(events, Notice)] == [NoticeKind.RETRYING]
    assert "Reconnecting... 1/2" in only(events, Notice)[0].text
    assert len({delta.item for delta in only(events, TextDelta)}) == 2
    assert ended(events).text == "once more"


@pytest.mark.process
async def test_a_refused_connection_never_ends_the_turn_but_an_interrupt_does(
    make_runtime: MakeRuntime, tmp_path: Path, seat: Seat
) -> None:
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))  # bound but not listening: connections are refused
        url = f"http://127.0.0.1:{unused.getsockname()[1]}/v1"
        home = write_codex_home(tmp_path / "refused", url)  # no retries: and yet
        session = await make_runtime(CodexConfig(home=str(home))).open(seat)
        events = session.run(request("!text a", turn="a"))
        assert (await next_of(events, Notice)).kind is NoticeKind.RETRYING
        await session.interrupt()
        assert ended(await collect(events)).state is TurnState.INTERRUPTED


# Section 4: requests of the server


@pytest.mark.process
async def test_ids_of_requests_begin_at_zero_in_each_process(raw: MakeRaw, tmp_path: Path) -> None:
    ids = []
    for _ in range(2):
        codex = await raw().start()
        await codex.turn(await codex.thread(tmp_path, **ASKS), "!shell touch x")
        ids.append((await codex.asked_for())[0])
    assert ids == [0, 0]


@pytest.mark.process
async def test_a_command_approval_says_what_where_and_which_decisions(codex: RawCodex, tmp_path: Path) -> None:
    thread = await codex.thread(tmp_path, **ASKS)
    turn = await codex.turn(thread, "!shell touch x")
    _, method, asked = await codex.asked_for()
    assert method == "item/commandExecution/requestApproval"
    assert (asked["threadId"], asked["turnId"], asked["cwd"]) == (thread, turn, str(tmp_path))
    assert "touch x" in asked["command"]
    assert "accept" in asked["availableDecisions"] and "cancel" in asked["availableDecisions"]


@pytest.mark.process
@pytest.mark.parametrize(
    ("decision", "item", "turn"),
    [("accept", "completed", "completed"), ("decline", "declined", "completed"), ("cancel", "declined", "interrupted")],
)
async def test_a_decision_has_its_effect_on_item_and_turn(
    codex: RawCodex, tmp_path: Path, decision: str, item: str, turn: str
) -> None:
    thread = await codex.thread(tmp_path, approvalPolicy="untrusted")
    await codex.turn(thread, "!shell touch x\n!text after")
    codex.peer.answer((await codex.asked_for())[0], {"decision": decision})
    assert (await codex.hear("turn/completed"))["turn"]["status"] == turn
    assert (await codex.hear_item("item/completed", "commandExecution"))["status"] == item
    assert (tmp_path / "x").exists() == (decision == "accept")


@pytest.mark.process
async def test_an_acceptance_for_the_session_or_by_rule_is_not_asked_again(
    codex: RawCodex, home: Path, tmp_path: Path
) -> None:
    thread = await codex.thread(tmp_path, approvalPolicy="untrusted")
    first = await codex.turn(thread, "!shell touch x\n!shell touch x\n!text done", "a")
    codex.peer.answer((await codex.asked_for())[0], {"decision": "acceptForSession"})
    await codex.hear("turn/completed")
    assert len(codex.requests) == 1

    await codex.turn(thread, "!shell touch by-rule\n!shell touch by-rule\n!text done", "b")
    id, _, asked = await codex.asked_for(2)
    amendment = {"execpolicy_amendment": asked["proposedExecpolicyAmendment"]}
    codex.peer.answer(id, {"decision": {"acceptWithExecpolicyAmendment": amendment}})
    await codex.hear("turn/completed", lambda params: params["turn"]["id"] != first)
    assert len(codex.requests) == 2
    assert "by-rule" in (home / "rules" / "default.rules").read_text()


@pytest.mark.process
async def test_an_error_as_an_answer_fails_the_item_and_the_turn_goes_on(codex: RawCodex, tmp_path: Path) -> None:
    thread = await codex.thread(tmp_path, **ASKS)
    await codex.turn(thread, "!shell touch x\n!text after")
    codex.peer.refuse((await codex.asked_for())[0], -32601, "unknown")
    assert (await codex.hear("turn/completed"))["turn"]["status"] == "completed"
    assert (await codex.hear_item("item/completed", "commandExecution"))["status"] == "failed"


@pytest.mark.process
async def test_a_file_approval_names_no_file(codex: RawCodex, tmp_path: Path) -> None:
    thread = await codex.thread(tmp_path, sandbox="read-only", approvalPolicy="on-request")
    await codex.turn(thread, "!patch a.txt hello\n!text done")
    id, method, asked = await codex.asked_for()
    assert method == "item/fileChange/requestApproval"
    assert not {"changes", "diff", "path"} & set(asked)
    item = await codex.hear_item("item/started", "fileChange")
    assert item["id"] == asked["itemId"] and item["changes"][0]["diff"] == "hello\n"
    codex.peer.answer(id, {"decision": "accept"})
    await codex.hear("turn/diff/updated")
    await codex.hear("turn/completed")
    assert (tmp_path / "a.txt").read_text() == "hello\n"


@pytest.mark.process
async def test_two_calls_in_one_response_ask_at_once(codex: RawCodex, tmp_path: Path) -> None:
    await codex.turn(await codex.thread(tmp_path, **ASKS), "!both touch one | touch two\n!text done")
    await codex.asked_for(2)


@pytest.mark.process
async def test_an_approval_waits_without_a_limit_and_notifies_when_resolved(codex: RawCodex, tmp_path: Path) -> None:
    thread = await codex.thread(tmp_path, **ASKS)
    await codex.turn(thread, "!shell touch x\n!text after")
    id, _, _ = await codex.asked_for()
    await codex.hear("thread/status/changed", lambda p: p["status"].get("activeFlags") == ["waitingOnApproval"])
    codex.peer.answer(id, {"decision": "decline"})
    resolved = await codex.hear("serverRequest/resolved")
    assert (resolved["threadId"], resolved["requestId"]) == (thread, id)
    await codex.hear("turn/completed")
    names = [
        m
        for m, p in codex.heard
        if m == "serverRequest/resolved" or is_item("item/completed", "commandExecution")(m, p)
    ]
    assert names == ["serverRequest/resolved", "item/completed"]


@pytest.mark.process
async def test_a_pending_item_is_not_recorded_and_a_resume_asks_again_with_its_id(
    codex: RawCodex, tmp_path: Path
) -> None:
    thread = await codex.thread(tmp_path, **ASKS)
    await codex.turn(thread, "!shell touch x\n!text after")
    id, _, asked = await codex.asked_for()
    (turn,) = await codex.turns(thread)
    assert [item["type"] for item in turn["items"]] == ["userMessage"]
    await codex.ask("thread/resume", threadId=thread, excludeTurns=True)
    again, _, repeated = await codex.asked_for(2)
    assert (again, repeated["itemId"]) == (id, asked["itemId"])


@pytest.mark.process
async def test_a_pending_approval_is_gone_after_a_kill(raw: MakeRaw, runtime: CodexRuntime, tmp_path: Path) -> None:
    first = await raw().start()
    thread = await first.thread(tmp_path, **ASKS)
    await first.turn(thread, "!shell touch x\n!text after")
    await first.asked_for()
    first.kill()
    await first.end()
    second = await raw().start()
    await second.ask("thread/resume", threadId=thread, excludeTurns=True)
    (turn,) = await second.turns(thread)
    assert (turn["status"], [item["type"] for item in turn["items"]]) == ("interrupted", ["userMessage"])
    assert second.requests == []


@pytest.mark.process
async def test_a_question_leaves_no_item_and_takes_an_empty_answer(
    codex: RawCodex, model: ScriptedModel, tmp_path: Path
) -> None:
    thread = await codex.thread(tmp_path)
    await codex.turn(thread, "question-1\n!ask Which way? | Left | Right\n!text went on")
    codex.peer.answer((await codex.asked_for())[0], {"answers": {"question": {"answers": []}}})
    await codex.hear("turn/completed")
    (turn,) = await codex.turns(thread)
    assert [item["type"] for item in turn["items"]] == ["userMessage", "agentMessage"]
    last = [each for each in model.requests if "question-1" in each.prompt][-1]
    assert last.outputs == ['{"answers":{"question":{"answers":[]}}}']


@pytest.mark.process
async def test_without_the_feature_a_question_is_refused_by_codex_itself(
    codex: RawCodex, model: ScriptedModel, tmp_path: Path
) -> None:
    thread = await codex.thread(tmp_path, config={"features.default_mode_request_user_input": False})
    await codex.turn(thread, "question-2\n!ask Which way? | Left | Right\n!text went on")
    await codex.hear("turn/completed")
    assert codex.requests == []
    last = [each for each in model.requests if "question-2" in each.prompt][-1]
    assert "unavailable in Default mode" in last.outputs[0]


async def test_a_non_blocking_question_is_a_message_and_never_the_answer(runtime: CodexRuntime, seat: Seat) -> None:
    session = await runtime.open(replace(seat, model="gpt-6-sol"))
    events = await collect(session.run(request("!text the answer\n!aside Which? | A | B", turn="a")))
    assert [done.text for done in only(events, TextDone)] == ["the answer", "Which?\n- A\n- B"]
    assert ended(events).text == "the answer"
    record = await session.record("a")
    assert record is not None and record.text == "the answer"


@pytest.mark.process
async def test_a_dynamic_tool_is_called_back(
    codex: RawCodex, model: ScriptedModel, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tool = {"type": "function", "name": "look_up", "description": "ours", "inputSchema": {"type": "object"}}
    monkeypatch.setattr(responses, "shell_call", lambda asked, what: responses.function("look_up", {"what": what}))
    thread = await codex.thread(tmp_path, dynamicTools=[tool])
    await codex.turn(thread, "dynamic-1\n!shell the thing\n!text found")
    id, method, asked = await codex.asked_for()
    assert (method, asked["tool"], asked["arguments"]) == ("item/tool/call", "look_up", {"what": "the thing"})
    codex.peer.answer(id, {"contentItems": [{"type": "inputText", "text": "here"}], "success": True})
    assert (await codex.hear("turn/completed"))["turn"]["status"] == "completed"
    assert "here" in [each for each in model.requests if "dynamic-1" in each.prompt][-1].outputs


async def test_code_mode_changes_nothing_but_the_ids_of_items(runtime: CodexRuntime, careful: Seat) -> None:
    session = await runtime.open(replace(careful, model="gpt-6-sol"))
    events = session.run(request("!shell touch x\n!text done"))
    gate = await next_of(events, GateOpened)
    assert await session.answer(gate.ref, Answer(Decision.DECLINE))
    rest = await collect(events)
    (done,) = [act for act in only(rest, Activity) if act.phase is Phase.DONE]
    assert done.item.startswith("exec-") and done.item == gate.asked.item
    assert (done.kind, done.outcome) == (ActivityKind.COMMAND, Outcome.DECLINED)
    assert ended(rest).text == "done"


# Section 5: durability


BEFORE = (None, (RecordState.CUT, ""))  # whether its message is written by then depends on timing
AFTER = ((RecordState.CUT, "the answer"), (RecordState.COMPLETED, "the answer"))


@pytest.mark.process
@pytest.mark.parametrize(
    ("kill_on", "script", "found"),
    [
        (None, "!hold {}", BEFORE),
        (is_method("turn/started"), "!hold {}", BEFORE),
        (is_item("item/started", "userMessage"), "!hold {}", BEFORE),
        (is_item("item/completed", "userMessage"), "!hold {}", [(RecordState.CUT, "")]),
        (is_item("item/completed", "agentMessage"), "!text the answer\n!think on\n!hold {}", AFTER[:1]),
        (is_method("thread/tokenUsage/updated"), "!text the answer", AFTER),
        (is_method("turn/completed"), "!text the answer", AFTER[1:]),
    ],
    ids=["answer", "turn started", "message started", "message", "text", "usage", "end"],
)
async def test_after_a_kill_the_record_has_all_that_was_sent(
    raw: MakeRaw,
    runtime: CodexRuntime,
    seat: Seat,
    clock: SystemClock,
    kill_on: Callable[[str, dict[str, Any]], bool] | None,
    script: str,
    found: Sequence[tuple[RecordState, str] | None],
) -> None:
    first = await raw().start()
    thread = await first.thread(Path(seat.workspace))
    first.kill_on = kill_on or first.kill_on
    await first.turn(thread, script.format(clock.token()), "killed")
    if kill_on is None:
        first.kill()
    async with asyncio.timeout(GUARD):
        await first.is_lost.wait()
    await first.end()
    session = await runtime.open(replace(seat, continuity=Position(thread).continuity()))
    record = await session.record("killed")
    assert (record and (record.state, record.text)) in found
    assert record is None or record.messages == {"killed"}
    assert ended(await collect(session.run(request("!text goes on", turn="next")))).text == "goes on"


@pytest.mark.process
async def test_a_crashed_and_an_interrupted_turn_differ_in_codex_but_both_are_cut_for_us(
    raw: MakeRaw, runtime: CodexRuntime, seat: Seat, tmp_path: Path
) -> None:
    first = await raw().start()
    thread = await first.thread(tmp_path)
    turn = await first.turn(thread, "!hold stopped", "stopped")
    await first.hear_item("item/completed", "userMessage")
    await first.ask("turn/interrupt", threadId=thread, turnId=turn)
    await first.hear("turn/completed")
    (stopped,) = await first.turns(thread)
    assert stopped["status"] == "interrupted" and stopped["completedAt"] is not None
    await first.turn(thread, "!hold crashed", "crashed")
    await first.hear("item/completed", lambda p: p["item"].get("clientId") == "crashed")
    first.kill()
    await first.end()
    second = await raw().start()
    crashed, again = await second.turns(thread)
    assert crashed["status"] == again["status"] == "interrupted"
    assert crashed["completedAt"] is None and again["completedAt"] is not None
    await second.end()
    session = await runtime.open(replace(seat, continuity=Position(thread).continuity()))
    for turn in ("stopped", "crashed"):
        record = await session.record(turn)
        assert record is not None and record.state is RecordState.CUT


@pytest.mark.process
async def test_a_grandchild_outlives_a_killed_codex_but_not_our_end(
    make_runtime: MakeRuntime, config: CodexConfig, clock: SystemClock, free: Seat, tmp_path: Path
) -> None:
    marks = Marks(clock.token()[:8], "x")
    runtime = make_runtime(config, marks)
    session = await runtime.open(free)
    events = session.run(request(f"!shell (sleep 1000) & echo $! > pid; {CHATTER}", turn="a"))
    while (await next_of(events, Activity)).phase is not Phase.UPDATED:
        pass
    pid = int((tmp_path / "pid").read_text())
    os.kill((await runtime.health()).pid or 0, signal.SIGKILL)
    with pytest.raises(RuntimeTrouble):
        await collect(events)
    record = await session.record("a")
    assert record is not None and record.state is RecordState.CUT
    assert scan.get(pid) is None, "what the dead one left is gone before the record is read"
    await runtime.close()
    assert scan.children(marks.store) == []


@pytest.mark.process
@pytest.mark.parametrize("how", ["eof", "sigterm"])
async def test_a_clean_exit_during_a_turn_sends_no_end_of_the_turn(raw: MakeRaw, tmp_path: Path, how: str) -> None:
    first = await raw().start()
    thread = await first.thread(tmp_path)
    await first.turn(thread, "!text begun\n!hold quiet")
    await first.hear("item/agentMessage/delta")
    if how == "eof":
        stdin = first.child._stdin()
        assert stdin is not None
        stdin.close()
    else:
        os.kill(first.child.pid, signal.SIGTERM)
    await first.child.wait_exited(GUARD)
    assert first.child.exit_code == 0
    assert "turn/completed" not in [method for method, _ in first.heard]
    await first.end()
    second = await raw().start()
    (turn,) = await second.turns(thread)
    assert turn["status"] == "interrupted" and turn["completedAt"] is not None


async def test_the_message_id_does_not_prevent_duplicates_but_finds_the_turn(
    session: CodexSession, model: ScriptedModel
) -> None:
    for _ in range(2):
        await collect(session.run(request("!text repeated-1", turn="same")))
    assert model.count("repeated-1") == 2
    record = await session.record("same")
    assert record is not None and record.text == "repeated-1"


@pytest.mark.process
async def test_a_queue_of_codex_starts_by_itself_on_resume_so_a_thread_may_be_busy(
    raw: MakeRaw, runtime: CodexRuntime, seat: Seat, model: ScriptedModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = await raw().start()
    thread = await first.thread(Path(seat.workspace))
    await first.turn(thread, "!hold before the queue")
    await first.hear_item("item/completed", "userMessage")
    given = [{"type": "text", "text": "!hold from the queue\n!text queued"}]
    await first.ask("thread/queue/add", threadId=thread, input=given, clientUserMessageId="queued")
    first.kill()
    await first.end()
    session = await runtime.open(replace(seat, continuity=Position(thread).continuity()))
    async with asyncio.timeout(GUARD):
        await model.held("from the queue")
    with pytest.raises(RuntimeTrouble, match="busy with a turn of its own"):
        await collect(session.run(request("!text ours", turn="ours")))
    record = await session.record("queued")
    assert record is not None and record.state is RecordState.ALIVE
    release_when_followed(monkeypatch, model, "from the queue")
    assert ended(await collect(session.attach("queued"))).text == "queued"
    assert ended(await collect(session.run(request("!text ours", turn="ours")))).text == "ours"
