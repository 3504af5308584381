"""Programs that outlive the daemon: each has a keeper, which holds the lock on its record as long as both live. Who
is kept is read from these records and their locks, by every daemon and by commands that need none.
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

from clew.process import descriptors, keeper, lock, scan
from clew.process import start as proce_start
from clew.process.scan import Mark, Process, ProcessRef
from clew.support import crash, sockets
from clew.support.clock import Clock
from clew.support.home import Home, remove_socket

SUFFIX = ".kept"
FORCED = 0.5  # seconds between the signal that lets it finish and the one that does not
ENDING = 2.0  # seconds in which it must have ended then


class KeptProgram(Struct, frozen=True):
    """A program as its keeper has written it down."""

    name: str
    keeper: ProcessRef
    program: ProcessRef
    mark: Mark  # carried by the program, its keeper, and all that it starts
    socket: Path
    version: str
    fate: str = ""  # how it ended
    words: tuple[str, ...] = ()  # its last ones

    def find(self) -> Process | None:
        """The program, if it still runs."""
        return self.program.find()

    def family(self) -> list[Process]:
        """All that has its mark."""
        return [process for process in scan.scan() if process.mark == self.mark]


def running(home: Home) -> list[KeptProgram]:
    """Those that are kept now; the oldest first."""
    found = (read(path) for path in _records(home) if not lock.is_free(path))
    alive = [kept for kept in found if kept is not None and not kept.fate and kept.find()]
    return sorted(alive, key=lambda kept: kept.program.since)


def named(home: Home, name: str) -> KeptProgram | None:
    return next((kept for kept in running(home) if kept.name == name), None)


def marks(home: Home) -> frozenset[Mark]:
    """What is spared where all is swept that a daemon left."""
    return frozenset(kept.mark for kept in running(home))


def children(home: Home, store: str) -> list[Process]:
    """All of this home that carries its store's mark."""
    return _without_others(home, scan.children(store))


def leftovers(home: Home, store: str) -> list[Process]:
    """What carries this store's mark, is not kept, and was not begun by the daemon that is there now, if only since
    a moment."""
    holder, kept = _holder(home), marks(home)
    found = (process for process in children(home, store) if process.mark not in kept)
    return [process for process in found if not (holder and process.is_begun_by(holder.pid, holder.started))]


def other_home(home: Home, process: Process) -> Home | None:
    """Where it works, if that is not here; daemons and keepers work in the folder of their home, whatever its name is
    by now. None also where the system does not tell."""
    folder = Path(f"/proc/{process.pid}/cwd")
    with contextlib.suppress(OSError):
        return None if folder.samefile(home.root) else Home(folder.readlink())
    return None


def _without_others(home: Home, found: list[Process]) -> list[Process]:
    """A copy of a home has the same store, and so the same mark: what a daemon or a keeper looks after that is not
    ours is not ours either."""
    holder = _holder(home)
    ours = {os.getpid(), holder.pid if holder else 0}
    others = {each.mark for each in found if _is_begun_elsewhere(home, each, ours) or _is_kept_elsewhere(home, each)}
    return [each for each in found if each.mark not in others]


def _is_begun_elsewhere(home: Home, process: Process, ours: Set[int]) -> bool:
    """By the daemon of another home. One of this home that seems to live is just dying: it has let go of the lock."""
    daemon = process.mark.daemon() if process.mark else None
    return daemon is not None and daemon.pid not in ours and other_home(home, daemon) is not None


def _is_kept_elsewhere(home: Home, process: Process) -> bool:
    other = other_home(home, process)
    return other is not None and process.mark in marks(other)


def _holder(home: Home) -> lock.Holder | None:
    """Who is there now."""
    return None if lock.is_free(home.lock) else lock.read(home.lock)


def read(path: Path) -> KeptProgram | None:
    """Also of one that has ended."""
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
                data["fate"],
                tuple(data["words"]),
            )
    return None


def _records(home: Home) -> list[Path]:
    return list(home.run.glob(f"*{SUFFIX}"))


def record(home: Home, name: str) -> Path:
    return home.run / f"{name}{SUFFIX}"


async def listens(path: Path) -> bool:
    """Whether somebody is there, if only to take nobody in."""
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
    """Begin a keeper, and by it the program. None: it did not even come to that. Raises OSError."""
    path = record(home, name)
    at = home.prepare_socket(f"{name}.sock")
    at.unlink(missing_ok=True)
    _forget_ended(home, path)
    about = json.dumps({"mark": str(mark), "socket": str(at), "version": version})[1:-1]
    given = (path, home.lock, home.logs / f"{name.partition('-')[0]}.log", "READY", keep_alive, at, about)
    await asyncio.to_thread(_begin, home, [*map(str, given), *look, "--", *command], dict(env))
    crash.point("child.started-not-known")
    kept = read(path)
    if kept is None or kept.mark != mark:
        return None
    crash.detached.add(kept.program.pid)
    descriptors.restore_limit(kept.program.pid)
    return kept


def _forget_ended(home: Home, ours: Path) -> None:
    """What programs of other names have left."""
    for path in _records(home):
        if path != ours and lock.is_free(path):
            path.unlink(missing_ok=True)


def _begin(home: Home, argv: list[str], env: dict[str, str]) -> None:
    """It leaves this process at once; its word tells that the program is begun."""
    receiver, sender = os.pipe()
    argv[argv.index("READY")] = str(sender)
    with os.fdopen(receiver, "rb") as pipe, proce_start.daemon_output(home) as out:
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
    """The first signal lets it finish what it works on, for so long; the second does not. Then what is left of it."""
    relatives: set[tuple[int, str]] = set()  # some are known as such only as long as it lives

    def left() -> list[Process]:
        return [each for each in scan.scan() if each.mark == kept.mark or each.key in relatives]

    for patience in (max(grace, FORCED), FORCED):
        if (process := kept.find()) is None:
            break
        relatives |= {each.key for each in await asyncio.to_thread(kept.family)}
        scan.send_signal(process, signal.SIGTERM)
        await scan.wait_gone(process, clock, patience)
    await scan.end_all(left, clock, ENDING)
    remove_socket(kept.socket)


async def end_leftovers(home: Home, clock: Clock) -> None:
    """What those have left that are not kept any more, such as one that was killed: it may still write."""
    alive = marks(home)
    over = {kept.mark for path in _records(home) if (kept := read(path)) is not None} - alive
    if over:
        await scan.end_all(lambda: _carrying(home, over), clock, ENDING)


def _carrying(home: Home, wanted: Set[Mark]) -> list[Process]:
    return _without_others(home, [each for each in scan.scan() if each.mark in wanted])


async def end_all(home: Home, clock: Clock, grace: float) -> None:
    await asyncio.gather(*(end(kept, clock, grace) for kept in running(home)))
