"""Puts texts together, so that the sentences of clew among them keep their codes. `"\\n".join` and f-strings leave
only their English."""

from __future__ import annotations

from collections.abc import Callable

from clew.support.coded import Coded, Text
from clew.texts.bilingual import zh
from clew.texts.catalogue import say


def lines(*texts: str) -> str:
    """One below the other. Empty ones are left out."""
    return _joined([each for each in texts if each], "\n", "both.lines")


def glued(*texts: str) -> str:
    """One right after the other."""
    return _joined([each for each in texts if each], "", "both.glued")


def listed(*texts: str) -> str:
    """As a list: `a, b`. Empty ones are left out."""
    return _joined([each for each in texts if each], ", ", "both.list")


def in_each_language(text: str, change: Callable[[str], str]) -> str:
    """A text after a change that needs all of it, such as cutting: a sentence of clew is changed in both languages."""
    if not isinstance(text, Text):
        return change(text)
    english, chinese = change(str.__str__(text)), change(zh(text))
    return Text(english, Coded("both.text", {"en": english, "zh": chinese}))


def _joined(texts: list[str], between: str, code: str) -> str:
    """Halves are joined, not one text after the other: with hundreds of texts that would be too deep to render."""
    if len(texts) <= 1 or not any(isinstance(each, Text) for each in texts):
        return texts[0] if len(texts) == 1 else between.join(texts)
    middle = len(texts) // 2
    first, rest = _joined(texts[:middle], between, code), _joined(texts[middle:], between, code)
    return say(code, first=first, rest=rest)
