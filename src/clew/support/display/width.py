"""Width of text in columns of a fixed-width font. Pure; imports nothing slow."""

from __future__ import annotations

import unicodedata


def width(text: str) -> int:
    """Width in columns: a Chinese character takes two, a combining one none."""
    return len(text) if text.isascii() else sum(map(char_width, text))


def char_width(char: str) -> int:
    if unicodedata.combining(char) or unicodedata.category(char) == "Cf":
        return 0
    return 2 if unicodedata.east_asian_width(char) in "WF" else 1


def pad(text: str, columns: int) -> str:
    return text + " " * (columns - width(text))
