"""Searches for links that lead out of the workspace. A program that changes every file below a folder would write
through them, and one that reads all files or runs all tests would read their targets. The search gives up on a tree
that is too large."""

from __future__ import annotations

import os
import re
import stat
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Set
from pathlib import Path

from clew.engine.rules.patterns import PROTECTED_FOLDERS, folded, real_path, relative_path
from clew.engine.rules.shell.lenient import word_set

_MAX_ENTRIES = 50_000  # entries
_MAX_DEPTH = 80  # nested folders: the deeper one lies, the longer the system takes to find it
_MAX_ENTRIES_TO_READ = 200_000  # more than the others: only links are checked, which is quick
_DEPENDENCY_FOLDERS = word_set("node_modules venv .venv")
_PYTHON = re.compile(r"(?:python|pypy)[0-9.]*")


class TooLarge(Exception):
    """The tree has too many entries; not all of it was searched."""


def writes_stay_inside(paths: Iterable[str], workspace: str, skipped_folders: Set[str]) -> bool:
    """Whether a program that changes these files, and all files below these folders, changes no file outside the
    workspace and none in a protected folder. False if that is not certain. `skipped_folders`: folders that the program
    does not enter."""
    try:
        roots = list(paths)
        entries = list(_entries_below(roots, workspace, _MAX_ENTRIES))
        files = [root for root in roots if Path(root).is_file()] + [entry.path for entry in entries if entry.is_file()]
        are_links_harmless = all(_is_harmless(entry, workspace) for entry in entries if entry.is_symlink())
        return are_links_harmless and _have_no_outside_names(files, workspace, skipped_folders)
    except (TooLarge, OSError, ValueError):
        return False


def reads_stay_inside(folders: Iterable[str], workspace: str, *, hidden: bool) -> bool:
    """Whether a program that reads or runs the files below these folders finds no link out of the workspace. False if
    that is not certain. `hidden`: it enters hidden folders too. No program enters folders of dependencies."""
    try:
        is_searched = _is_searched_with_hidden if hidden else _is_searched
        found = _entries_below(folders, workspace, _MAX_ENTRIES_TO_READ, is_searched)
        return all(_leads_inside(entry, workspace) for entry in found if entry.is_symlink())
    except (TooLarge, OSError, ValueError):
        return False


def direct_links_stay_inside(folders: Iterable[Path], workspace: str) -> bool:
    """Whether no link directly in these folders leads out of the workspace. Tools write their caches and output there,
    and into hidden folders of `node_modules`; a link of that name would be followed."""
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


def _have_no_outside_names(files: Iterable[str], workspace: str, skipped_folders: Set[str]) -> bool:
    """Whether all hard links of each file are among these files: another one may lie outside. Compilers hard-link their
    output within one folder; package managers hard-link from their cache into a folder that is skipped."""
    found: defaultdict[tuple[int, int, int], set[str]] = defaultdict(set)
    for file in files:
        seen = Path(file).stat()
        if seen.st_nlink > 1:
            found[seen.st_dev, seen.st_ino, seen.st_nlink].add(os.path.realpath(file))
    missing = (each for (_, _, count), each in found.items() if len(each) < count)
    where = [relative_path(file, workspace) or "" for each in missing for file in each]
    return not any(skipped_folders.isdisjoint(path.split("/")) for path in where)


def find_hard_link(paths: Iterable[str], workspace: str) -> str | None:
    """The first of these files that has another hard link, which may lie outside the workspace; there is no way to find
    out where. A file that cannot be read counts as one."""
    return next((path for path in paths if _has_hard_links(path, workspace)), None)


def _has_hard_links(path: str, workspace: str) -> bool:
    if (where := real_path(path, workspace)) is None:
        return False  # no rule allows it anyway
    try:
        found = Path(where).stat()
    except (FileNotFoundError, NotADirectoryError):
        return False
    except (OSError, ValueError):
        return True
    return stat.S_ISREG(found.st_mode) and found.st_nlink > 1


def _is_harmless(link: os.DirEntry[str], workspace: str) -> bool:
    where = relative_path(link.path, workspace)
    return _leads_inside(link, workspace) and PROTECTED_FOLDERS.isdisjoint(map(folded, (where or "").split("/")))


def _leads_inside(link: os.DirEntry[str], workspace: str) -> bool:
    return relative_path(link.path, workspace) is not None or _is_python(link)


def _is_python(link: os.DirEntry[str]) -> bool:
    """Whether this links to a Python interpreter, as in every virtual environment; no tool takes it for source."""
    target = Path(os.path.realpath(link.path))
    return all(map(_PYTHON.fullmatch, (link.name, target.name))) and target.is_file()


def _entries_below(
    paths: Iterable[str], workspace: str, max_entries: int, is_searched: Callable[[str], bool] = bool
) -> Iterator[os.DirEntry[str]]:
    """All entries below these paths whose name is searched, also in folders that a link leads to."""
    waiting = list(dict.fromkeys(map(os.path.realpath, paths)))
    seen = {*waiting, f"{os.path.realpath(workspace)}/.git"}
    left = max_entries
    for folder in waiting:  # grows in the loop
        if folder.count("/") > _MAX_DEPTH:
            raise TooLarge
        for entry in filter(lambda each: is_searched(each.name), _entries(folder)):
            left -= 1
            if left < 0:
                raise TooLarge
            yield entry
            if entry.is_dir() and (found := os.path.realpath(entry.path)) not in seen:
                seen.add(found)
                waiting.append(found)


def _entries(folder: str) -> Iterator[os.DirEntry[str]]:
    """The entries of a folder; none if it does not exist."""
    if Path(folder).is_dir():
        with os.scandir(folder) as found:
            yield from found
