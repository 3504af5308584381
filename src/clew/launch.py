"""Starting and stopping the daemon from outside, as tmux does: who needs it starts it, and waits until it is ready.

One start at a time per home, by a lock of its own; who comes second finds the daemon there.
"""

from __future__ import annotations

import fcntl
import json
import os
import select
import signal
import socket
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

from clew import lock
from clew.client import Client, known
from clew.errors import ClewError, OutOfReach, StoreHeld
from clew.home import Home

if TYPE_CHECKING:
    from clew.processes import Process

START = 60.0  # seconds in which a daemon must get ready
HANDOVER = 30.0  # seconds in which one that starts or stops must have done so
CLOSING = 20.0  # seconds beyond its grace in which a daemon must have ended
KEPT_OUTPUT = 1 << 20  # bytes
_POLL = 0.05

Say = Callable[[str], None]


def answers(home: Home) -> bool:
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as door:
        try:
            door.connect(str(home.socket))
        except OSError:
            return False
        return True


def ensure_daemon(home: Home, say: Say) -> bool:
    """Raises why it cannot run. True: it was started now."""
    if answers(home):
        return False
    home.prepare()
    with starting(home, say):
        return start(home, say)


@contextmanager
def starting(home: Home, say: Say) -> Iterator[None]:
    """Nobody else starts a daemon on this home meanwhile."""
    handle = os.open(home.run / "start.lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            say("waiting for the daemon that somebody else starts…")
            fcntl.flock(handle, fcntl.LOCK_EX)
        yield
    finally:
        os.close(handle)


def start(home: Home, say: Say) -> bool:
    """Inside `starting`. One that is just starting or stopping by other means is waited for."""
    deadline = time.monotonic() + HANDOVER
    said = False
    while not answers(home):
        if lock.is_free(home.lock):
            say("starting the daemon…")
            try:
                spawn(home)
                return True
            except StoreHeld:
                continue  # somebody was faster
        if time.monotonic() > deadline:
            raise OutOfReach(f"no daemon answers: {lock.words(home.lock)}")
        if not said:
            say("waiting for the daemon that is starting or stopping…")
            said = True
        time.sleep(_POLL)
    return False


def spawn(home: Home) -> None:
    """Start a daemon of its own session, and wait until it is ready. Raises why it is not."""
    import subprocess  # slow to import, and seldom needed

    from clew.processes import VARIABLE

    # A daemon that is started from within an agent's work must not be taken for a part of it.
    environ = {name: value for name, value in os.environ.items() if name != VARIABLE}
    receiver, sender = os.pipe()
    with os.fdopen(receiver, "rb") as pipe, _daemon_output(home) as out:
        try:
            subprocess.Popen(
                [sys.executable, "-m", "clew.daemon", "--ready-fd", str(sender)],
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=out,
                env={**environ, "CLEW_HOME": str(home.root)},
                cwd=home.root,
                pass_fds=[sender],
                start_new_session=True,
            )
        finally:
            os.close(sender)
        _await_ready(home, pipe.fileno(), out.tell())


def _daemon_output(home: Home) -> BinaryIO:
    """For what a daemon says beside its log, such as its last words; only its owner may read it."""
    path = home.logs / "daemon.out"
    is_long = path.exists() and path.stat().st_size > KEPT_OUTPUT
    return open(path, "wb" if is_long else "ab", opener=lambda name, flags: os.open(name, flags, 0o600))


def _await_ready(home: Home, pipe: int, begin: int) -> None:
    news = b""
    deadline = time.monotonic() + START
    while not news.endswith(b"\n"):
        if not select.select([pipe], [], [], max(0.0, deadline - time.monotonic()))[0]:
            raise OutOfReach(f"the daemon was not ready within {START:.0f} s; `clew logs` tells more")
        if not (piece := os.read(pipe, 65536)):
            raise ClewError(f"the daemon ended while it started{_last_words(home, begin)}")
        news += piece
    told: dict[str, Any] = json.loads(news)
    if error := told.get("error"):
        raise known(error["code"], error["message"])


def _last_words(home: Home, begin: int) -> str:
    path = home.logs / "daemon.out"
    lines = path.read_bytes()[begin:].decode(errors="replace").strip().splitlines()
    return f": {lines[-1]} (see {path})" if lines else "; `clew logs` tells more"


def stop_daemon(home: Home, grace: float, say: Say, *, restart: bool = False) -> bool:
    """End the daemon, if there is one, and everything that it or a dead one left. True: there was one."""
    was_there = _stop(home, grace, say, restart)
    holder = lock.read(home.lock)
    if holder and holder.store:
        _sweep(holder.store)
    if lock.is_free(home.lock):
        remove_socket(home.socket)
    return was_there


def remove_socket(path: Path) -> None:
    """The socket, and the folder that was made only for it; any other folder is not empty, and stays."""
    with suppress(OSError):
        path.unlink(missing_ok=True)
        path.parent.rmdir()


def _stop(home: Home, grace: float, say: Say, restart: bool) -> bool:
    from clew import processes

    if lock.is_free(home.lock):
        return False
    if not (holder := lock.read(home.lock)):
        raise StoreHeld(lock.words(home.lock))
    say("stopping the daemon…" if not grace else f"stopping the daemon; running turns get up to {grace:g} s…")
    process = processes.look(holder.pid)
    if process is None or process.started != holder.started:
        return True
    if holder.what == "daemon" and not _ask_to_stop(home, grace, restart):
        processes.tell(process, signal.SIGTERM)
    if not _gone(process, grace + CLOSING):
        say(f"pid {process.pid} does not end; killing it…")
        processes.tell(process, signal.SIGKILL)
        _gone(process, CLOSING)
    return True


def _ask_to_stop(home: Home, grace: float, restart: bool) -> bool:
    with suppress(ClewError):
        Client(home, start=False).post("shutdown", body={"grace": grace, "restart": restart})
        return True
    return False


def _gone(process: Process, patience: float) -> bool:
    """Whether a process ends in time. Woken by its end where the system can tell."""
    from clew import processes

    if sys.platform == "linux":
        try:
            handle = os.pidfd_open(process.pid)
        except ProcessLookupError:
            return True
        try:
            select.select([handle], [], [], patience)
        finally:
            os.close(handle)
    deadline = time.monotonic() + patience
    while (now := processes.look(process.pid)) and now.started == process.started:
        if sys.platform == "linux" or time.monotonic() > deadline:
            return False
        time.sleep(_POLL)
    return True


def _sweep(store: str) -> None:
    import asyncio

    from clew.clock import SystemClock
    from clew.processes import sweep

    asyncio.run(sweep(store, SystemClock()))
