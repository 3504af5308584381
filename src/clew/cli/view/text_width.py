"""Fits text into the columns of a terminal. Pure; imports nothing slow."""

from __future__ import annotations

from collections.abc import Sequence

from clew.support.display.width import char_width, pad, width
from clew.support.text import visible


def fit(text: str, columns: int) -> str:
    """Cut a text to `columns`; an ellipsis marks the cut."""
    if width(text) <= columns:
        return text
    end = _chars_that_fit(text, columns - 1)
    return text[:end].rstrip() + "…"


def fit_end(text: str, columns: int) -> str:
    """The end of a text that fits into `columns`; an ellipsis marks the cut."""
    if width(text) <= columns:
        return text
    end = _chars_that_fit(text[::-1], columns - 1)
    return "…" + text[len(text) - end :].lstrip()


def rows_of(text: str, columns: int) -> list[str]:
    """Break a line into rows that fit, at a space if possible. Joined again they are the line."""
    rows = []
    while width(text) > columns:
        end = _break_index(text, max(2, columns))
        rows.append(text[:end])
        text = text[end:]
    return [*rows, text]


def _break_index(text: str, columns: int) -> int:
    """The index after the last space that fits, or else the number of characters that fit."""
    fitting = max(1, _chars_that_fit(text, columns))
    space = text.rfind(" ", 0, fitting + 1)
    return space + 1 if space > 0 else fitting


def _chars_that_fit(text: str, columns: int) -> int:
    """How many characters fit."""
    used = 0
    for index, char in enumerate(text):
        used += char_width(char)
        if used > columns:
            return index
    return len(text)


def one_line(text: str) -> str:
    return " ".join(visible(text).split())


def table(rows: Sequence[Sequence[str]]) -> list[str]:
    """Align columns; the last one is not padded."""
    shown = [[visible(cell).replace("\n", " ") for cell in row] for row in rows]
    widths = [max(map(width, column)) for column in zip(*shown, strict=True)][:-1]
    return [
        "  ".join([*(pad(cell, columns) for cell, columns in zip(row, widths, strict=False)), row[-1]]).rstrip()
        for row in shown
    ]


def duration(seconds: float) -> str:
    """`4 s`, `1 min 05 s`, `2 h 03 min`."""
    total = int(seconds)
    if total < 60:
        return f"{total} s"
    if total < 3600:
        return f"{total // 60} min {total % 60:02} s"
    return f"{total // 3600} h {total % 3600 // 60:02} min"


_AGES = ((7 * 86_400, "w"), (86_400, "d"), (3600, "h"), (60, "m"))


def age(seconds: float) -> str:
    """`12s`, `5m`, `3h`, `2d`, `9w`."""
    for unit, letter in _AGES:
        if seconds >= unit:
            return f"{int(seconds // unit)}{letter}"
    return f"{max(0, int(seconds))}s"
