"""`clew ps`: every process that is clew's, and what it is there for."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import click
from msgspec import Struct
from msgspec.structs import asdict

from clew.cli.out import Out, json_option, table

if TYPE_CHECKING:
    from clew.home import Home
    from clew.processes import Process


class Row(Struct, frozen=True):
    pid: int
    role: str  # supervisor, daemon, agent, keeper (of an agent), command (of an agent), left (by a dead daemon)
    rss: int  # bytes
    age: float  # seconds
    command: str
    threads: tuple[str, ...] = ()  # that it works for


@click.command("ps", short_help="Every process of clew, with what it is there for.")
@json_option
@click.pass_obj
def ps_command(out: Out) -> None:
    """Every process of clew: supervisor, daemon, agents and what they have started. Needs no daemon."""
    from clew.home import Home

    rows = list_processes(Home.find(), _work())
    if out.as_json:
        out.json([asdict(row) for row in rows])
        return
    if not rows:
        out.say("no process of clew runs; clew up starts it")
        return
    for line in table([("PID", "ROLE", "MEMORY", "AGE", "COMMAND", "THREADS"), *map(_cells, rows)]):
        out.line(line)
    roles = {row.role for row in rows}
    if "left" in roles:
        out.say("clew doctor --clean ends what a daemon that is gone has left")
    if "keeper" in roles and "daemon" not in roles:
        out.say("an agent is kept for the next daemon: clew up attaches to it, clew down ends it")


def _work() -> Mapping[int, tuple[str, ...]]:
    """By pid of a runtime's process: the threads that it works for now. Nothing where no daemon answers."""
    from clew.client import Client
    from clew.errors import ClewError
    from clew.home import Home

    client = Client(Home.find(), start=False, patience=5.0)
    try:
        runtimes = client.get("status")["runtimes"]
        running = client.get("threads", status="running", limit=1000)["threads"]
    except (ClewError, OSError):
        return {}
    return {each["pid"]: _threads_on(each["name"], running) for each in runtimes if each["pid"]}


def _threads_on(runtime: str, running: list[Any]) -> tuple[str, ...]:
    return tuple(thread["id"] for thread in running if thread["runtime"] == runtime)


def list_processes(home: Home, work: Mapping[int, tuple[str, ...]]) -> list[Row]:
    from clew import launch, lock, processes

    found = []
    note = launch.read_note(home)
    if note is not None and launch.is_supervised(home) and (process := processes.look(note.supervisor.pid)):
        found.append(_row(process, "supervisor"))
    holder = lock.read(home.lock)
    if holder is None:
        return found
    if not lock.is_free(home.lock) and (process := processes.look(holder.pid)):
        found.append(_row(process, holder.what))
    return [*found, *_children(home, holder, work)]


def _children(home: Home, holder: Any, work: Mapping[int, tuple[str, ...]]) -> list[Row]:
    from clew import keepers, processes

    alive = processes.look(holder.pid)
    is_there = alive is not None and alive.started == holder.started
    marked = sorted(processes.children(holder.store) if holder.store else [], key=lambda each: -each.age)
    kept = {each.mark: each for each in keepers.living(home)}
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
    """An agent is what the daemon has started, or is kept for it; the rest works for the one whose mark it carries."""
    role = "agent" if process.pid == agent else "command"
    return _row(process, role, work.get(agent, ()) if agent else ())


def _row(process: Process, role: str, threads: tuple[str, ...] = ()) -> Row:
    return Row(process.pid, role, process.rss, round(process.age, 1), process.command, threads)


def _cells(row: Row) -> tuple[str, ...]:
    from clew.cli.columns import age

    memory = f"{row.rss / 1_000_000:.0f} MB"
    return str(row.pid), row.role, memory, age(row.age), row.command, " ".join(row.threads)
