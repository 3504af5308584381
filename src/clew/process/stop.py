"""Stops or restarts the daemon and its supervisor, and ends leftover processes of theirs and of dead daemons."""

from __future__ import annotations

import json
import os
import select
import signal
import sys
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from http import HTTPStatus
from http.client import HTTPException
from typing import TYPE_CHECKING

from clew.process import lock
from clew.process.connection import Connection
from clew.process.start import (
    Say,
    clear_given_up,
    daemon_environment,
    daemon_output,
    is_supervised,
    read_note,
    start,
    start_lock,
)
from clew.support.errors import ClewError, OutOfReach, Refused, StoreHeld
from clew.support.home import Home, remove_socket

if TYPE_CHECKING:
    from clew.process.scan import Process

CLOSING = 20.0  # seconds after its grace period within which a daemon must have ended
ANSWER = 5.0  # seconds within which a daemon that does not hang responds to the request
_POLL = 0.05


def restart_daemon(home: Home, grace: float, say: Say) -> None:
    """Restart the daemon. Kept programs go on. Raises the reason if it cannot run."""
    home.prepare()
    if _would_end_us(home, restart=True):
        raise Refused(
            "a restart would end this agent and this process. Use the command `clew restart`, which handles that."
        )
    with start_lock(home, say):
        stop_daemon(home, grace, say, restart=True)
        start(home, say)


def run_detached(home: Home, words: Sequence[str], *, restart: bool) -> bool:
    """Run the same command in a process that is not part of the agent: a command of an agent ends with the daemon,
    before it could start the next one. False: not needed, this process is not part of an agent."""
    if not _would_end_us(home, restart):
        return False
    holder = lock.read(home.lock)
    if restart and holder and holder.foreground:
        raise Refused(
            "Cannot restart from inside an agent: clew runs in the foreground. Restart it where you started it, for"
            " example with `systemctl --user restart clew.service`."
        )
    import subprocess

    with daemon_output(home) as out:
        subprocess.Popen(
            [sys.executable, "-P", "-m", "clew.process.bootstrap", "clew.cli.main", *words],
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=out,
            env=daemon_environment(home),
            cwd=home.root,
            start_new_session=True,
        )
    return True


def _would_end_us(home: Home, restart: bool) -> bool:
    """Whether this process belongs to an agent that ends with the daemon. A kept agent survives a restart."""
    from clew.process import kept_programs
    from clew.process.scan import VARIABLE, Mark

    mark = Mark.parse(os.environ.get(VARIABLE, ""))
    holder = None if lock.is_free(home.lock) else lock.read(home.lock)
    if mark is None or holder is None or holder.store != mark.store:
        return False
    return not (restart and mark in kept_programs.marks(home))


def stop_daemon(home: Home, grace: float, say: Say, *, restart: bool = False) -> bool:
    """End the daemon and its supervisor, if they run, and leftovers of theirs and of dead daemons. True: one ran.

    The supervisor is ended first, because it would restart the daemon.
    """
    was_supervised = _end_supervisor(home)
    stopped = _stop(home, grace, say, restart)
    if (note := read_note(home)) and note.daemon and note.daemon.pid == stopped:
        _end_supervisor(home)  # a command may have started a new one meanwhile
    clear_given_up(home)
    holder = lock.read(home.lock)
    if holder and holder.store:
        _sweep(home, holder.store, 0.0 if stopped else grace, restart)
    if lock.is_free(home.lock):
        remove_socket(home.socket)
    return was_supervised or stopped is not None


def _end_supervisor(home: Home) -> bool:
    """End the supervisor; its daemon goes on. True: there was one."""
    if not is_supervised(home):
        return False
    deadline = time.monotonic() + CLOSING
    while is_supervised(home) and time.monotonic() < deadline:
        note = read_note(home)
        if note and (process := note.supervisor.find()):
            _end(process)
        else:
            time.sleep(_POLL)  # it is just starting
    return True


