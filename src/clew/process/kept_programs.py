"""Kept programs: agent programs that outlive the daemon. Each has a keeper process, which holds the lock on the
program's record while both live. Daemons and commands read from these records and locks which programs are kept.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import signal
import subprocess
import sys
from collections.abc import Mapping, Sequence, Set
from pathlib import Path
from typing import Any

from msgspec import Struct

from clew.process import descriptors, lock, scan
from clew.process.scan import Mark, Process, ProcessRef
from clew.support import crash, sockets
from clew.support.clock import Clock
from clew.support.coded import worded
from clew.support.home import Home, remove_socket

SUFFIX = ".kept"
FORCED = 0.5  # seconds between the signal that lets it finish its work and the one that does not
ENDING = 2.0  # seconds within which it must have ended then


class KeptProgram(Struct, frozen=True):
    """A program as its keeper has recorded it."""

    name: str
    keeper: ProcessRef
    program: ProcessRef
    mark: Mark  # carried by the program, its keeper, and all that it starts
    socket: Path
    version: str
    fate: str = ""  # how it ended
    words: tuple[str, ...] = ()  # the last lines of its stderr

    def find(self) -> Process | None:
        """The program, if it still runs."""
        return self.program.find()

    def family(self) -> list[Process]:
        """All processes with its mark."""
        return scan.marked(self.mark)


def running(home: Home) -> list[KeptProgram]:
    """The programs that are kept now; the oldest first."""
    found = (read(path) for path in _records(home) if not lock.is_free(path))
    alive = [kept for kept in found if kept is not None and not kept.fate and kept.find()]
    return sorted(alive, key=lambda kept: kept.program.since)


def named(home: Home, name: str) -> KeptProgram | None:
    return next((kept for kept in running(home) if kept.name == name), None)


def marks(home: Home) -> frozenset[Mark]:
    """The marks of kept programs, which are spared when leftovers of a daemon are ended."""
    return frozenset(kept.mark for kept in running(home))


def children(home: Home, store: str) -> list[Process]:
    """All processes of this home that carry its store's mark."""
    return _of_this_home(home, scan.children(store))


def leftovers(home: Home, store: str) -> list[Process]:
    """Processes that carry this store's mark, are not kept, and were not started by the daemon that holds the lock
    now."""
    holder, kept = _holder(home), marks(home)
    found = (process for process in children(home, store) if process.mark not in kept)
    return [process for process in found if not (holder and process.is_begun_by(holder.pid, holder.started))]


def other_home(home: Home, process: Process) -> Home | None:
    """The home of a daemon or keeper, if it is another one: their working directory is their home's folder, even if
    that was renamed. None also if the system does not say."""
    folder = Path(f"/proc/{process.pid}/cwd")
    with contextlib.suppress(OSError):
        return None if folder.samefile(home.root) else Home(folder.readlink())
    return None


def _of_this_home(home: Home, found: list[Process]) -> list[Process]:
    """Leave out processes of a copy of this home. A copy has the same store id, and so the same marks: what belongs to
    another home's daemon or keeper is not ours."""
    holder = _holder(home)
    ours = {os.getpid(), holder.pid if holder else 0}
    others = {
        each.mark for each in found if _started_by_another_home(home, each, ours) or _kept_by_another_home(home, each)
    }
    return [each for each in found if each.mark not in others]


def _started_by_another_home(home: Home, process: Process, ours: Set[int]) -> bool:
    """Whether the daemon of another home started it. A daemon of this home without the lock is just exiting."""
    daemon = process.mark.daemon() if process.mark else None
    return daemon is not None and daemon.pid not in ours and other_home(home, daemon) is not None


def _kept_by_another_home(home: Home, process: Process) -> bool:
    other = other_home(home, process)
    return other is not None and process.mark in marks(other)


def _holder(home: Home) -> lock.Holder | None:
    """The process that holds the home's lock now."""
    return None if lock.is_free(home.lock) else lock.read(home.lock)


def read(path: Path) -> KeptProgram | None:
    """Parse a record, also of a program that has ended."""
    with contextlib.suppress(OSError, ValueError, TypeError, KeyError):
        data: dict[str, Any] = json.loads(path.read_bytes())
        if mark := Mark.parse(data["mark"]):
            return KeptProgram(
                path.stem,
                ProcessRef(**data["keeper"]),
                ProcessRef(**data["program"]),
                mark,
                Path(data["socket"]),
                data["version"],
                _in_words(data["fate"]),
                tuple(data["words"]),
            )
    return None


