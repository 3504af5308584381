"""Gates with the real Codex: what it asks, how it is answered, and that each command runs only once per yes."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sys
import tempfile
import threading
from collections.abc import AsyncIterator, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

import pytest
from msgspec.structs import replace

from clew.engine.rules.decide import decide
from clew.model.events import Activity, Event, GateClosed, GateOpened, Outcome, Phase
from clew.model.gates import Answer, Asked, Decision, Effect, GateKind, Policy, Question, Rule, RuleKind, Scope
from clew.model.runtime import Seat
from clew.model.turns import TurnState
from clew.runtimes.codex.approvals import overwriting
from clew.runtimes.codex.runtime import CodexRuntime
from clew.runtimes.codex.server.connection import Connection
from clew.runtimes.codex.session import CodexSession
from clew.runtimes.file_changes import Found
from clew.support.display.as_code import script_shown
from clew.support.errors import BadInput, RuntimeLost, RuntimeTrouble
from clew.testing.scripted_model import Request, ScriptedModel, responses, write_codex_home
from clew.testing.scripted_model.script import Patch, Say, Step
from clew.testing.scripted_model.server import AnyRequest
from tests.runtimes.codex.raw import GUARD, collect, ended, next_of, only, release_when_followed, request

pytestmark = pytest.mark.process

YES, NO, CANCEL = (Answer(each) for each in (Decision.ACCEPT, Decision.DECLINE, Decision.CANCEL))
ASKER = Path(__file__).with_name("asker.py")


def reply(*said: str, to: str = "question") -> Answer:
    return Answer(Decision.REPLY, replies=((to, said),))


@pytest.fixture(scope="module")
def home(model: ScriptedModel, tmp_path_factory: pytest.TempPathFactory) -> Path:
    home = write_codex_home(tmp_path_factory.mktemp("codex"), model.url)
    server = f'\n[mcp_servers.asker]\ncommand = "{sys.executable}"\nargs = ["{ASKER}"]\n'
    (home / "config.toml").write_text((home / "config.toml").read_text() + server)
    return home


@pytest.fixture
async def session(runtime: CodexRuntime, careful: Seat) -> AsyncIterator[CodexSession]:
    session = await runtime.open(careful)
    yield session
    await session.close()


@pytest.fixture
def outside() -> Iterator[Path]:
    """A folder that no sandbox may write: neither the workspace nor a temporary folder."""
    with tempfile.TemporaryDirectory(dir="/var/tmp", prefix="clew-outside-") as folder:
        yield Path(folder)


@pytest.fixture
def sent(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The methods that we call on Codex."""
    methods: list[str] = []
    ask = Connection.ask

    async def noted(self: Connection, method: str, *args: Any, **more: Any) -> Any:
        methods.append(method)
        return await ask(self, method, *args, **more)

    monkeypatch.setattr(Connection, "ask", noted)
    return methods


def requests_of(model: ScriptedModel, marker: str) -> list[AnyRequest]:
    return [each for each in model.requests if any(marker in prompt for prompt in each.prompts)]


def done(events: list[Event]) -> list[Activity]:
    return [act for act in only(events, Activity) if act.phase is Phase.DONE]


def runs(folder: Path) -> int:
    """Return how often `echo ran >> runs` was run there."""
    return len((folder / "runs").read_text().split()) if (folder / "runs").exists() else 0


COUNTED = "echo ran >> runs"


def use_tool(request: Request, name: str, given: dict[str, Any]) -> dict[str, Any]:
    """Return the call of one of Codex's own tools."""
    if request.tool(responses.CODE_MODE):
        return responses.custom(responses.CODE_MODE, f"text(await tools.{name}({json.dumps(given)}))")
    return responses.function(name, given)


