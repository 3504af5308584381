"""Texts that are put together: of two languages, of several lines, of a list."""

from __future__ import annotations

SENTENCES: dict[str, tuple[str, str]] = {
    "text": ("{en}", "{zh}"),  # a text without a code of its own, as an argument of a sentence
    "lines": ("{first}\n{rest}", "{first}\n{rest}"),
    "glued": ("{first}{rest}", "{first}{rest}"),
    "list": ("{first}, {rest}", "{first}、{rest}"),
}
