"""`clew doctor`: checks what clew needs, each with a tick or with what to do. Needs no daemon."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from clew.cli.language import in_locale
from clew.cli.output import Out, json_option
from clew.support.coded import coded_in

if TYPE_CHECKING:
    from clew.config.plugin import Finding
    from clew.process.scan import Process
    from clew.support.home import Home


_MARKS = {True: "✔", False: "✘", None: "·"}


@click.command("doctor", short_help="Check everything and say what to fix.")
@click.option("--clean", is_flag=True, help="End processes left by a daemon that is gone, and only these.")
@json_option
@click.pass_obj
def doctor_command(out: Out, clean: bool) -> None:
    """Check everything and say what to fix. Exit 1 if something is broken, 3 if the daemon hangs. Needs no daemon, and
    changes nothing.

    Only --clean does: it ends processes left by a daemon that is gone, if their mark proves that they belong to clew.
    """
    from clew.cli.doctor.checks import all_checks
    from clew.support.home import Home

    if clean:
        for line in clean_up(Home.find()):
            out.say(in_locale(line))
    findings = []
    for finding in all_checks(Home.find()):
        findings.append(finding)
        if not out.as_json:
            out.line(_line(finding))
    if out.as_json:
        out.json([_row(finding) for finding in findings])
    if broken := [finding.exit for finding in findings if finding.ok is False]:
        raise click.exceptions.Exit(max(broken))


def clean_up(home: Home) -> list[str]:
    """End processes with the mark of this store, except those of the running daemon, and agents kept for the next
    one."""
    import asyncio

    from clew.process import kept_programs, lock, scan
    from clew.process.start import start_lock
    from clew.process.stop import end_strays
    from clew.support.clock import SystemClock
    from clew.texts.catalogue import say

    strays = []
    if home.run.exists():
        with start_lock(home, lambda line: None):  # a daemon that is just being started has no lock yet
            strays = end_strays(home)
    holder = lock.read(home.lock)
    if holder is None or holder.store is None:
        return [say("doctor.never_started")] if not strays else _ended(strays)
    store = holder.store
    kept = kept_programs.running(home) if lock.is_free(home.lock) else []
    ended = asyncio.run(scan.end_all(lambda: kept_programs.leftovers(home, store), SystemClock()))
    left = kept_programs.leftovers(home, store)
    ended = [*strays, *ended]
    return [
        *_ended(ended),
        *(say("doctor.cannot_end", pid=process.pid, command=process.command) for process in left),
        *([] if ended or left else [say("doctor.nothing_left")]),
        *(say("doctor.kept_one", pid=each.program.pid) for each in kept),
    ]


def _ended(processes: list[Process]) -> list[str]:
    from clew.texts.catalogue import say

    return [say("doctor.ended", pid=process.pid, command=process.command) for process in processes]


def _row(finding: Finding) -> dict[str, object]:
    """The finding for scripts: the texts in English, and their codes."""
    texts = coded_in(detail=finding.detail, todo=finding.todo)
    return {"check": finding.check, "ok": finding.ok, "detail": finding.detail, "todo": finding.todo, "texts": texts}


def _line(finding: Finding) -> str:
    todo = f"\n             → {in_locale(finding.todo)}" if finding.todo else ""
    return f"{_MARKS[finding.ok]} {finding.check:<10} {in_locale(finding.detail)}{todo}"
