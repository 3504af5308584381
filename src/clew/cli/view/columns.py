"""How wide things are on a terminal, and how they are made to fit. Pure; nothing slow is imported."""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence

from clew.support.text import visible


def width(text: str) -> int:
    """In columns: a Chinese character takes two, a combining one none."""
    return len(text) if text.isascii() else sum(map(_columns, text))


def _columns(char: str) -> int:
    if unicodedata.combining(char) or unicodedata.category(char) == "Cf":
        return 0
    return 2 if unicodedata.east_asian_width(char) in "WF" else 1


def fit(text: str, room: int) -> str:
    """As much of it as there is room for; an ellipsis tells that there was more."""
    if width(text) <= room:
        return text
    end = _reach(text, room - 1)
    return text[:end].rstrip() + "…"


def pad(text: str, room: int) -> str:
    return text + " " * (room - width(text))


def rows_of(text: str, room: int) -> list[str]:
    """One line as rows that fit, broken at a space where there is one. Joined again they are the line."""
    rows = []
    while width(text) > room:
        end = _break(text, max(2, room))
        rows.append(text[:end])
        text = text[end:]
    return [*rows, text]


def _break(text: str, room: int) -> int:
    """Behind the last space that fits, else where the room ends."""
    reach = max(1, _reach(text, room))
    space = text.rfind(" ", 0, reach + 1)
    return space + 1 if space > 0 else reach


def _reach(text: str, room: int) -> int:
    """How many characters fit."""
    used = 0
    for index, char in enumerate(text):
        used += _columns(char)
        if used > room:
            return index
    return len(text)


def one_line(text: str) -> str:
    return " ".join(visible(text).split())


def table(rows: Sequence[Sequence[str]]) -> list[str]:
    """Columns as wide as they need to be; the last one as it is."""
    shown = [[visible(cell).replace("\n", " ") for cell in row] for row in rows]
    widths = [max(map(width, column)) for column in zip(*shown, strict=True)][:-1]
    return [
        "  ".join([*(pad(cell, room) for cell, room in zip(row, widths, strict=False)), row[-1]]).rstrip()
        for row in shown
    ]


def clock(seconds: float) -> str:
    """`4 s`, `1 min 05 s`, `2 h 03 min`."""
    whole = int(seconds)
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60:02} s"
    return f"{whole // 3600} h {whole % 3600 // 60:02} min"


_AGES = ((7 * 86_400, "w"), (86_400, "d"), (3600, "h"), (60, "m"))


def age(seconds: float) -> str:
    """`12s`, `5m`, `3h`, `2d`, `9w`."""
    for unit, letter in _AGES:
        if seconds >= unit:
            return f"{int(seconds // unit)}{letter}"
    return f"{max(0, int(seconds))}s"
