"""`clew doctor`: checks what clew needs, each with a tick or with what to do. Needs no daemon."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import click

from clew.cli.language import in_locale, word
from clew.cli.output import Out, json_option
from clew.support.coded import coded_in
from clew.support.display.width import pad

if TYPE_CHECKING:
    from clew.config.plugin import Finding
    from clew.process.scan import Process
    from clew.support.home import Home


_MATTERS = ("daemon", "surfaces", "config")  # of what works, the first to know
NAME = 10  # columns
_NAMED = frozenset(
    {
        "check_agents",
        "check_children",
        "check_clock",
        "check_config",
        "check_daemon",
        "check_disk",
        "check_home",
        "check_plugins",
        "check_port",
        "check_rows",
        "check_sandbox",
        "check_socket",
        "check_store",
        "check_supervisor",
        "check_surfaces",
    }
)
_MARKS = {True: "✔", False: "✘", None: "·"}


@click.command("doctor", short_help="Check everything and say what to fix.")
@click.option("--clean", is_flag=True, help="End processes left by a daemon that is gone, and only these.")
@json_option
@click.pass_obj
def doctor_command(out: Out, clean: bool) -> None:
    """Check everything and say what to fix; what is broken comes first. Exit 1 if something is broken, 3 if the daemon
    hangs. Needs no daemon, and changes nothing.

    Only --clean does: it ends processes left by a daemon that is gone, if their mark proves that they belong to clew.
    """
    from clew.cli.doctor.checks import all_checks
    from clew.support.home import Home
    from clew.texts.catalogue import say

    if clean:
        for line in clean_up(Home.find()):
            out.say(in_locale(line))
    out.hint(in_locale(say("doctor.checking")))
    findings = list(all_checks(Home.find()))
    if out.as_json:
        out.json([_row(finding) for finding in findings])
    else:
        for line in _lines(findings):
            out.line(line)
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


def _lines(findings: Sequence[Finding]) -> list[str]:
    """What is broken first, then what works for you; agents that nobody asked for in one line."""
    from clew.cli.doctor.finding import NotInstalled
    from clew.texts.catalogue import say

    missing = [finding.check for finding in findings if isinstance(finding, NotInstalled)]
    shown = [finding for finding in findings if not isinstance(finding, NotInstalled)]
    lines = [_line(finding) for finding in sorted(shown, key=_rank)]
    if missing:
        lines.append(f"{_MARKS[None]} {in_locale(say('doctor.not_installed_all', names=', '.join(missing)))}")
    return lines


def _rank(finding: Finding) -> int:
    from clew.cli.doctor.finding import AgentFinding

    if finding.ok is False:
        return 0
    if finding.ok is None:
        return 4
    if isinstance(finding, AgentFinding):
        return 1
    return 2 if finding.check in _MATTERS else 3


def _line(finding: Finding) -> str:
    todo = f"\n             → {in_locale(finding.todo)}" if finding.todo else ""
    return f"{_MARKS[finding.ok]} {pad(_name(finding.check), NAME)} {in_locale(finding.detail)}{todo}"


def _name(check: str) -> str:
    """What is checked, such as `disk` or `codex sandbox`; a plugin's name stays."""
    codes = ((part, f"check_{part}") for part in check.split(" "))
    return " ".join(word(code).removeprefix("check_") if code in _NAMED else part for part, code in codes)
