"""`clew doctor`: checks what clew needs, each with a tick or with what to do. Needs no daemon."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING

import click

from clew.cli.output import Out, json_option

if TYPE_CHECKING:
    from clew.config.plugin import Finding
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
            out.say(line)
    findings = []
    for finding in all_checks(Home.find()):
        findings.append(finding)
        if not out.as_json:
            out.line(_line(finding))
    if out.as_json:
        out.json([asdict(finding) for finding in findings])
    if broken := [finding.exit for finding in findings if finding.ok is False]:
        raise click.exceptions.Exit(max(broken))


def clean_up(home: Home) -> list[str]:
    """End processes with the mark of this store, except those of the running daemon, and agents kept for the next
    one."""
    import asyncio

    from clew.process import kept_programs, lock, scan
    from clew.support.clock import SystemClock

    holder = lock.read(home.lock)
    if holder is None or holder.store is None:
        return ["clew was never started here"]
    store = holder.store
    kept = kept_programs.running(home) if lock.is_free(home.lock) else []
    ended = asyncio.run(scan.end_all(lambda: kept_programs.leftovers(home, store), SystemClock()))
    left = kept_programs.leftovers(home, store)
    return [
        *(f"ended pid {process.pid}, {process.command}" for process in ended),
        *(f"pid {process.pid}, {process.command}, cannot be ended: no permission" for process in left),
        *([] if ended or left else ["no process was left behind"]),
        *(f"pid {each.program.pid} is kept for the next daemon; clew down ends it" for each in kept),
    ]


def _line(finding: Finding) -> str:
    todo = f"\n             → {finding.todo}" if finding.todo else ""
    return f"{_MARKS[finding.ok]} {finding.check:<10} {finding.detail}{todo}"
