"""Stopping the daemon from outside, with its supervisor and everything that they or dead ones left."""

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

CLOSING = 20.0  # seconds beyond its grace in which a daemon must have ended
ANSWER = 5.0  # seconds in which one that does not hang says that it heard
_POLL = 0.05


def restart_daemon(home: Home, grace: float, say: Say) -> None:
    """What outlives a daemon goes on. Raises why it cannot run."""
    home.prepare()
    if _ends_with_it(home, restart=True):
        raise Refused(
            "a restart ends this agent's work before it is over, and this command with it; `clew restart` sees to that"
        )
    with start_lock(home, say):
        stop_daemon(home, grace, say, restart=True)
        start(home, say)


def run_detached(home: Home, words: Sequence[str], *, restart: bool) -> bool:
    """What an agent runs ends with its daemon, before it could start the next one. So a process that is no part of its
    work runs the same command. False: this one is none either."""
    if not _ends_with_it(home, restart):
        return False
    holder = lock.read(home.lock)
    if restart and holder and holder.foreground:
        raise Refused(
            "clew runs in the foreground here, and an agent that restarts it would end what brings it back;"
            " whoever started it can, such as `systemctl --user restart clew.service`"
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


def _ends_with_it(home: Home, restart: bool) -> bool:
    """Whether this process belongs to an agent that ends with the daemon; one that is kept does so only for good."""
    from clew.process import kept_programs
    from clew.process.scan import VARIABLE, Mark

    mark = Mark.parse(os.environ.get(VARIABLE, ""))
    holder = None if lock.is_free(home.lock) else lock.read(home.lock)
    if mark is None or holder is None or holder.store != mark.store:
        return False
    return not (restart and mark in kept_programs.marks(home))


def stop_daemon(home: Home, grace: float, say: Say, *, restart: bool = False) -> bool:
    """End the daemon and its supervisor, if they are there, and everything that they or dead ones left. True: one was.

    The supervisor goes first, because it would bring the daemon back.
    """
    was_supervised = _end_supervisor(home)
    stopped = _stop(home, grace, say, restart)
    if (note := read_note(home)) and note.daemon and note.daemon.pid == stopped:
        _end_supervisor(home)  # a command may have given it a new one meanwhile
    clear_given_up(home)
    holder = lock.read(home.lock)
    if holder and holder.store:
        _sweep(home, holder.store, 0.0 if stopped else grace, restart)
    if lock.is_free(home.lock):
        remove_socket(home.socket)
    return was_supervised or stopped is not None


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
    from clew.process import scan

    if (found := _holding(home)) is None:
        return _stop_begun(home)
    what, process = found
    say(f"stopping the daemon{_what_runs(home, grace, restart)}…")
    if what == "daemon" and not _ask_to_stop(home, grace, restart):
        _tell_to_stop(home, process, say, restart)
    if not _gone(process, grace + CLOSING):
        say(f"pid {process.pid} does not end; killing it…")
        scan.send_signal(process, signal.SIGKILL)
        _gone(process, CLOSING)
    return process.pid


def _what_runs(home: Home, grace: float, restart: bool) -> str:
    """What becomes of running turns."""
    from clew.process import kept_programs

    goes_on = "; what Codex works on goes on" if restart and kept_programs.running(home) else ""
    if not grace:
        return goes_on
    return f"{goes_on}, other turns get up to {grace:g} s" if goes_on else f"; running turns get up to {grace:g} s"


def _holding(home: Home) -> tuple[str, Process] | None:
    """What holds the store, and which process it is. One that has only just taken it is about to say so."""
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


def _stop_begun(home: Home) -> int | None:
    """A daemon that does not hold the store yet is known only to its supervisor, which may be dead."""
    from clew.process import kept_programs

    note = read_note(home)
    process = note.daemon.find() if note and note.daemon else None
    if process is None or kept_programs.other_home(home, process):  # a copy of a home has a copy of that note, too
        return None
    _end(process)
    return process.pid


def _end(process: Process) -> None:
    from clew.process import scan

    for number in (signal.SIGTERM, signal.SIGKILL):
        scan.send_signal(process, number)
        if _gone(process, CLOSING):
            break


def _tell_to_stop(home: Home, process: Process, say: Say, restart: bool) -> None:
    """One that is told by a signal would end what is kept, too."""
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
    """Raises if the daemon did not take it."""
    connection = Connection(home, ANSWER)
    try:
        connection.request("POST", "/api/shutdown", json.dumps(body).encode(), {"Content-Type": "application/json"})
        if connection.getresponse().status >= HTTPStatus.BAD_REQUEST:
            raise OutOfReach("the daemon refused to stop")
    except (OSError, HTTPException) as error:
        raise OutOfReach("the daemon went away before it answered") from error
    finally:
        connection.close()


def _gone(process: Process, patience: float) -> bool:
    """Whether a process ends in time. Woken by its end where the system can tell."""
    from clew.process import scan

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
    while (now := scan.get(process.pid)) and now.started == process.started:
        if sys.platform == "linux" or time.monotonic() > deadline:
            return False
        time.sleep(_POLL)
    return True


def _sweep(home: Home, store: str, grace: float, restart: bool) -> None:
    """What is kept for the next daemon stays where there is to be one, or is already: somebody may have started it
    since. Else it may finish what it works on, unless its daemon has seen to that."""
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
