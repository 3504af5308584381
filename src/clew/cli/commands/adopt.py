"""Sessions started outside clew: adopt, release."""

from __future__ import annotations

import contextlib
import json
import shutil
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from clew.cli.commands.run import POLICIES
from clew.cli.completion import runtimes, sessions, thread_argument
from clew.cli.language import labels, phrase, sentence
from clew.cli.output import Out, is_terminal, json_option
from clew.cli.view.text_width import age, fit, one_line, table
from clew.cli.view.threads import named
from clew.support.errors import NotFound

if TYPE_CHECKING:
    from clew.model.views import AdoptableView


HEAD = ("", "id", "age", "with", "title", "folder")
SHORT = 13  # characters of an id: its timestamp, and a little more
LONGEST_NUMBER = 4
TITLE = 60
NARROWEST = 20


@click.command("adopt", short_help="Adopt a session started outside clew, or list them.")
@click.argument("session", required=False, metavar="[ID|NUMBER]", shell_complete=sessions)
@click.option("--all", "everywhere", is_flag=True, help="List sessions of every folder, not only of this one.")
@click.option("--fork", is_flag=True, help="Adopt a copy, and leave the session itself alone.")
@click.option("--runtime", metavar="NAME", shell_complete=runtimes, help="Runtime; default: that of new threads.")
@click.option(
    "--workspace",
    metavar="FOLDER",
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    help="Folder to continue in (default: that of the session), or to list sessions of (default: the current one).",
)
@click.option("--policy", type=click.Choice(POLICIES), help="How much it may do without asking.")
@click.option("--limit", type=click.IntRange(1, 1000), default=50, show_default=True, help="List at most so many.")
@json_option
@click.pass_obj
def adopt_command(
    out: Out,
    /,
    session: str | None,
    everywhere: bool,
    limit: int,
    fork: bool,
    runtime: str | None,
    workspace: Path | None,
    policy: str | None,
) -> None:
    """List the sessions that were started outside clew in this folder, numbered; or adopt one as a thread, with its
    history, by its ID (any unique prefix) or by its NUMBER in the last list.

    A session that another program has open is refused: close it there, or adopt a copy with --fork. Turns of clew and
    of the session's own program are in one history; two minutes after a turn of clew the session is released to that
    program, and `clew release THREAD` releases it at once.
    """
    from clew.client import requests

    place = str(workspace.absolute()) if workspace else None
    if session is None:
        _list(out, runtime, None if everywhere else place or str(Path.cwd()), limit)
        return
    view = out.client().ask(requests.adopt(_named(session), runtime=runtime, fork=fork, workspace=place, policy=policy))
    out.result(view, view.id)
    out.say(phrase("cli_daemon.adopted", title=one_line(view.title), workspace=view.workspace))
    out.hint(phrase("cli_daemon.adopted_next", thread=named(view), again=named(view)))


def _list(out: Out, runtime: str | None, folder: str | None, limit: int) -> None:
    from clew.client import requests

    rows = out.client().ask(requests.adoptable(runtime=runtime, workspace=folder, limit=limit))
    _remember([row.id for row in rows])
    if out.as_json:
        out.json(rows)
        return
    columns = shutil.get_terminal_size().columns if is_terminal(sys.stdout) else None
    for line in session_table(rows, time.time(), columns):
        out.line(line)
    if not rows:
        where = phrase("cli_daemon.in_folder", folder=folder) if folder else phrase("cli_daemon.anywhere")
        others = phrase("cli_daemon.adopt_all") if folder else ""
        out.say(phrase("cli_daemon.no_sessions", where=where, others=others))
        return
    out.hint(phrase("cli_daemon.adopt_number"))


def session_table(rows: Sequence[AdoptableView], now: float, columns: int | None) -> list[str]:
    """`columns` is the width of the terminal; None without one, then ids are complete."""
    if not rows:
        return []
    lines = [labels(*HEAD), *(_row(number, row, now, short=columns is not None) for number, row in enumerate(rows, 1))]
    drawn = table(lines)
    return drawn if columns is None else [fit(line, max(columns, NARROWEST)) for line in drawn]


def _row(number: int, row: AdoptableView, now: float, *, short: bool) -> tuple[str, ...]:
    name = row.id[:SHORT] if short else row.id
    title = fit(one_line(f"{phrase('cli_daemon.in_use') if row.in_use else ''} {row.title}"), TITLE)
    return str(number), name, age(now - row.updated_at / 1000), row.source, title, row.workspace


def _named(session: str) -> str:
    """The session id for a number of the last list; anything else is an id already."""
    if not (session.isascii() and session.isdigit() and len(session) <= LONGEST_NUMBER):
        return session
    listed = _remembered()
    if not 0 < int(session) <= len(listed):
        raise NotFound(sentence("cli_daemon.no_number", session=session))
    return listed[int(session) - 1]


def _remember(ids: list[str]) -> None:
    from clew.support import private_files

    with contextlib.suppress(OSError):  # then numbers are refused with a message
        private_files.write(_last_list(), json.dumps(ids).encode())


def _remembered() -> list[str]:
    try:
        return [str(each) for each in json.loads(_last_list().read_text(encoding="utf-8"))]
    except (OSError, ValueError, TypeError):
        return []


def _last_list() -> Path:
    from clew.support.home import Home

    return Home.find().run / "adoptable.json"


@click.command("release", short_help="Give an adopted session back to its own program.")
@thread_argument()
@json_option
@click.pass_obj
def release_command(out: Out, thread: str) -> None:
    """Release an adopted session to its own program at once, and print the command that continues it there.

    The thread stays: turns made there are imported, and `clew send` or `clew chat` continues it here.
    """
    from clew.client import requests

    released = out.client().ask(requests.release(thread))
    out.result(released, released.command)
