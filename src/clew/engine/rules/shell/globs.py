"""Expands a word with `*` or `?` to all paths that any shell with any options may expand it to: also names with a
leading dot, and in upper or lower case. More paths than a shell finds do no harm, fewer would: if a folder cannot be
listed completely, the result is Uncertain."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from clew.engine.rules.patterns import is_inside
from clew.engine.rules.shell.strict import Word

_MAX_NAMES = 2_000  # in a folder, or paths that a word may expand to
_MAX_NAMES_COMPARED = 20_000  # for one word
_MAX_WILDCARDS = 8  # between two slashes
_MAX_NAME_LENGTH = 255  # characters


class Uncertain(Exception):
    """It is not certain what a word expands to."""


def expand(word: Word, folder: str, workspace: str) -> list[str]:
    """The paths that a word may expand to, as a shell would write them. Raises Uncertain if one of them lies outside
    the workspace or looks like an option, or if there are too many."""
    parts = _split_at_slashes(word)
    is_too_complex = any(
        len(wildcards) > _MAX_WILDCARDS or (wildcards and len(text) > _MAX_NAME_LENGTH) for text, wildcards in parts
    )
    if "**" in word.text or ".." in word.text.split("/") or is_too_complex or not folder.startswith("/"):
        raise Uncertain
    found = _expand_parts(parts, Path(folder), workspace)
    if any(path.startswith("-") or not is_inside(str(Path(folder, path)), workspace) for path in found):
        raise Uncertain
    return found


def any_path_starts_with(text: str, folder: str) -> bool:
    """Whether a file may exist whose path begins with this text, ignoring case."""
    path = Path(folder, text)
    start, star = f"{path.name}*", frozenset({len(path.name)})
    return path.parent.is_dir() and any(_name_matches(start, star, each) for each in _list_folder(path.parent))


def _split_at_slashes(word: Word) -> list[tuple[str, frozenset[int]]]:
    """The parts of a word between slashes: each as written, with the positions of its wildcards."""
    parts, start = [], 0
    for text in word.text.split("/"):
        parts.append((text, frozenset(at - start for at in word.wildcards if start <= at < start + len(text))))
        start += len(text) + 1
    return parts


def _expand_parts(parts: Sequence[tuple[str, frozenset[int]]], folder: Path, workspace: str) -> list[str]:
    paths, left = [""], _MAX_NAMES_COMPARED
    for at, (text, wildcards) in enumerate(parts):
        slash = "/" if at < len(parts) - 1 else ""
        listed = {path: _candidates(text, wildcards, folder / path, workspace) for path in paths}
        left -= sum(map(len, listed.values()))
        if left < 0:
            raise Uncertain
        named = [
            f"{path}{name}"
            for path in paths
            for name in listed[path]
            if name == text or _name_matches(text, wildcards, name)
        ]
        if len(named) > _MAX_NAMES:
            raise Uncertain
        paths = [f"{path}{slash}" for path in named]
    return [path for path in paths if os.path.lexists(folder / path)]


def _candidates(text: str, wildcards: frozenset[int], folder: Path, workspace: str) -> list[str]:
    """The names to match a part with. In zsh, a part without wildcards may also match a name in another case."""
    if not wildcards:
        is_listed = text not in ("", ".") and folder.is_dir() and is_inside(str(folder), workspace)
        return [text, *(name for name in _list_folder(folder) if name != text)] if is_listed else [text]
    if not is_inside(str(folder), workspace):
        raise Uncertain
    dots = [".", ".."] if text.startswith(".") else []
    return [*dots, *_list_folder(folder)] if folder.is_dir() else []


def _name_matches(text: str, wildcards: frozenset[int], name: str) -> bool:
    """Whether a name may match. Outside ASCII the locale decides how many characters there are and which are the same
    letter in another case. So there a character of the word matches anything, and one of a name any single symbol."""
    symbols = [_symbol(char, at in wildcards, name.isascii()) for at, char in enumerate(text)]
    return _matches(symbols, [char.lower() if char.isascii() else _ONE for char in name])


def _symbol(char: str, is_wildcard: bool, is_ascii_name: bool) -> str:
    if is_wildcard:
        return _ONE if char == "?" and is_ascii_name else _ANY
    return char.lower() if char.isascii() else _ANY


_ANY, _ONE = "any", "one"  # longer than any character, so never equal to one


def _matches(symbols: Sequence[str], name: Sequence[str]) -> bool:
    """Match in time that grows with the product of the lengths; a regular expression could take exponential time."""
    reached = {0}
    for char in name:
        reached = _skip_stars(reached, symbols)
        stays = {at for at in reached if at < len(symbols) and symbols[at] == _ANY}
        reached = stays | {
            at + 1 for at in reached if at < len(symbols) and (symbols[at] == char or _ONE in (symbols[at], char))
        }
        if not reached:
            return False
    return len(symbols) in _skip_stars(reached, symbols)


def _skip_stars(reached: set[int], symbols: Sequence[str]) -> set[int]:
    """Add the positions behind each reached `*`, which also matches nothing."""
    found = set(reached)
    for at in sorted(reached):
        while at < len(symbols) and symbols[at] == _ANY:
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
