"""Splits a long text into several messages: at a paragraph, else at a line, else at a space or a Chinese sign, never
inside what people see as one character, and if possible not inside bold text or inline code. A code fence that is split
is closed, and opened again in the next message; a table gets its head again. Pure."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Sequence

from msgspec import Struct

from clew.model.surface import Units

_LONGEST_REOPENED = 40  # characters of a fence's opening line that are repeated
_LONGEST_HEAD = 400  # characters of a table's head that are repeated
_FENCE = re.compile(r"^ {0,3}(`{3,40}|~{3,40})([^\n`]*)$", re.MULTILINE)  # longer ones are not treated as fences
_RULE = re.compile(r" {0,3}\|?[ \t]*:?-+:?[ \t]*(?:\|[ \t]*:?-+:?[ \t]*)*\|?[ \t]*")  # below the head of a table
_SPACES = (" ", "。", "！", "？", "；", "，", "、")
_MARKS = ("**", "`")


class Part(Struct, frozen=True):
    """`body` is a piece of the text: the bodies of all parts, joined, are the text."""

    body: str
    before: str = ""
    after: str = ""

    @property
    def shown(self) -> str:
        return f"{self.before}{self.body}{self.after}"


def size(text: str, units: Units) -> int:
    match units:
        case Units.CHARACTERS:
            return len(text)
        case Units.UTF16:
            return len(text.encode("utf-16-le", "surrogatepass")) // 2
        case Units.BYTES:
            return len(text.encode("utf-8", "surrogatepass"))


def split(text: str, limit: int, units: Units) -> list[Part]:
    """Parts that each fit the limit. No part consists of whitespace only."""
    if size(text, units) <= limit:
        return [Part(text)]
    return list(_cut(text, limit, units))


def _cut(text: str, limit: int, units: Units) -> Iterator[Part]:
    at, fence, table = 0, "", ""
    while at < len(text):
        before = f"{fence}\n" if fence else _repeated(table, text, at)
        space = limit - size(before, units) - size(_closing(text[at : at + limit], fence), units)
        end = at + _fitting(text[at : at + limit], max(space, 1), units)
        end = end if end >= len(text) else at + _good_end(text[at:end], text[end:], fence)
        body = text[at:end]
        fence = _open_after(fence, body)
        table = "" if fence else _head_after(table, body)
        closing = f"{'' if body.endswith(chr(10)) else chr(10)}{_ticks(fence)}" if fence and end < len(text) else ""
        yield Part(body, before, closing)
        at = end


def _repeated(table: str, text: str, at: int) -> str:
    """The head of the table that goes on here."""
    end = text.find("\n", at) if table else at
    return table if "|" in text[at : end if end >= 0 else len(text)] else ""


def _head_after(table: str, body: str) -> str:
    """The head of the table that is open after the text; `table` was open before it."""
    if not body.endswith("\n"):
        return ""
    above = ""
    for line in body.split("\n")[:-1]:
        if "|" not in line:
            table = ""
        elif "|" in above and _RULE.fullmatch(line):
            table = f"{above}\n{line}\n"
        above = line
    return table if len(table) <= _LONGEST_HEAD else ""


def _closing(text: str, fence: str) -> str:
    """The longest closing that may be needed: for the open fence, or the longest one in the text."""
    ticks = [_ticks(fence), *(found[1] for found in _FENCE.finditer(text))]
    return f"\n{max(ticks, key=len)}" if any(ticks) else ""


def _fitting(text: str, space: int, units: Units) -> int:
    """How many characters of the text fit."""
    low, high = 1, len(text)
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if size(text[:middle], units) <= space else (low, middle - 1)
    return low


def _good_end(head: str, tail: str, fence: str) -> int:
    """Where to cut, at the latest at the end of `head`."""
    least = len(head) // 4  # no tiny messages
    spaces = sorted(end for mark in _SPACES for end in _ends(head, mark))
    for ends in (_paragraphs(head, fence), _ends(head, "\n"), spaces):
        if (good := [end for end in ends if end > least]) and head[: good[-1]].strip():
            return _outside_marks(head[: good[-1]], least, fence)
    end = _outside_marks(head, least, fence)
    while end > 1 and _are_one_character(head[:end], head[end:] + tail[:1]):
        end -= 1
    return end if end > 1 else len(head)


def _outside_marks(head: str, least: int, fence: str) -> int:
    """The end of `head`; if it is inside bold text or inline code, the beginning of that."""
    if _open_after(fence, head):
        return len(head)
    paragraph = head.rfind("\n\n") + 1
    begins = [head.rfind(mark) for mark in _MARKS if head.count(mark, paragraph) % 2]
    return min([begin for begin in begins if begin > max(least, paragraph)], default=len(head))


def _paragraphs(head: str, fence: str) -> list[int]:
    """Ends of paragraphs outside fences."""
    return [end for end in _ends(head, "\n\n") if not _open_after(fence, head[:end])][-1:]


def _ends(text: str, mark: str) -> list[int]:
    return [at + len(mark)] if (at := text.rfind(mark)) >= 0 else []


def _open_after(fence: str, text: str) -> str:
    """The opening line of the fence that is open after the text; `fence` was open before it."""
    for found in _FENCE.finditer(text):
        ticks, rest = found[1], found[2]
        if not fence:
            fence = f"{ticks}{rest}".strip()
            fence = fence if len(fence) <= _LONGEST_REOPENED else ticks
        elif ticks.startswith(_ticks(fence)) and not rest.strip():
            fence = ""
    return fence


def _ticks(fence: str) -> str:
    return fence[: len(fence) - len(fence.lstrip(fence[0]))] if fence else ""


def _are_one_character(left: str, right: str) -> bool:
    """Whether people see the last character of `left` and the first of `right` as one."""
    if not left or not right:
        return False
    return left[-1] == "\u200d" or right[0] == "\u200d" or _is_combining(right[0]) or _is_half_a_flag(left, right)


def _is_combining(char: str) -> bool:
    return unicodedata.category(char) in ("Mn", "Me", "Mc") or 0x1F3FB <= ord(char) <= 0x1F3FF


def _is_half_a_flag(left: str, right: str) -> bool:
    flags = len(left) - len(left.rstrip("".join(map(chr, range(0x1F1E6, 0x1F200)))))
    return flags % 2 == 1 and 0x1F1E6 <= ord(right[0]) <= 0x1F1FF


def joined(parts: Sequence[Part]) -> str:
    return "".join(part.body for part in parts)
