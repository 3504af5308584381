"""Show what an agent changed: `clew diff`."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING

import click

from clew.cli.completion import thread_argument
from clew.cli.language import phrase
from clew.cli.output import BOLD, Out, diff_colour, json_option, painted
from clew.support.text import visible

if TYPE_CHECKING:
    from clew.model.views import Passage


@click.command("diff", short_help="Show the changes that the agent of a thread made.")
@thread_argument()
@click.option("--last", "last_turn", is_flag=True, help="Only those of the newest turn that changed something.")
@json_option
@click.pass_obj
def diff_command(out: Out, thread: str, last_turn: bool) -> None:
    """Show the changes to files that the agent of a thread reported, oldest first, as diffs.

    A file may have changed since; `git diff` shows what it is now.
    """
    from clew.client import requests

    found = list(_changes(out.client().ask(requests.transcript(thread, limit=10_000))))
    if last_turn and found:
        found = [change for change in found if change["turn"] == found[-1]["turn"]]
    if out.as_json:
        out.json(found)
        return
    for change in found:
        print(painted(visible(f"diff {change['paths']}"), BOLD, sys.stdout))
        for line in str(change["diff"]).splitlines():
            print(painted(visible(line), diff_colour(line), sys.stdout))
    if not found:
        out.say(phrase("cli_threads.no_file_changes"))
    else:
        out.hint(phrase("cli_threads.diff_next", thread=out.name_of(thread)))


def _changes(passages: tuple[Passage, ...]) -> Iterator[dict[str, object]]:
    for passage in passages:
        for item in passage.items:
            if item.kind == "change" and item.outcome in (None, "ok"):
                yield {"turn": passage.turn, "at": passage.at, "paths": item.title, "diff": item.body}
