"""Starts the daemon on demand, as tmux does: a command that needs it starts it, and waits until it is ready.

A lock allows one start at a time per home; the second command finds the daemon running. What is started is a
supervisor, which starts the daemon and restarts it after a crash.
"""

from __future__ import annotations

import fcntl
import os
import select
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any, BinaryIO

from msgspec import Struct

from clew.process import hung, lock, supervisor
from clew.support.coded import Coded, with_code
from clew.support.errors import ClewError, NotAnswering, OutOfReach, StoreHeld, error_of
from clew.support.home import Home
from clew.support.sockets import is_listening

if TYPE_CHECKING:
    from clew.process.scan import ProcessRef

START = 60.0  # seconds within which a daemon must be ready
HANDOVER = 30.0  # seconds within which a daemon that is starting or stopping must be done
OUTPUT = "daemon.out"  # the file with stdout and stderr of the daemon and its supervisor
KEPT_OUTPUT = 1 << 20  # bytes at which that file is emptied
_POLL = 0.05

Say = Callable[[str], None]


def is_answering(home: Home) -> bool:
    """Whether a daemon listens. Raises NotAnswering if it accepts no connection."""
    try:
        return is_listening(home.socket)
    except TimeoutError as error:
        raise NotAnswering(hung.describe(home)) from error


def ensure_daemon(home: Home, say: Say, *, again: bool = False) -> bool:
    """Start the daemon if it does not run. True: it was started now. Raises the reason if it cannot run. `again`: even
    if its supervisor has given up."""
    if is_answering(home):
        ensure_supervisor(home)
        return False
    if again:
        clear_given_up(home)
    home.prepare()
    with start_lock(home, say):
        return start(home, say)


@contextmanager
def start_lock(home: Home, say: Say) -> Iterator[None]:
    """Hold the lock that prevents others from starting a daemon of this home."""
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
    """Start the daemon; call it inside `start_lock`. Waits for a daemon that is starting or stopping by other means.
    Raises OutOfReach if the supervisor has given up."""
    deadline = time.monotonic() + HANDOVER
    said = False
    while not is_answering(home):
        if not is_supervised(home) and lock.is_free(home.lock):
            if why := why_given_up(home):
                raise OutOfReach(why)
            say("starting the daemon…")
            try:
                _spawn(home)
                return True
            except StoreHeld:
                continue  # another process was faster
        if time.monotonic() > deadline:
            raise OutOfReach(f"no daemon answers: {lock.describe_holder(home.lock)}")
        if not said:
            say("waiting for the daemon that is starting or stopping…")
            said = True
        time.sleep(_POLL)
    return False


def is_supervised(home: Home) -> bool:
    return not lock.is_free(home.run / supervisor.LOCK)


def ensure_supervisor(home: Home) -> None:
    """Start a new supervisor for a daemon that has lost its own. A daemon in the foreground has none."""
    if is_supervised(home) or lock.is_free(home.lock):
        return
    holder = lock.read(home.lock)
    if holder and holder.what == "daemon" and not (holder.foreground or holder.stopping):
        with suppress(ClewError, OSError):  # another process was faster, or the next command tries again
            _spawn(home, adopt=holder.pid)


def why_given_up(home: Home) -> str | None:
    """Why the supervisor no longer restarts the daemon, and what to do; None if it has not given up."""
    try:
        why = (home.run / supervisor.GAVE_UP).read_text(encoding="utf-8", errors="replace")
    except OSError:
        return None
    return f"{why}. `clew logs` and {home.logs / OUTPUT} tell more; `clew up` tries again"


def clear_given_up(home: Home) -> None:
    """Forget that the supervisor has given up."""
    with suppress(OSError):
        (home.run / supervisor.GAVE_UP).unlink(missing_ok=True)


def _spawn(home: Home, adopt: int = 0) -> None:
    """Start a supervisor, which starts a daemon, and wait until that is ready. Raises the reason if it fails."""
    import subprocess  # slow to import, and rarely needed

    receiver, sender = os.pipe()
    with os.fdopen(receiver, "rb") as pipe, daemon_output(home) as out:
        begin = out.seek(0, os.SEEK_END)
        given = [str(each) for each in (home.run, home.socket, _hang(home), sender, adopt)]
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
            raise OutOfReach(f"the daemon was not ready within {START:.0f} s; `clew logs` tells more")
        if not (piece := os.read(pipe, 65536)):
            raise ClewError(f"{_what_ended(home)} ended while it started{_last_words(home, begin)}")
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
    return "the supervisor of the daemon" if note and note.daemon and note.daemon.find() else "the daemon"


def _last_words(home: Home, begin: int) -> str:
    path = home.logs / OUTPUT
    lines = path.read_bytes()[begin:].decode(errors="replace").strip().splitlines()
    return f": {lines[-1]} (see {path})" if lines else "; `clew logs` tells more"


class Note(Struct, frozen=True):
    """What a supervisor records: itself, and the daemon that it has started or adopted."""

    supervisor: ProcessRef
    daemon: ProcessRef | None


def read_note(home: Home) -> Note | None:
    import json

    from clew.process.scan import ProcessRef

    with suppress(OSError, ValueError, TypeError, KeyError):
        data: dict[str, Any] = json.loads((home.run / supervisor.LOCK).read_bytes())
        return Note(ProcessRef(**data["supervisor"]), ProcessRef(**data["daemon"]) if data["daemon"] else None)
    return None
