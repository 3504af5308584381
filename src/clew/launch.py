"""Starting and stopping the daemon from outside, as tmux does: who needs it starts it, and waits until it is ready.

One start at a time per home, by a lock of its own; who comes second finds the daemon there. What is started is a
supervisor, which starts the daemon and brings it back after a crash.
"""

from __future__ import annotations

import fcntl
import json
import os
import select
import signal
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any, BinaryIO

from msgspec import Struct

from clew import lock, supervisor
from clew.client import DEAF, Client, Deaf, known
from clew.errors import ClewError, OutOfReach, StoreHeld
from clew.home import Home, remove_socket
from clew.sockets import listens

if TYPE_CHECKING:
    from clew.processes import Named, Process

START = 60.0  # seconds in which a daemon must get ready
HANDOVER = 30.0  # seconds in which one that starts or stops must have done so
CLOSING = 20.0  # seconds beyond its grace in which a daemon must have ended
OUTPUT = "daemon.out"  # what a daemon says beside its log, and its supervisor
KEPT_OUTPUT = 1 << 20  # bytes
_POLL = 0.05

Say = Callable[[str], None]


def answers(home: Home) -> bool:
    """Raises Deaf where one is there, but takes no connection."""
    try:
        return listens(home.socket)
    except TimeoutError as error:
        raise Deaf(DEAF) from error


def ensure_daemon(home: Home, say: Say, *, again: bool = False) -> bool:
    """Raises why it cannot run. True: it was started now. `again`: even if its supervisor has given it up."""
    if answers(home):
        supervise(home)
        return False
    if again:
        forget(home)
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
    """Inside `starting`. One that is just starting or stopping by other means is waited for; one that was given up, now
    or before, is not started again."""
    deadline = time.monotonic() + HANDOVER
    said = False
    while not answers(home):
        if not is_supervised(home) and lock.is_free(home.lock):
            if why := given_up(home):
                raise OutOfReach(why)
            say("starting the daemon…")
            try:
                _spawn(home)
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


def is_supervised(home: Home) -> bool:
    return not lock.is_free(home.run / supervisor.LOCK)


def supervise(home: Home) -> None:
    """Give a daemon that has lost its supervisor a new one. One that runs in the foreground has none."""
    if is_supervised(home) or lock.is_free(home.lock):
        return
    holder = lock.read(home.lock)
    if holder and holder.what == "daemon" and not (holder.foreground or holder.stopping):
        with suppress(ClewError, OSError):  # somebody was faster; else the next command tries again
            _spawn(home, adopt=holder.pid)


def given_up(home: Home) -> str | None:
    """Why its supervisor does not bring the daemon back any more, and what to do."""
    try:
        why = (home.run / supervisor.GAVE_UP).read_text(encoding="utf-8", errors="replace")
    except OSError:
        return None
    return f"{why}. `clew logs` and {home.logs / OUTPUT} tell more; `clew up` tries again"


def forget(home: Home) -> None:
    """That the daemon was given up."""
    with suppress(OSError):
        (home.run / supervisor.GAVE_UP).unlink(missing_ok=True)


def _spawn(home: Home, adopt: int = 0) -> None:
    """Start a supervisor, and by it a daemon, and wait until that is ready. Raises why it is not."""
    import subprocess  # slow to import, and seldom needed

    receiver, sender = os.pipe()
    with os.fdopen(receiver, "rb") as pipe, _daemon_output(home) as out:
        begin = out.seek(0, os.SEEK_END)
        try:
            # It leaves this process at once, and what is waited for here is only that.
            subprocess.run(
                [*_small_python(), supervisor.__file__, home.run, str(sender), str(adopt), *_daemon_command()],
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=out,
                env=_environ(home),
                cwd=home.root,
                pass_fds=[sender],
            )
        finally:
            os.close(sender)
        _await_ready(home, pipe.fileno(), begin)


def _small_python() -> list[str]:
    """Without site-packages, and without what the environment would add: a third of the memory."""
    return [sys.executable, "-I", "-S"]


def _daemon_command() -> list[str]:
    return [sys.executable, "-m", "clew.daemon"]


def _environ(home: Home) -> dict[str, str]:
    """A daemon that is started from within an agent's work must not be taken for a part of it."""
    from clew.processes import VARIABLE

    return {**{name: value for name, value in os.environ.items() if name != VARIABLE}, "CLEW_HOME": str(home.root)}


