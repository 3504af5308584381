"""Lets click speak Chinese: its headings, its errors about wrong values, and the help of options. Imported only for
people in a Chinese locale."""

from __future__ import annotations

import re
from collections.abc import Iterator
from inspect import cleandoc

import click
import click.core
import click.decorators
import click.exceptions
import click.formatting
import click.parser
import click.termui
import click.types

from clew.support.display.width import width
from clew.texts.click_words import CLICK, OPTIONS, SUBCOMMANDS

_SPEAKING = (
    click.core,
    click.decorators,
    click.exceptions,
    click.formatting,
    click.parser,
    click.termui,
    click.types,
)
_WORDS = re.compile(r"[!-~]+|\s+|.")
_wrap = click.formatting.wrap_text


def speak_chinese() -> None:
    """Replace the function by which click translates, and its wrapping, which counts a Chinese character as one
    column."""
    for module in _SPEAKING:
        for name, function in (("_", _translated), ("ngettext", _plural), ("wrap_text", _wrapped)):
            if hasattr(module, name):
                setattr(module, name, function)


def explain(command: click.Command, line: str) -> None:
    """Put what the command does first, and translate its options. What its help says in detail stays English."""
    if line and not (command.help or "").startswith(line):
        command.help = f"{line}\n\n{cleandoc(command.help or '')}"
    for option in command.params:
        if isinstance(option, click.Option):
            option.help = OPTIONS.get(option.help or "", option.help)
    if isinstance(command, click.Group):
        for each in command.commands.values():
            each.short_help = SUBCOMMANDS.get(each.get_short_help_str(200), each.short_help)
            explain(each, each.short_help or "")


def _translated(text: str) -> str:
    return CLICK.get(text, text)


def _plural(one: str, many: str, count: int) -> str:
    return CLICK.get(many, one if count == 1 else many)


def _wrapped(
    text: str,
    width: int = 78,
    initial_indent: str = "",
    subsequent_indent: str = "",
    preserve_paragraphs: bool = False,
) -> str:
    """Like click's, which stays in charge of English."""
    parts = text.split("\n\n") if preserve_paragraphs else [text]
    shown = [
        _wrap(part, width, initial_indent, subsequent_indent, preserve_paragraphs)
        if part.isascii()
        else "\n".join(_rows(part, width, initial_indent, subsequent_indent))
        for part in parts
    ]
    return "\n\n".join(shown)


def _rows(text: str, columns: int, first: str, others: str) -> Iterator[str]:
    row = first
    for word in _WORDS.findall(" ".join(text.split())):
        if width(row) + width(word) > columns and row.strip():
            yield row.rstrip()
            row = others
        row += word if row.strip() or word.strip() else ""
    yield row.rstrip()
