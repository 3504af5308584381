"""usage: what turns have used, and the budgets that hold."""

from __future__ import annotations

import click

from clew.cli.language import phrase
from clew.cli.output import Out, json_option

BY = click.Choice(["account", "thread", "person", "day"])


@click.command("usage", short_help="Show tokens, turns and time that were used, and budgets.")
@click.option("--by", type=BY, default="account", show_default=True, help="What to add it up by.")
@click.option("--since", metavar="DAY|TIME", help="From this day on, as 2026-11-18 or 7d. Default: today.")
@json_option
@click.pass_obj
def usage_command(out: Out, by: str, since: str | None) -> None:
    """Show tokens, turns and working time that were used, and how much of each budget is left.

    A list by day goes back 30 days. Money is what agents report, and for others an estimate by the prices in
    config.toml; `-` means that one is missing.
    """
    from clew.client import requests

    view = out.client().ask(requests.usage(by, since))
    if out.as_json:
        out.json(view)
        return
    from clew.cli.view.usage import budget_lines, usage_lines

    for line in usage_lines(view):
        out.line(line)
    if not view.rows:
        out.say(phrase("cli_threads.nothing_used", day=view.since))
    for line in budget_lines(view):
        out.line(line)
    if not view.budgets:
        out.hint(phrase("cli_threads.no_budgets"))
