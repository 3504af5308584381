"""`clew ps`: the processes of clew and their roles."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import click
from msgspec.structs import asdict

from clew.cli.language import labels, phrase, word
from clew.cli.output import Out, json_option, table

if TYPE_CHECKING:
    from clew.model.views import ThreadView
    from clew.process.listing import Row


@click.command("ps", short_help="List the processes of clew and their roles.")
@json_option
@click.pass_obj
def ps_command(out: Out) -> None:
    """List the processes of clew: supervisor, daemon, agents and their commands. Needs no daemon."""
    from clew.process.listing import list_processes
    from clew.support.home import Home

    rows = list_processes(Home.find(), _work())
    if out.as_json:
        out.json([asdict(row) for row in rows])
        return
    if not rows:
        out.say(phrase("cli_daemon.none_runs"))
        return
    for line in table([labels("pid", "role", "memory", "age", "command", "threads"), *map(_cells, rows)]):
        out.line(line)
    roles = {row.role for row in rows}
    if "left" in roles:
        out.say(phrase("cli_daemon.left_processes"))
    if "keeper" in roles and "daemon" not in roles:
        out.say(phrase("cli_daemon.agent_kept"))


def _work() -> Mapping[int, tuple[str, ...]]:
    """The running threads by the pid of their runtime; empty if no daemon answers."""
    from clew.client import requests
    from clew.client.sync import Client
    from clew.support.errors import ClewError
    from clew.support.home import Home

    client = Client(Home.find(), start=False, timeout=5.0)
    try:
        runtimes = client.ask(requests.status()).runtimes
        running = client.ask(requests.threads(status="running", limit=1000)).threads
    except (ClewError, OSError):
        return {}
    return {each.pid: _threads_on(each.name, running) for each in runtimes if each.pid}


def _threads_on(runtime: str, running: Sequence[ThreadView]) -> tuple[str, ...]:
    return tuple(thread.id for thread in running if thread.runtime == runtime)


def _cells(row: Row) -> tuple[str, ...]:
    from clew.cli.view.text_width import age

    memory = f"{row.rss / 1_000_000:.0f} MB"
    return str(row.pid), word(row.role), memory, age(row.age), row.command, " ".join(row.threads)
