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
from clew.home import Home

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
        found = processes.look(child.pid)
        assert found is not None
        home.lock.write_text(json.dumps(asdict(lock.Holder(found.pid, found.started, 0, store="a-store"))))
        try:
            yield child
        finally:
            child.kill()


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


def a_record(home: Home, pid: int) -> str:
    """Of something that is kept."""
    process = processes.look(pid)
    assert process is not None
    named = {"pid": pid, "started": process.started, "since": 0}
    about = {"mark": "a-store:kept.1:1", "socket": str(home.run / "none.sock"), "version": "1", "fate": "", "words": []}
    return json.dumps({"keeper": named, "program": named, **about})
