"""The Python API against a real daemon, and against a socket that behaves badly."""

from __future__ import annotations

import asyncio
import re
import subprocess
import sys
from collections.abc import AsyncIterator, Callable, Iterator
from inspect import signature
from pathlib import Path

import pytest

import clew as package
from clew import Clew
from clew.client.events import Event
from clew.support.errors import BadInput, ClewError, NotFound, OutOfReach, Refused, Stopped
from tests.helpers import daemons

PUBLIC = {
    "__init__": "(self, home: str | Path | None = None, *, start: bool = True, say: Callable[[str], None] = SAY)"
    " -> None",
    "start": "(self, prompt: str, *, kind: Literal['task', 'chat'] = 'task', workspace: str | Path | None = None,"
    " title: str | None = None, runtime: str | None = None, model: str | None = None, effort: str | None = None,"
    " policy: Policy | None = None, notify: str | None = None, files: Sequence[str | Path] = (), sender: str = 'you',"
    " message_id: str | None = None) -> Sent",
    "send": "(self, thread: str, text: str, *, queue: bool = False, files: Sequence[str | Path] = (),"
    " sender: str = 'you', message_id: str | None = None) -> Sent",
    "resume": "(self, thread: str, supplement: str, *, sender: str = 'you', message_id: str | None = None) -> Sent",
    "stop": "(self, thread: str) -> TurnView",
    "done": "(self, thread: str) -> ThreadView",
    "cancel": "(self, thread: str) -> ThreadView",
    "change": "(self, thread: str, *, title: str | None = None, model: str | None = None, effort: str | None = None,"
    " policy: Policy | None = None, runtime: str | None = None) -> ThreadView",
    "ask": "(self, thread: str, runtime: str, question: str, *, message_id: str | None = None) -> Sent",
    "prelude": "(self, turn: str) -> Prelude",
    "fork": "(self, thread: str, *, turn: str | None = None, title: str | None = None) -> ThreadView",
    "gates": "(self, thread: str | None = None) -> tuple[GateView, ...]",
    "approve": "(self, gate: str, *, sender: str = 'you') -> GateView",
    "deny": "(self, gate: str, reason: str = '', *, sender: str = 'you') -> GateView",
    "answer": "(self, gate: str, *replies: str | Sequence[str], sender: str = 'you') -> GateView",
    "events": "(self, thread: str | Sent | None = None, after: int | None = None) -> AsyncGenerator[Event]",
    "wait": "(self, what: Sent | str) -> TurnView",
    "list": "(self, *, history: bool = False, status: Status | None = None, text: str | None = None,"
    " workspace: str | Path | None = None, limit: int = 50, before: str | None = None) -> tuple[ThreadView, ...]",
    "show": "(self, thread: str) -> ThreadView",
    "turn": "(self, turn: str) -> TurnView",
    "read": "(self, thread: str, *, limit: int = 200) -> tuple[Passage, ...]",
    "where": "(self, thread: str) -> tuple[WhereRow, ...]",
    "notify": "(self, *, dry_run: bool = False, retry_failed: bool = False) -> tuple[Notified, ...]",
}
NOTIFY_WITH = (
    "(notifier: Notifier, *, home: str | Path | None = None, dry_run: bool = False, retry_failed: bool = False)"
    " -> tuple[Notified, ...]"
)


@pytest.fixture(scope="module")
def daemon(tmp_path_factory: pytest.TempPathFactory) -> Iterator[daemons.Clew]:
    with daemons.Clew(tmp_path_factory.mktemp("home")) as daemon:
        daemon.up()
        yield daemon


@pytest.fixture
async def clew(daemon: daemons.Clew) -> AsyncIterator[Clew]:
    async with Clew(daemon.root) as clew:
        yield clew


def shape(function: Callable[..., object]) -> str:
    """The signature as it is written in the source, without quotes; a default that is a function becomes SAY."""
    return re.sub(r"<function .*?>+ at \w+>", "SAY", re.sub("['\"]", "", str(signature(function))))


def test_public_names_and_signatures_are_pinned() -> None:
    found = {name: shape(each) for name, each in vars(Clew).items() if name in PUBLIC or name[0] != "_"}
    assert found == {name: words.replace("'", "") for name, words in PUBLIC.items()}
    assert shape(package.notify_with) == NOTIFY_WITH
    assert package.__all__ == ["Clew", "__version__", "notify_with", "run"]
    assert all(getattr(Clew, name).__doc__ for name in PUBLIC if name[0] != "_")


@pytest.mark.process
def test_importing_clew_is_cheap_and_a_wrong_name_is_an_error() -> None:
    code = (
        "import sys, clew; print(*(name for name in ('httpx', 'asyncio', 'typing', 'msgspec') if name in sys.modules))"
    )
    done = subprocess.run([sys.executable, "-S", "-c", code], capture_output=True, text=True, check=True, cwd=SOURCE)
    assert done.stdout == "\n"
    with pytest.raises(AttributeError, match="no attribute 'Clue'"):
        package.Clue  # noqa: B018


