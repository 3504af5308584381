"""A kept Codex: the next daemon attaches to it, also after a disconnect or an update of Codex, and never to a foreign
server. With the real Codex, without a daemon."""

from __future__ import annotations

import asyncio
import errno
import json
import os
import signal
import socket
import sys
from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest
from msgspec.structs import replace

from clew.model.events import MISSED, Activity, GateOpened, Phase, TextDelta, TextDone, TurnStarted
from clew.model.gates import Answer, Decision
from clew.model.runtime import HealthState, RecordState, Seat
from clew.process import kept_programs, scan
from clew.process.kept_programs import KeptProgram
from clew.process.scan import VARIABLE
from clew.runtimes.codex import wire
from clew.runtimes.codex.runtime import CodexRuntime
from clew.runtimes.codex.server import busy, kept_server
from clew.runtimes.codex.server.binary import Binary, locate
from clew.runtimes.codex.server.connection import Connection
from clew.runtimes.codex.settings import CodexConfig
from clew.runtimes.websocket import open_unix
from clew.support.clock import SystemClock
from clew.support.errors import RuntimeLost, RuntimeTrouble
from clew.support.home import Home
from clew.testing.scripted_model import ScriptedModel
from tests.runtimes.codex.conftest import Make
from tests.runtimes.codex.raw import GUARD, collect, ended, next_of, only, release_when_followed, request


def only_one(root: Home) -> KeptProgram:
    [kept] = kept_programs.running(root)
    return kept


def elsewhere(seat: Seat, session: object) -> Seat:
    return replace(seat, continuity=session.continuity())  # type: ignore[attr-defined]


@pytest.mark.process
async def test_the_next_daemon_joins_the_turn_and_gets_what_it_missed(
    make: Make, root: Home, seat: Seat, model: ScriptedModel
) -> None:
    before = make()
    session = await before.open(seat)
    script = "!text first\n!hold join-a\n!shell true\n!text gone on\n!hold join-b\n!text to the end"
    events = session.run(request(script))
    await next_of(events, TurnStarted)
    await model.held("join-a")
    kept = only_one(root)
    await before.leave()
    with pytest.raises(RuntimeLost):
        await collect(events)
    model.release("join-a")
    await model.held("join-b")  # while no daemon was attached
    after = make()
    assert (await after.health()).state is HealthState.STOPPED
    joined = await after.open(elsewhere(seat, session))
    assert only_one(root) == kept and (await after.health()).pid == kept.program.pid
    record = await joined.record("turn")
    assert record is not None and record.state is RecordState.ALIVE
    following = joined.attach("turn")
    [command] = [await next_of(following, Activity)]
    assert (command.phase, command.title.count("true")) == (Phase.DONE, 1)
    model.release("join-b")
    rest = await collect(following)
    assert {delta.offset for delta in only(rest, TextDelta)} == {MISSED}
    assert only(rest, TextDone)[-1].text == "gone on\nto the end" == ended(rest).text
    assert ended(rest).messages == frozenset({"turn"})
    assert model.count("join-b") == 2, "one request before the command, one after it"


@pytest.mark.process
async def test_a_request_that_is_sent_again_after_a_resume_is_the_same_gate(
    make: Make, careful: Seat, tmp_path: Path
) -> None:
    before = make()
    session = await before.open(careful)
    events = session.run(request(f"!shell echo ran >> {tmp_path}/runs\n!text done"))
    asked = await next_of(events, GateOpened)
    await before.leave()
    joined = await make().open(elsewhere(careful, session))
    following = joined.attach("turn")
    again = await next_of(following, GateOpened)
    assert (again.ref, again.asked.title) == (asked.ref, asked.asked.title)
    assert await joined.answer(again.ref, Answer(Decision.ACCEPT))
    assert not await joined.answer(again.ref, Answer(Decision.ACCEPT))
    assert ended(await collect(following)).text == "done"
    assert (tmp_path / "runs").read_text() == "ran\n"


