"""The ACP runtime: what agents may ask, which faults they may have, and what the user is told. The agent is the program
`agent.py`."""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from typing import Any, NoReturn

import pytest
from msgspec.structs import replace

from clew.model.events import Activity, ActivityKind, GateClosed, Notice, Outcome, Phase, TextDone, TurnEnded, Usage
from clew.model.gates import Answer, Asked, Decision, GateKind
from clew.model.messages import Attachment, PromptMessage
from clew.model.runtime import HealthState, Seat, Session, TurnRequest, nothing_before
from clew.model.threads import Continuity, SessionBegan
from clew.model.turns import TurnState
from clew.process import scan
from clew.process.scan import Marks
from clew.runtimes import acp
from clew.runtimes.acp import problems, replay
from clew.runtimes.acp.agents import text_errors
from clew.runtimes.acp.agents.entries import entries
from clew.runtimes.acp.agents.known import KNOWN, Entry, Quirks
from clew.runtimes.acp.agents.settings import AcpConfig
from clew.runtimes.acp.approvals.permissions import Pending
from clew.runtimes.acp.client import files
from clew.runtimes.acp.client.terminals import Terminals
from clew.runtimes.acp.runtime import AcpRuntime
from clew.runtimes.acp.session import AcpSession
from clew.runtimes.acp.turn.live_turn import Live
from clew.runtimes.acp.wire import TerminalRequest
from clew.support.clock import Clock, SystemClock
from clew.support.errors import BadInput, ConfigError, RuntimeLost, RuntimeTrouble
from clew.testing.runtime_stage import NO, PATIENCE, YES, Turn
from tests.helpers.clocks import IdleClock
from tests.helpers.disks import BROKEN_DISK, break_file
from tests.runtimes.codex.raw import collect, ended, only
from tests.runtimes.stages import acp_config

Make = Callable[..., AcpRuntime]
PLAIN = Quirks()


@pytest.fixture
async def make(tmp_path: Path, clock: SystemClock, marks: Marks) -> AsyncIterator[Make]:
    """Make runtimes with our own agent and its faults."""
    made: list[AcpRuntime] = []

    def runtime(*what: str, quirks: Quirks = PLAIN, clock: Clock = clock, **settings: Any) -> AcpRuntime:
        config = acp_config(tmp_path, *what, **settings)
        made.append(AcpRuntime(Entry("player", "Player", config.command, quirks=quirks), config, clock, marks))
        return made[-1]

    yield runtime
    for each in made:
        await each.close()


@pytest.fixture
def seat(tmp_path: Path) -> Seat:
    return Seat("thread", str(tmp_path))


def request(prompt: str, turn: str = "a", *files: Attachment) -> TurnRequest:
    return TurnRequest(turn, (PromptMessage(f"{turn}:said", "ann", prompt, files),))


async def said(
    session: Session, prompt: str, turn: str = "a", whole: Callable[[], Awaitable[str]] = nothing_before
) -> str:
    return ended(await collect(session.run(replace(request(prompt, turn), whole=whole)))).text


class Followed(Turn):
    def __init__(self, session: Session, prompt: str, turn: str = "a") -> None:
        async def follow() -> None:
            try:
                async for event in session.run(request(prompt, turn)):
                    await self.add(event)
            except RuntimeTrouble as trouble:
                self.trouble = trouble
            await self.notify()

        super().__init__(turn, session, follow)


# What it shows


@pytest.mark.process
async def test_thoughts_plans_tools_and_usage_are_shown(make: Make, seat: Seat) -> None:
    session = await make().open(seat)
    events = await collect(session.run(request("!think hm\n!plan one | two\n!text first\n!tool look\n!text last")))
    acts = only(events, Activity)
    assert [(act.kind, act.detail) for act in acts if act.phase is Phase.DONE] == [
        (ActivityKind.THOUGHT, "hm"),
        (ActivityKind.TOOL, "a result"),
        (ActivityKind.PLAN, "[pending] one\n[pending] two"),
    ]
    assert [done.text for done in only(events, TextDone)] == ["first", "last"]
    assert ended(events).text == "last" and only(events, Usage)[0].tokens.total_tokens == 15


