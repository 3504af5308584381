"""What a word with `*` or `?` may stand for, in any shell with any options: also names with a leading dot, and in upper
or lower case. To find more than a shell does is harmless, to find less is not: what cannot be listed is uncertain."""

from __future__ import annotations

import os
import re
from pathlib import Path

from clew.engine.grammar import Word
from clew.engine.patterns import inside

_MOST = 2_000  # names that are looked at for one word


class Uncertain(Exception):
    """It cannot be said what the word stands for."""


def matches(word: Word, folder: str, workspace: str) -> list[str]:
    """The paths that a word may become, as a shell would write them. Raises Uncertain if one of them lies outside the
    workspace or looks like an option, and if there are too many."""
    if "**" in word.text or not folder.startswith("/"):
        raise Uncertain
    found = _spread(_parts(word), Path(folder), workspace)
    if any(path.startswith("-") or not inside(str(Path(folder, path)), workspace) for path in found):
        raise Uncertain
    return found


def _parts(word: Word) -> list[tuple[str, re.Pattern[str] | None]]:
    """Between its slashes: each part as it is written, and as a pattern if it has a wildcard."""
    parts, start = [], 0
    for text in word.text.split("/"):
        wild = {at - start for at in word.wild if start <= at < start + len(text)}
        parts.append((text, _pattern(text, wild) if wild else None))
        start += len(text) + 1
    return parts


def _pattern(text: str, wild: set[int]) -> re.Pattern[str]:
    signs = {"*": ".*", "?": "."}
    written = (signs[char] if at in wild else re.escape(char) for at, char in enumerate(text))
    return re.compile("".join(written), re.IGNORECASE | re.DOTALL)


def _spread(parts: list[tuple[str, re.Pattern[str] | None]], folder: Path, workspace: str) -> list[str]:
    paths = [""]
    for at, (text, pattern) in enumerate(parts):
        slash = "/" if at < len(parts) - 1 else ""
        named = [f"{path}{name}" for path in paths for name in _names(text, pattern, folder / path, workspace)]
        if len(named) > _MOST:
            raise Uncertain
        paths = [f"{path}{slash}" for path in named]
    return [path for path in paths if os.path.lexists(folder / path)]


def _names(text: str, pattern: re.Pattern[str] | None, folder: Path, workspace: str) -> list[str]:
    if pattern is None:
        return [text]
    if not folder.is_dir():
        return []
    if not inside(str(folder), workspace):
        raise Uncertain
    dots = [".", ".."] if text.startswith(".") else []
    return [name for name in (*dots, *_listed(folder)) if pattern.fullmatch(name)]


def _listed(folder: Path) -> list[str]:
    names: list[str] = []
    with os.scandir(folder) as entries:
        for entry in entries:
            names.append(entry.name)
            if len(names) > _MOST:
                raise Uncertain
    return names
