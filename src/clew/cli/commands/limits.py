"""`clew limits`: what is known of the usage limits of each agent's account."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import click

from clew.cli.language import labels, phrase, word
from clew.cli.output import Out, json_option, moment

if TYPE_CHECKING:
    from clew.model.events.accounts import LimitView


@click.command("limits", short_help="Show the usage limits of agents' accounts.")
@json_option
@click.pass_obj
def limits_command(out: Out) -> None:
    """Show the usage limits of each agent's account, as the agent reported them last.

    Codex is asked, at most once a minute. The others report theirs with their answers.
    """
    from clew.client import requests

    found = out.client().ask(requests.limits())
    if out.as_json:
        out.json(found)
        return
    if not found:
        out.hint(phrase("cli_threads.no_limits"))
        return
    from clew.cli.view.text_width import table

    for line in table([labels("agent", "window", "used", "status", "resets", "seen"), *map(_row, found)]):
        out.line(line)


def _row(limit: LimitView) -> tuple[str, ...]:
    used = "–" if limit.used is None else f"{limit.used * 100:.0f} %"
    resets = moment(limit.resets_at) if limit.resets_at and limit.resets_at > time.time() * 1000 else "–"
    return limit.runtime, limit.window or "–", used, word(limit.status), resets, moment(limit.seen_at)