def _stop(home: Home, grace: float, say: Say, restart: bool) -> int | None:
    """Stop the daemon. Returns its pid; None if there was none."""
    from clew.process import scan

    if (found := _find_holder(home)) is None:
        return _stop_starting_daemon(home)
    what, process = found
    say(f"stopping the daemon{_turns_note(home, grace, restart)}…")
    if what == "daemon" and not _ask_to_stop(home, grace, restart):
        _signal_to_stop(home, process, say, restart)
    if not _wait_gone(process, grace + CLOSING):
        say(f"pid {process.pid} does not end; killing it…")
        scan.send_signal(process, signal.SIGKILL)
        _wait_gone(process, CLOSING)
    return process.pid


def _turns_note(home: Home, grace: float, restart: bool) -> str:
    """What happens to running turns, for the message."""
    from clew.process import kept_programs

    goes_on = "; what Codex works on goes on" if restart and kept_programs.running(home) else ""
    if not grace:
        return goes_on
    return f"{goes_on}, other turns get up to {grace:g} s" if goes_on else f"; running turns get up to {grace:g} s"


def _find_holder(home: Home) -> tuple[str, Process] | None:
    """The kind and the process of the lock's holder. A new holder needs a moment to write its name."""
    from clew.process import scan

    deadline = time.monotonic() + CLOSING
    while not lock.is_free(home.lock):
        holder = lock.read(home.lock)
        process = scan.get(holder.pid) if holder else None
        if holder and process and process.started == holder.started:
            return holder.what, process
        if time.monotonic() > deadline:
            raise StoreHeld(lock.describe_holder(home.lock))
        time.sleep(_POLL)
    return None


def _stop_starting_daemon(home: Home) -> int | None:
    """Stop a daemon that does not hold the lock yet: only the note of its supervisor, which may be dead, names it."""
    from clew.process import kept_programs

    note = read_note(home)
    process = note.daemon.find() if note and note.daemon else None
    if process is None or kept_programs.other_home(home, process):  # a copy of a home also has a copy of the note
        return None
    _end(process)
    return process.pid


def _end(process: Process) -> None:
    from clew.process import scan

    for number in (signal.SIGTERM, signal.SIGKILL):
        scan.send_signal(process, number)
        if _wait_gone(process, CLOSING):
            break


def _signal_to_stop(home: Home, process: Process, say: Say, restart: bool) -> None:
    """Send SIGTERM, but not for a restart with kept programs: at a signal the daemon would end those too."""
    from clew.process import kept_programs, scan

    say(f"pid {process.pid} gives no answer; waiting for its end…")
    if not (restart and kept_programs.running(home)):
        scan.send_signal(process, signal.SIGTERM)


def _ask_to_stop(home: Home, grace: float, restart: bool) -> bool:
    with suppress(ClewError):
        _post_shutdown(home, {"grace": grace, "restart": restart})
        return True
    return False


def _post_shutdown(home: Home, body: Mapping[str, object]) -> None:
    """Raises OutOfReach if the daemon did not accept it."""
    connection = Connection(home, ANSWER)
    try:
        connection.request("POST", "/api/shutdown", json.dumps(body).encode(), {"Content-Type": "application/json"})
        if connection.getresponse().status >= HTTPStatus.BAD_REQUEST:
            raise OutOfReach("the daemon refused to stop")
    except (OSError, HTTPException) as error:
        raise OutOfReach("the daemon went away before it answered") from error
    finally:
        connection.close()


def _wait_gone(process: Process, timeout: float) -> bool:
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


def _sweep(home: Home, store: str, grace: float, restart: bool) -> None:
    """End leftover processes. Kept programs stay if this is a restart, or if another daemon has started meanwhile; else
    they get `grace` to finish their work."""
    import asyncio

    from clew.process import kept_programs
    from clew.process.scan import sweep
    from clew.support.clock import SystemClock

    async def end() -> None:
        clock = SystemClock()
        if not restart and lock.is_free(home.lock):
            await kept_programs.end_all(home, clock, grace)
        await sweep(lambda: kept_programs.leftovers(home, store), clock)

    asyncio.run(end())