@pytest.mark.process
@pytest.mark.parametrize("reason", ["max_tokens", "max_turn_requests"])
async def test_an_answer_that_stopped_early_has_a_notice(make: Make, seat: Seat, reason: str) -> None:
    session = await make().open(seat)
    events = await collect(session.run(request(f"!text so far\n!stop {reason}")))
    assert ended(events).text == "so far" and "stops here" in only(events, Notice)[0].text


@pytest.mark.process
async def test_a_refusal_and_an_error_are_failures(make: Make, seat: Seat) -> None:
    session = await make().open(seat)
    refused = ended(await collect(session.run(request("!stop refusal"))))
    failed = ended(await collect(session.run(request("!fail out of paper", "b"))))
    assert refused.state is failed.state is TurnState.FAILED
    assert refused.problem is not None and "another way" in refused.problem.message
    assert failed.problem is not None and "out of paper" in failed.problem.message
    assert await said(session, "!text fine", "c") == "fine"


@pytest.mark.process
async def test_its_mode_and_its_model_are_set(make: Make, seat: Seat) -> None:
    await make(mode="go", model="large").open(seat)
    with pytest.raises(RuntimeTrouble, match="has no mode 'fast'; it has ask, go"):
        await make(mode="fast").open(seat)
    with pytest.raises(RuntimeTrouble, match="has no model 'huge'; it has small, large"):
        await make().open(replace(seat, model="huge"))


# What it asks


@pytest.mark.process
async def test_options_other_than_yes_or_no_are_shown_as_a_question(make: Make, seat: Seat) -> None:
    """Two options of the same kind are two options."""
    session = await make().open(seat)
    turn = Followed(session, "!pick tea | coffee | tea")
    gate = await turn.gate()
    [question] = gate.asked.questions
    assert gate.asked.kind is GateKind.QUESTION and question.options == ("tea", "coffee", "tea (o2)")
    with pytest.raises(BadInput, match="Choose one of: tea, coffee"):
        await session.answer(gate.ref, YES)
    assert await session.answer(gate.ref, Answer(Decision.REPLY, replies=((question.id, ("tea (o2)",)),)))
    assert (await turn.end()).text == "o2"


@pytest.mark.process
async def test_a_declined_call_is_shown_as_declined(make: Make, seat: Seat) -> None:
    session = await make().open(seat)
    turn = Followed(session, "!approve make it\n!text done")
    await session.answer((await turn.gate()).ref, NO)
    await turn.end()
    [act] = [event for event in turn.events if isinstance(event, Activity) and event.phase is Phase.DONE]
    assert (act.title, act.outcome) == ("make it", Outcome.DECLINED)


def test_a_yes_to_a_changed_request_is_not_sent() -> None:
    sent: list[Answer] = []
    live = Live("a")
    pending = Pending("ref", Asked(GateKind.COMMAND, "make"), sent.append, is_current=lambda: False)
    live.ask(pending)
    assert not live.answer(pending, YES) and sent == []
    assert live.answer(pending, NO) and sent == [NO]


@pytest.mark.process
async def test_files_are_read_and_written_inside_the_workspace(make: Make, seat: Seat, tmp_path: Path) -> None:
    (tmp_path / "in").write_text("inside")
    session = await make().open(seat)
    assert await said(session, f"!read {tmp_path}/in") == "inside"
    turn = Followed(session, f"!write {tmp_path}/new/out some words", "b")
    gate = await turn.gate()
    assert (gate.asked.kind, gate.asked.paths) == (GateKind.CHANGE, (str(tmp_path / "new/out"),))
    assert "+some words" in gate.asked.detail
    await session.answer(gate.ref, YES)
    assert (await turn.end()).text == "written" and (tmp_path / "new/out").read_text() == "some words"
    turn = Followed(session, f"!write {tmp_path}/not no", "c")
    await session.answer((await turn.gate()).ref, Answer(Decision.DECLINE, "leave it"))
    await turn.end()
    assert "refused: not allowed: leave it" in [each.text for each in turn.events if isinstance(each, TextDone)]
    assert not (tmp_path / "not").exists()