SOURCE = Path(package.__file__).parents[1]


@pytest.mark.process
async def test_a_task_is_started_awaited_and_shown(clew: Clew, tmp_path: Path) -> None:
    sent = await clew.start("!text hello", workspace=tmp_path, title="greeting", notify="local")
    turn = await clew.wait(sent)
    assert (turn.id, turn.state, turn.text, turn.error) == (sent.turn, "completed", "hello", None)
    thread = await clew.show(sent.thread)
    assert (thread.status, thread.title, thread.workspace) == ("completed", "greeting", str(tmp_path))
    assert [passage.role for passage in await clew.read(sent.thread)] == ["person", "agent"]
    (receipt,) = await clew.where(sent.thread)
    assert receipt.delivery == f"{sent.turn}:final"
    assert sent.thread in [each.id for each in await clew.list(history=True, text="greeting")]


async def test_a_turn_or_a_thread_is_waited_for_by_its_id(clew: Clew) -> None:
    sent = await clew.start("!text one", kind="chat")
    assert sent.turn is not None
    assert (await clew.wait(sent.turn)).text == "one"
    await clew.send(sent.thread, "!text two")
    assert (await clew.wait(sent.thread)).text == "two"
    assert (await clew.wait(sent)).text == "one"


async def test_a_thread_without_a_turn_cannot_be_waited_for(clew: Clew) -> None:
    sent = await clew.start("!text one")
    await clew.wait(sent)
    forked = await clew.fork(sent.thread, title="anew")
    assert (forked.title, forked.forked_from) == ("anew", sent.thread)
    with pytest.raises(Refused, match="has no turn yet"):
        await clew.wait(forked.id)


async def test_a_finished_thread_is_resumed_and_others_are_refused(clew: Clew) -> None:
    sent = await clew.start("!text one")
    await clew.wait(sent)
    assert (await clew.wait(await clew.resume(sent.thread, "!text two"))).text == "two"
    idle = await clew.start("!text one", kind="chat")
    await clew.wait(idle)
    with pytest.raises(Refused, match="cannot be resumed: it is idle"):
        await clew.resume(idle.thread, "!text two")
    assert (await clew.done(idle.thread)).status == "completed"
    assert (await clew.cancel((await clew.fork(idle.thread)).id)).status == "cancelled"


async def test_a_running_turn_is_steered_and_stopped(clew: Clew, daemon: daemons.Clew) -> None:
    gate = daemon.gate("door-stop")
    sent = await clew.start("!hold door-stop")
    await asyncio.to_thread(gate.wait)
    steered = await clew.send(sent.thread, "faster")
    assert (steered.fate, steered.turn) == ("steer", sent.turn)
    assert (await clew.stop(sent.thread)).id == sent.turn
    assert (await clew.wait(sent)).state == "interrupted"
    gate.release()


async def asked(clew: Clew, thread: str) -> str:
    """The code of the first gate there."""
    async for event in clew.events(thread, after=0):
        if event.kind == "gate.opened":
            return str(event.data["code"])
    raise AssertionError("a stream of events ends only by an error")


async def test_a_gate_is_answered_once(clew: Clew) -> None:
    sent = await clew.start("!approve one\n!text done")
    code = await asked(clew, sent.thread)
    assert code in [gate.code for gate in await clew.gates()]
    assert (await clew.approve(code, sender="ann")).state == "answered"
    with pytest.raises(Refused, match=f"{code} was answered by ann"):
        await clew.deny(code, "too late")
    assert (await clew.wait(sent)).text.endswith("done")
    assert [(gate.code, gate.state) for gate in await clew.gates(sent.thread)] == [(code, "taken")]


async def test_a_denial_has_a_reason_and_a_question_an_answer(clew: Clew) -> None:
    denied, question = await clew.start("!approve one"), await clew.start("!ask Which? | red | green")
    await clew.deny(await asked(clew, denied.thread), "not on a Friday")
    await clew.answer(await asked(clew, question.thread), "2")
    assert (await clew.wait(denied)).text == "declined: not on a Friday"
    assert (await clew.wait(question)).text == "green"
    with pytest.raises(NotFound, match="There is no gate Z9Z9Z9"):
        await clew.approve("Z9Z9Z9")


async def test_a_policy_is_given_at_the_start(clew: Clew) -> None:
    sent = await clew.start("!approve one\n!text done", policy="yolo")
    assert (await clew.wait(sent)).state == "completed"


async def test_the_same_message_id_is_the_same_thread(clew: Clew) -> None:
    first = await clew.start("!text once", message_id="door-once")
    again = await clew.start("!text once", message_id="door-once")
    assert (again.thread, again.turn, again.repeated) == (first.thread, first.turn, True)


