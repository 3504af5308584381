"""Looks for links that lead out of the workspace: a program that changes every file below a folder also writes through
them. It gives up on a tree that is too large."""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Iterable, Iterator
from pathlib import Path

from clew.engine.patterns import GUARDED, real, relative

_MOST = 50_000  # entries
_DEEPEST = 80  # folders in each other: the system takes as long to find one as it lies deep
_PYTHON = re.compile(r"(?:python|pypy)[0-9.]*")


class TooLarge(Exception):
    """Not all of the tree was looked at."""


def stays_inside(folders: Iterable[str], workspace: str) -> bool:
    """Whether no link below these folders leads out of the workspace, or to where only a rule that names it may write.
    False if that is not certain."""
    try:
        return all(_is_harmless(link, workspace) for link in _links(folders, workspace))
    except (TooLarge, OSError, ValueError):
        return False


def hard_link(paths: Iterable[str], workspace: str) -> str | None:
    """The first of these files that has another name too: that may lie outside of the workspace, and nothing tells
    where. A file that cannot be looked at counts as one."""
    return next((path for path in paths if _has_more_names(path, workspace)), None)


def _has_more_names(path: str, workspace: str) -> bool:
    if (where := real(path, workspace)) is None:
        return False  # no rule covers it anyway
    try:
        found = Path(where).stat()
    except (FileNotFoundError, NotADirectoryError):
        return False
    except (OSError, ValueError):
        return True
    return stat.S_ISREG(found.st_mode) and found.st_nlink > 1


def _is_harmless(link: os.DirEntry[str], workspace: str) -> bool:
    where = relative(link.path, workspace)
    if where is None:
        return _is_python(link)
    return GUARDED.isdisjoint(where.lower().split("/"))


def _is_python(link: os.DirEntry[str]) -> bool:
    """Every virtual environment has such links; no tool takes a file of that name for source."""
    target = Path(os.path.realpath(link.path))
    return all(map(_PYTHON.fullmatch, (link.name, target.name))) and target.is_file()


def _links(folders: Iterable[str], workspace: str) -> Iterator[os.DirEntry[str]]:
    """Every link below. What lies in a folder that a link leads to is looked at too."""
    waiting = list(dict.fromkeys(map(os.path.realpath, folders)))
    seen = {*waiting, f"{os.path.realpath(workspace)}/.git"}
    left = _MOST
    for folder in waiting:  # which grows meanwhile
        if folder.count("/") > _DEEPEST:
            raise TooLarge
        for entry in _entries(folder):
            left -= 1
            if left < 0:
                raise TooLarge
            if entry.is_symlink():
                yield entry
            if entry.is_dir() and (found := os.path.realpath(entry.path)) not in seen:
                seen.add(found)
                waiting.append(found)


def _entries(folder: str) -> Iterator[os.DirEntry[str]]:
    """In a folder that is not there, nothing is written."""
    if os.path.lexists(folder):
        with os.scandir(folder) as found:
            yield from found