@pytest.mark.process
async def test_no_file_outside_the_workspace_is_read_or_written(make: Make, seat: Seat, tmp_path: Path) -> None:
    work = tmp_path / "work"
    work.mkdir()
    (tmp_path / "secret").write_text("secret")
    (work / "link").symlink_to(tmp_path / "secret")
    (work / "up").symlink_to(tmp_path)
    session = await make().open(replace(seat, workspace=str(work)))
    ways = [f"{tmp_path}/secret", f"{work}/../secret", f"{work}/link", "../secret", "/etc/passwd", f"{work}/up/secret"]
    for number, way in enumerate(ways):
        assert "outside the workspace" in await said(session, f"!read {way}", f"r{number}")
        assert "outside the workspace" in await said(session, f"!write {way} mine", f"w{number}")
    assert (tmp_path / "secret").read_text() == "secret"
    assert "no file" in await said(session, f"!read {work}/nothing", "n")


@pytest.mark.process
async def test_a_pipe_cannot_be_written_as_a_file(make: Make, seat: Seat, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    session = await make().open(seat)
    turn = Followed(session, f"!write {tmp_path}/pipe words")
    await session.answer((await turn.gate()).ref, YES)
    assert "is no file" in (await turn.end()).text


@pytest.mark.process
async def test_a_command_run_by_clew_is_asked_about_and_runs_once(make: Make, seat: Seat, tmp_path: Path) -> None:
    session = await make().open(seat)
    turn = Followed(session, "!terminal echo out; echo ran >> trace; exit 3")
    gate = await turn.gate()
    assert (gate.asked.kind, gate.asked.title) == (GateKind.COMMAND, "echo out; echo ran >> trace; exit 3")
    await session.answer(gate.ref, YES)
    assert (await turn.end()).text == "3: out" and (tmp_path / "trace").read_text() == "ran\n"


@pytest.mark.process
@pytest.mark.parametrize("action", ["begin echo ran > trace; exec sleep 1000", "write trace ran"])
async def test_a_yes_before_a_stop_has_no_effect_after_it(make: Make, seat: Seat, tmp_path: Path, action: str) -> None:
    session = await make().open(seat)
    turn = Followed(session, f"!late {action}")
    await session.answer((await turn.gate()).ref, YES)
    assert (await turn.interrupt()).state is TurnState.INTERRUPTED
    assert "refused: the turn was stopped" in [each.text for each in turn.events if isinstance(each, TextDone)]
    assert not (tmp_path / "trace").exists()


@pytest.mark.process
async def test_a_command_that_was_starting_at_a_stop_is_ended(
    make: Make, seat: Seat, marks: Marks, monkeypatch: pytest.MonkeyPatch
) -> None:
    create, end_all = Terminals.create, Terminals.end_all
    ended_all: asyncio.Queue[None] = asyncio.Queue()
    stopping: list[asyncio.Task[None]] = []

    async def tell(own: Terminals) -> None:
        await end_all(own)
        ended_all.put_nowait(None)

    async def create_once_all_were_ended(own: Terminals, *given: Any) -> str:
        stopping.append(asyncio.create_task(session.interrupt()))
        await ended_all.get()
        return await create(own, *given)

    monkeypatch.setattr(Terminals, "end_all", tell)
    monkeypatch.setattr(Terminals, "create", create_once_all_were_ended)
    session = await make("deaf").open(seat)
    turn = Followed(session, "!begin exec sleep 1000")
    await session.answer((await turn.gate()).ref, YES)
    assert (await turn.end()).state is TurnState.INTERRUPTED
    async with asyncio.timeout(PATIENCE):
        await ended_all.get()
        await asyncio.gather(*stopping)
    assert "sleep" not in {each.command for each in await asyncio.to_thread(scan.children, marks.store)}


@pytest.fixture
async def terminals(tmp_path: Path, clock: SystemClock) -> AsyncIterator[Terminals]:
    own = Terminals(str(tmp_path), clock)
    yield own
    await own.end_all()


@pytest.mark.process
@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere every signal has a name")
async def test_a_command_that_a_signal_without_a_name_ended_says_which(terminals: Terminals, marks: Marks) -> None:
    id = await terminals.create(TerminalRequest(command="kill -35 $$"), marks.next())
    assert await terminals.get(id).exit() == {"exitCode": None, "signal": "signal 35"}


@pytest.mark.process
async def test_a_command_has_exited_even_if_its_child_holds_its_output(terminals: Terminals, marks: Marks) -> None:
    id = await terminals.create(TerminalRequest(command="echo said; sleep 1000 & exit 3"), marks.next())
    assert (await terminals.get(id).exit())["exitCode"] == 3
    assert terminals.get(id).output()["output"] == "said\n"


@pytest.mark.process
async def test_descendants_of_a_command_in_any_session_end_with_it(
    terminals: Terminals, clock: SystemClock, tmp_path: Path
) -> None:
    bare = Marks(clock.token()[:8], "x")
    os.mkfifo(tmp_path / "begun")
    for command in ("setsid sh -c 'echo > begun; sleep 1000' & exec sleep 1000", "sleep 1000 & exit 0"):
        id = await terminals.create(TerminalRequest(command=command), bare.next())
    await terminals.get(id).exit()
    await asyncio.to_thread((tmp_path / "begun").read_text)
    await terminals.end_all()
    assert await asyncio.to_thread(scan.children, bare.store) == []


async def test_images_and_files_are_sent_with_the_prompt(make: Make, seat: Seat, tmp_path: Path) -> None:
    image = Attachment("a.png", str(tmp_path / "a.png"), "image/png")
    Path(image.path).write_bytes(b"png")
    [text, first] = replay.as_prompt([PromptMessage("m", "ann", "look", (image,))], images=True)
    assert (text["text"], first["type"], first["data"]) == ("look", "image", "cG5n")
    [_, link] = replay.as_prompt([PromptMessage("m", "ann", "look", (image,))], images=False)
    assert link["type"] == "resource_link" and link["uri"].startswith("file:///")


@pytest.mark.process
@pytest.mark.parametrize(("what", "takes"), [((), True), (("blind",), False)])
async def test_whether_an_agent_takes_images_is_known_from_its_answer(
    make: Make, seat: Seat, what: tuple[str, ...], takes: bool
) -> None:
    runtime = make(*what)
    await runtime.open(seat)
    assert runtime.can.images is takes


@pytest.mark.process
@BROKEN_DISK
async def test_an_image_that_cannot_be_read_is_named_at_once(make: Make, seat: Seat, tmp_path: Path) -> None:
    (tmp_path / "a.png").touch()
    image = Attachment("a.png", str(break_file(tmp_path / "a.png")), "image/png")
    session = await make().open(seat)
    async with asyncio.timeout(PATIENCE):
        failed = ended(await collect(session.run(request("look", "a", image))))
    assert failed.state is TurnState.FAILED and failed.problem is not None
    assert failed.problem.message == "The file a.png cannot be read: Input/output error. Send it again."
    assert await said(session, "!text fine", "b") == "fine"


# Errors in clew itself


def broken(*given: object, **more: object) -> NoReturn:
    raise ZeroDivisionError


@pytest.mark.process
@pytest.mark.parametrize("what", ["_prompt", "_finish"])
async def test_a_turn_on_which_clew_itself_fails_ends_at_once_and_says_so(
    make: Make, seat: Seat, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, what: str
) -> None:
    session = await make().open(seat)
    with monkeypatch.context() as now:
        now.setattr(AcpSession, what, broken)
        async with asyncio.timeout(PATIENCE):
            failed = ended(await collect(session.run(request("!text done"))))
    assert (failed.state, failed.problem) == (TurnState.FAILED, problems.OWN_FAILURE)
    assert "clew failed on turn a" in caplog.text and "ZeroDivisionError" in caplog.text
    assert await said(session, "!text fine", "b") == "fine"


@pytest.mark.process
async def test_a_request_on_which_clew_itself_fails_is_answered(
    make: Make, seat: Seat, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(files, "read", broken)
    session = await make().open(seat)
    async with asyncio.timeout(PATIENCE):
        assert await said(session, "!read anything") == "refused: clew itself failed on this request"
    assert "ZeroDivisionError" in caplog.text


# Reopening sessions


PRELUDE = "ann said:\n> !text one\n> !hold for ever\n\nYou answered:\n> one\n\n"


async def whole() -> str:
    return PRELUDE


@pytest.mark.process
async def test_an_agent_that_does_not_know_the_thread_gets_the_history(make: Make, seat: Seat) -> None:
    session = await make().open(replace(seat, has_past=True))
    assert session.began() is SessionBegan.REBUILT
    recalled = await said(session, "!recall", whole=whole)
    assert "ann said:\n> !text one\n> !hold for ever" in recalled and "You answered:\n> one" in recalled
    assert recalled.count("You answered") == 1
    assert (await said(session, "!recall", "b", whole=whole)).count("You answered") == 1, "it was told twice"


@pytest.mark.process
@pytest.mark.parametrize("what", ["load", "resume"])
async def test_an_agent_that_reloads_its_session_does_not_get_the_history(make: Make, seat: Seat, what: str) -> None:
    first = make(what)
    session = await first.open(seat)
    await said(session, "!text one")
    kept = session.continuity()
    await first.close()
    again = await make(what).open(replace(seat, continuity=kept, has_past=True))
    assert again.continuity() == kept
    assert (session.began(), again.began()) == (SessionBegan.FRESH, SessionBegan.RESUMED)
    assert "You answered" not in await said(again, "!recall", "b", whole=whole)


@pytest.mark.process
async def test_an_agent_that_reloads_without_history_gets_it(make: Make, seat: Seat) -> None:
    first = make("load", "forgets")
    session = await first.open(seat)
    await said(session, "!text one")
    kept = session.continuity()
    await first.close()
    again = await make("load", "forgets").open(replace(seat, continuity=kept, has_past=True))
    assert again.continuity() != kept and again.began() is SessionBegan.REBUILT
    assert "You answered:\n> one" in await said(again, "!recall", "b", whole=whole)


@pytest.mark.process
async def test_a_session_that_was_begun_and_never_used_gets_the_history(make: Make, seat: Seat) -> None:
    """clew may die after it began the session and before its first prompt. The agent then reopens it empty."""
    first = make("load", "forgets")
    kept = (await first.open(replace(seat, has_past=True))).continuity()
    await first.close()
    again = await make("load", "forgets").open(replace(seat, continuity=kept, has_past=True))
    assert again.continuity() == kept and again.began() is SessionBegan.REBUILT
    assert "You answered:\n> one" in await said(again, "!recall", whole=whole)
    assert (await said(again, "!recall", "b", whole=whole)).count("You answered") == 1, "it was told twice"


@pytest.mark.process
async def test_a_session_that_shows_its_first_turn_does_not_get_the_history(make: Make, seat: Seat) -> None:
    """clew may die in the first turn, before it stored that there was one."""
    first = make("load")
    session = await first.open(seat)
    kept = session.continuity()
    await said(session, "!text one")
    await first.close()
    again = await make("load").open(replace(seat, continuity=kept, has_past=True))
    assert again.continuity() == kept and again.began() is SessionBegan.RESUMED
    assert "You answered" not in await said(again, "!recall", "b", whole=whole)


@pytest.mark.parametrize("data", ['{"session": "s", "later": {"x": 1}, "version": 7}', '{"session": "s"}'])
def test_a_continuity_of_another_version_can_be_read(data: str) -> None:
    from clew.runtimes.acp.opening.sessions import Position

    position = Position.read(Continuity(data))
    assert position is not None and position.session == "s"


@pytest.mark.process
async def test_an_idle_agent_is_stopped_and_started_again(make: Make, seat: Seat) -> None:
    clock = IdleClock(1234.5)
    runtime = make("load", clock=clock, idle_stop=clock.idle)
    session = await runtime.open(seat)
    assert await said(session, "!text one") == "one"
    kept, resting = session.continuity(), session._server._idle_timer
    assert resting is not None
    clock.passed.set()
    await resting
    clock.passed.clear()
    assert (await runtime.health()).state is HealthState.STOPPED
    assert "!text one" in await said(session, "!recall", "b")
    assert session.continuity() != kept and session._server.starts == 2, "the same session, one turn later"


# Quirks of Hermes


HERMES = KNOWN["hermes"].quirks


async def stopped_in_a_command(session: Session, folder: Path) -> TurnEnded:
    pipe = folder / "pipe"
    os.mkfifo(pipe)
    turn = Followed(session, f"!approve echo begun > {pipe}; sleep 600")
    await session.answer((await turn.gate()).ref, YES)
    assert await asyncio.to_thread(pipe.read_text) == "begun\n"
    return await turn.interrupt()


@pytest.mark.process
async def test_a_session_that_a_stop_made_unusable_is_replaced(make: Make, seat: Seat, tmp_path: Path) -> None:
    session = await make("wedges", quirks=HERMES).open(replace(seat, has_past=True))
    before = session.continuity()
    assert (await stopped_in_a_command(session, tmp_path)).state is TurnState.INTERRUPTED
    assert session.continuity() != before
    assert "You answered:\n> one" in await said(session, "!recall", "b", whole=whole)


@pytest.mark.process
@pytest.mark.parametrize("repeats", [True, False])
async def test_a_session_that_would_send_a_refused_message_again_is_replaced(
    make: Make, seat: Seat, repeats: bool
) -> None:
    session = await make(quirks=Quirks(unusable_after_failure=repeats)).open(replace(seat, has_past=True))
    before = session._position
    assert ended(await collect(session.run(request("!status 400")))).state is TurnState.FAILED
    now = session._position
    assert before is not None and now is not None and (now.session != before.session) is repeats


@pytest.mark.process
async def test_an_unusable_session_is_replaced_within_the_turn(make: Make, seat: Seat, tmp_path: Path) -> None:
    unaware = replace(HERMES, unusable_after_cancel=False)
    session = await make("wedges", quirks=unaware).open(seat)
    await stopped_in_a_command(session, tmp_path)
    events = await collect(session.run(request("!text at work", "b")))
    assert ended(events).text == "at work"
    assert [(done.text, done.cut) for done in only(events, TextDone)] == [
        ("Queued for the next turn. (1 queued)", True),
        ("at work", False),
    ]


@pytest.mark.process
async def test_a_request_that_times_out_is_withdrawn_and_the_turn_cut(make: Make, seat: Seat) -> None:
    session = await make(quirks=replace(HERMES, gate_timeout=0.2)).open(seat)
    turn = Followed(session, "!approve touch ran\n!text done")
    gate = await turn.gate()
    ended_ = await turn.end()
    assert ended_.state is TurnState.INTERRUPTED
    assert not await session.answer(gate.ref, YES)
    assert GateClosed(gate.ref, ran_out=True) in turn.events


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("HTTP 401: no key", "not_logged_in"),
        ("HTTP 429: slow down", "rate_limit"),
        ("API call failed after 3 retries: HTTP 500: oops", "model_error"),
        ("Error: boom", "model_error"),
        ("⚠️ No reply: the model returned empty content after retries and any fallback providers.", "model_error"),
    ],
)
def test_an_error_sent_as_an_answer_is_recognized(text: str, code: str) -> None:
    problem = text_errors.hermes(text)
    assert problem is not None and problem.code == code and text in problem.message