@pytest.mark.process
async def test_a_connection_that_is_cut_is_opened_again_and_the_turn_goes_on(
    make: Make,
    root: Home,
    seat: Seat,
    model: ScriptedModel,
    config: CodexConfig,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Also if Codex was updated meanwhile, and if attaching fails at first for a reason of our own."""
    runtime = make(command=another_codex(tmp_path, config))
    session = await runtime.open(seat)
    events = session.run(request("!text one\n!hold cut\n!text two"))
    await next_of(events, TextDelta)
    await model.held("cut")
    kept = only_one(root)
    connection = await runtime._servers.main.connect()
    connection._transport._socket.abort()  # type: ignore[union-attr]
    with pytest.raises(RuntimeLost, match="the connection was cut"):
        await collect(events)
    another_codex(tmp_path, config, "99.0.1")
    with monkeypatch.context() as patched:
        patched.setattr(kept_server, "_import_websocket", lambda: no_more_files)
        with pytest.raises(RuntimeLost, match="Too many open files"):
            await session.record("turn")
    record = await session.record("turn")
    assert record is not None and record.state is RecordState.ALIVE
    release_when_followed(monkeypatch, model, "cut")
    assert ended(await collect(session.attach("turn"))).text == "one\ntwo"
    assert only_one(root) == kept and model.count("!hold cut") == 1


async def no_more_files(*_: object) -> None:
    raise OSError(errno.EMFILE, os.strerror(errno.EMFILE))


@pytest.mark.process
@pytest.mark.heavy
async def test_a_client_that_does_not_read_is_cut_off_and_reconnects(
    make: Make, seat: Seat, model: ScriptedModel
) -> None:
    """Codex queues 32,768 messages for a connection, and then closes it."""
    runtime = make()
    session = await runtime.open(seat)
    events = session.run(request("!say 40000 words\n!text the end"))
    await next_of(events, TextDelta)
    connection = await runtime._servers.main.connect()
    stream = connection._transport._socket._transport  # type: ignore[union-attr]
    stream.pause_reading()
    while await _aside(runtime, session.continuity().data) != "idle":
        pass
    stream.resume_reading()
    with pytest.raises(RuntimeLost):
        await collect(events)
    found = await session.record("turn")
    assert found is not None and (found.state, found.text.count("\n")) == (RecordState.COMPLETED, 1)
    assert len(found.text.split()) == 40_002


async def _aside(runtime: CodexRuntime, continuity: str) -> str:
    servers = runtime._servers
    assert servers._keeps is not None
    [kept] = kept_programs.running(servers._keeps)
    other = await servers._keeping.attach(kept)
    try:
        thread = await other._thread(json.loads(continuity)["thread"])
        return thread.status.type if thread else ""
    finally:
        await other.leave()


@pytest.mark.process
async def test_it_is_left_running_only_if_it_is_busy(make: Make, root: Home, seat: Seat) -> None:
    runtime = make()
    session = await runtime.open(seat)
    assert ended(await collect(session.run(request("!text hello")))).text == "hello"
    kept = only_one(root)
    await runtime.leave()
    assert kept_programs.running(root) == [] and kept.find() is None and not kept.socket.exists()


@pytest.mark.process
async def test_a_daemon_that_attaches_and_leaves_at_once_does_not_end_it(
    make: Make, root: Home, seat: Seat, model: ScriptedModel
) -> None:
    before = make()
    session = await before.open(seat)
    events = session.run(request("!hold twice\n!text done"))
    await next_of(events, TurnStarted)
    await model.held("twice")
    kept = only_one(root)
    await before.leave()
    await make().leave()
    assert only_one(root) == kept
    model.release("twice")
    joined = await make().open(elsewhere(seat, session))
    found = await joined.record("turn")
    assert found is not None and found.state in (RecordState.ALIVE, RecordState.COMPLETED)
    assert model.count("!hold twice") == 1


@pytest.mark.process
async def test_a_turn_at_a_gate_is_not_busy_and_any_other_is(
    make: Make, root: Home, careful: Seat, model: ScriptedModel, tmp_path: Path
) -> None:
    runtime = make()
    session = await runtime.open(careful)
    events = session.run(request(f"!hold looked\n!shell echo ran >> {tmp_path}/runs\n!text done"))
    await next_of(events, TurnStarted)
    await model.held("looked")
    assert await busy.is_busy(only_one(root).socket)
    model.release("looked")
    await next_of(events, GateOpened)
    assert not await busy.is_busy(only_one(root).socket)
    await runtime.close()
    assert not await busy.is_busy(tmp_path / "nowhere")


def another_codex(folder: Path, config: CodexConfig, version: str = "99.0.0") -> str:
    """Return the same program with another version."""
    path = folder / "codex"
    path.write_text(
        f'#!/bin/sh\n[ "$1" = --version ] && echo "codex-cli {version}" && exit 0\nexec {locate(config)} "$@"\n'
    )
    path.chmod(0o755)
    return str(path)


@pytest.mark.process
@pytest.mark.parametrize("transport", ["socket", pytest.param("stdio", marks=pytest.mark.heavy)])
async def test_another_codex_takes_new_threads_and_the_former_ends_with_its_turns(
    make: Make,
    root: Home,
    seat: Seat,
    model: ScriptedModel,
    config: CodexConfig,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    transport: str,
) -> None:
    before = make()
    session = await before.open(seat)
    events = session.run(request(f"!text one\n!hold former-{transport}\n!text two"))
    await next_of(events, TurnStarted)
    await model.held(f"former-{transport}")
    former = only_one(root)
    await before.leave()

    after = make(command=another_codex(tmp_path, config), transport=transport)
    joined = await after.open(elsewhere(seat, session))
    other = await after.open(replace(seat, thread="other"))
    assert ended(await collect(other.run(request("!text hello", turn="new")))).text == "hello"
    pids = {kept.program.pid for kept in kept_programs.running(root)}
    assert former.program.pid in pids and (await after.health()).pid != former.program.pid
    assert len(pids) == (2 if transport == "socket" else 1)
    release_when_followed(monkeypatch, model, f"former-{transport}")
    assert ended(await collect(joined.attach("turn"))).text == "one\ntwo"
    process = former.find()
    if process is not None:
        assert await scan.wait_gone(process, SystemClock(), GUARD)
    assert ended(await collect(joined.run(request("!recall", turn="next")))).text.startswith("I remember 2 messages")


@pytest.mark.process
async def test_a_stale_socket_is_taken_over(make: Make, root: Home, seat: Seat) -> None:
    runtime = make()
    await runtime.open(seat)
    kept = only_one(root)
    for each in (kept.keeper, kept.program):
        os.kill(each.pid, signal.SIGKILL)
    process = kept.find()
    assert process is None or await scan.wait_gone(process, SystemClock(), GUARD)
    left = socket.socket(socket.AF_UNIX)
    kept.socket.unlink(missing_ok=True)
    left.bind(str(kept.socket))
    left.close()
    assert kept_programs.running(root) == []
    session = await make().open(seat)
    assert ended(await collect(session.run(request("!text hello")))).text == "hello"
    assert only_one(root).socket == kept.socket


@pytest.mark.process
async def test_a_kept_server_that_is_unreachable_is_replaced_at_once(
    make: Make, root: Home, seat: Seat, model: ScriptedModel
) -> None:
    """A server that is about to end and no longer listens."""
    runtime = make()
    events = (await runtime.open(seat)).run(request("!hold unreachable"))
    await next_of(events, TurnStarted)
    await model.held("unreachable")
    kept = only_one(root)
    kept.socket.unlink()
    connection = await runtime._servers.main.connect()
    connection._transport._socket.abort()  # type: ignore[union-attr]
    with pytest.raises(RuntimeLost):
        await collect(events)
    session = await runtime.open(seat)
    assert ended(await collect(session.run(request("!text hello", turn="next")))).text == "hello"
    assert only_one(root).program != kept.program


@pytest.mark.process
async def test_a_foreign_socket_is_refused_with_a_clear_message(make: Make, root: Home, seat: Seat) -> None:
    first = make()
    await first.open(seat)
    path = only_one(root).socket
    await first.close()
    root.prepare_socket(path.name)
    with socket.socket(socket.AF_UNIX) as foreign:
        foreign.bind(str(path))
        foreign.listen()
        with pytest.raises(RuntimeTrouble, match="not clew's listens at"):
            await make().open(seat)
    assert path.exists(), "it is not ours to remove"


@pytest.mark.process
async def test_it_ends_with_its_keeper_and_its_children_before_the_next_start(
    make: Make, root: Home, seat: Seat
) -> None:
    await make().open(seat)
    kept = only_one(root)
    process = kept.find()
    assert process is not None
    left = await asyncio.create_subprocess_exec("sleep", "1000", env={**os.environ, VARIABLE: str(kept.mark)})
    os.kill(kept.keeper.pid, signal.SIGKILL)
    assert await scan.wait_gone(process, SystemClock(), GUARD)
    await make().open(seat)
    assert kept.family() == [] and await left.wait() == -signal.SIGTERM
    assert only_one(root).mark != kept.mark


@pytest.mark.process
async def test_a_kept_server_that_does_not_stay_up_says_why(make: Make, root: Home, seat: Seat, tmp_path: Path) -> None:
    path = tmp_path / "codex"
    path.write_text(
        '#!/bin/sh\n[ "$1" = --version ] && echo "codex-cli 99.0.0" && exit 0\necho "no such luck" >&2\nexit 3\n'
    )
    path.chmod(0o755)
    with pytest.raises(RuntimeTrouble, match=r"exit code 3; its last words: no such luck"):
        await make(command=str(path)).open(seat)
    assert kept_programs.running(root) == []


@pytest.mark.process
async def test_a_frozen_kept_server_is_ended_and_replaced(
    make: Make, root: Home, careful: Seat, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = make()
    session = await before.open(careful)
    events = session.run(request(f"!shell echo ran >> {tmp_path}/runs\n!text done"))
    await next_of(events, GateOpened)
    await before.leave()
    kept = only_one(root)
    os.kill(kept.program.pid, signal.SIGSTOP)

    async def hastily(at: Path, feed: Callable[[bytes], None], lost: Callable[[], None], patience: float) -> object:
        return await open_unix(at, feed, lost, patience if kept.find() is None else 0.5)

    monkeypatch.setattr(kept_server, "_import_websocket", lambda: hastily)  # the next attempt has the normal time limit
    again = await make().open(elsewhere(careful, session))
    assert only_one(root).program != kept.program
    found = await again.record("turn")
    assert found is not None and found.state is RecordState.CUT


@pytest.mark.process
async def test_without_the_library_it_says_what_to_install(
    make: Make, root: Home, seat: Seat, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "clew.runtimes.websocket", None)
    with pytest.raises(RuntimeTrouble, match="pip install websockets"):
        await make().open(seat)
    assert kept_programs.running(root) == []


async def test_messages_of_any_length_arrive_complete(tmp_path: Path) -> None:
    """In fragments, as a server may send them."""
    from websockets.asyncio.server import unix_serve

    heard: list[bytes] = []
    whole = asyncio.Event()

    def take(message: bytes) -> None:
        heard.append(message)
        whole.set()

    async def say(connection: object) -> None:
        await connection.send(["x" * 3_000_000, "y", "z" * 2_000_000])  # type: ignore[attr-defined]
        async for message in connection:  # type: ignore[attr-defined]
            heard.append(message.encode())

    async with unix_serve(say, str(tmp_path / "s")):
        it = await open_unix(tmp_path / "s", take, lambda: None, 5)
        await whole.wait()
        assert heard == [b"x" * 3_000_000 + b"y" + b"z" * 2_000_000]
        it.write(b"hello")
        await it.close()
        assert heard[1:] == [b"hello"] and not it.is_open
        with pytest.raises(RuntimeLost):
            it.write(b"too late")


async def test_a_status_notification_wins_over_a_response(config: CodexConfig, clock: SystemClock) -> None:
    """Otherwise a turn that ends while it is joined would look busy for ever."""

    def active(name: str) -> wire.Thread:
        return wire.Thread(id=name, status=wire.Status("active"))

    connection = Connection(config, clock, Binary("codex", ""))
    connection.note_status(active("first"))
    for name in ("first", "second"):
        note = {"threadId": name, "status": {"type": "idle"}}
        connection.on_notification("thread/status/changed", msgspec.Raw(msgspec.json.encode(note)))
    connection.note_status(active("second"))
    assert not connection.is_working
    connection.note_status(active("third"))
    assert connection.working == {"third"}
