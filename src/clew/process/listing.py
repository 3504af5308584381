"""Lists the processes of clew with their roles, for `clew ps`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from msgspec import Struct

from clew.process import kept_programs, lock, scan, start
from clew.process.scan import Process
from clew.support.home import Home


class Row(Struct, frozen=True):
    pid: int
    role: str  # supervisor, daemon, agent, keeper (of an agent), command (of an agent), left (over from a dead daemon)
    rss: int  # bytes
    age: float  # seconds
    command: str
    threads: tuple[str, ...] = ()  # the threads that it works for


def list_processes(home: Home, work: Mapping[int, tuple[str, ...]]) -> list[Row]:
    found = []
    note = start.read_note(home)
    if note is not None and start.is_supervised(home) and (process := scan.get(note.supervisor.pid)):
        found.append(_row(process, "supervisor"))
    holder = lock.read(home.lock)
    if holder is None:
        return found
    if not lock.is_free(home.lock) and (process := scan.get(holder.pid)):
        found.append(_row(process, holder.what))
    return [*found, *_children(home, holder, work)]


def _children(home: Home, holder: Any, work: Mapping[int, tuple[str, ...]]) -> list[Row]:
    alive = scan.get(holder.pid)
    is_there = alive is not None and alive.started == holder.started
    marked = sorted(kept_programs.children(home, holder.store) if holder.store else [], key=lambda each: -each.age)
    kept = {each.mark: each for each in kept_programs.running(home)}
    agents = {each.mark: each.pid for each in marked if each.parent == holder.pid}
    agents |= {each.mark: each.program.pid for each in kept.values()}
    rows = []
    for process in marked:
        if process.mark in kept and process.pid == kept[process.mark].keeper.pid:
            rows.append(_row(process, "keeper"))
        elif process.mark in kept or (is_there and process.is_begun_by(holder.pid, holder.started)):
            rows.append(_child(process, agents.get(process.mark), work))
        else:
            rows.append(_row(process, "left"))
    return rows


def _child(process: Process, agent: int | None, work: Mapping[int, tuple[str, ...]]) -> Row:
    """An agent was started by the daemon, or is a kept program; any other process works for the agent with its mark."""
    role = "agent" if process.pid == agent else "command"
    return _row(process, role, work.get(agent, ()) if agent else ())


def _row(process: Process, role: str, threads: tuple[str, ...] = ()) -> Row:
    return Row(process.pid, role, process.rss, round(process.age, 1), process.command, threads)