def _in_words(fate: str) -> str:
    """How a program ended, by its exit code. An earlier keeper noted words."""
    if not fate.removeprefix("-").isdecimal():
        return fate
    code = int(fate)
    if code < 0:
        return worded("runtimes.killed", "killed by {signal}", signal=scan.signal_name(-code))
    return worded("runtimes.exit_code", "exit code {code}", code=code)


def _records(home: Home) -> list[Path]:
    return list(home.run.glob(f"*{SUFFIX}"))


def record(home: Home, name: str) -> Path:
    return home.run / f"{name}{SUFFIX}"


async def listens(path: Path) -> bool:
    """Whether somebody listens at the socket, even if they accept no connection."""
    try:
        return await asyncio.to_thread(sockets.is_listening, path)
    except TimeoutError:
        return True


async def start(
    home: Home,
    name: str,
    command: Sequence[str],
    *,
    look: Sequence[str],
    mark: Mark,
    env: Mapping[str, str],
    keep_alive: float,
    version: str,
) -> KeptProgram | None:
    """Start a keeper, which starts the program. None: the keeper did not start it. Raises OSError."""
    path = record(home, name)
    at = home.prepare_socket(f"{name}.sock")
    at.unlink(missing_ok=True)
    _delete_ended_records(home, path)
    about = json.dumps({"mark": str(mark), "socket": str(at), "version": version})[1:-1]
    given = (path, home.lock, home.logs / f"{name.partition('-')[0]}.log", "READY", keep_alive, at, about)
    await asyncio.to_thread(_run_keeper, home, [*map(str, given), *look, "--", *command], dict(env))
    crash.point("child.started-not-known")
    kept = read(path)
    if kept is None or kept.mark != mark:
        return None
    crash.detached.add(kept.program.pid)
    descriptors.restore_limit(kept.program.pid)
    return kept


def _delete_ended_records(home: Home, ours: Path) -> None:
    """Delete the records of ended programs with other names."""
    for path in _records(home):
        if path != ours and lock.is_free(path):
            path.unlink(missing_ok=True)


def _run_keeper(home: Home, argv: list[str], env: dict[str, str]) -> None:
    """Run a keeper. It detaches at once; a line in the pipe says that the program was started."""
    from clew.process import keeper, start  # few daemons keep a program

    receiver, sender = os.pipe()
    argv[argv.index("READY")] = str(sender)
    with os.fdopen(receiver, "rb") as pipe, start.daemon_output(home) as out:
        try:
            subprocess.run(
                [sys.executable, "-I", "-S", keeper.__file__, *argv],
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=out,
                env=env,
                cwd=home.root,
                pass_fds=[sender],
                check=False,
            )
        finally:
            os.close(sender)
        pipe.readline()


async def end(kept: KeptProgram, clock: Clock, grace: float = 0.0) -> None:
    """End a kept program: the first SIGTERM lets it finish its work within `grace`, the second does not. Then end what
    is left of it."""
    relatives: set[tuple[int, str]] = set()  # some can be found only while it lives

    def left() -> list[Process]:
        return [each for each in scan.scan() if each.mark == kept.mark or each.key in relatives]

    for timeout in (max(grace, FORCED), FORCED):
        if (process := kept.find()) is None:
            break
        relatives |= {each.key for each in await asyncio.to_thread(kept.family)}
        scan.send_signal(process, signal.SIGTERM)
        await scan.wait_gone(process, clock, timeout)
    await scan.end_all(left, clock, ENDING)
    remove_socket(kept.socket)


async def end_leftovers(home: Home, clock: Clock) -> None:
    """End what programs have left that are no longer kept, such as one that was killed: it may still write."""
    alive = marks(home)
    over = {kept.mark for path in _records(home) if (kept := read(path)) is not None} - alive
    if over:
        await scan.end_all(lambda: _with_marks(home, over), clock, ENDING)


def _with_marks(home: Home, wanted: Set[Mark]) -> list[Process]:
    return _of_this_home(home, [each for each in scan.scan() if each.mark in wanted])


async def end_all(home: Home, clock: Clock, grace: float) -> None:
    await asyncio.gather(*(end(kept, clock, grace) for kept in running(home)))