async def test_a_file_is_attached_by_its_path(clew: Clew, tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("hello")
    sent = await clew.start("!text seen", files=[tmp_path / "notes.txt"])
    assert (await clew.wait(sent)).state == "completed"
    with pytest.raises(ClewError, match="cannot be attached"):
        await clew.send(sent.thread, "again", files=[tmp_path / "nothing"])


async def test_arguments_of_a_wrong_type_raise_bad_input(clew: Clew) -> None:
    wrong = {
        "an id must be text, not NoneType": clew.show(None),  # type: ignore[arg-type]
        "an id must be text, not int": clew.send(7, "hello"),  # type: ignore[arg-type]
        "text: must be text": clew.start(7),  # type: ignore[arg-type]
        "arguments must be text": clew.start(object()),  # type: ignore[arg-type]
        "must be a path, not int": clew.start("!text hi", workspace=7),  # type: ignore[arg-type]
    }
    for words, call in wrong.items():
        with pytest.raises(BadInput, match=words):
            await call


async def test_an_unknown_thread_raises_not_found_with_the_cli_message(clew: Clew) -> None:
    with pytest.raises(NotFound, match="There is no thread 0000; `clew threads`"):
        await clew.show("0000")
    with pytest.raises(NotFound, match="There is no thread 0000"):
        await clew.wait("0000")


async def test_live_text_is_ordered_and_a_closed_stream_leaves_nothing(clew: Clew, daemon: daemons.Clew) -> None:
    gate = daemon.gate("door-text")
    sent = await clew.start("!hold door-text\n!say 20")
    text = ""
    async for event in clew.events(sent):
        if event.kind == "hello":
            await asyncio.to_thread(gate.release)
        if event.kind == "text":
            assert event.data["offset"] == len(text)
            text += event.data["text"]
        if event.kind == "turn.ended":
            break
    assert text == (await clew.wait(sent)).text


@pytest.fixture
def own(tmp_path: Path) -> Iterator[daemons.Clew]:
    """A daemon that may be ended."""
    with daemons.Clew(tmp_path / "home") as daemon:
        yield daemon


async def seen_until_two_ends(clew: Clew, thread: str, after: int | None) -> list[Event]:
    seen: list[Event] = []
    async for event in clew.events(thread, after):
        seen.append(event)
        if [each.kind for each in seen].count("turn.ended") == 2:
            break
    return [each for each in seen if each.seq is not None and each.kind != "hello"]


@pytest.mark.process
async def test_events_continue_after_a_kill_without_gap_or_repeat(own: daemons.Clew) -> None:
    async with Clew(own.root) as clew:
        sent = await clew.start("!text one", kind="chat")
        async with asyncio.TaskGroup() as group:
            watching = group.create_task(seen_until_two_ends(clew, sent.thread, 0))
            await clew.wait(sent)
            await asyncio.to_thread(own.kill)
            await clew.wait(await clew.send(sent.thread, "!text two"))
        again = await seen_until_two_ends(clew, sent.thread, 0)
    assert watching.result() == again
    assert len({event.seq for event in again}) == len(again)


@pytest.mark.process
async def test_wait_follows_the_continuation_of_a_cut_off_turn(own: daemons.Clew) -> None:
    async with Clew(own.root) as clew:
        gate, again = own.gate("cut"), own.gate("cut")
        sent = await clew.start("!text a beginning\n!hold cut\n!text and an end")
        await asyncio.to_thread(gate.wait)
        waiting = asyncio.create_task(clew.wait(sent))
        await asyncio.to_thread(own.kill)
        await asyncio.to_thread(again.release_with, gate)
        turn = await waiting
        assert (turn.state, turn.continues) == ("completed", sent.turn)


@pytest.mark.process
async def test_stopping_the_daemon_on_purpose_ends_the_stream(own: daemons.Clew) -> None:
    async with Clew(own.root) as clew:
        sent = await clew.start("!text one")
        await clew.wait(sent)
        with pytest.raises(Stopped, match="`clew up` starts it again"):
            async for event in clew.events():
                if event.kind == "hello":
                    await asyncio.to_thread(own, "down")


async def test_without_start_a_missing_daemon_is_out_of_reach(tmp_path: Path) -> None:
    async with Clew(tmp_path, start=False) as clew:
        with pytest.raises(OutOfReach, match="the daemon does not run; `clew up` starts it"):
            await clew.list()
        assert await clew.notify() == ()


async def test_a_client_that_is_not_open_says_how_to_open_it(tmp_path: Path) -> None:
    with pytest.raises(ClewError, match="async with Clew"):
        await Clew(tmp_path).list()


@pytest.mark.parametrize("home", [7, b"/tmp", ["/tmp"]])
def test_a_home_that_is_no_path_raises_bad_input(home: object) -> None:
    with pytest.raises(BadInput, match="home must be the path of a folder"):
        Clew(home)  # type: ignore[arg-type]
