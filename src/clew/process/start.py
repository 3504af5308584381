"""Starts the daemon on demand, as tmux does: a command that needs it starts it, and waits until it is ready.

A lock allows one start at a time per home; the second command finds the daemon running. What is started is a
supervisor, which starts the daemon and restarts it after a crash.
"""

from __future__ import annotations

import fcntl
import os
import select
import signal
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any, BinaryIO

from msgspec import Struct

from clew.process import hung, lock, supervisor
from clew.support.coded import Coded, with_code, worded
from clew.support.errors import ClewError, NotAnswering, OutOfReach, Stopped, StoreHeld, error_of
from clew.support.home import Home
from clew.support.sockets import is_listening

if TYPE_CHECKING:
    from clew.process.scan import Process, ProcessRef

START = 60.0  # seconds within which a daemon must be ready
HANDOVER = 30.0  # seconds within which a daemon that is starting or stopping must be done
CLOSING = 20.0  # seconds within which a process that was told to end must have ended, after its grace period
REOPENING = 3.0  # seconds within which a daemon must have made its socket again
OUTPUT = "daemon.out"  # the file with stdout and stderr of the daemon and its supervisor
KEPT_OUTPUT = 1 << 20  # bytes at which that file is emptied
_POLL = 0.05

STOPPED = worded("process.was_stopped", "the daemon was stopped; `clew up` starts it again, and open work continues")

Say = Callable[[str], None]


def is_answering(home: Home) -> bool:
    """Whether a daemon listens. Raises NotAnswering if it accepts no connection."""
    try:
        return is_listening(home.socket)
    except TimeoutError as error:
        raise NotAnswering(hung.describe(home)) from error


def ensure_daemon(home: Home, say: Say, *, again: bool = False, unless_stopped: bool = False) -> bool:
    """Start the daemon if it does not run. True: it was started now. Raises the reason if it cannot run. `again`: even
    if its supervisor has given up. `unless_stopped`: raise Stopped if the former one was asked to stop."""
    if is_answering(home):
        ensure_supervisor(home)
        return False
    if again:
        clear_given_up(home)
    home.prepare()
    with start_lock(home, say):
        return start(home, say, unless_stopped=unless_stopped)


