"""Finds the processes of clew on this machine by the mark in their environment, or in an ancestor's, and ends them.

A process is identified by (pid, start time), so that a recycled pid is never signalled. We never signal ourselves or an
ancestor: a daemon that was started from within an agent carries that agent's mark.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from clew.support.clock import Clock

log = logging.getLogger(__name__)

VARIABLE = "CLEW_CHILD"
NO_MARK = ""  # the variable's value in a process that is not part of the agent that started it
BEGUN_BY = re.compile(r"\.(\d+)\.([^.]+)(?:\.[^.]+)?$")  # a daemon's pid and start time, at the end of an incarnation
SAME = 2_000  # milliseconds by which two measurements of the start of one process may differ


class Mark(Struct, frozen=True):
    """What a child and its descendants carry in their environment, unless something has cleared it."""

    store: str
    incarnation: str
    child: int

    @classmethod
    def parse(cls, text: str) -> Mark | None:
        store, _, rest = text.partition(":")
        incarnation, _, child = rest.rpartition(":")
        return cls(store, incarnation, int(child)) if child.isdecimal() else None

    def __str__(self) -> str:
        return f"{self.store}:{self.incarnation}:{self.child}"

    def daemon(self) -> Process | None:
        """The daemon that started the process with this mark, if it still runs."""
        named = BEGUN_BY.search(self.incarnation)
        process = get(int(named[1])) if named else None
        return process if process and named and process.started == named[2] else None


class Marks:
    """Creates marks, one per child. The daemon passes it to its runtimes."""

    def __init__(self, store: str, incarnation: str) -> None:
        if ":" in store:
            raise ValueError(f"a store's id must not contain a colon: {store!r}")
        self.store = store
        self.incarnation = incarnation
        self._count = 0

    def next(self) -> Mark:
        self._count += 1
        return Mark(self.store, self.incarnation, self._count)


class Process(Struct, frozen=True):
    pid: int
    started: str  # the start time, opaque; with the pid it identifies a process uniquely
    parent: int
    group: int
    session: int
    rss: int  # bytes
    age: float  # seconds
    command: str
    mark: Mark | None
    has_cleared_mark: bool = False  # the variable is set to NO_MARK

    @property
    def key(self) -> tuple[int, str]:
        return self.pid, self.started

    def is_begun_by(self, pid: int, started: str) -> bool:
        """Whether it carries the mark of this daemon."""
        return self.mark is not None and f".{pid}.{started}." in f".{self.mark.incarnation}."


class ProcessRef(Struct, frozen=True):
    """A process, as a supervisor or a keeper records it."""

    pid: int
    started: str  # empty: this system has no start time to read, so `since` is compared instead
    since: int

    def find(self) -> Process | None:
        """The process, if it still runs; never a later one with the same pid."""
        process = get(self.pid)
        return process if process and self._is(process) else None

    def _is(self, process: Process) -> bool:
        if self.started:
            return process.started == self.started
        return abs(time.time() * 1000 - process.age * 1000 - self.since) < SAME


def scan() -> list[Process]:
    """Every live process that we may inspect, without ourselves and our ancestors. A process without a mark gets that
    of its nearest ancestor: an agent may start a command with an empty environment."""
    seen = _scan_linux() if sys.platform == "linux" else _scan_ps()
    mine = _lineage(seen)
    others = {process.pid: process for process in seen if process.pid not in mine}
    return [replace(process, mark=_mark(process, others)) for process in others.values()]


def get(pid: int) -> Process | None:
    """The live process with this pid, with only its own mark."""
    if sys.platform == "linux":
        return _read_linux(Path(f"/proc/{pid}"))
    return next((process for process in _scan_ps() if process.pid == pid), None)


def marked(mark: Mark) -> list[Process]:
    """All processes with this mark. The type matters: a comparison with no mark would find every process of others."""
    return [process for process in scan() if process.mark == mark]


def children(store: str) -> list[Process]:
    """All processes with this store's mark, of any daemon run, and of any home: a copy of a home has the same store."""
    return [process for process in scan() if process.mark and process.mark.store == store]


