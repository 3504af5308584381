"""Stopping and restarting in unusual situations. A child process holds the lock as a daemon would."""

from __future__ import annotations

import asyncio
import fcntl
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from msgspec.structs import asdict

from clew.client import requests
from clew.client.sync import Client
from clew.process import kept_programs, lock, scan, stop
from clew.support.clock import SystemClock
from clew.support.errors import Refused, Stopped
from clew.support.home import Home
from tests.helpers.daemons import Clew

pytestmark = pytest.mark.process

STORE = f"a-store{os.getpid()}"  # what is left of a store is looked for on the whole machine
HOLDS = """
import fcntl, os, signal, sys
fcntl.flock(os.open(sys.argv[1], os.O_RDWR | os.O_CREAT), fcntl.LOCK_EX)
print(flush=True)
signal.pause()
"""


@pytest.fixture
def home(tmp_path: Path) -> Home:
    home = Home(tmp_path / "home")
    home.prepare()
    return home


@contextmanager
def holding(home: Home) -> Iterator[subprocess.Popen[bytes]]:
    """A child that holds the store, as a daemon does."""
    command = [sys.executable, "-I", "-S", "-c", HOLDS, str(home.lock)]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as child:
        assert child.stdout is not None and child.stdout.readline() == b"\n"
        write_holder(home, child.pid)
        try:
            yield child
        finally:
            child.kill()


def started(pid: int) -> str:
    process = scan.get(pid)
    assert process is not None
    return process.started


def write_holder(home: Home, pid: int, foreground: bool = False) -> None:
    home.lock.write_text(json.dumps(asdict(lock.Holder(pid, started(pid), 0, store=STORE, foreground=foreground))))


@contextmanager
def keeping(home: Home, pid: int) -> Iterator[None]:
    """Write a record as the keeper of a program does."""
    named = {"pid": pid, "started": started(pid), "since": 0}
    about = {
        "mark": f"{STORE}:kept.1:1",
        "socket": str(home.run / "none.sock"),
        "version": "1",
        "fate": "",
        "words": [],
    }
    with kept_programs.record(home, "codex-test").open("w") as record:
        fcntl.flock(record, fcntl.LOCK_EX)
        json.dump({"keeper": named, "program": named, **about}, record)
        record.flush()
        yield


@contextmanager
def deaf(home: Home) -> Iterator[None]:
    """Accepts connections, and never responds."""
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(home.socket))
        listener.listen()
        yield


def test_a_daemon_without_an_answer_gets_a_signal(home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stop, "ANSWER", 0.1)
    said: list[str] = []
    with deaf(home), holding(home) as child:
        assert stop.stop_daemon(home, 0, said.append)
        assert child.wait() == -signal.SIGTERM
    assert said == ["stopping the daemon…", f"pid {child.pid} gives no answer; waiting for its end…"]


def test_a_restart_sends_no_signal_that_ends_kept_programs(home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    for patience in ("ANSWER", "CLOSING"):
        monkeypatch.setattr(stop, patience, 0.1)
    with deaf(home), holding(home) as child, Sleeping("kept.1") as kept, keeping(home, kept.pid):
        assert stop.stop_daemon(home, 0, lambda line: None, restart=True)
        assert (child.wait(), kept.poll()) == (-signal.SIGKILL, None)


def test_children_of_a_daemon_started_meanwhile_are_left_alone(home: Home) -> None:
    with (
        holding(home) as daemon,
        Sleeping(f"host.{daemon.pid}.{started(daemon.pid)}.x") as begun,
        Sleeping("kept.1") as kept,
        keeping(home, kept.pid),
        Sleeping("dead") as left,
    ):
        stop._sweep(home, STORE, 0.0, restart=False)
        assert (left.wait(), begun.poll(), kept.poll()) == (-signal.SIGTERM, None, None)


def test_what_is_kept_for_a_home_is_left_alone_by_a_copy_of_it(home: Home, tmp_path: Path) -> None:
    with (
        Sleeping("kept.1", folder=home.root) as kept,
        Sleeping("kept.1", folder=tmp_path) as begun,  # by what is kept
        keeping(home, kept.pid),
        Sleeping("dead", folder=home.root) as left,
    ):
        copy = Home(Path(shutil.copytree(home.root, tmp_path / "copy")))
        asyncio.run(kept_programs.end_leftovers(copy, SystemClock()))
        stop._sweep(copy, STORE, 0.0, restart=False)
        assert (left.wait(), begun.poll(), kept.poll()) == (-signal.SIGTERM, None, None)


class Sleeping(subprocess.Popen[bytes]):
    """A process with the mark of a daemon run; it ends with the test."""

    def __init__(self, incarnation: str, folder: Path | None = None) -> None:
        mark = f"{STORE}:{incarnation}:1"
        super().__init__(["sleep", "1000"], env={**os.environ, scan.VARIABLE: mark}, cwd=folder)

    def __exit__(self, *why: object) -> None:
        self.kill()
        self.wait()


def test_an_agent_can_restart_and_stop_clew(tmp_path: Path) -> None:
    with Clew(tmp_path / "home") as clew:
        before = clew.up()
        holder = lock.read(clew.home.lock)
        assert holder is not None and holder.store is not None
        agent = {scan.VARIABLE: str(scan.Marks(holder.store, "x").next())}  # a daemon ends all that carries it
        assert clew("restart", env=agent).startswith("clew restarts now; a turn that is not over in 10 s is cut")
        clew.wait_gone(before)
        assert clew.json("up")["started"] is False  # nobody but the agent has started it
        assert clew("down", env=agent).startswith("clew stops now")
        for pid in clew.alive():
            clew.wait_gone(pid)
        assert lock.is_free(clew.home.lock)


def test_an_agent_cannot_restart_a_foreground_daemon(home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(scan.VARIABLE, f"{STORE}:x:1")
    with holding(home) as child:
        with pytest.raises(Refused, match="would end this agent"):
            stop.restart_daemon(home, 0, lambda line: None)
        write_holder(home, child.pid, foreground=True)
        with pytest.raises(Refused, match="clew runs in the foreground"):
            stop.run_detached(home, ["restart"], restart=True)
    assert not stop.run_detached(home, ["down"], restart=False), "no daemon is there"


def test_who_only_follows_starts_no_daemon_that_was_stopped(tmp_path: Path) -> None:
    with Clew(tmp_path / "home") as clew:
        clew.up()
        client = Client(clew.home)
        client.ask(requests.threads())
        clew("restart")
        client.ask(requests.threads())
        clew("down")
        with pytest.raises(Stopped, match="`clew up` starts it again"):
            client.ask(requests.threads())
        assert lock.is_free(clew.home.lock)
        assert Client(clew.home).ask(requests.threads()).threads == ()  # another command starts one
