"""Stops or restarts the daemon and its supervisor, and ends leftover processes of theirs and of dead daemons."""

from __future__ import annotations

import json
import os
import signal
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from clew.process import lock, supervisor
from clew.process.connection import Connection
from clew.process.start import (
    CLOSING,
    Say,
    clear_given_up,
    daemon_environment,
    daemon_output,
    end_process,
    end_supervisor,
    is_supervised,
    living_holder,
    read_note,
    start,
    start_lock,
    wait_gone,
)
from clew.support.coded import worded
from clew.support.errors import ClewError, OutOfReach, Refused, StoreHeld
from clew.support.home import Home, remove_socket

if TYPE_CHECKING:
    from clew.process.scan import Process

ANSWER = 5.0  # seconds within which a daemon that does not hang responds to the request
_POLL = 0.05


def restart_daemon(home: Home, grace: float, say: Say) -> None:
    """Restart the daemon. Kept programs go on. Raises the reason if it cannot run."""
    home.prepare()
    if would_end_us(home, restart=True):
        raise Refused(
            worded(
                "process.would_end_us",
                "a restart would end this agent and this process. Use the command `clew restart`, which handles that.",
            )
        )
    with start_lock(home, say):
        stop_daemon(home, grace, say, restart=True)
        start(home, say)


def run_detached(home: Home, words: Sequence[str], *, restart: bool) -> bool:
    """Run the same command in a process that is not part of the agent: a command of an agent ends with the daemon,
    before it could start the next one. False: not needed, this process is not part of an agent."""
    if not would_end_us(home, restart):
        return False
    holder = lock.read(home.lock)
    if restart and holder and holder.foreground:
        raise Refused(
            worded(
                "process.runs_in_foreground",
                "Cannot restart from inside an agent: clew runs in the foreground. Restart it where you started it, for"
                " example with `systemctl --user restart clew.service`.",
            )
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


def would_end_us(home: Home, restart: bool) -> bool:
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
    was_former = _stop_former(home)
    was_supervised = end_supervisor(home)
    stopped = _stop(home, grace, say, restart)
    if (note := read_note(home)) and note.daemon and note.daemon.pid == stopped:
        end_supervisor(home)  # a command may have started a new one meanwhile
    clear_given_up(home)
    strays = end_strays(home)
    holder = lock.read(home.lock)
    if holder and holder.store:
        _sweep(home, holder.store, 0.0 if stopped else grace, restart)
    if lock.is_free(home.lock):
        remove_socket(home.socket)
    return was_former or was_supervised or stopped is not None or bool(strays)


def _stop_former(home: Home) -> bool:
    """End the supervisor and the daemon of an earlier version, which had their locks elsewhere. True: there was one."""
    from clew.process import scan

    is_there = False
    for path in home.former_locks:
        if lock.is_free(path):
            continue
        is_there = True
        if (process := scan.get(_holder_pid(path))) is not None:
            end_process(process)
    return is_there


def _holder_pid(path: Path) -> int:
    """The process that a lock file names; 0 if it names none."""
    with suppress(OSError, ValueError, TypeError, KeyError):
        data = json.loads(path.read_bytes())
        return int(data["supervisor"]["pid"] if "supervisor" in data else data["pid"])
    return 0


def end_strays(home: Home) -> list[Process]:
    """End daemons and supervisors of this home that hold no lock, because somebody has removed its file. Supervisors
    first, because they would start another daemon."""
    ended = []
    for is_kind in (_is_supervisor, _is_daemon):
        for process in _strays(home, is_kind):
            end_process(process)
            ended.append(process)
    return ended


def _strays(home: Home, is_kind: Callable[[list[str]], bool]) -> list[Process]:
    from clew.process import scan

    note = read_note(home) if is_supervised(home) else None
    holder = living_holder(home)
    known = {holder[1].pid if holder else 0}
    known |= {each.pid for each in (note.supervisor, note.daemon) if each} if note else set()
    found = (each for each in scan.scan() if each.has_cleared_mark and each.pid not in known)
    return [each for each in found if _works_in(home, each) and is_kind(_argv(each))]


def _works_in(home: Home, process: Process) -> bool:
    """Whether its working directory is the home, as that of its daemons and supervisors. False if the system does not
    say."""
    with suppress(OSError):
        return Path(f"/proc/{process.pid}/cwd").samefile(home.root)
    return False


def _argv(process: Process) -> list[str]:
    with suppress(OSError):
        return Path(f"/proc/{process.pid}/cmdline").read_bytes().decode(errors="replace").split("\0")
    return []


def _is_supervisor(argv: list[str]) -> bool:
    return Path(supervisor.__file__).name in {Path(word).name for word in argv[1:4]}


def _is_daemon(argv: list[str]) -> bool:
    return "clew.daemon.main" in argv and not _is_supervisor(argv)


def _stop(home: Home, grace: float, say: Say, restart: bool) -> int | None:
    """Stop the daemon. Returns its pid; None if there was none."""
    from clew.process import scan

    if (found := _find_holder(home)) is None:
        return _stop_starting_daemon(home)
    what, process = found
    say(worded("process.stopping", "stopping the daemon{turns}…", turns=_turns_note(home, grace, restart)))
    if what == "daemon" and not _ask_to_stop(home, grace, restart):
        _signal_to_stop(home, process, say, restart)
    if not wait_gone(process, grace + CLOSING):
        say(worded("process.killing", "pid {pid} does not end; killing it…", pid=f"{process.pid}"))
        scan.send_signal(process, signal.SIGKILL)
        wait_gone(process, CLOSING)
    return process.pid


def _turns_note(home: Home, grace: float, restart: bool) -> str:
    """What happens to running turns, for the message."""
    from clew.process import kept_programs

    if restart and kept_programs.running(home):
        others = worded("process.others_get", ", other turns get up to {grace} s", grace=f"{grace:g}") if grace else ""
        return worded("process.agents_go_on", "; what kept agents work on goes on{others}", others=others)
    return worded("process.turns_get", "; running turns get up to {grace} s", grace=f"{grace:g}") if grace else ""


def _find_holder(home: Home) -> tuple[str, Process] | None:
    """The kind and the process of the lock's holder. A new holder needs a moment to write its name."""

    deadline = time.monotonic() + CLOSING
    while not lock.is_free(home.lock):
        if (found := living_holder(home)) is not None:
            return found[0].what, found[1]
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
    end_process(process)
    return process.pid


def _signal_to_stop(home: Home, process: Process, say: Say, restart: bool) -> None:
    """Send SIGTERM, but not for a restart with kept programs: at a signal the daemon would end those too."""
    from clew.process import kept_programs, scan

    say(worded("process.gives_no_answer", "pid {pid} gives no answer; waiting for its end…", pid=f"{process.pid}"))
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
        if connection.getresponse().status >= 400:
            raise OutOfReach(worded("process.refused_to_stop", "the daemon refused to stop"))
    except OSError as error:
        raise OutOfReach(worded("process.went_away", "the daemon went away before it answered")) from error
    finally:
        connection.close()


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