def family(root: int, seen: Iterable[Process]) -> list[Process]:
    """A process, its session and group, and its descendants."""
    members: set[int] = {root}
    seen = sorted(seen, key=lambda process: process.age, reverse=True)
    while found := {p.pid for p in seen if {p.parent, p.session, p.group} & members} - members:
        members |= found
    return [process for process in seen if process.pid in members]


async def sweep(find: Callable[[], list[Process]], clock: Clock, grace: float = 2.0) -> list[Process]:
    ended = await end_all(find, clock, grace)
    for process in ended:
        log.warning("ended a process left by an earlier run: pid %d, %s", process.pid, process.command)
    return ended


async def end_all(find: Callable[[], list[Process]], clock: Clock, grace: float = 2.0) -> list[Process]:
    """Send SIGTERM, then SIGKILL, until `find` finds nothing, including processes forked meanwhile. Returns what has
    ended; a process of another user, such as an agent's `sudo`, may survive."""
    ended: dict[tuple[int, str], Process] = {}

    def find_left() -> list[Process]:
        """Also those that were signalled and are not found any more: the ancestor with the mark may have ended."""
        found = {process.key: process for process in find()}
        orphans = {key: process for key, process in ended.items() if key not in found and is_alive(process)}
        return [*found.values(), *orphans.values()]

    for number in (signal.SIGTERM, signal.SIGKILL):
        if not (left := await _signal_until_gone(find_left, number, clock, grace, ended)):
            break
    else:
        log.error("still alive after SIGKILL: %s", ", ".join(str(process.pid) for process in left))
    return [process for process in ended.values() if not is_alive(process)]


async def _signal_until_gone(
    find: Callable[[], list[Process]],
    number: signal.Signals,
    clock: Clock,
    grace: float,
    ended: dict[tuple[int, str], Process],
) -> list[Process]:
    signalled: set[tuple[int, str]] = set()
    deadline = clock.monotonic() + grace
    pause = 0.005
    while alive := await _find(find, clock, sure=not ended):
        for process in alive:
            if process.key not in signalled:
                send_signal(process, number)
        signalled |= {process.key for process in alive}
        ended |= {process.key: process for process in alive}
        if clock.monotonic() > deadline:
            break
        await clock.sleep(pause)
        pause = min(pause * 2, 0.1)
    return alive


async def _find(find: Callable[[], list[Process]], clock: Clock, *, sure: bool) -> list[Process]:
    """Find processes. During its exec a process shows no environment for a moment, so an empty result is checked twice,
    unless `sure`."""
    if (found := await asyncio.to_thread(find)) or sure:
        return found
    await clock.sleep(0.005)
    return await asyncio.to_thread(find)


def is_alive(process: Process) -> bool:
    """Whether this process, not another one with its pid, is alive."""
    now = get(process.pid)
    return now is not None and now.started == process.started


async def wait_gone(process: Process, clock: Clock, seconds: float) -> bool:
    """Wait for the end of a process that is not our child. False on timeout."""
    deadline = clock.monotonic() + seconds
    pause = 0.005
    while is_alive(process):
        if clock.monotonic() > deadline:
            return False
        await clock.sleep(pause)
        pause = min(pause * 2, 0.1)
    return True


