"""`clew doctor`: what could keep clew from working, each with a tick or with what to do. Needs no daemon."""

from __future__ import annotations

from dataclasses import asdict, dataclass

import click

from clew.cli.out import Out, json_option


@dataclass(frozen=True, slots=True)
class Finding:
    check: str
    ok: bool
    detail: str
    todo: str | None = None


@click.command("doctor", short_help="Check everything, and say what to do.")
@json_option
@click.pass_obj
def doctor_command(out: Out) -> None:
    """Check everything, and say what to do. Exit 1 if something is broken. Needs no daemon, and changes nothing."""
    from clew.cli.checks import all_checks
    from clew.home import Home

    findings = []
    for finding in all_checks(Home.find()):
        findings.append(finding)
        if not out.as_json:
            out.line(_line(finding))
    if out.as_json:
        out.json([asdict(finding) for finding in findings])
    if not all(finding.ok for finding in findings):
        raise click.exceptions.Exit(1)


def _line(finding: Finding) -> str:
    todo = f"\n             → {finding.todo}" if finding.todo else ""
    return f"{'✔' if finding.ok else '✘'} {finding.check:<10} {finding.detail}{todo}"