@contextmanager
def start_lock(home: Home, say: Say) -> Iterator[None]:
    """Hold the lock that prevents others from starting a daemon of this home."""
    handle = os.open(home.run / "start.lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            say(worded("process.waiting_for_start", "waiting for the daemon that somebody else starts…"))
            fcntl.flock(handle, fcntl.LOCK_EX)
        yield
    finally:
        os.close(handle)


def start(home: Home, say: Say, *, unless_stopped: bool = False) -> bool:
    """Start the daemon; call it inside `start_lock`. Waits for a daemon that is starting or stopping by other means.
    Raises OutOfReach if the supervisor has given up."""
    deadline = time.monotonic() + HANDOVER
    said = False
    while not is_answering(home):
        if why := why_given_up(home):
            raise OutOfReach(why)
        if not lock.is_free(former := home.former_locks[1]):  # an earlier version runs, which listens elsewhere
            raise StoreHeld(lock.describe_holder(former))
        if not is_supervised(home) and lock.is_free(home.lock):
            if unless_stopped and was_asked_to_stop(home):
                raise Stopped(STOPPED)
            say(worded("process.starting", "starting the daemon…"))
            try:
                _spawn(home)
                return True
            except StoreHeld:
                continue  # another process was faster
        if time.monotonic() > deadline:
            raise OutOfReach(
                worded("process.none_answers", "no daemon answers: {holder}", holder=lock.describe_holder(home.lock))
            )
        if not said:
            request_socket(home)
            say(worded("process.waiting_for_change", "waiting for the daemon that is starting or stopping…"))
            said = True
        time.sleep(_POLL)
    return False


def was_asked_to_stop(home: Home) -> bool:
    """Whether the last daemon ended because somebody stopped it."""
    holder = lock.read(home.lock)
    return holder is not None and holder.what == "daemon" and holder.stopping


def request_socket(home: Home) -> bool:
    """Ask a running daemon whose socket was removed to make it again. False: there is no such daemon."""
    if (process := _daemon_without_socket(home)) is None:
        return False
    from clew.process import scan

    scan.send_signal(process, lock.LOOK)
    return True


def _daemon_without_socket(home: Home) -> Process | None:
    holder = living_holder(home)
    if holder is None or not holder[0].ready or holder[0].stopping or home.socket.exists():
        return None
    return holder[1]


def living_holder(home: Home) -> tuple[lock.Holder, Process] | None:
    """Who holds the lock, and its process. None: nobody, or somebody who has not written its name yet."""
    from clew.process import scan

    holder = None if lock.is_free(home.lock) else lock.read(home.lock)
    process = scan.get(holder.pid) if holder else None
    return (holder, process) if holder and process and process.started == holder.started else None


def describe_lost_socket(home: Home) -> str | None:
    """If a daemon runs, but its socket was removed and it has not made it again: who it is, and what to do."""
    if (process := _daemon_without_socket(home)) is None:
        return None
    return worded(
        "daemon.socket_gone",
        "the daemon (pid {pid}) runs, but its socket {path} was removed, and it has not made it again."
        " `clew restart` starts another one.",
        pid=process.pid,
        path=str(home.socket),
    )


def reopen_socket(home: Home) -> bool:
    """Let a running daemon whose socket was removed make it again. True: it answers."""
    deadline = time.monotonic() + REOPENING
    while time.monotonic() < deadline and request_socket(home):
        time.sleep(_POLL)
    return is_answering(home)


def is_supervised(home: Home) -> bool:
    return not lock.is_free(home.supervisor_lock)


def ensure_supervisor(home: Home) -> None:
    """Start a new supervisor for a daemon that has lost its own. A daemon in the foreground has none."""
    if is_supervised(home) or lock.is_free(home.lock):
        return
    holder = lock.read(home.lock)
    if holder and holder.what == "daemon" and not (holder.foreground or holder.stopping):
        with suppress(ClewError, OSError):  # another process was faster, or the next command tries again
            _spawn(home, adopt=holder.pid)


def why_given_up(home: Home) -> str | None:
    """Why the supervisor does not restart the daemon now, and what to do; None if it does."""
    if not is_supervised(home):
        return None  # it was killed; the next command starts another one
    try:
        note = (home.run / supervisor.GAVE_UP).read_text(encoding="utf-8", errors="replace")
    except OSError:
        return None
    facts, _, last_words = note.partition("\n")
    next_try, _, died = facts.partition(" ")
    at = time.strftime("%H:%M:%S", time.localtime(int(next_try) / 1000)) if next_try.isdecimal() else "?"
    return worded(
        "daemon.given_up",
        "{why}. The next try is at {time}; `clew up` tries now. `clew logs` and {path} tell more",
        why=_deaths(died, last_words) if died else last_words,  # an earlier version wrote a text
        time=at,
        path=str(home.logs / OUTPUT),
    )


def _deaths(died: str, last_words: str) -> str:
    from clew.process import scan

    deaths, pid, code = map(int, died.split())
    return worded(
        "process.died_often",
        "the daemon died {deaths} times in a row; the last one, pid {pid}, {end}{last}",
        deaths=deaths,
        pid=f"{pid}",
        end=worded("process.exited", "ended with exit code {code}", code=code)
        if code >= 0
        else worded("process.was_killed", "was killed by {signal}", signal=scan.signal_name(-code)),
        last=worded("process.said_last", ": {words}", words=last_words) if last_words else "",
    )


def clear_given_up(home: Home) -> None:
    """End a supervisor that pauses after crashes, so that the next one tries at once."""
    if why_given_up(home):
        end_supervisor(home)
    with suppress(OSError):
        (home.run / supervisor.GAVE_UP).unlink(missing_ok=True)


def end_supervisor(home: Home) -> bool:
    """End the supervisor; its daemon goes on. True: there was one."""
    if not is_supervised(home):
        return False
    deadline = time.monotonic() + CLOSING
    while is_supervised(home) and time.monotonic() < deadline:
        note = read_note(home)
        if note and (process := note.supervisor.find()):
            end_process(process)
        else:
            time.sleep(_POLL)  # it is just starting
    return True


def end_process(process: Process) -> None:
    from clew.process import scan

    for number in (signal.SIGTERM, signal.SIGKILL):
        scan.send_signal(process, number)
        if wait_gone(process, CLOSING):
            break


def wait_gone(process: Process, timeout: float) -> bool:
    """Wait for the end of a process. False on timeout. On Linux the kernel wakes us; elsewhere we poll."""
    from clew.process import scan

    if sys.platform == "linux":
        try:
            handle = os.pidfd_open(process.pid)
        except ProcessLookupError:
            return True
        try:
            select.select([handle], [], [], timeout)
        finally:
            os.close(handle)
    deadline = time.monotonic() + timeout
    while (now := scan.get(process.pid)) and now.started == process.started:
        if sys.platform == "linux" or time.monotonic() > deadline:
            return False
        time.sleep(_POLL)
    return True


def _spawn(home: Home, adopt: int = 0) -> None:
    """Start a supervisor, which starts a daemon, and wait until that is ready. Raises the reason if it fails."""
    import subprocess  # slow to import, and rarely needed

    receiver, sender = os.pipe()
    with os.fdopen(receiver, "rb") as pipe, daemon_output(home) as out:
        begin = out.seek(0, os.SEEK_END)
        given = [str(each) for each in (home.root, home.socket, _hang(home), sender, adopt)]
        try:
            # It detaches at once; this waits only for that.
            subprocess.run(
                [*_small_python(), supervisor.__file__, *given, *_daemon_command()],
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=out,
                env=daemon_environment(home),
                cwd=home.root,
                pass_fds=[sender],
            )
        finally:
            os.close(sender)
        _await_ready(home, pipe.fileno(), begin)


def _hang(home: Home) -> float:
    """After how many seconds without a response the daemon is restarted. If the settings are invalid, the daemon
    reports that, so the default is used here."""
    from clew.config import settings

    try:
        return settings.load(home.config).supervisor.hang
    except ClewError:
        return settings.SupervisorConfig().hang


def _small_python() -> list[str]:
    """Python without site-packages and without environment variables: a third of the memory."""
    return [sys.executable, "-I", "-S"]


def _daemon_command() -> list[str]:
    """The command of the daemon. -P, here and wherever we run a module: the current folder is not searched for
    modules."""
    return [sys.executable, "-P", "-m", "clew.process.bootstrap", "clew.daemon.main"]


def daemon_environment(home: Home) -> dict[str, str]:
    """The environment of a daemon. The mark is cleared: a daemon started by an agent is not part of that agent."""
    from clew.process.scan import NO_MARK, VARIABLE

    own = {name: value for name, value in os.environ.items() if name != "CLEW_CALLED_AS"}  # of this command only
    return {**own, VARIABLE: NO_MARK, "CLEW_HOME": str(home.root)}


def daemon_output(home: Home) -> BinaryIO:
    """The private file for stdout and stderr of a daemon."""
    home.logs.mkdir(mode=0o700, exist_ok=True)  # somebody may have deleted it
    file = open(home.logs / OUTPUT, "a+b", opener=lambda name, flags: os.open(name, flags, 0o600))  # noqa: SIM115 (given to the caller)
    if os.fstat(file.fileno()).st_size > KEPT_OUTPUT:
        file.truncate(0)
    return file


def _await_ready(home: Home, pipe: int, begin: int) -> None:
    news = b""
    deadline = time.monotonic() + START
    while not news.endswith(b"\n"):
        if not select.select([pipe], [], [], max(0.0, deadline - time.monotonic()))[0]:
            raise OutOfReach(
                worded(
                    "process.not_ready",
                    "the daemon was not ready within {seconds} s; `clew logs` tells more",
                    seconds=f"{START:.0f}",
                )
            )
        if not (piece := os.read(pipe, 65536)):
            raise ClewError(
                worded(
                    "process.ended_at_start",
                    "{what} ended while it started{last}",
                    what=_what_ended(home),
                    last=_last_words(home, begin),
                )
            )
        news += piece
    import json  # rarely needed, and every command imports this module

    told: dict[str, Any] = json.loads(news)
    if error := told.get("error"):
        raise error_of(error["code"], with_code(error["message"], _coded(error.get("texts") or {})))


def _coded(texts: dict[str, Any]) -> Coded | None:
    from msgspec import convert  # only after a failed start

    return convert(texts["message"], Coded) if "message" in texts else None


def _what_ended(home: Home) -> str:
    note = read_note(home)
    return (
        worded("process.the_supervisor", "the supervisor of the daemon")
        if note and note.daemon and note.daemon.find()
        else worded("process.the_daemon", "the daemon")
    )


def _last_words(home: Home, begin: int) -> str:
    path = home.logs / OUTPUT
    lines = path.read_bytes()[begin:].decode(errors="replace").strip().splitlines()
    return (
        worded("process.last_line", ": {line} (see {path})", line=lines[-1], path=f"{path}")
        if lines
        else worded("process.see_logs", "; `clew logs` tells more")
    )


class Note(Struct, frozen=True):
    """What a supervisor records: itself, and the daemon that it has started or adopted."""

    supervisor: ProcessRef
    daemon: ProcessRef | None


def read_note(home: Home) -> Note | None:
    import json

    from clew.process.scan import ProcessRef

    with suppress(OSError, ValueError, TypeError, KeyError):
        data: dict[str, Any] = json.loads((home.supervisor_lock).read_bytes())
        return Note(ProcessRef(**data["supervisor"]), ProcessRef(**data["daemon"]) if data["daemon"] else None)
    return None
