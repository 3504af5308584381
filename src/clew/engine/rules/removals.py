"""Judges deleting or moving a folder, which affects all that lies in it. It lists folders, follows no links, and gives
up on a folder that is too large."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from itertools import chain, takewhile
from pathlib import Path

from clew.engine.rules.patterns import (
    PROTECTED_FOLDERS,
    deny_patterns,
    deny_spellings,
    is_inside,
    name_spellings,
    parts_match,
    real_path,
)

_MAX_ENTRIES = 10_000


def deny_matches_removal(pattern: str, path: str, workspace: str) -> bool:
    """Whether deleting or moving this path may affect something that a deny or ask pattern means. In a folder that is
    too large anything may lie."""
    written = os.path.normpath(Path(workspace, path))
    removed = {Path(written), Path(real_path(path, workspace) or written)}
    if all(each.is_file() for each in removed):
        return False
    if not pattern.startswith("/") and any(is_inside(workspace, str(each)) for each in removed):
        return True
    spellings = deny_spellings(path, workspace)
    for wanted in deny_patterns(pattern):
        above = list(takewhile(lambda name: name != "**", wanted))
        if any(parts_match(above[:length], parts) for length in range(1, len(above) + 1) for parts in spellings):
            return True
        if "**" in wanted[len(above) : -1] and any(_any_below(wanted, spellings, each) for each in removed):
            return True
    return False


def _any_below(wanted: Sequence[str], spellings: Sequence[Sequence[str]], folder: Path) -> bool:
    try:
        return any(
            parts_match([*wanted, "**"], [*parts, *below]) for below in _names_below(folder) for parts in spellings
        )
    except OSError:
        return True


def removes_protected(pattern: str, path: str, workspace: str) -> bool:
    """Whether a folder holds one such as `.git`, which the pattern of an allow does not name; or may hold one, as it is
    too large."""
    protected = PROTECTED_FOLDERS.difference(pattern.split("/"))
    try:
        return not protected.isdisjoint(
            chain.from_iterable(_names_below(Path(real_path(path, workspace) or workspace)))
        )
    except OSError:
        return True


def _names_below(top: Path) -> Iterator[list[str]]:
    """The names on the way to each entry of a folder, in lower case and folded. Raises OSError if it is too large, or
    cannot be read."""
    waiting: list[tuple[Path, list[str]]] = [(top, [])] if top.is_dir() else []
    left = _MAX_ENTRIES
    for folder, names in waiting:  # grows in the loop
        with os.scandir(folder) as found:
            for entry in found:
                left -= 1
                if left < 0:
                    raise OSError("the folder is too large")
                below = [*names, entry.name]
                yield from name_spellings(below)
                if entry.is_dir(follow_symlinks=False):
                    waiting.append((Path(entry.path), below))
