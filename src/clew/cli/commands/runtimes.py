"""`clew runtimes`: lists the agents, and starts each to check it."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING

import click

from clew.cli.language import in_locale, labels, phrase, word
from clew.cli.output import Out, json_option

if TYPE_CHECKING:
    from clew.model.runtime import Runtime


@dataclass(frozen=True, slots=True)
class Row:
    name: str
    health: str  # healthy, stopped, degraded (from the daemon); missing, trouble
    version: str
    path: str
    logged_in: bool | None  # None: it has no login, or that is unknown
    can: tuple[str, ...]
    todo: str | None


@click.command("runtimes", short_help="List agents and their health.")
@click.option("--all", "list_all", is_flag=True, help="List agents that are not installed, too.")
@json_option
@click.pass_obj
def runtimes_command(out: Out, list_all: bool) -> None:
    """List agents that are installed or in config.toml: version, health, login, and capabilities.

    Each installed agent is started for a moment. Needs no daemon; if one runs, it reports the health of its agents.
    """
    import asyncio

    out.hint(phrase("cli_daemon.looking"))
    rows = asyncio.run(_check_all())
    if out.as_json:
        out.json([asdict(row) for row in rows])
        return
    from clew.cli.view.text_width import table

    needed = _configured()
    hidden = [] if list_all else [row.name for row in rows if row.health == "missing" and row.name not in needed]
    rows = [row for row in rows if row.name not in hidden]

    lines = [
        (row.name, word(row.health), row.version or "–", _login(row), " ".join(map(word, row.can))) for row in rows
    ]
    for line in table([labels("name", "health", "version", "login", "can"), *lines]):
        out.line(line)
    for row in rows:
        if row.todo:
            out.say(f"{row.name}: {in_locale(row.todo)}")
    if hidden:
        from clew.texts.catalogue import say

        out.say(in_locale(say("doctor.not_installed_all", names=", ".join(hidden))))
    out.hint(phrase("cli_daemon.ping_tries"))


def _configured() -> set[str]:
    from clew.cli.doctor.agents import configured
    from clew.config import settings
    from clew.support.home import Home

    return configured(settings.load(Home.find().config))


def _login(row: Row) -> str:
    if row.logged_in is None:
        return word("unknown") if row.path else "–"
    return word("yes") if row.logged_in else word("no")


async def _check_all() -> list[Row]:
    import asyncio

    from clew.cli.commands.daemon import runtime_healths
    from clew.daemon.assemble import own_runtimes

    made, troubles = own_runtimes("runtimes")
    known = runtime_healths()
    rows = await asyncio.gather(*(_row(name, runtime, known.get(name)) for name, runtime in sorted(made.items())))
    broken = [Row(each.name, "trouble", "", "", None, (), each.error) for each in troubles]
    return [*rows, *broken]


async def _row(name: str, runtime: Runtime, health: str | None) -> Row:
    from clew.runtimes.probe import look
    from clew.support.errors import ClewError, RuntimeTrouble, Unable

    try:
        found = await look(runtime)
    except ClewError as error:
        unable = error.unable if isinstance(error, RuntimeTrouble) else None
        state = "missing" if unable is Unable.MISSING else "trouble"
        login = False if unable is Unable.NOT_LOGGED_IN else None
        return Row(name, state, "", "", login, _can(runtime), error.words)
    finally:
        await runtime.close()
    return Row(name, health or "stopped", found.version, found.path, found.logged_in, _can(runtime), None)


def _can(runtime: Runtime) -> tuple[str, ...]:
    return tuple(name for name in runtime.can.__struct_fields__ if getattr(runtime.can, name))
