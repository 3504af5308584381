"""Looks for links that lead out of the workspace: a program that changes every file below a folder also writes through
them, and one that reads all files or runs all tests below gets what they lead to. It gives up on a tree that is too
large."""

from __future__ import annotations

import os
import re
import stat
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Set
from pathlib import Path

from clew.engine.rules.patterns import PROTECTED_FOLDERS, real_path, relative_path
from clew.engine.rules.shell.lenient import word_set

_MAX_ENTRIES = 50_000  # entries
_MAX_DEPTH = 80  # folders in each other: the system takes as long to find one as it lies deep
_MAX_ENTRIES_TO_READ = 200_000  # to look for links alone is quick
_DEPENDENCY_FOLDERS = word_set("node_modules venv .venv")
_PYTHON = re.compile(r"(?:python|pypy)[0-9.]*")


class TooLarge(Exception):
    """Not all of the tree was looked at."""


def writes_stay_inside(paths: Iterable[str], workspace: str, passes_over: Set[str]) -> bool:
    """Whether a program that changes these files, and all files below these folders, changes none outside of the
    workspace, and none that only a rule that names it may change. False if that is not certain. `passes_over`: folders
    into which the program does not go."""
    try:
        given = list(paths)
        found = list(_entries_below(given, workspace, _MAX_ENTRIES))
        links = [entry for entry in found if entry.is_symlink()]
        files = [*(each for each in given if Path(each).is_file()), *(entry.path for entry in found if entry.is_file())]
        return all(_is_harmless(link, workspace) for link in links) and _have_no_outside_names(
            files, workspace, passes_over
        )
    except (TooLarge, OSError, ValueError):
        return False


def reads_stay_inside(folders: Iterable[str], workspace: str, *, hidden: bool) -> bool:
    """Whether a program that reads or runs what lies below these folders finds no link that leads out of the workspace.
    False if that is not certain. `hidden`: it goes into hidden folders too. All pass over other people's code."""
    try:
        found = _entries_below(
            folders, workspace, _MAX_ENTRIES_TO_READ, _is_searched_with_hidden if hidden else _is_searched
        )
        return all(_leads_inside(entry, workspace) for entry in found if entry.is_symlink())
    except (TooLarge, OSError, ValueError):
        return False


def direct_links_stay_inside(folders: Iterable[Path], workspace: str) -> bool:
    """Whether no link directly in these folders leads out of the workspace. Tools write their caches and output there,
    through whatever has the name of those; and into hidden folders of `node_modules`."""
    try:
        found = [
            *_direct_entries(folders),
            *_direct_entries((each / "node_modules" for each in folders), only_hidden=True),
        ]
        return all(relative_path(entry.path, workspace) is not None for entry in found if entry.is_symlink())
    except (TooLarge, OSError, ValueError):
        return False


def _direct_entries(folders: Iterable[Path], *, only_hidden: bool = False) -> Iterator[os.DirEntry[str]]:
    left = _MAX_ENTRIES
    for entry in (each for folder in folders for each in _entries(str(folder))):
        left -= 1
        if left < 0:
            raise TooLarge
        if not only_hidden or entry.name.startswith("."):
            yield entry


def _is_searched(name: str) -> bool:
    return not name.startswith(".") and _is_searched_with_hidden(name)


def _is_searched_with_hidden(name: str) -> bool:
    return name not in _DEPENDENCY_FOLDERS


def _have_no_outside_names(files: Iterable[str], workspace: str, passes_over: Set[str]) -> bool:
    """Whether each of these files has no more names than are among them: another one may lie outside. Compilers link
    what they build within one folder; package managers link from their cache into a folder that is passed over."""
    found: defaultdict[tuple[int, int, int], set[str]] = defaultdict(set)
    for file in files:
        seen = Path(file).stat()
        if seen.st_nlink > 1:
            found[seen.st_dev, seen.st_ino, seen.st_nlink].add(os.path.realpath(file))
    missing = (each for (_, _, count), each in found.items() if len(each) < count)
    where = [relative_path(file, workspace) or "" for each in missing for file in each]
    return not any(passes_over.isdisjoint(path.split("/")) for path in where)


def find_hard_link(paths: Iterable[str], workspace: str) -> str | None:
    """The first of these files that has another name too: that may lie outside of the workspace, and nothing tells
    where. A file that cannot be looked at counts as one."""
    return next((path for path in paths if _has_hard_links(path, workspace)), None)


def _has_hard_links(path: str, workspace: str) -> bool:
    if (where := real_path(path, workspace)) is None:
        return False  # no rule covers it anyway
    try:
        found = Path(where).stat()
    except (FileNotFoundError, NotADirectoryError):
        return False
    except (OSError, ValueError):
        return True
    return stat.S_ISREG(found.st_mode) and found.st_nlink > 1


def _is_harmless(link: os.DirEntry[str], workspace: str) -> bool:
    where = relative_path(link.path, workspace)
    return _leads_inside(link, workspace) and PROTECTED_FOLDERS.isdisjoint((where or "").lower().split("/"))


def _leads_inside(link: os.DirEntry[str], workspace: str) -> bool:
    return relative_path(link.path, workspace) is not None or _is_python(link)


def _is_python(link: os.DirEntry[str]) -> bool:
    """Every virtual environment has such links; no tool takes a file of that name for source."""
    target = Path(os.path.realpath(link.path))
    return all(map(_PYTHON.fullmatch, (link.name, target.name))) and target.is_file()


def _entries_below(
    paths: Iterable[str], workspace: str, most: int, is_looked_at: Callable[[str], bool] = bool
) -> Iterator[os.DirEntry[str]]:
    """All that lies below, as far as its name says that it counts; also in folders that a link leads to."""
    waiting = list(dict.fromkeys(map(os.path.realpath, paths)))
    seen = {*waiting, f"{os.path.realpath(workspace)}/.git"}
    left = most
    for folder in waiting:  # which grows meanwhile
        if folder.count("/") > _MAX_DEPTH:
            raise TooLarge
        for entry in filter(lambda each: is_looked_at(each.name), _entries(folder)):
            left -= 1
            if left < 0:
                raise TooLarge
            yield entry
            if entry.is_dir() and (found := os.path.realpath(entry.path)) not in seen:
                seen.add(found)
                waiting.append(found)


def _entries(folder: str) -> Iterator[os.DirEntry[str]]:
    """In a folder that is not there, nothing is written."""
    if Path(folder).is_dir():
        with os.scandir(folder) as found:
            yield from found
