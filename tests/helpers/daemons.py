"""A real clew on a throw-away home, driven from outside as a person or a script would. Synchronous, and no sleeps: it
waits on pipes, on the end of processes, and on the event stream.

    with Clew(tmp_path) as clew:
        pid = clew.up(env={"CLEW_CRASH": "outbox.sent-not-recorded"})
        thread = clew.json("start", "!text hello", "--notify", "webhook:x")["thread"]
        clew.wait_gone(pid)                   # it died there
        clew.up()                             # its supervisor brings it back, with nothing armed
        clew.wait_for(thread, "delivery.sent")
"""

from __future__ import annotations

import json
import os
import select
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Any
from unittest.mock import patch

from clew.process import lock, scan, start
from clew.process.stop import stop_daemon
from clew.support.home import Home
from tests.helpers.json_client import JsonClient as Client
from tests.helpers.json_client import RawEvent as Event

SCRIPTED = '[threads]\nruntime = "scripted"\n'
TIMEOUT = 60.0  # seconds that anything may take at most


@dataclass(frozen=True, slots=True)
class Result:
    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)


class Gate:
    """Blocks a turn with `!hold NAME` in its prompt until it is released. Create it before the prompt is sent."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._pipe: int | None = None
        path.parent.mkdir(parents=True, exist_ok=True)
        if not path.exists():
            os.mkfifo(path, 0o600)

    def wait(self) -> None:
        """Wait until a turn is blocked here: opening a named pipe for writing waits for its reader."""
        self._pipe = os.open(self._path, os.O_WRONLY)

    def release(self) -> None:
        if self._pipe is None:
            self.wait()
        assert self._pipe is not None
        os.close(self._pipe)
        self._pipe = None

    def release_with(self, before: Gate) -> None:
        """Wait until a turn is blocked here for the second time, after the death of the daemon in which it was blocked
        at `before`. While that one is open nothing passes here, however quick the next daemon is."""
        self.wait()
        before.release()
        self.release()


@dataclass(slots=True)
class Clew:
    """`root` becomes the home. `env` is for every command, and so for the daemon that it starts."""

    root: Path
    config: str = SCRIPTED
    env: Mapping[str, str] = field(default_factory=dict)
    _left: list[subprocess.Popen[str]] = field(default_factory=list)

    def __enter__(self) -> Clew:
        self.root.mkdir(parents=True, exist_ok=True)
        self.configure(self.config)
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, tb: TracebackType | None) -> None:
        for process in self._left:
            self.end(process)
        if error is not None:
            print(self.logs(), file=sys.stderr)
        stop_daemon(self.home, 0, lambda line: None)

    @property
    def home(self) -> Home:
        return Home(self.root)

    def configure(self, text: str) -> None:
        self.home.config.write_text(text)

    def run(self, *args: str, input: str | None = None, env: Mapping[str, str] | None = None) -> Result:
        """Run a command, and return its result even if it fails."""
        done = subprocess.run(
            _argv(args), input=input, capture_output=True, text=True, env=self._environ(env), timeout=TIMEOUT
        )
        return Result(done.returncode, done.stdout, done.stderr)

    def __call__(self, *args: str, code: int = 0, env: Mapping[str, str] | None = None) -> str:
        """The output of a command, which must succeed."""
        result = self.run(*args, env=env)
        assert result.code == code, f"clew {' '.join(args)} ended with {result.code}:\n{result.out}{result.err}"
        return result.out

    def json(self, *args: str, code: int = 0, env: Mapping[str, str] | None = None) -> Any:
        return json.loads(self(*args, "--json", code=code, env=env))

    def handle(self, thread: str) -> str:
        return str(self.json("show", thread)["handle"])

    def begin(self, *args: str) -> subprocess.Popen[str]:
        """Start a command that keeps running, such as `watch`; it ends with the test at the latest."""
        pipe = subprocess.PIPE
        process = subprocess.Popen(_argv(args), stdin=pipe, stdout=pipe, stderr=pipe, text=True, env=self._environ())
        self._left.append(process)
        return process

    def end(self, process: subprocess.Popen[str]) -> Result:
        """End a command that `begin` started, if it still runs, and return its output."""
        if process.poll() is None:
            process.terminate()
        return self.wait(process)

    def wait(self, process: subprocess.Popen[str]) -> Result:
        if process in self._left:
            self._left.remove(process)
        out, err = process.communicate(timeout=TIMEOUT)
        return Result(process.returncode, out, err)

    def up(self, env: Mapping[str, str] | None = None) -> int:
        """Start the daemon as `clew up` does, but from here; its pid."""
        with patch.dict(os.environ, self._environ(env), clear=True):
            start.ensure_daemon(self.home, lambda line: None, again=True)
        return self.pid

    @property
    def pid(self) -> int:
        """The pid of the daemon that runs, or ran last."""
        holder = lock.read(self.home.lock)
        assert holder is not None, "no daemon ever ran here"
        return holder.pid

    @property
    def supervisor(self) -> int:
        """The pid of the supervisor that runs, or ran last."""
        return int(json.loads(self.home.supervisor_lock.read_bytes())["supervisor"]["pid"])

    def kill(self, number: signal.Signals = signal.SIGKILL) -> None:
        """Kill the daemon with SIGKILL, and wait until it is gone. Its supervisor restarts it."""
        pid = self.pid
        os.kill(pid, number)
        self.wait_gone(pid)

    def kill_supervisor(self) -> None:
        pid = self.supervisor
        os.kill(pid, signal.SIGKILL)
        self.wait_gone(pid)

    def kill_for_good(self) -> None:
        """Kill the daemon and its supervisor, so that nobody restarts it."""
        self.kill_supervisor()
        self.kill()

    def wait_gone(self, pid: int | None = None) -> None:
        """Wait until the daemon, or another process, has ended."""
        try:
            handle = os.pidfd_open(pid or self.pid)
        except ProcessLookupError:
            return
        try:
            assert select.select([handle], [], [], TIMEOUT)[0], "it does not end"
        finally:
            os.close(handle)

    def alive(self) -> list[int]:
        """All processes of this home: the daemon, its supervisor and others, without the commands of this test."""
        mine = {process.pid for process in self._left}
        return [pid for pid in carrying(f"CLEW_HOME={self.root}") if pid not in mine]

    def children(self) -> list[scan.Process]:
        """The processes with this home's mark, without the daemon itself."""
        holder = lock.read(self.home.lock)
        return scan.children(holder.store) if holder and holder.store else []

    def events(self, thread: str | None = None, after: int | None = 0) -> Iterator[Event]:
        """The events from the beginning of the log on; never starts a daemon."""
        return Client(self.home, start=False).raw_events(thread, after)

    def wait_for(self, thread: str, kind: str, **data: Any) -> Event:
        """Wait for the first event of this kind, with these data, in a thread, past or future."""
        for event in self.events(thread):
            if event.kind == kind and data.items() <= event.data.get("data", {}).items():
                return event
        raise AssertionError(f"no {kind}")

    def wait_ended(self, turn: Mapping[str, Any]) -> Any:
        """Wait for the end of the turn of a `start` or `send`, and return it."""
        for event in self.events(turn["thread"]):
            if event.kind == "turn.ended" and event.data["turn"] == turn["turn"]:
                break
        return Client(self.home, start=False).get("turns", turn["turn"])

    def gate(self, name: str) -> Gate:
        return Gate(self.root / "scripted" / "holds" / name)

    def logs(self) -> str:
        """Everything that helps to explain a failed test."""
        files = sorted(self.home.logs.glob("*")) if self.home.logs.exists() else []
        return "\n".join(f"--- {file.name}\n{file.read_text(errors='replace')[-20_000:]}" for file in files)

    def _environ(self, extra: Mapping[str, str] | None = None) -> dict[str, str]:
        given = {**os.environ, "CLEW_HOME": str(self.root), **self.env, **(extra or {})}
        return {name: value for name, value in given.items() if value or name in os.environ}


def carrying(variable: str) -> list[int]:
    """The other processes with this variable in their environment."""
    folders = (folder for folder in Path("/proc").iterdir() if folder.name.isdecimal())
    found = [int(folder.name) for folder in folders if os.fsencode(variable) in _variables(folder)]
    return [pid for pid in found if pid != os.getpid()]


def _variables(folder: Path) -> list[bytes]:
    try:
        return (folder / "environ").read_bytes().split(b"\0")
    except OSError:
        return []  # gone, or somebody else's


def _argv(args: Sequence[str]) -> list[str]:
    return [sys.executable, "-m", "clew.process.bootstrap", "clew.cli.main", *args]
