"""A transcript as Markdown, and as formatted text for a terminal."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

from clew.cli.language import person, phrase, said, word
from clew.cli.output import moment
from clew.cli.view.events import activity_line
from clew.cli.view.text_width import one_line
from clew.cli.view.threads import named
from clew.support.text import agent_name, escape_direction_marks, visible

if TYPE_CHECKING:
    from clew.model.views import ItemView, Passage, ThreadView


TAIL = 5  # lines of the output of a command that failed


def markdown(thread: ThreadView, entries: Sequence[Passage], *, full: bool = False) -> str:
    """Control characters are shown as escapes. `full`: with the output of commands and with diffs."""
    head = f"# {one_line(thread.title)}\n\n{named(thread)}, {thread.runtime}, {thread.workspace}\n"
    return visible("\n".join([head, *(entry_text(entry, full=full) for entry in entries)]))


def entry_text(entry: Passage, *, full: bool = False) -> str:
    outside = phrase("cli_threads.outside_clew") if entry.outside else ""
    parts = [f"## {person(entry.author or entry.role)}, {moment(entry.at)}{_state(entry)}{outside}"]
    if entry.prelude is not None:
        told = entry.prelude
        parts.append(phrase("cli_threads.told_before", agent=agent_name(told.runtime), messages=told.messages))
    if entry.asked is not None:
        parts.append(phrase("cli_threads.asked_by", by=person(entry.asked.by), question=one_line(entry.asked.question)))
    activities: list[str] = []
    for item in entry.items:
        if item.kind == "text":
            parts += _listed(activities)
            activities = []
            parts.append(item.body)
        elif item.title:
            line = activity_line(item.kind, item.phase, said(item, "title"), item.outcome)
            activities.append(line.replace("·", "-", 1))
            if output := _output(item, full=full):
                parts += [*_listed(activities), output]
                activities = []
    text = _answer(entry) if entry.role == "agent" else _with_line_breaks(said(entry, "text"))
    parts += [
        *_listed(activities),
        text,
        phrase("cli_threads.attached", files=", ".join(entry.files)) if entry.files else "",
    ]
    return "\n\n".join(part for part in parts if part) + "\n"


def _answer(entry: Passage) -> str:
    """The answer, unless it was the last text already, before some activity."""
    texts = [item.body for item in entry.items if item.kind == "text"]
    return "" if texts and texts[-1] == entry.text else said(entry, "text")


def _output(item: ItemView, *, full: bool) -> str:
    """The output of a command or a diff in a fence: all of it, or the last lines of what failed."""
    if not item.body.strip() or item.kind == "thought":
        return ""
    if full:
        return fenced(item.body, "diff" if item.kind == "change" else "")
    return fenced(tail_of(item.body)) if item.kind == "command" and item.outcome == "failed" else ""


def tail_of(output: str) -> str:
    """The last lines of an output, with the number of those before."""
    lines = output.rstrip().splitlines()
    left = len(lines) - TAIL
    return "\n".join([phrase("cli_threads.more_lines", left=left), *lines[-TAIL:]] if left > 1 else lines)


def fenced(text: str, language: str = "") -> str:
    """A code block whose fence the text cannot close."""
    longest = max((len(run) for run in re.findall(r"`{3,}", text)), default=2)
    fence = "`" * (longest + 1)
    return f"{fence}{language}\n{text.rstrip()}\n{fence}"


def _with_line_breaks(text: str) -> str:
    """A person's message keeps its own line breaks, which Markdown would join."""
    return text.replace("\n", "  \n")


def _state(entry: Passage) -> str:
    if entry.cut:
        return phrase("cli_threads.cut_goes_on") if entry.continued_by else phrase("cli_threads.cut_off")
    return f" ({word(entry.state)})" if entry.state and entry.state != "completed" else ""


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
