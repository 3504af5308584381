"""Checks whether the texts that an agent sends with a diff match the diff. Pure. A person reads the diff, so a text
that differs has to be shown too."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from msgspec import Struct

WHOLE = "content"
UNIFIED = "diff"
PIECES = (("oldString", "newString", "replaceAll"), ("old_string", "new_string", "replace_all"))
KEYS = (WHOLE, UNIFIED, *(key for names in PIECES for key in names))
_HUNK = re.compile(r"@@ -([0-9]{1,9})(?:,([0-9]{1,9}))? \+[0-9]{1,9}(?:,([0-9]{1,9}))? @@.*")


class _Hunk(Struct, frozen=True):
    """One hunk of a unified diff."""

    at: int  # the number of lines before it, in the old text
    old: Sequence[str]
    new: Sequence[str]


class _Unread(Exception):
    """The text is not a unified diff of one file."""


def differing(given: Mapping[str, Any], before: str, after: str) -> dict[str, Any]:
    """Return the texts that do not match a change from `before` to `after`."""
    odd = {key for key in (WHOLE, UNIFIED) if key in given and not _is_same(key, given[key], before, after)}
    for names in PIECES:
        if not given.keys().isdisjoint(names) and not _is_same_piece(names, given, before, after):
            odd.update(names)
    return {key: value for key, value in given.items() if key in odd}


def _is_same(key: str, value: str, before: str, after: str) -> bool:
    return value == after if key == WHOLE else _makes(value, _lines(before), _lines(after))


def _is_same_piece(names: tuple[str, str, str], given: Mapping[str, Any], before: str, after: str) -> bool:
    old, new, everywhere = (given.get(name) for name in names)
    if not old or new is None:
        return not old and not everywhere and new == after
    is_found = bool(everywhere) or before.count(old) == 1
    return is_found and before.replace(old, new) == after


def _makes(diff: str, before: Sequence[str], after: Sequence[str]) -> bool:
    """Whether a unified diff turns `before` into `after`, line by line."""
    pairs: list[tuple[str, str]] = []  # lines in the diff, and in the file
    old = new = 0  # how many lines of the two texts are compared
    try:
        for hunk in _hunks(diff):
            same = hunk.at - old
            old_end, new_end = hunk.at + len(hunk.old), new + same + len(hunk.new)
            is_fitting = same >= 0 and old_end <= len(before) and new_end <= len(after)
            if not is_fitting or before[old : hunk.at] != after[new : new + same]:
                return False
            pairs += zip(hunk.old, before[hunk.at : old_end], strict=True)
            pairs += zip(hunk.new, after[new + same : new_end], strict=True)
            old, new = old_end, new_end
    except _Unread:
        return False
    return before[old:] == after[new:] and _are_equal_but_indent(pairs)


def _hunks(diff: str) -> Iterator[_Hunk]:
    if not diff:
        return
    lines = f"\n{diff}".partition("\n@@")[2].split("\n")
    left = [line for line in ("@@" + lines[0], *lines[1:]) if not line.startswith("\\ No newline")][::-1]
    while left and left != [""]:
        if (head := _HUNK.fullmatch(left.pop())) is None:
            raise _Unread
        start, old_count, new_count = int(head[1]), int(head[2] or 1), int(head[3] or 1)
        old: list[str] = []
        new: list[str] = []
        while left and (len(old) < old_count or len(new) < new_count):
            sign, text = left[-1][:1], left.pop()[1:]
            if sign not in ("", " ", "+", "-"):
                raise _Unread
            old += [text] if sign != "+" else []
            new += [text] if sign != "-" else []
        if (len(old), len(new)) != (old_count, new_count):
            raise _Unread
        yield _Hunk(start - 1 if old_count else start, old, new)


def _are_equal_but_indent(pairs: Sequence[tuple[str, str]]) -> bool:
    """Whether both lines of each pair are equal, apart from the common indent, which agents remove, and trailing
    blanks."""
    cut = max((len(real.rstrip()) - len(given.rstrip()) for given, real in pairs if given.strip()), default=0)
    return cut >= 0 and all(not real[:cut].strip() and real[cut:].rstrip() == given.rstrip() for given, real in pairs)


def _lines(text: str) -> list[str]:
    lines = text.split("\n")
    return lines[:-1] if lines[-1] == "" else lines
