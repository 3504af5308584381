"""The daemon: up, down, restart, status, logs."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from clew.cli.language import in_locale, phrase, said, word
from clew.cli.output import Out, json_option, moment, table
from clew.support.errors import OutOfReach
from clew.support.home import Home

if TYPE_CHECKING:
    from clew.model.views import DaemonView, StatusView


GRACE = 10.0


@click.command("up", short_help="Start the daemon.")
@click.option("--foreground", is_flag=True, help="Run in the foreground, for a service manager, until a signal.")
@json_option
@click.pass_obj
def up_command(out: Out, foreground: bool) -> None:
    """Start the daemon, and wait until it is ready. Succeeds also if it runs already.

    A small supervisor process restarts it after a crash.
    """
    from clew.client import requests

    if foreground:
        _run_here(out)
        return
    from clew.process.start import ensure_daemon

    started = ensure_daemon(Home.find(), out.say, again=True)
    daemon = out.client().ask(requests.status()).daemon
    words = phrase("cli_daemon.up") if started else phrase("cli_daemon.up_already")
    out.result(
        {"daemon": daemon, "started": started},
        phrase("cli_daemon.up_where", words=words, pid=daemon.pid, home=daemon.home),
    )
    out.hint(phrase("cli_daemon.up_next"))


def _run_here(out: Out) -> None:
    from clew.daemon.main import run
    from clew.process.start import clear_given_up

    home = Home.find()
    clear_given_up(home)
    run(home, lambda: out.say(phrase("cli_daemon.ready")), foreground=True)


@click.command("down", short_help="Stop the daemon and everything it started.")
@click.option("--grace", type=click.FloatRange(0, 86_400), default=GRACE, show_default=True, metavar="SECONDS")
@json_option
@click.pass_obj
def down_command(out: Out, grace: float) -> None:
    """Stop the daemon and everything it started.

    Running turns get some time to end (--grace); a turn that is cut off is continued at the next start.
    """
    from clew.process.stop import run_detached, stop_daemon

    home = Home.find()
    if run_detached(home, ["down", "--grace", f"{grace}"], restart=False):
        words = phrase("cli_daemon.stops_now")
        out.result({"stopped": None}, phrase("cli_daemon.grace", words=words, grace=_cut(grace)))
        return
    stopped = stop_daemon(home, grace, out.say)
    out.result({"stopped": stopped}, phrase("cli_daemon.stopped") if stopped else phrase("cli_daemon.not_running"))


@click.command("restart", short_help="Stop the daemon and start it again.")
@click.option("--grace", type=click.FloatRange(0, 86_400), default=GRACE, show_default=True, metavar="SECONDS")
@json_option
@click.pass_obj
def restart_command(out: Out, grace: float) -> None:
    """Stop the daemon and start it again. Watching clients reconnect by themselves.

    With Codex on its socket, its turns are neither cut off nor waited for.
    """
    from clew.client import requests
    from clew.process.stop import restart_daemon, run_detached

    home = Home.find()
    if run_detached(home, ["restart", "--grace", f"{grace}"], restart=True):
        out.result({"daemon": None, "started": None}, phrase("cli_daemon.restarts_now", grace=_cut(grace)))
        return
    restart_daemon(home, grace, out.say)
    daemon = out.client().ask(requests.status()).daemon
    out.result({"daemon": daemon, "started": True}, phrase("cli_daemon.up_again", pid=daemon.pid, home=daemon.home))


def _cut(grace: float) -> str:
    """A note for an agent that runs this command."""
    return phrase("cli_daemon.cut_after", seconds=f"{grace:g}")


@click.command("status", short_help="Show the state of the daemon, its runtimes and surfaces.")
@json_option
@click.pass_obj
def status_command(out: Out) -> None:
    """Show the state of the daemon, its runtimes and surfaces. Never starts it: exit 3 if none runs or answers."""
    from clew.client import requests

    try:
        status = out.client(start=False, looks=True).ask(requests.status())
    except OutOfReach as error:
        _print_unreachable(out, error)
        raise click.exceptions.Exit(error.exit) from error
    if out.as_json:
        out.json(status)
        return
    for line in [*_status_lines(status), *_waiting(out, status)]:
        out.line(line)
    out.say(phrase("cli_daemon.more_lists"))


def _print_unreachable(out: Out, error: OutOfReach) -> None:
    """Print why no daemon answered. One that hangs is not reported as starting, however new it is."""
    from clew.process import hung, start
    from clew.support.errors import NotAnswering

    home = Home.find()
    hangs = isinstance(error, NotAnswering)
    why = start.describe_lost_socket(home) or start.why_given_up(home) or starting_message(home)
    words = error.words if hangs else why or error.words
    if out.as_json:
        trouble = {"code": error.code, "message": words, "pid": hung.pid(home) if hangs else None}
        out.json(
            {"daemon": None, "runtimes": [], "surfaces": [], "fates": {}, "gates": 0, "damaged": [], "error": trouble}
        )
    out.say(f"clew: {in_locale(words)}")


def _waiting(out: Out, status: StatusView) -> list[str]:
    """Lines about open gates and suspended threads."""
    from clew.cli.view.suspended import count_text, list_suspended

    gates = {0: "", 1: phrase("cli_daemon.one_gate")}.get(
        status.gates, phrase("cli_daemon.many_gates", gates=status.gates)
    )
    threads = list_suspended(out.client(start=False, looks=True))
    stand = phrase("cli_daemon.how_to_continue", threads=count_text(threads)) if threads else ""
    return [phrase("cli_daemon.for_you", words=words) for words in (gates, stand) if words]


NAMED = 5  # damaged rows that the status names
_SUPERVISED = {True: "supervised", False: "unsupervised"}


def _last_crash(daemon: DaemonView) -> str:
    return phrase("cli_daemon.last_restart", recovered_at=moment(daemon.recovered_at)) if daemon.recovered_at else ""


def starting_message(home: Home) -> str | None:
    """If no daemon answers: a message if one is about to start."""
    import time

    from clew.process import lock, start
    from clew.texts.catalogue import say

    holder = None if lock.is_free(home.lock) else lock.read(home.lock)
    if holder and holder.ready and start.living_holder(home) is None:
        holder = None  # the name of an earlier holder: the new one has not written its own yet
    is_new = holder is None or (not holder.ready and time.time() - holder.since / 1000 < start.START)
    if start.is_supervised(home) and is_new:
        return say("doctor.being_started")
    if holder and (is_new or holder.stopping):
        return say("doctor.starting_or_stopping", what=lock.describe_what(holder), pid=holder.pid)
    return None


def _status_lines(status: StatusView) -> list[str]:
    daemon = status.daemon
    fates = ", ".join(f"{count} {word(fate)}" for fate, count in status.fates.items()) or phrase("cli_daemon.none_yet")
    parts = [(word("runtime"), each.name, word(each.health), said(each, "reason")) for each in status.runtimes]
    parts += [(word("surface"), each.name, word(each.state), said(each, "reason")) for each in status.surfaces]
    return [
        phrase(
            "cli_daemon.status_up", version=daemon.version, pid=daemon.pid, since=moment(daemon.since), home=daemon.home
        ),
        f"http      {daemon.http or phrase('cli_daemon.only_socket')}",
        phrase(
            "cli_daemon.row_crashes",
            what=_last_crash(daemon) + phrase(f"cli_daemon.{_SUPERVISED[daemon.supervised]}"),
        ),
        *([phrase("cli_daemon.settings_changed")] if daemon.outdated else []),
        *table(parts),
        phrase("cli_daemon.row_messages", what=fates),
        *([phrase("cli_daemon.row_damaged", what=_damaged(status))] if status.damaged else []),
    ]


def _damaged(status: StatusView) -> str:
    rows = ", ".join(f"{each.table} {each.key}" for each in status.damaged[:NAMED])
    more = phrase("cli_daemon.and_more", damaged=len(status.damaged) - NAMED) if len(status.damaged) > NAMED else ""
    return phrase("cli_daemon.damaged", rows=rows, more=more)


@click.command("logs", short_help="Show the daemon's log.")
@click.option("-f", "--follow", is_flag=True, help="Follow the log as it grows.")
@click.option("-n", "--lines", type=click.IntRange(0), default=100, show_default=True)
@json_option
@click.pass_obj
def logs_command(out: Out, follow: bool, lines: int) -> None:
    """Show the daemon's log. With --json, the raw lines: one JSON object each."""
    from clew.config import logs

    path = Home.find().log
    for line in logs.tail(path, lines):
        out.line(line if out.as_json else _log_line(line))
    if not follow:
        return
    out.say(phrase("cli_daemon.following", path=path))
    for line in logs.follow(path):
        out.line(line if out.as_json else _log_line(line))


def _log_line(line: str) -> str:
    import json

    try:
        entry = json.loads(line)
        trace = f"\n{entry['traceback']}" if "traceback" in entry else ""
        return f"{entry['at']}  {entry['level']:<8} {entry['logger']}: {entry['message']}{trace}"
    except (ValueError, KeyError, TypeError):
        return line


def runtime_healths() -> dict[str, str]:
    """The health of the runtimes of the daemon, if one runs."""
    from clew.client import requests
    from clew.client.sync import Client
    from clew.support.errors import ClewError

    try:
        status = Client(Home.find(), start=False, looks=True).ask(requests.status())
    except ClewError:
        return {}
    return {each.name: each.health for each in status.runtimes}
