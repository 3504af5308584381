"""Whether the texts that an agent gives along with a diff say what the diff shows. Pure. A person reads the diff, so a
text that says anything else has to be shown too."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any

WHOLE = "content"
UNIFIED = "diff"
PIECES = (("oldString", "newString", "replaceAll"), ("old_string", "new_string", "replace_all"))
KEYS = (WHOLE, UNIFIED, *(key for names in PIECES for key in names))


def differing(given: Mapping[str, Any], before: str, after: str) -> dict[str, Any]:
    """Those that say something else than that a file's text changes from `before` to `after`."""
    odd = {key for key in (WHOLE, UNIFIED) if key in given and not _is_same(key, given[key], before, after)}
    for names in PIECES:
        if not given.keys().isdisjoint(names) and not _is_same_piece(names, given, before, after):
            odd.update(names)
    return {key: value for key, value in given.items() if key in odd}


def _is_same(key: str, value: str, before: str, after: str) -> bool:
    return value == after if key == WHOLE else _told(value) == _changed(before, after)


def _is_same_piece(names: tuple[str, str, str], given: Mapping[str, Any], before: str, after: str) -> bool:
    old, new, everywhere = (given.get(name) for name in names)
    if not old or new is None:
        return not old and not everywhere and new == after
    is_found = bool(everywhere) or before.count(old) == 1
    return is_found and before.replace(old, new) == after


def _changed(before: str, after: str) -> Counter[str]:
    """How many there are more of each line, or fewer. Blanks do not count: agents shorten them in what they show."""
    return _net(after.split("\n"), before.split("\n"))


def _told(diff: str) -> Counter[str]:
    """The same, as a unified diff of one file tells it."""
    hunks = f"\n{diff}".partition("\n@@")[2]
    lines = hunks.split("\n")[1:]
    added, removed = ([line[1:] for line in lines if line.startswith(sign)] for sign in "+-")
    return _net(added, removed)


def _net(added: Iterable[str], removed: Iterable[str]) -> Counter[str]:
    """A line that is removed here and added there counts for nothing."""
    count = Counter(map(str.strip, added))
    count.subtract(map(str.strip, removed))
    del count[""]
    return count