def _daemon_output(home: Home) -> BinaryIO:
    """For what a daemon says beside its log, such as its last words; only its owner may read it."""
    path = home.logs / OUTPUT
    file = open(path, "a+b", opener=lambda name, flags: os.open(name, flags, 0o600))  # noqa: SIM115 (given to the caller)
    if os.fstat(file.fileno()).st_size > KEPT_OUTPUT:
        file.truncate(0)
    return file


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
    path = home.logs / OUTPUT
    lines = path.read_bytes()[begin:].decode(errors="replace").strip().splitlines()
    return f": {lines[-1]} (see {path})" if lines else "; `clew logs` tells more"


def stop_daemon(home: Home, grace: float, say: Say, *, restart: bool = False) -> bool:
    """End the daemon and its supervisor, if they are there, and everything that they or dead ones left. True: one was.

    The supervisor goes first, because it would bring the daemon back.
    """
    was_supervised = _end_supervisor(home)
    stopped = _stop(home, grace, say, restart)
    if (note := read_note(home)) and note.daemon and note.daemon.pid == stopped:
        _end_supervisor(home)  # a command may have given it a new one meanwhile
    forget(home)
    holder = lock.read(home.lock)
    if holder and holder.store:
        _sweep(home, holder.store, 0.0 if stopped else grace, restart)
    if lock.is_free(home.lock):
        remove_socket(home.socket)
    return was_supervised or stopped is not None


class Note(Struct, frozen=True):
    """What a supervisor writes down: itself, and the daemon that it has begun or adopted."""

    supervisor: Named
    daemon: Named | None


def read_note(home: Home) -> Note | None:
    from clew.processes import Named

    with suppress(OSError, ValueError, TypeError, KeyError):
        data: dict[str, Any] = json.loads((home.run / supervisor.LOCK).read_bytes())
        return Note(Named(**data["supervisor"]), Named(**data["daemon"]) if data["daemon"] else None)
    return None


def _end_supervisor(home: Home) -> bool:
    """True: there was one. Its daemon goes on."""
    if not is_supervised(home):
        return False
    deadline = time.monotonic() + CLOSING
    while is_supervised(home) and time.monotonic() < deadline:
        note = read_note(home)
        if note and (process := note.supervisor.find()):
            _end(process)
        else:
            time.sleep(_POLL)  # it has only just begun
    return True


def _stop(home: Home, grace: float, say: Say, restart: bool) -> int | None:
    """The pid of the daemon that was there."""
    from clew import processes

    if (found := _holding(home)) is None:
        return _stop_begun(home)
    what, process = found
    say(f"stopping the daemon{_what_runs(home, grace, restart)}…")
    if what == "daemon" and not _ask_to_stop(home, grace, restart):
        processes.tell(process, signal.SIGTERM)
    if not _gone(process, grace + CLOSING):
        say(f"pid {process.pid} does not end; killing it…")
        processes.tell(process, signal.SIGKILL)
        _gone(process, CLOSING)
    return process.pid


def _what_runs(home: Home, grace: float, restart: bool) -> str:
    """What becomes of running turns."""
    from clew import keepers

    goes_on = "; what Codex works on goes on" if restart and keepers.living(home) else ""
    if not grace:
        return goes_on
    return f"{goes_on}, other turns get up to {grace:g} s" if goes_on else f"; running turns get up to {grace:g} s"


def _holding(home: Home) -> tuple[str, Process] | None:
    """What holds the store, and which process it is. One that has only just taken it is about to say so."""
    from clew import processes

    deadline = time.monotonic() + CLOSING
    while not lock.is_free(home.lock):
        holder = lock.read(home.lock)
        process = processes.look(holder.pid) if holder else None
        if holder and process and process.started == holder.started:
            return holder.what, process
        if time.monotonic() > deadline:
            raise StoreHeld(lock.words(home.lock))
        time.sleep(_POLL)
    return None


def _stop_begun(home: Home) -> int | None:
    """A daemon that does not hold the store yet is known only to its supervisor, which may be dead."""
    note = read_note(home)
    process = note.daemon.find() if note and note.daemon else None
    if process is None:
        return None
    _end(process)
    return process.pid


def _end(process: Process) -> None:
    from clew import processes

    for number in (signal.SIGTERM, signal.SIGKILL):
        processes.tell(process, number)
        if _gone(process, CLOSING):
            break


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


def _sweep(home: Home, store: str, grace: float, restart: bool) -> None:
    """What is kept for the next daemon stays where there is to be one; else it may finish what it works on, unless its
    daemon has seen to that."""
    import asyncio

    from clew import keepers
    from clew.clock import SystemClock
    from clew.processes import sweep

    async def end() -> None:
        clock = SystemClock()
        if not restart:
            await keepers.end_all(home, clock, grace)
        await sweep(store, clock, spared=keepers.marks(home))

    asyncio.run(end())
