"""A transcript as Markdown, and as formatted text for a terminal."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from clew.cli.language import person, said
from clew.cli.output import moment
from clew.cli.view.events import activity_line
from clew.cli.view.text_width import one_line
from clew.support.text import escape_direction_marks, visible

if TYPE_CHECKING:
    from clew.model.views import Passage, ThreadView


def markdown(thread: ThreadView, entries: Sequence[Passage]) -> str:
    """Control characters are shown as escapes."""
    head = f"# {one_line(thread.title)}\n\n{thread.id}, {thread.runtime}, {thread.workspace}\n"
    return visible("\n".join([head, *map(entry_text, entries)]))


def entry_text(entry: Passage) -> str:
    outside = " (outside clew)" if entry.outside else ""
    parts = [f"## {person(entry.author or entry.role)}, {moment(entry.at)}{_state(entry)}{outside}"]
    activities: list[str] = []
    for item in entry.items:
        if item.kind == "text":
            parts += _listed(activities)
            activities = []
            parts.append(item.body)
        elif item.title:
            activities.append(
                activity_line(item.kind, item.phase, said(item, "title"), item.outcome).replace("·", "-", 1)
            )
    parts += [*_listed(activities), entry.text, f"(attached: {', '.join(entry.files)})" if entry.files else ""]
    return "\n\n".join(part for part in parts if part) + "\n"


def _state(entry: Passage) -> str:
    if entry.cut:
        return " (cut off, goes on below)" if entry.continued_by else " (cut off)"
    return f" ({entry.state})" if entry.state not in (None, "completed") else ""


def _listed(activities: Sequence[str]) -> list[str]:
    return ["\n".join(activities)] if activities else []


def print_formatted(text: str) -> None:
    """Print Markdown on the terminal with rich, which is slow to import. Character references such as `&#x202e;` become
    characters only here; rich keeps those that change the text direction, so they are removed afterwards."""
    from rich.console import Console
    from rich.markdown import Markdown

    console = Console(highlight=False)
    with console.capture() as formatted:
        console.print(Markdown(text, hyperlinks=False))
    print(escape_direction_marks(formatted.get()), end="")
