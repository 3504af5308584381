"""Suspended threads: finds them, and prints each with the command that answers it."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import TYPE_CHECKING

from clew.cli.commands.threads import next_step
from clew.cli.language import phrase, said
from clew.cli.view.text_width import fit, one_line
from clew.cli.view.threads import suspension_words
from clew.client import requests

if TYPE_CHECKING:
    from clew.client.sync import Client
    from clew.model.views import ThreadView

SHOWN = 5  # `clew threads` lists the others


def list_suspended(client: Client) -> tuple[ThreadView, ...]:
    return client.ask(requests.threads(status="suspended", limit=50)).threads


def suspended_lines(threads: Sequence[ThreadView]) -> list[str]:
    if not threads:
        return []
    lines = [phrase("cli_threads.for_you", threads=count_text(threads))]
    for view in threads[:SHOWN]:
        waits = suspension_words(view, time.time()) or said(view, "title")
        lines.append(f"  {fit(one_line(waits), 100)}")
        lines.append(f"    {next_step(view)}")
    more = [phrase("cli_threads.lists_suspended")] if len(threads) > SHOWN else []
    return [*lines, *more]


def count_text(threads: Sequence[ThreadView]) -> str:
    return (
        phrase("cli_threads.one_suspended")
        if len(threads) == 1
        else phrase("cli_threads.many_suspended", threads=len(threads))
    )
