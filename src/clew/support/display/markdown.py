"""A parser for the Markdown that agents write, based on markdown-it, which is imported at the first use: it is slow.

CommonMark decides by the characters beside `*` whether it marks emphasis, and assumes that words are separated by
spaces. In Chinese they are not: `**注意：**重启` would keep its stars. Formulas (`2*3*4`) and file patterns
(`src/*.py, tests/*.py`) would lose theirs. Both follow what agents mean here.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from markdown_it import MarkdownIt
    from markdown_it.rules_inline import StateInline

_BEFORE = frozenset("([{<\"'“‘«¡¿—–-*_~|")  # besides blanks: what stands before one star that opens
_AFTER = frozenset(")]}>\"'”’»—–-*_~|.,;:!?…")  # and after one that closes
_CODE_OR_BOLD = re.compile(r"(?<!`)(`+)(?!`).*?(?<!`)\1(?!`)|\\[*`]|(?<!\*)\*\*(?!\*)", re.DOTALL)


def parser(options: dict[str, object]) -> MarkdownIt:
    """A parser without raw HTML and without link definitions, which would hide text."""
    from markdown_it import MarkdownIt

    markdown = MarkdownIt("commonmark", {"html": False, **options})
    markdown.enable(["table", "strikethrough"]).disable("reference")
    markdown.inline.ruler.at("emphasis", _emphasis)
    return markdown


def _emphasis(state: StateInline, silent: bool) -> bool:
    """markdown-it's rule, with our own decision which stars open and close."""
    from markdown_it.rules_inline.emphasis import tokenize

    start, known = state.pos, len(state.delimiters)
    if not tokenize(state, silent):
        return False
    if state.src[start] == "*":
        before = state.src[start - 1] if start else " "
        after = state.src[state.pos] if state.pos < state.posMax else " "
        opens, closes = flanks(before, after, state.pos - start)
        for delimiter in state.delimiters[known:]:
            delimiter.open, delimiter.close = opens, closes
    return True


def flanks(before: str, after: str, stars: int) -> tuple[bool, bool]:
    """Whether so many stars between two characters can open, and can close emphasis."""
    if _is_western_word(before) and _is_western_word(after):
        return False, False
    opens, closes = not after.isspace(), not before.isspace()
    if stars == 1:
        opens = opens and (before.isspace() or before in _BEFORE or not before.isascii())
        closes = closes and (after.isspace() or after in _AFTER or not after.isascii())
    return opens, closes


def _is_western_word(char: str) -> bool:
    """Whether it is part of a word of a script that separates words by spaces."""
    return char.isalnum() and unicodedata.east_asian_width(char) not in "WF"


def spaced(text: str) -> str:
    """Text whose bold is also bold by CommonMark's rules, for a platform that renders it itself: a space is added
    outside of stars where needed."""
    return "\n\n".join("".join(_spaced(paragraph)) for paragraph in text.split("\n\n"))


def _spaced(text: str) -> Iterator[str]:
    done, opened = 0, -1
    for found in _CODE_OR_BOLD.finditer(text):
        if found[0] != "**":
            continue
        start, end = found.span()
        before, after = text[start - 1 : start] or " ", text[end : end + 1] or " "
        opens, closes = flanks(before, after, 2)
        if opened >= 0 and closes:
            yield text[done:opened] + (" " if _needs_space(text[opened + 2], text[opened - 1 : opened]) else "")
            yield text[opened:end] + (" " if _needs_space(before, after) else "")
            done, opened = end, -1
        elif opened < 0 and opens:
            opened = start
    yield text[done:]


def _needs_space(inside: str, outside: str) -> bool:
    """Whether stars between these are no emphasis to CommonMark: a sign inside, and a letter outside."""
    return _is_sign(inside) and not (outside in ("", " ") or outside.isspace() or _is_sign(outside))


def _is_sign(char: str) -> bool:
    return unicodedata.category(char)[0] in "PS"
