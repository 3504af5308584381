"""A transcript as Markdown, and laid out for a terminal. What a person typed is shown as typed."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

from clew.cli.language import person, phrase, said, word
from clew.cli.output import moment
from clew.cli.view.events import activity_line, indent
from clew.cli.view.markdown import laid_out
from clew.cli.view.text_width import one_line
from clew.cli.view.threads import named
from clew.support.text import agent_name, visible

if TYPE_CHECKING:
    from clew.model.views import ItemView, Passage, ThreadView


TAIL = 5  # lines of the output of a command that failed


def markdown(thread: ThreadView, entries: Sequence[Passage], *, full: bool = False) -> str:
    """Control characters are shown as escapes. `full`: with the output of commands and with diffs."""
    return visible("\n".join([_head(thread), *(entry_text(entry, full=full) for entry in entries)]))


def for_terminal(
    thread: ThreadView, entries: Sequence[Passage], *, full: bool = False, columns: int | None = None
) -> str:
    """The same, laid out for a terminal."""
    parts = [(_head(thread), False), *(part for entry in entries for part in _parts(entry, full=full))]
    shown = [visible(text) if is_typed else laid_out(visible(text), columns).rstrip("\n") for text, is_typed in parts]
    return "\n\n".join(shown) + "\n"


def _head(thread: ThreadView) -> str:
    return f"# {one_line(thread.title)}\n\n{named(thread)}, {thread.runtime}, {thread.workspace}\n"


def entry_text(entry: Passage, *, full: bool = False) -> str:
    parts = [_with_line_breaks(text) if is_typed else text for text, is_typed in _parts(entry, full=full)]
    return "\n\n".join(parts) + "\n"


def _parts(entry: Passage, *, full: bool) -> list[tuple[str, bool]]:
    """The parts of an entry: Markdown, or a text as a person typed it."""
    outside = phrase("cli_threads.outside_clew") if entry.outside else ""
    parts = [f"## {person(entry.author or entry.role)}, {moment(entry.at)}{_state(entry)}{outside}"]
    if entry.prelude is not None:
        told = entry.prelude
        parts.append(phrase("cli_threads.told_before", agent=agent_name(told.runtime), messages=told.messages))
    if entry.asked is not None:
        parts.append(phrase("cli_threads.asked_by", by=person(entry.asked.by), question=one_line(entry.asked.question)))
    activities: list[str] = []
    depths: dict[str, int] = {}
    for item in entry.items:
        depths[item.item] = depths.get(item.parent, 0) + 1 if item.parent is not None else 0
        if item.kind == "text":
            parts += _listed(activities)
            activities = []
            parts.append(item.body)
        elif item.title:
            line = activity_line(item.kind, item.phase, said(item, "title"), item.outcome) + _reason(item)
            activities.append(indent(line.replace("·", "-", 1), depths[item.item]))
            if output := _output(item, full=full):
                parts += [*_listed(activities), output]
                activities = []
    parts += _listed(activities)
    text = _answer(entry) if entry.role == "agent" else said(entry, "text")
    attached = phrase("cli_threads.attached", files=", ".join(entry.files)) if entry.files else ""
    shown = [*((part, False) for part in parts), (text, entry.role != "agent"), (attached, False)]
    return [(part, is_typed) for part, is_typed in shown if part]


def _reason(item: ItemView) -> str:
    """The reason given with a no, or the answer to a question."""
    if item.replies:
        return f" → {one_line(', '.join(item.replies))}"
    return phrase("cli_threads.with_reason", reason=one_line(item.reason)) if item.reason else ""


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
    if entry.stopped_by:
        return f" ({phrase('cli_threads.stopped_by', who=person(entry.stopped_by))})"
    return f" ({word(entry.state)})" if entry.state and entry.state != "completed" else ""


def _listed(activities: Sequence[str]) -> list[str]:
    return ["\n".join(activities)] if activities else []