@pytest.mark.parametrize("text", ["The server said HTTP 401: why?", "All is well.", "", "HTTP is a protocol"])
def test_an_answer_about_errors_is_an_answer(text: str) -> None:
    assert text_errors.hermes(text) is None


# Bad input


@pytest.mark.process
@pytest.mark.parametrize(
    ("what", "words"),
    [
        (["version=2"], "speaks version 2 of the Agent Client Protocol, and clew speaks 1. Update"),
        (["silent"], "did not answer within 1 s; is .* an ACP agent"),
        (["dies=initialize"], "does not stay up, or is no ACP agent .exit code 3; its last words: no licence"),
        (["no-auth"], "is not logged in .please log in first"),
    ],
)
async def test_an_agent_that_does_not_start_says_why(make: Make, seat: Seat, what: list[str], words: str) -> None:
    runtime = make(*what, start_timeout=1.0 if what == ["silent"] else 60.0)
    with pytest.raises(RuntimeTrouble, match=words):
        await runtime.open(seat)


@pytest.mark.process
@pytest.mark.parametrize(
    ("command", "words"),
    [
        (("no-such-agent", "acp"), r"was not found \(no no-such-agent on the PATH\)\. .*et `command`"),
        ((__file__,), "cannot be run"),
        (("/nowhere/agent",), "there is no /nowhere/agent"),
        (("/bin/true",), "does not stay up, or is no ACP agent .exit code 0"),
        (("/bin/echo", "hello"), "does not stay up, or is no ACP agent"),
    ],
)
async def test_a_command_that_is_no_agent_is_named(
    clock: SystemClock, marks: Marks, seat: Seat, command: tuple[str, ...], words: str
) -> None:
    runtime = acp.make({"mine": AcpConfig(command)}, clock, marks)["mine"]
    with pytest.raises(RuntimeTrouble, match=words):
        await runtime.open(seat)
    await runtime.close()


