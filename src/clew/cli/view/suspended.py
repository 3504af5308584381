"""Suspended threads: finds them, and prints each with the command that answers it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from clew.cli.commands.threads import next_step
from clew.cli.view.columns import fit, one_line

if TYPE_CHECKING:
    from clew.client.untyped import JsonClient as Client

SHOWN = 5  # `clew threads` lists the others


def list_suspended(client: Client) -> list[Any]:
    found: list[Any] = client.get("threads", status="suspended", limit=50)["threads"]
    return found


def suspended_lines(threads: list[Any]) -> list[str]:
    if not threads:
        return []
    lines = [f"{count_text(threads)} for you:"]
    for view in threads[:SHOWN]:
        lines.append(f"  {fit(one_line(view['suspend_message'] or view['title']), 100)}")
        lines.append(f"    {next_step(view)}")
    more = ["  clew threads --status suspended lists them all"] if len(threads) > SHOWN else []
    return [*lines, *more]


def count_text(threads: list[Any]) -> str:
    return "1 suspended thread waits" if len(threads) == 1 else f"{len(threads)} suspended threads wait"
