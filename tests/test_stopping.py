"""Stopping and restarting from outside, where not all is as it should be. A child holds what a daemon would."""

from __future__ import annotations

import json
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path

import pytest

from clew import keepers, lock, processes, stopping
from clew.errors import Refused
from clew.home import Home
from tests.daemons import Clew

HOLDS = """
import fcntl, os, signal, sys
for path in sys.argv[1:]:
    fcntl.flock(os.open(path, os.O_RDWR | os.O_CREAT), fcntl.LOCK_EX)
print(flush=True)
signal.pause()
"""


@pytest.fixture
def home(tmp_path: Path) -> Home:
    home = Home(tmp_path / "home")
    home.prepare()
    return home


@contextmanager
def holding(home: Home, *others: Path) -> Iterator[subprocess.Popen[bytes]]:
    """A child that holds the store, as a daemon does, and perhaps more."""
    command = [sys.executable, "-I", "-S", "-c", HOLDS, str(home.lock), *map(str, others)]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as child:
        assert child.stdout is not None and child.stdout.readline() == b"\n"
        write_holder(home, child.pid)
        try:
            yield child
        finally:
            child.kill()


def write_holder(home: Home, pid: int, foreground: bool = False) -> None:
    found = processes.look(pid)
    assert found is not None
    home.lock.write_text(json.dumps(asdict(lock.Holder(pid, found.started, 0, store="a-store", foreground=foreground))))


@contextmanager
def deaf(home: Home) -> Iterator[None]:
    """Connections are taken, and nothing is ever answered."""
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(home.socket))
        listener.listen()
        yield


def test_one_that_gives_no_answer_is_told_by_a_signal(home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stopping, "ANSWER", 0.1)
    said: list[str] = []
    with deaf(home), holding(home) as child:
        assert stopping.stop_daemon(home, 0, said.append)
        assert child.wait() == -signal.SIGTERM
    assert said == ["stopping the daemon…", f"pid {child.pid} gives no answer; waiting for its end…"]


def test_at_a_restart_it_is_told_nothing_that_would_end_what_is_kept(
    home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    for patience in ("ANSWER", "CLOSING"):
        monkeypatch.setattr(stopping, patience, 0.1)
    record = keepers.record(home, "codex-test")
    with deaf(home), holding(home, record) as child, subprocess.Popen(["sleep", "1000"]) as kept:
        record.write_text(a_record(home, kept.pid))
        assert stopping.stop_daemon(home, 0, lambda line: None, restart=True)
        assert (child.wait(), kept.poll()) == (-signal.SIGKILL, None)
        kept.kill()


def test_an_agent_restarts_clew_and_stops_it_without_being_ended_in_the_middle_of_it(tmp_path: Path) -> None:
    with Clew(tmp_path / "home") as clew:
        before = clew.up()
        holder = lock.read(clew.home.lock)
        assert holder is not None and holder.store is not None
        agent = {
            processes.VARIABLE: str(processes.Marks(holder.store, "x").next())
        }  # a daemon ends all that carries it
        assert clew("restart", env=agent).startswith("clew restarts now; a turn that is not over in 10 s is cut")
        clew.wait_gone(before)
        assert clew.json("up")["started"] is False  # nobody but the agent has started it
        assert clew("down", env=agent).startswith("clew stops now")
        for pid in clew.alive():
            clew.wait_gone(pid)
        assert lock.is_free(clew.home.lock)


def test_an_agent_does_not_restart_what_only_somebody_else_could_start_again(
    home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(processes.VARIABLE, "a-store:x:1")
    with holding(home) as child:
        with pytest.raises(Refused, match="this agent's work"):
            stopping.restart_daemon(home, 0, lambda line: None)
        write_holder(home, child.pid, foreground=True)
        with pytest.raises(Refused, match="clew runs in the foreground"):
            stopping.leave_to_another(home, ["restart"], restart=True)
    assert not stopping.leave_to_another(home, ["down"], restart=False), "no daemon is there"


def a_record(home: Home, pid: int) -> str:
    """Of something that is kept."""
    process = processes.look(pid)
    assert process is not None
    named = {"pid": pid, "started": process.started, "since": 0}
    about = {"mark": "a-store:kept.1:1", "socket": str(home.run / "none.sock"), "version": "1", "fate": "", "words": []}
    return json.dumps({"keeper": named, "program": named, **about})