@pytest.mark.process
async def test_an_agent_that_dies_at_a_new_session_is_lost_and_retried(make: Make, seat: Seat) -> None:
    runtime = make("dies=session/new")
    for _ in range(2):
        with pytest.raises(RuntimeLost, match="exit code 3"):
            await runtime.open(seat)


@pytest.mark.process
async def test_an_agent_that_dies_in_a_turn_is_lost_and_restarted(make: Make, seat: Seat) -> None:
    session = await make().open(seat)
    with pytest.raises(RuntimeLost, match="exit code 7"):
        await said(session, "!text so far\n!die")
    assert await said(session, "!text better", "b") == "better"


@pytest.mark.process
async def test_an_agent_that_never_answers_a_request_is_ended(make: Make, seat: Seat) -> None:
    runtime = make("silent=session/new", request_timeout=0.5)
    with pytest.raises(RuntimeLost, match="did not answer session/new"):
        await runtime.open(seat)


@pytest.mark.process
async def test_an_agent_that_ignores_a_stop_is_ended(make: Make, seat: Seat) -> None:
    session = await make("deaf", interrupt_timeout=0.3).open(seat)
    turn = Followed(session, "!approve make it")
    await turn.gate()
    assert (await turn.interrupt()).state is TurnState.INTERRUPTED
    assert await said(session, "!text better", "b") == "better"


@pytest.mark.process
async def test_a_workspace_that_vanished_is_named(make: Make, seat: Seat, tmp_path: Path) -> None:
    gone = tmp_path / "gone"
    gone.mkdir()
    session = await make().open(replace(seat, workspace=str(gone)))
    gone.rmdir()
    with pytest.raises(RuntimeTrouble, match=f"The folder {gone} is gone. Bring it back"):
        await said(session, "!text one")


def test_an_entry_without_a_command_is_named() -> None:
    with pytest.raises(ConfigError, match=r"runtimes.acp.mine needs `command`.* known agents: hermes, opencode"):
        entries({"mine": AcpConfig()})
    with pytest.raises(ConfigError, match="codex is a built-in runtime"):
        entries({"codex": AcpConfig(("x",))})