@pytest.fixture
def calls_tools(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the scripted model call any tool of Codex: the path of a patch is its name, the text its arguments."""
    monkeypatch.setattr(responses, "patch_call", lambda asked, path, text: use_tool(asked, path, json.loads(text)))


# Commands


async def test_an_accepted_command_runs_once(session: CodexSession, tmp_path: Path) -> None:
    events = session.run(request(f"!shell {COUNTED}\n!text done"))
    gate = await next_of(events, GateOpened)
    assert gate.asked.kind is GateKind.COMMAND and gate.asked.blocking
    assert COUNTED in gate.asked.title and gate.asked.folder == str(tmp_path)
    assert runs(tmp_path) == 0
    assert await session.answer(gate.ref, YES)
    assert not await session.answer(gate.ref, YES), "a second answer is never sent"
    rest = await collect(events)
    assert only(rest, GateClosed) == [GateClosed(gate.ref)]
    assert [(act.item, act.outcome) for act in done(rest)] == [(gate.asked.item, Outcome.OK)]
    assert ended(rest).text == "done"
    assert runs(tmp_path) == 1
    assert not await session.answer(gate.ref, YES)


async def test_the_agent_is_told_that_nobody_answered_in_time(session: CodexSession, model: ScriptedModel) -> None:
    events = session.run(request(f"too-late\n!shell {COUNTED}\n!text done"))
    gate = await next_of(events, GateOpened)
    assert await session.answer(gate.ref, Answer(Decision.DECLINE, "nobody answered in time", expired=True))
    await collect(events)
    told = requests_of(model, "too-late")[-1].prompt
    assert told == (
        f"Nobody declined {script_shown(gate.asked.title)}."
        " It was not done because nobody answered in time; you may ask again."
    )


async def test_a_declined_command_does_not_run_and_the_agent_is_told_why(
    session: CodexSession, model: ScriptedModel, tmp_path: Path
) -> None:
    events = session.run(request(f"why-not\n!shell {COUNTED}\n!text done"))
    gate = await next_of(events, GateOpened)
    assert await session.answer(gate.ref, Answer(Decision.DECLINE, "the disk is full"))
    rest = await collect(events)
    assert [act.outcome for act in done(rest)] == [Outcome.DECLINED]
    assert ended(rest).state is TurnState.COMPLETED
    assert ended(rest).messages == {"turn", f"{gate.ref}:reason"}
    told = requests_of(model, "why-not")[-1]
    assert "rejected by user" in told.outputs[-1]
    assert told.prompt == f"I declined {script_shown(gate.asked.title)}: the disk is full"
    assert runs(tmp_path) == 0


async def test_a_no_without_a_reason_sends_no_message_to_the_agent(session: CodexSession, model: ScriptedModel) -> None:
    events = session.run(request("just-no\n!shell touch x\n!text went on"))
    assert await session.answer((await next_of(events, GateOpened)).ref, NO)
    assert ended(await collect(events)).text == "went on"
    assert requests_of(model, "just-no")[-1].prompts[-1].startswith("just-no")


@pytest.mark.usefixtures("calls_tools")
@pytest.mark.parametrize("is_resumed", [False, True], ids=["begun", "resumed"])
@pytest.mark.parametrize("name", ["gpt-5.5", "gpt-6-sol"])
async def test_a_yes_to_a_command_lets_the_model_type_nothing_into_it(
    runtime: CodexRuntime, careful: Seat, model: ScriptedModel, name: str, is_resumed: bool
) -> None:
    """It could type `!touch made` into `less`, and nobody would be asked."""
    session = await runtime.open(replace(careful, model=name))
    if is_resumed:
        await collect(session.run(request("!text one")))
        await session.close()
        session = await runtime.open(replace(careful, model=name, continuity=session.continuity()))
    marker = f"type-into-it-{name}-{is_resumed}"
    given = json.dumps({"cmd": "less README.md", "tty": True, "login": False})
    model.on(marker, lambda asked: [Say("done")] if asked.acts_done else [Patch("exec_command", given)])
    assert only(await collect(session.run(request(marker, turn="typed"))), GateOpened) == []
    assert "TTY execution is disabled" in requests_of(model, marker)[-1].outputs[-1]
    await session.close()


@pytest.mark.parametrize("name", ["gpt-5.5", "gpt-6-sol"])
async def test_a_cancelled_command_ends_the_turn_and_no_interrupt_follows(
    runtime: CodexRuntime, careful: Seat, sent: list[str], tmp_path: Path, name: str
) -> None:
    session = await runtime.open(replace(careful, model=name))
    events = session.run(request(f"!shell {COUNTED}\n!text done", turn="a"))
    gate = await next_of(events, GateOpened)
    assert await session.answer(gate.ref, CANCEL)
    await session.interrupt()
    rest = await collect(events)
    assert only(rest, GateClosed) == [GateClosed(gate.ref)]
    assert ended(rest).state is TurnState.INTERRUPTED
    assert "turn/interrupt" not in sent and "thread/backgroundTerminals/clean" in sent
    assert not await session.answer(gate.ref, YES)
    assert ended(await collect(session.run(request("!text next", turn="b")))).text == "next"
    assert runs(tmp_path) == 0


async def test_a_text_reply_to_a_command_is_refused_and_leaves_it_open(session: CodexSession, tmp_path: Path) -> None:
    events = session.run(request(f"!shell {COUNTED}\n!text done"))
    gate = await next_of(events, GateOpened)
    with pytest.raises(BadInput, match="a yes or a no"):
        await session.answer(gate.ref, reply("sure"))
    assert await session.answer(gate.ref, YES)
    assert ended(await collect(events)).text == "done"
    assert runs(tmp_path) == 1


async def test_two_at_once_are_answered_in_any_order(session: CodexSession, tmp_path: Path) -> None:
    events = session.run(request("!both touch one | touch two\n!text done"))
    opened = [await next_of(events, GateOpened), await next_of(events, GateOpened)]
    first, second = sorted(opened, key=lambda gate: "two" in gate.asked.title)  # Codex asks in either order
    assert await session.answer(second.ref, YES)
    assert await session.answer(first.ref, NO)
    rest = await collect(events)
    assert {closed.ref for closed in only(rest, GateClosed)} == {first.ref, second.ref}
    assert {act.item: act.outcome for act in done(rest)} == {
        first.asked.item: Outcome.DECLINED,
        second.asked.item: Outcome.OK,
    }
    assert ended(rest).text == "done"
    assert not (tmp_path / "one").exists() and (tmp_path / "two").exists()


async def test_cancelling_one_of_two_ends_the_turn_and_the_other_with_it(
    session: CodexSession, sent: list[str], tmp_path: Path
) -> None:
    """Whether Codex still resolves the other request depends on timing; the end of the turn closes it too."""
    events = session.run(request("!both touch one | touch two\n!text done"))
    first, second = await next_of(events, GateOpened), await next_of(events, GateOpened)
    assert await session.answer(first.ref, CANCEL)
    assert not await session.answer(second.ref, YES)
    rest = await collect(events)
    assert first.ref in {closed.ref for closed in only(rest, GateClosed)}
    assert ended(rest).state is TurnState.INTERRUPTED
    assert "turn/interrupt" not in sent
    assert not list(tmp_path.glob("one")) and not list(tmp_path.glob("two"))


async def test_an_interrupt_cancels_what_is_open_and_a_late_yes_runs_nothing(
    session: CodexSession, sent: list[str], tmp_path: Path
) -> None:
    events = session.run(request(f"!shell {COUNTED}\n!text done", turn="a"))
    gate = await next_of(events, GateOpened)
    await session.interrupt()
    assert not await session.answer(gate.ref, YES)
    rest = await collect(events)
    assert only(rest, GateClosed) == [GateClosed(gate.ref)]
    assert ended(rest).state is TurnState.INTERRUPTED
    assert "turn/interrupt" not in sent and "thread/backgroundTerminals/clean" in sent
    assert not await session.answer(gate.ref, YES)
    assert ended(await collect(session.run(request("!text next", turn="b")))).text == "next"
    assert runs(tmp_path) == 0


async def test_an_unknown_gate_takes_no_answer(session: CodexSession) -> None:
    assert not await session.answer("nothing", YES)
    events = session.run(request("!shell touch x\n!text done"))
    gate = await next_of(events, GateOpened)
    assert not await session.answer("nothing", YES)
    assert not await session.answer(gate.ref.rpartition(":")[2], YES), "Codex's own number is no reference"
    assert await session.answer(gate.ref, NO)
    await collect(events)


# Repeated requests, and processes that number them from 0 again


async def test_a_request_that_is_sent_again_is_the_same_gate(session: CodexSession, tmp_path: Path) -> None:
    events = session.run(request(f"!shell {COUNTED}\n!text done"))
    gate = await next_of(events, GateOpened)
    connection = await session._server.connect()
    await connection.ask("thread/resume", {"threadId": session._thread, "excludeTurns": True}, dict)
    assert await session.answer(gate.ref, YES)
    rest = await collect(events)
    assert only(rest, GateOpened) == []
    assert ended(rest).text == "done"
    assert runs(tmp_path) == 1


async def test_attaching_again_shows_the_same_gate_which_can_be_answered(
    runtime: CodexRuntime, careful: Seat, tmp_path: Path
) -> None:
    first = await runtime.open(careful)
    events = first.run(request(f"!shell {COUNTED}\n!text done", turn="a"))
    gate = await next_of(events, GateOpened)
    await first.close()
    second = await runtime.open(replace(careful, continuity=first.continuity()))
    followed = second.attach("a")
    assert await next_of(followed, GateOpened) == gate
    assert not await first.answer(gate.ref, YES)
    assert await second.answer(gate.ref, YES)
    assert ended(await collect(followed)).text == "done"
    assert runs(tmp_path) == 1


async def test_requests_of_an_unfollowed_turn_are_declined_when_another_starts(
    runtime: CodexRuntime, careful: Seat, model: ScriptedModel, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = await runtime.open(careful)
    events = first.run(request(f"!shell {COUNTED}\n!hold alone\n!text alone", turn="a"))
    await next_of(events, GateOpened)
    await first.close()
    second = await runtime.open(replace(careful, continuity=first.continuity()))
    with pytest.raises(RuntimeTrouble, match="busy with a turn of its own"):
        await collect(second.run(request("!text b", turn="b")))
    async with asyncio.timeout(GUARD):
        await model.held("alone")
    release_when_followed(monkeypatch, model, "alone")
    assert ended(await collect(second.attach("a"))).text == "alone"
    assert runs(tmp_path) == 0


async def test_after_a_restart_of_codex_an_old_answer_has_no_effect(
    own_runtime: CodexRuntime, careful: Seat, tmp_path: Path
) -> None:
    session = await own_runtime.open(careful)
    events = session.run(request("!shell touch old\n!text done", turn="a"))
    old = await next_of(events, GateOpened)
    os.kill(cast("int", (await own_runtime.health()).pid), signal.SIGKILL)
    with pytest.raises(RuntimeLost):
        await collect(events)
    assert not await session.answer(old.ref, YES)
    events = session.run(request("!shell touch new\n!text done", turn="b"))
    new = await next_of(events, GateOpened)
    assert old.ref.rpartition(":")[2] == new.ref.rpartition(":")[2] == "0", "Codex counts anew"
    assert old.ref != new.ref
    assert not await session.answer(old.ref, YES)
    assert await session.answer(new.ref, NO)
    assert ended(await collect(events)).text == "done"
    assert list(tmp_path.glob("old")) == list(tmp_path.glob("new")) == []


# Changes of files


async def test_a_change_is_shown_with_its_complete_diff(session: CodexSession, tmp_path: Path) -> None:
    events = session.run(request("!patch a.txt hello\n!text done"))
    gate = await next_of(events, GateOpened)
    path = str(tmp_path / "a.txt")
    assert (gate.asked.kind, gate.asked.unjudged) == (GateKind.CHANGE, "")
    assert (gate.asked.title, gate.asked.paths) == (path, (path,))
    assert gate.asked.detail == f"--- /dev/null\n+++ {path}\n+hello\n"
    assert not (tmp_path / "a.txt").exists()
    assert await session.answer(gate.ref, YES)
    rest = await collect(events)
    assert [act.item for act in done(rest)] == [gate.asked.item]
    assert (tmp_path / "a.txt").read_text() == "hello\n"


ADD = "*** Add File: {path}\n+new"
MOVE = "*** Update File: from.txt\n*** Move to: {path}\n@@\n-x = 1\n+x = 2"
OLD = "def check(token):\n    return verify(token)\n"


def use_patch(monkeypatch: pytest.MonkeyPatch, patch: str) -> None:
    """Let the scripted model apply this patch instead of its own."""
    patch = f"*** Begin Patch\n{patch}\n*** End Patch\n"
    monkeypatch.setattr(responses, "patch_call", lambda *_: responses.custom("apply_patch", patch))


@pytest.mark.parametrize("patch", [ADD, MOVE], ids=["added", "moved"])
@pytest.mark.parametrize("content", [OLD.encode(), b"\0\xff" * 50, None], ids=["text", "binary", "outside"])
async def test_a_file_that_a_new_or_moved_one_replaces_is_shown_and_only_a_person_allows_it(
    session: CodexSession, tmp_path: Path, outside: Path, monkeypatch: pytest.MonkeyPatch, patch: str, content: bytes
) -> None:
    """Codex calls it a new file, or says nothing of it. What lies outside is not read: nobody shared it."""
    target = outside / "a.py" if content is None else tmp_path / "a.py"
    target.write_bytes(content or OLD.encode())
    (tmp_path / "from.txt").write_text("x = 1\n")
    use_patch(monkeypatch, patch.format(path=target))
    events = session.run(request("!patch a.py x\n!text done"))
    asked = (await next_of(events, GateOpened)).asked
    assert asked.unjudged == f"it replaces what is there already: {target}"
    if content == OLD.encode():
        assert "-    return verify(token)" in asked.detail
    else:
        assert f"cannot be shown ({len(content or OLD):,} bytes" in asked.detail and "verify" not in asked.detail
    rule = Rule("R1", Effect.ALLOW, RuleKind.CHANGE, "**", Scope.EVERYWHERE, "", 0)
    assert decide(asked, Policy.TRUSTED, str(tmp_path), [rule], 1, "t").effect is Effect.ASK
    await session.interrupt()
    assert ended(await collect(events)).state is TurnState.INTERRUPTED


async def test_a_new_file_that_another_change_of_the_patch_replaces_is_allowed_by_a_person_only(
    session: CodexSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "from.txt").write_text("x = 1\n")
    use_patch(monkeypatch, "\n".join(each.format(path="c.py") for each in (ADD, MOVE)))
    events = session.run(request("!patch a.py x\n!text done"))
    gate = await next_of(events, GateOpened)
    assert gate.asked.unjudged == f"it changes a file more than once: {tmp_path}/c.py"
    assert await session.answer(gate.ref, NO)
    await collect(events)


async def test_a_change_that_is_stopped_while_its_files_are_looked_at_is_never_asked(
    session: CodexSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    looking, go_on = threading.Event(), threading.Event()

    def look(paths: Sequence[str], workspace: str) -> dict[str, Found]:
        looking.set()
        go_on.wait(GUARD)
        return {}

    monkeypatch.setattr(overwriting, "look", look)
    working = asyncio.ensure_future(collect(session.run(request("!patch a.py x\n!text done"))))
    assert await asyncio.to_thread(looking.wait, GUARD)
    await session.interrupt()
    events = await working
    go_on.set()
    assert (only(events, GateOpened), only(events, GateClosed)) == ([], [])
    assert ended(events).state is TurnState.INTERRUPTED and not (tmp_path / "a.py").exists()


@pytest.mark.parametrize(("answer", "state"), [(NO, TurnState.COMPLETED), (CANCEL, TurnState.INTERRUPTED)])
async def test_a_change_that_was_not_accepted_is_not_made(
    session: CodexSession, sent: list[str], tmp_path: Path, answer: Answer, state: TurnState
) -> None:
    events = session.run(request("!patch a.txt hello\n!text done"))
    assert await session.answer((await next_of(events, GateOpened)).ref, answer)
    assert ended(await collect(events)).state is state
    assert not (tmp_path / "a.txt").exists()
    assert "turn/interrupt" not in sent


async def test_a_diff_of_five_megabytes_survives(session: CodexSession, model: ScriptedModel, tmp_path: Path) -> None:
    text = "\n".join(f"{number:06d} {'x' * 92}" for number in range(50_000))
    assert len(text) >= 4_999_999

    def big(asked: Request) -> list[Step]:
        return [Say("done")] if asked.acts_done else [Patch("big.txt", text)]

    model.on("five-megabytes", big)
    events = session.run(request("five-megabytes"))
    gate = await next_of(events, GateOpened)
    assert gate.asked.detail.count("\n+") == 50_001 and gate.asked.detail.endswith(f"{text[-99:]}\n")
    assert await session.answer(gate.ref, YES)
    assert ended(await collect(events)).text == "done"
    assert (tmp_path / "big.txt").read_text() == f"{text}\n"


# Permissions


async def test_permissions_are_granted_as_they_were_asked_for_and_for_the_turn(
    runtime: CodexRuntime, seat: Seat, model: ScriptedModel, outside: Path, tmp_path: Path
) -> None:
    session = await runtime.open(seat)
    script = f"permit-yes\n!permit {outside}\n!shell touch {outside}/now\n!text done"
    events = session.run(request(script, turn="a"))
    gate = await next_of(events, GateOpened)
    assert gate.asked.kind is GateKind.PERMISSION
    assert (gate.asked.title, gate.asked.folder) == (f"write {outside}, network", str(tmp_path))
    assert gate.asked.reason == "the script says so"
    assert json.loads(gate.asked.detail)["network"] == {"enabled": True}
    assert await session.answer(gate.ref, YES)
    assert ended(await collect(events)).text == "done"
    granted = json.loads(requests_of(model, "permit-yes")[-1].outputs[0])
    assert granted["scope"] == "turn" and granted["permissions"]["file_system"]["write"] == [str(outside)]
    assert await asked_about(session, f"!shell touch {outside}/later", "b") == []
    assert [path.name for path in outside.iterdir()] == ["now"]
    await session.close()


async def test_permissions_that_were_declined_are_not_granted(
    session: CodexSession, model: ScriptedModel, outside: Path
) -> None:
    events = session.run(request(f"permit-no\n!permit {outside}\n!text done"))
    assert await session.answer((await next_of(events, GateOpened)).ref, NO)
    assert ended(await collect(events)).text == "done"
    granted = json.loads(requests_of(model, "permit-no")[-1].outputs[0])["permissions"]
    assert granted == {"network": None, "file_system": None}


async def test_cancelling_permissions_interrupts_the_turn(
    session: CodexSession, sent: list[str], outside: Path
) -> None:
    events = session.run(request(f"!permit {outside}\n!hold not-permitted"))
    assert await session.answer((await next_of(events, GateOpened)).ref, CANCEL)
    assert ended(await collect(events)).state is TurnState.INTERRUPTED
    assert sent.count("turn/interrupt") == 1


# Questions


@pytest.mark.parametrize("said", ["Left", "straight on"])
async def test_a_question_takes_an_option_or_other_words(
    session: CodexSession, model: ScriptedModel, said: str
) -> None:
    events = session.run(request(f"way-{said[:4]}\n!ask Which way? | Left | Right\n!text went on"))
    gate = await next_of(events, GateOpened)
    assert gate.asked.kind is GateKind.QUESTION and gate.asked.blocking
    assert gate.asked.questions == (Question("question", "Which way?", ("Left", "Right"), free=True),)
    for wrong in (YES, reply(said, to="another"), Answer(Decision.REPLY)):
        with pytest.raises(BadInput):
            await session.answer(gate.ref, wrong)
    assert await session.answer(gate.ref, reply(said))
    rest = await collect(events)
    assert only(rest, GateClosed) == [GateClosed(gate.ref)]
    assert ended(rest).text == "went on"
    assert requests_of(model, f"way-{said[:4]}")[-1].outputs == [
        f'{{"answers":{{"question":{{"answers":["{said}"]}}}}}}'
    ]


async def test_a_question_that_is_declined_has_no_answer_and_the_agent_is_told_why(
    session: CodexSession, model: ScriptedModel
) -> None:
    events = session.run(request("unasked\n!ask Which way? | Left | Right\n!text went on"))
    gate = await next_of(events, GateOpened)
    assert await session.answer(gate.ref, Answer(Decision.DECLINE, "you decide"))
    await collect(events)
    last = requests_of(model, "unasked")[-1]
    assert last.outputs == ['{"answers":{"question":{"answers":[]}}}']
    assert last.prompt == "I declined Which way?: you decide"


async def test_interrupting_at_a_question_closes_it(session: CodexSession, sent: list[str]) -> None:
    events = session.run(request("!ask Which way? | Left | Right\n!hold interrupted-question"))
    gate = await next_of(events, GateOpened)
    await session.interrupt()
    rest = await collect(events)
    assert only(rest, GateClosed) == [GateClosed(gate.ref)]
    assert ended(rest).state is TurnState.INTERRUPTED
    assert sent.count("turn/interrupt") == 1
    assert not await session.answer(gate.ref, reply("Left"))


async def test_a_secret_reaches_the_agent_and_no_log(
    session: CodexSession, model: ScriptedModel, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("DEBUG")
    events = session.run(request("psst\n!secret Token? | None | Skip\n!text thanks"))
    gate = await next_of(events, GateOpened)
    assert [question.secret for question in gate.asked.questions] == [True]
    assert await session.answer(gate.ref, reply("hush-hush"))
    assert ended(await collect(events)).text == "thanks"
    assert "hush-hush" in requests_of(model, "psst")[-1].outputs[0]
    assert "hush-hush" not in caplog.text


async def test_a_non_blocking_question_is_a_gate_that_does_not_stop_the_turn(
    runtime: CodexRuntime, careful: Seat
) -> None:
    session = await runtime.open(replace(careful, model="gpt-6-sol"))
    events = await collect(session.run(request("!aside Which? | A | B\n!text went on", turn="a")))
    (gate,) = only(events, GateOpened)
    assert gate.asked == Asked(
        GateKind.QUESTION,
        "Which?",
        questions=(Question("1", "Which?", ("A", "B")),),
        item=gate.asked.item,
        blocking=False,
    )
    assert ended(events).text == "went on"
    assert not await session.answer(gate.ref, reply("A", to="1"))
    again = await collect(session.run(request("!aside Which? | A | B\n!text on", turn="b")))
    assert only(again, GateOpened)[0].ref != gate.ref


# What MCP servers ask


async def at_the_form(session: CodexSession, events: AsyncIterator[Event]) -> GateOpened:
    tool = await next_of(events, GateOpened)
    assert (tool.asked.kind, tool.asked.title) == (GateKind.PERMISSION, "asker.order")
    assert tool.asked.item is not None and '"ask"' in tool.asked.detail
    assert await session.answer(tool.ref, YES)
    return await next_of(events, GateOpened)


async def test_an_mcp_form_is_asked_and_filled_in_with_the_right_types(
    session: CodexSession, model: ScriptedModel
) -> None:
    events = session.run(request('form-1\n!tool asker.order {"ask": "form"}\n!text done'))
    gate = await at_the_form(session, events)
    assert (gate.asked.kind, gate.asked.title) == (GateKind.QUESTION, "What shall it be?")
    assert {question.id: question for question in gate.asked.questions} == {
        "name": Question("name", "Your name: as on the door"),
        "count": Question("count", "count (whole number, 1 to 5)"),
        "size": Question("size", "size (optional)", ("Small", "Medium"), free=False),
        "hot": Question("hot", "hot (optional)", ("yes", "no"), free=False),
        "extras": Question("extras", "extras (optional)", ("milk", "sugar"), free=False, several=True),
    }
    for wrong in ({"name": "Ann"}, {"name": "Ann", "count": "six"}, {"name": "Ann", "count": "9"}, {"x": "y"}):
        with pytest.raises(BadInput):
            await session.answer(gate.ref, Answer(Decision.REPLY, replies=tuple((k, (v,)) for k, v in wrong.items())))
    filled = (("name", ("Ann",)), ("count", ("2",)), ("size", ("Medium",)), ("hot", ("yes",)), ("extras", ("milk",)))
    assert await session.answer(gate.ref, Answer(Decision.REPLY, replies=filled))
    assert ended(await collect(events)).text == "done"
    told = json.loads(requests_of(model, "form-1")[-1].outputs[-1].partition("Output:\n")[2])
    assert told == {
        "action": "accept",
        "content": {"name": "Ann", "count": 2, "size": "m", "hot": True, "extras": ["milk"]},
    }


@pytest.mark.parametrize(
    ("ask", "title", "answer", "action"),
    [
        ("empty", "Really?", YES, "accept"),
        ("empty", "Really?", NO, "decline"),
        ("url", "open https://example.org/login", YES, "accept"),
        ("form", "What shall it be?", NO, "decline"),
    ],
)
async def test_a_request_without_fields_takes_a_yes_or_a_no(
    session: CodexSession, model: ScriptedModel, ask: str, title: str, answer: Answer, action: str
) -> None:
    marker = f"plain-{ask}-{action}"
    events = session.run(request(f'{marker}\n!tool asker.order {{"ask": "{ask}"}}\n!text done'))
    gate = await at_the_form(session, events)
    assert gate.asked.title == title
    assert gate.asked.asker == "Asked by the MCP server asker."
    assert await session.answer(gate.ref, answer)
    assert ended(await collect(events)).text == "done"
    assert f'"action": "{action}"' in requests_of(model, marker)[-1].outputs[-1]


async def test_a_tool_that_was_declined_is_not_called(session: CodexSession) -> None:
    events = session.run(request('!tool asker.order {"ask": "form"}\n!text done'))
    assert await session.answer((await next_of(events, GateOpened)).ref, NO)
    rest = await collect(events)
    assert only(rest, GateOpened) == []
    assert [act.outcome for act in done(rest)] == [Outcome.FAILED]


# Policies


async def asked_about(session: CodexSession, script: str, turn: str) -> list[GateKind]:
    """Return the gates of a script when each is accepted."""
    return [asked.kind for asked in await all_asked(session, script, turn)]


async def all_asked(session: CodexSession, script: str, turn: str) -> list[Asked]:
    found: list[Asked] = []
    async with asyncio.timeout(GUARD):
        async for event in session.run(request(f"{script}\n!text done", turn=turn)):
            if isinstance(event, GateOpened):
                found.append(event.asked)
                assert await session.answer(event.ref, YES)
    return found


COMMAND, CHANGE, PERMISSION = [GateKind.COMMAND], [GateKind.CHANGE], [GateKind.PERMISSION]


@dataclass(frozen=True)
class Expected:
    """What is asked, and which files exist in the end."""

    inside: list[GateKind]
    patch: list[GateKind]
    outside: list[GateKind]
    beyond: list[GateKind]
    patch_outside: list[GateKind]
    made: set[str]


IN = {"in", "in.txt"}


@pytest.mark.parametrize(
    ("policy", "expected"),
    [
        (Policy.CAREFUL, Expected(COMMAND, CHANGE, COMMAND, COMMAND, CHANGE, IN | {"out", "beyond", "out.txt"})),
        (Policy.SANDBOX, Expected([], [], [], COMMAND, CHANGE, IN | {"beyond", "out.txt"})),
        (Policy.TRUSTED, Expected([], [], [], COMMAND, CHANGE, IN | {"beyond", "out.txt"})),
        (Policy.READ_ONLY, Expected([], [], [], [], [], set())),
        # The engine accepts all of it, unless a rule denies it.
        (Policy.YOLO, Expected(COMMAND, CHANGE, COMMAND, COMMAND, CHANGE, IN | {"out", "beyond", "out.txt"})),
    ],
    ids=list(Policy),
)
async def test_a_policy_decides_what_is_asked_and_what_may_be_written(
    runtime: CodexRuntime, seat: Seat, tmp_path: Path, outside: Path, policy: Policy, expected: Expected
) -> None:
    session = await runtime.open(replace(seat, policy=policy))
    assert await asked_about(session, "!shell touch in", "a") == expected.inside
    assert await asked_about(session, "!patch in.txt x", "b") == expected.patch
    assert await asked_about(session, f"!shell touch {outside}/out", "c") == expected.outside
    assert await asked_about(session, f"!beyond touch {outside}/beyond", "d") == expected.beyond
    assert await asked_about(session, f"!patch {outside}/out.txt x", "e") == expected.patch_outside
    assert {path.name for folder in (tmp_path, outside) for path in folder.iterdir()} == expected.made
    await session.close()


@pytest.mark.parametrize("is_reopened", [False, True], ids=["the session goes on", "the session is opened again"])
async def test_a_changed_policy_holds_from_the_next_turn(
    runtime: CodexRuntime, seat: Seat, tmp_path: Path, is_reopened: bool
) -> None:
    """Codex still has the thread loaded then, and would go on with the old sandbox."""
    session = await runtime.open(replace(seat, policy=Policy.CAREFUL))

    async def change(policy: Policy) -> CodexSession:
        now = replace(seat, policy=policy, continuity=session.continuity())
        if not is_reopened:
            await session.reseat(now)
            return session
        await session.close()
        return await runtime.open(now)

    assert await asked_about(session, "!shell touch careful", "a") == COMMAND
    session = await change(Policy.READ_ONLY)
    assert await asked_about(session, "!shell touch read-only", "b") == []
    session = await change(Policy.TRUSTED)
    assert await asked_about(session, "!shell touch trusted", "c") == []
    session = await change(Policy.CAREFUL)
    assert await asked_about(session, "!shell touch again", "d") == COMMAND
    assert {path.name for path in tmp_path.iterdir() if path.is_file()} == {"careful", "trusted", "again"}
    await session.close()


@pytest.mark.parametrize(
    ("policy", "leaves"), [(Policy.SANDBOX, True), (Policy.TRUSTED, True), (Policy.CAREFUL, False)]
)
async def test_a_command_outside_the_sandbox_is_marked(
    runtime: CodexRuntime, seat: Seat, policy: Policy, leaves: bool
) -> None:
    """Otherwise it could be accepted because it seems only to read."""
    session = await runtime.open(replace(seat, policy=policy))
    asked = await all_asked(session, "!beyond git status", "a")
    assert [each.leaves_sandbox for each in asked] == [leaves]
    await session.close()


@pytest.mark.parametrize(
    ("policy", "asked", "outcome"),
    [
        (Policy.CAREFUL, 2 * PERMISSION, Outcome.OK),
        (Policy.SANDBOX, 2 * PERMISSION, Outcome.OK),
        (Policy.TRUSTED, 2 * PERMISSION, Outcome.OK),
        (Policy.READ_ONLY, [], Outcome.FAILED),
        (Policy.YOLO, 2 * PERMISSION, Outcome.OK),
    ],
)
async def test_a_policy_holds_for_the_tools_of_mcp_servers_too(
    runtime: CodexRuntime, seat: Seat, policy: Policy, asked: list[GateKind], outcome: Outcome
) -> None:
    session = await runtime.open(replace(seat, policy=policy))
    assert await asked_about(session, '!tool asker.order {"ask": "empty"}', "a") == asked
    record = await session.record("a")
    assert record is not None and [act.outcome for act in record.activities] == [outcome]
    await session.close()


async def test_one_yes_is_one_execution_whatever_the_command_touches(
    session: CodexSession, outside: Path, tmp_path: Path
) -> None:
    for number in range(1, 6):
        assert await asked_about(session, f"!shell {COUNTED}; touch {outside}/x", f"t{number}") == COMMAND
        assert runs(tmp_path) == number


async def test_a_command_blocked_by_the_sandbox_is_not_retried_outside(
    runtime: CodexRuntime, seat: Seat, outside: Path, tmp_path: Path
) -> None:
    session = await runtime.open(seat)
    for number in range(1, 6):
        assert await asked_about(session, f"!shell {COUNTED}; touch {outside}/x", f"t{number}") == []
        assert runs(tmp_path) == number and not (outside / "x").exists()
    await session.close()


ESCALATED = {"sandbox_permissions": "require_escalated", "justification": "the script says so"}


@pytest.mark.usefixtures("calls_tools")
@pytest.mark.parametrize("name", ["gpt-5.5", "gpt-6-sol"])
@pytest.mark.parametrize(
    ("command", "more", "asked", "is_made"),
    [
        ("{counted}; touch {outside}/x", {}, [], False),
        ("{counted}; touch {outside}/x; curl -sS http://127.0.0.1:9/", {}, [], False),
        ("rm -rf {outside}/y; {counted}; touch {outside}/x", {}, COMMAND, False),  # dangerous: asked, then sandboxed
        ("{counted}; touch {outside}/x", ESCALATED, COMMAND, True),
        ("rm -rf {outside}/y; {counted}; touch {outside}/x", ESCALATED, COMMAND, True),
    ],
    ids=["blocked", "blocked twice", "dangerous", "escalated", "dangerous and escalated"],
)
async def test_under_sandbox_one_yes_is_one_execution(
    runtime: CodexRuntime,
    seat: Seat,
    model: ScriptedModel,
    outside: Path,
    tmp_path: Path,
    name: str,
    command: str,
    more: dict[str, str],
    asked: list[GateKind],
    is_made: bool,
) -> None:
    """Codex runs a command once, asked or not. If the sandbox blocks it, Codex does not try again by itself."""
    session = await runtime.open(replace(seat, policy=Policy.SANDBOX, model=name))
    given = {"cmd": command.format(counted=COUNTED, outside=outside), "login": False, **more}
    for number in range(1, 4):
        marker = f"{tmp_path.name} {number}."
        model.on(marker, lambda asked: [Say("done")] if asked.acts_done else [Patch("exec_command", json.dumps(given))])
        assert await asked_about(session, marker, f"t{number}") == asked
        assert (runs(tmp_path), (outside / "x").exists()) == (number, is_made)
    await session.close()


@pytest.mark.parametrize("policy", [Policy.READ_ONLY, Policy.YOLO])
async def test_a_question_is_asked_under_every_policy(runtime: CodexRuntime, seat: Seat, policy: Policy) -> None:
    session = await runtime.open(replace(seat, policy=policy))
    events = session.run(request("!ask Which? | A | B\n!text done"))
    assert await session.answer((await next_of(events, GateOpened)).ref, reply("A"))
    assert ended(await collect(events)).text == "done"


async def test_a_policy_applies_again_after_the_thread_is_reopened(
    runtime: CodexRuntime, seat: Seat, outside: Path
) -> None:
    """Also if Codex still has the thread loaded."""
    policies = [Policy.SANDBOX, Policy.CAREFUL, Policy.SANDBOX, Policy.TRUSTED, Policy.CAREFUL]
    continuity = None
    for number, policy in enumerate(policies):
        session = await runtime.open(replace(seat, policy=policy, continuity=continuity))
        is_careful = policy is Policy.CAREFUL
        made = outside / f"{number}"
        assert await asked_about(session, f"!shell touch {made}", f"t{number}") == (COMMAND if is_careful else [])
        assert made.exists() is is_careful
        continuity = session.continuity()
        await session.close()
