"""A transcript as Markdown: values in, text out; and how a terminal lays it out."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from clew.cli.output import moment
from clew.cli.view.columns import one_line
from clew.cli.view.events import activity_line
from clew.support.text import escape_direction_marks, visible


def markdown(thread: Any, passages: Sequence[Any]) -> str:
    """What can command a terminal is shown as escapes."""
    head = f"# {one_line(thread['title'])}\n\n{thread['id']}, {thread['runtime']}, {thread['workspace']}\n"
    return visible("\n".join([head, *map(passage, passages)]))


def passage(told: Any) -> str:
    outside = " (outside clew)" if told["outside"] else ""
    parts = [f"## {told['author'] or told['role']}, {moment(told['at'])}{_state(told)}{outside}"]
    deeds: list[str] = []
    for item in told["items"]:
        if item["kind"] == "text":
            parts += _listed(deeds)
            deeds = []
            parts.append(item["body"])
        elif item["title"]:
            deeds.append(activity_line({**item, "activity": item["kind"]}).replace("·", "-", 1))
    parts += [*_listed(deeds), told["text"], f"(attached: {', '.join(told['files'])})" if told["files"] else ""]
    return "\n\n".join(part for part in parts if part) + "\n"


def _state(told: Any) -> str:
    if told.get("cut"):
        return " (cut off, goes on below)" if told["continued_by"] else " (cut off)"
    return f" ({told['state']})" if told["state"] not in (None, "completed") else ""


def _listed(deeds: Sequence[str]) -> list[str]:
    return ["\n".join(deeds)] if deeds else []


def lay_out(text: str) -> None:
    """On the terminal, through rich; it is slow to import, and only here. What stands in Markdown as a number, such as
    `&#x202e;`, is a character only then; of those that matter, rich leaves the ones that turn the direction."""
    from rich.console import Console
    from rich.markdown import Markdown

    console = Console(highlight=False)
    with console.capture() as laid_out:
        console.print(Markdown(text, hyperlinks=False))
    print(escape_direction_marks(laid_out.get()), end="")
