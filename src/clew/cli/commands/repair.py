"""clew repair: shows the rows of the database that cannot be read, and sets them aside."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import click

from clew.cli.language import labels, phrase
from clew.cli.output import Out, json_option, table
from clew.support.errors import OutOfReach
from clew.support.home import Home

if TYPE_CHECKING:
    from clew.model.views import DamagedRow

LIVE = frozenset({"threads", "turns", "gates", "items", "steers"})  # what a running turn may have waited for


@click.command("repair", short_help="Show rows of the database that cannot be read; set them aside.")
@click.option("--apply", is_flag=True, help="Set them aside, without a question.")
@json_option
@click.pass_obj
def repair_command(out: Out, apply: bool) -> None:
    """Show the rows of the database that cannot be read. Each holds up its own thread only.

    With --apply, or after a question on a terminal, they are set aside, with what belongs to them: removed from their
    tables, and kept as they are in the table set_aside. History is never changed, and what a newer clew may have
    written stays. Never starts the daemon. Exit 1 if damaged rows stay.
    """
    found, _ = _ask(apply=False)
    movable = [each for each in found if each.stays is None]
    is_agreed = bool(movable) and (apply or _agrees(out, movable))
    done, is_running = _ask(apply=True) if is_agreed else ((), False)
    if out.as_json:
        out.json({"damaged": found, "set_aside": done})
    else:
        _print(out, found, done)
    if is_running and any(each.table in LIVE for each in done):
        out.hint(phrase("cli_daemon.restart_continues"))
    for line in _remarks(found, done):
        out.say(line)
    if movable and not is_agreed:
        out.say(phrase("cli_daemon.apply_sets_aside"))
    if len(movable) < len(found) or (movable and not is_agreed):
        raise click.exceptions.Exit(1)


def _remarks(found: Sequence[DamagedRow], done: Sequence[DamagedRow]) -> Iterator[str]:
    """What stays, and whose messages are lost."""
    if any(each.stays == "history" for each in found):
        yield phrase("cli_daemon.nodes_stay")
    if any(each.stays == "newer" for each in found):
        names = ", ".join(f"{each.table} {each.key}" for each in found if each.stays == "newer")
        yield phrase("cli_daemon.newer_wrote", names=names)
    for each in done:
        if each.message == "not_told":
            sender = (
                phrase("cli_daemon.from_place", conversation=each.conversation)
                if each.conversation
                else phrase("cli_daemon.from_unknown")
            )
            yield phrase("cli_daemon.not_run", sender=sender, table=each.table, key=each.key)


def _agrees(out: Out, found: Sequence[DamagedRow]) -> bool:
    if out.as_json or not sys.stdin.isatty():
        return False
    for line in _lines(found):
        out.line(line)
    return click.confirm(phrase("cli_daemon.set_aside_question"), default=False, err=True)


def _print(out: Out, found: Sequence[DamagedRow], done: Sequence[DamagedRow]) -> None:
    if not found:
        out.line(phrase("cli_daemon.all_readable"))
    for line in _lines(done or found):
        out.line(line)
    if done:
        out.line(
            phrase("cli_daemon.one_set_aside")
            if len(done) == 1
            else phrase("cli_daemon.many_set_aside", done=len(done))
        )


def _lines(rows: Sequence[DamagedRow]) -> Sequence[str]:
    lines = [(each.table, each.key, each.thread or "-", each.reason) for each in rows]
    return table([labels("table", "row", "thread", "why"), *lines]) if rows else ()


def _ask(*, apply: bool) -> tuple[Sequence[DamagedRow], bool]:
    """The rows, and whether a daemon runs."""
    from clew.client import requests
    from clew.client.sync import Client

    try:
        request = requests.repair() if apply else requests.damaged_rows()
        return Client(Home.find(), start=False, timeout=None).ask(request), True
    except OutOfReach:
        return _here(apply=apply), False


def _here(*, apply: bool) -> Sequence[DamagedRow]:
    """No daemon runs: do the same in this process, under the store's lock."""
    import asyncio
    import logging

    from clew.daemon.main import repair_once

    home = Home.find()
    logging.getLogger("clew").addHandler(logging.NullHandler())  # the rows are printed
    return asyncio.run(repair_once(home, apply=apply)) if home.database.exists() else ()