def send_signal(process: Process, number: signal.Signals) -> None:
    """Send a signal to this process, never to another one with the same pid."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        if sys.platform == "linux":
            _send_signal_linux(process, number)
        elif is_alive(process):
            os.kill(process.pid, number)


def signal_name(number: int) -> str:
    """The name of a signal. Of the real-time signals only the first and the last have one."""
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"


def _mark(process: Process, others: Mapping[int, Process]) -> Mark | None:
    """Its own mark, or that of its nearest ancestor with one, if all between them live. Stops at a process that has
    cleared its mark."""
    line: Process | None = process
    passed: set[int] = set()
    while line and not line.mark and not line.has_cleared_mark and line.pid not in passed:
        passed.add(line.pid)
        line = others.get(line.parent)
    return line.mark if line else None


def _lineage(seen: Iterable[Process]) -> set[int]:
    parents = {process.pid: process.parent for process in seen}
    mine = {os.getpid()}
    pid = os.getppid()
    while pid not in mine:
        mine.add(pid)
        pid = parents.get(pid, pid)
    return mine


if sys.platform == "linux":
    _TICKS = os.sysconf("SC_CLK_TCK")
    _PAGE = os.sysconf("SC_PAGE_SIZE")
    _PREFIX = f"{VARIABLE}=".encode()

    def _scan_linux() -> list[Process]:
        folders = (entry for entry in Path("/proc").iterdir() if entry.name.isdecimal())
        return [process for folder in folders if (process := _read_linux(folder))]

    def _read_linux(folder: Path) -> Process | None:
        try:
            head, _, tail = (folder / "stat").read_text(errors="replace").rpartition(")")
            fields = tail.split()
            uptime = float(Path("/proc/uptime").read_text().split()[0])
        except OSError:
            return None
        if fields[0] in "ZX":
            return None
        variable = _mark_variable_linux(folder)
        return Process(
            pid=int(folder.name),
            started=fields[19],
            parent=int(fields[1]),
            group=int(fields[2]),
            session=int(fields[3]),
            rss=int(fields[21]) * _PAGE,
            age=max(0.0, uptime - int(fields[19]) / _TICKS),
            command=head.partition("(")[2],
            mark=Mark.parse(variable or ""),
            has_cleared_mark=variable == NO_MARK,
        )

    def _mark_variable_linux(folder: Path) -> str | None:
        try:
            variables = (folder / "environ").read_bytes().split(b"\0")
        except OSError:
            return None  # another user's process, or gone
        found = next((each for each in variables if each.startswith(_PREFIX)), None)
        return found[len(_PREFIX) :].decode(errors="replace") if found else None

    def _send_signal_linux(process: Process, number: signal.Signals) -> None:
        handle = os.pidfd_open(process.pid)
        try:
            # The handle is bound to one process: the one that is checked gets the signal.
            if is_alive(process):
                signal.pidfd_send_signal(handle, number)
        finally:
            os.close(handle)


_PS = re.compile(r"\s*(\d+)\s+(\d+)\s+(\d+)\s+(\d+)\s+([\d:.-]+)\s+(\w+\s+\w+\s+\d+\s+[\d:]+\s+\d+)\s+(.*)")


def _scan_ps() -> list[Process]:
    """macOS: `ps -E` appends the environment to the command, for our own processes."""
    argv = ["ps", "-axwwE", "-o", "pid=,ppid=,pgid=,rss=,etime=,lstart=,command="]
    out = subprocess.run(argv, capture_output=True, text=True, errors="replace", env={**os.environ, "LC_ALL": "C"})
    return [process for line in out.stdout.splitlines() if (process := _read_ps(line))]


def _read_ps(line: str) -> Process | None:
    if not (match := _PS.match(line)):
        return None
    pid, parent, group, rss, elapsed, started, command = match.groups()
    found = re.search(rf"(?:^|\s){VARIABLE}=(\S*)", command)
    return Process(
        pid=int(pid),
        started=" ".join(started.split()),
        parent=int(parent),
        group=int(group),
        session=int(group),  # ps tells no session id there
        rss=int(rss) * 1024,
        age=_elapsed(elapsed),
        command=command.split(" ", 1)[0],
        mark=Mark.parse(found[1]) if found else None,
        has_cleared_mark=found is not None and found[1] == NO_MARK,
    )


def _elapsed(text: str) -> float:
    """`[[days-]hours:]minutes:seconds`"""
    days, _, clock = text.rpartition("-")
    seconds = 0.0
    for part in clock.split(":"):
        seconds = seconds * 60 + float(part)
    return seconds + int(days or 0) * 86_400
