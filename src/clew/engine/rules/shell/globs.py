"""What a word with `*` or `?` may stand for, in any shell with any options: also names with a leading dot, and in upper
or lower case. To find more than a shell does is harmless, to find less is not: what cannot be listed is uncertain."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from clew.engine.rules.patterns import is_inside
from clew.engine.rules.shell.strict import Word

_MAX_NAMES = 2_000  # names in a folder, or paths that a word may become
_MAX_NAMES_COMPARED = 20_000  # names that are looked at for one word
_MAX_WILDCARDS = 8  # wildcards between two slashes
_MAX_NAME_LENGTH = 255  # characters of a name


class Uncertain(Exception):
    """It cannot be said what the word stands for."""


def expand(word: Word, folder: str, workspace: str) -> list[str]:
    """The paths that a word may become, as a shell would write them. Raises Uncertain if one of them lies outside the
    workspace or looks like an option, and if there are too many."""
    parts = _split_at_slashes(word)
    too_wild = any(len(wild) > _MAX_WILDCARDS or (wild and len(text) > _MAX_NAME_LENGTH) for text, wild in parts)
    if "**" in word.text or ".." in word.text.split("/") or too_wild or not folder.startswith("/"):
        raise Uncertain
    found = _expand_parts(parts, Path(folder), workspace)
    if any(path.startswith("-") or not is_inside(str(Path(folder, path)), workspace) for path in found):
        raise Uncertain
    return found


def any_path_starts_with(text: str, folder: str) -> bool:
    """Whether there is a file whose path begins with this text, in upper or lower case."""
    path = Path(folder, text)
    return path.parent.is_dir() and any(
        each.lower().startswith(path.name.lower()) for each in _list_folder(path.parent)
    )


def _split_at_slashes(word: Word) -> list[tuple[str, frozenset[int]]]:
    """Between its slashes: each part as it is written, and where in it a wildcard stands."""
    parts, start = [], 0
    for text in word.text.split("/"):
        parts.append((text, frozenset(at - start for at in word.wildcards if start <= at < start + len(text))))
        start += len(text) + 1
    return parts


def _expand_parts(parts: Sequence[tuple[str, frozenset[int]]], folder: Path, workspace: str) -> list[str]:
    paths, left = [""], _MAX_NAMES_COMPARED
    for at, (text, wild) in enumerate(parts):
        slash = "/" if at < len(parts) - 1 else ""
        listed = {path: _candidates(text, wild, folder / path, workspace) for path in paths}
        left -= sum(map(len, listed.values()))
        if left < 0:
            raise Uncertain
        named = [
            f"{path}{name}" for path in paths for name in listed[path] if not wild or _name_matches(text, wild, name)
        ]
        if len(named) > _MAX_NAMES:
            raise Uncertain
        paths = [f"{path}{slash}" for path in named]
    return [path for path in paths if os.path.lexists(folder / path)]


def _candidates(text: str, wild: frozenset[int], folder: Path, workspace: str) -> list[str]:
    """The names that a part may stand for."""
    if not wild:
        return [text]
    if not is_inside(str(folder), workspace):
        raise Uncertain
    dots = [".", ".."] if text.startswith(".") else []
    return [*dots, *_list_folder(folder)] if folder.is_dir() else []


def _name_matches(text: str, wild: frozenset[int], name: str) -> bool:
    """Whether a name may match: by its characters, or by its bytes, as in a locale that knows no others."""
    signs = [_symbol(char) if at in wild else char.lower() for at, char in enumerate(text)]
    if not name.isascii():  # how many characters it has depends on the locale
        signs = [_ANY if sign == _ONE else sign for sign in signs]
    raw = [each for sign in signs for each in ([sign] if sign in (_ANY, _ONE) else _bytes(sign))]
    return _matches(signs, list(name.lower())) or _matches(raw, _bytes(name.lower()))


def _symbol(char: str) -> str:
    return _ANY if char == "*" else _ONE


def _bytes(text: str) -> list[str]:
    return list(os.fsencode(text).decode("latin-1"))


_ANY, _ONE = "any", "one"  # no character is so long


def _matches(signs: Sequence[str], name: Sequence[str]) -> bool:
    """In time that grows with the product of the lengths: a regular expression could take for ever."""
    reached = {0}
    for char in name:
        reached = _skip_stars(reached, signs)
        stays = {at for at in reached if at < len(signs) and signs[at] == _ANY}
        reached = stays | {at + 1 for at in reached if at < len(signs) and (signs[at] == char or signs[at] == _ONE)}
        if not reached:
            return False
    return len(signs) in _skip_stars(reached, signs)


def _skip_stars(reached: set[int], signs: Sequence[str]) -> set[int]:
    """A `*` also stands for nothing."""
    found = set(reached)
    for at in sorted(reached):
        while at < len(signs) and signs[at] == _ANY:
            at += 1
            found.add(at)
    return found


def _list_folder(folder: Path) -> list[str]:
    names: list[str] = []
    with os.scandir(folder) as entries:
        for entry in entries:
            names.append(entry.name)
            if len(names) > _MAX_NAMES:
                raise Uncertain
    return names
