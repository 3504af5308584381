"""Show what an agent changed: `clew diff`."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from itertools import pairwise
from typing import TYPE_CHECKING

import click

from clew.cli.completion import thread_argument
from clew.cli.language import phrase
from clew.cli.output import BOLD, Out, diff_colour, json_option, painted
from clew.support.text import visible

if TYPE_CHECKING:
    from clew.model.views import Passage


GIT_TIMEOUT = 5.0  # seconds


@click.command("diff", short_help="Show the changes that the agent of a thread made.")
@thread_argument()
@click.option("--last", "last_turn", is_flag=True, help="Only those of the newest turn that changed something.")
@json_option
@click.pass_obj
def diff_command(out: Out, thread: str, last_turn: bool) -> None:
    """Show the changes to files that the agent of a thread reported, oldest first, as diffs.

    If an agent calls a file new that git knew before, a note says so. A file may have changed since; `git diff` shows
    what it is now.
    """
    from clew.client import requests

    client = out.client()
    found = list(_changes(client.ask(requests.transcript(thread, limit=10_000))))
    if last_turn and found:
        found = [change for change in found if change["turn"] == found[-1]["turn"]]
    if out.as_json:
        out.json(found)
        return
    folder = client.ask(requests.thread(thread)).workspace
    for change in found:
        print(painted(visible(f"diff {change['paths']}"), BOLD, sys.stdout))
        for note in overwritten(folder, str(change["diff"]), int(str(change["at"])) / 1000):
            out.say(note)
        for line in str(change["diff"]).splitlines():
            print(painted(visible(line), diff_colour(line), sys.stdout))
    if not found:
        out.say(phrase("cli_threads.no_file_changes"))
    else:
        out.hint(phrase("cli_threads.diff_next", thread=out.name_of(thread)))


def overwritten(folder: str, diff: str, at: float) -> Iterator[str]:
    """A note for each file that the diff calls new, and that a commit before that time has."""
    lines = diff.splitlines()
    for head, name in pairwise(lines):
        path = name.removeprefix("+++ ")
        if head == "--- /dev/null" and path != name and (commit := _commit_with(folder, path, at)):
            yield phrase("cli_threads.was_not_new", path=path, commit=commit)


def _commit_with(folder: str, path: str, at: float) -> str:
    """The newest commit before this time, if it has the file; empty if not, or if there is no git."""
    found = _git(folder, "rev-list", "-1", "--abbrev-commit", f"--before={int(at)}", "HEAD")
    inside = os.path.relpath(path, folder) if os.path.isabs(path) else path  # noqa: PTH117 (as the agent names it)
    return found if found and _git(folder, "cat-file", "-t", f"{found}:./{inside}") == "blob" else ""


def _git(folder: str, *args: str) -> str:
    import subprocess

    try:
        done = subprocess.run(["git", "-C", folder, *args], capture_output=True, text=True, timeout=GIT_TIMEOUT)
    except (OSError, subprocess.SubprocessError, ValueError):
        return ""
    return done.stdout.strip() if done.returncode == 0 else ""


def _changes(passages: tuple[Passage, ...]) -> Iterator[dict[str, object]]:
    for passage in passages:
        for item in passage.items:
            if item.kind == "change" and item.outcome in (None, "ok"):
                yield {"turn": passage.turn, "at": passage.at, "paths": item.title, "diff": item.body}
