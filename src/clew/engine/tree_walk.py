"""Looks through a workspace for what makes a harmless-looking command do more: repositories inside it, and ignore files
that lead out of it. It follows no links, and gives up on a tree that is too large."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path

from clew.engine.patterns import inside
from clew.engine.shell import names

IGNORE_FILES = names(".gitignore .ignore .rgignore")

_MOST = 50_000  # entries
_LONGEST = 64 * 1024  # bytes of an ignore file
_PLAIN_LINE = re.compile(r"/?([\w.@+-]+)/?")


class TooLarge(Exception):
    """Not all of the tree was looked at."""


def nested_repository(top: Path) -> Path | None:
    """The first folder below the top that has a `.git` of its own. Raises TooLarge and OSError."""
    found = (entry for entry in _entries(top, ignored_folders(top)) if entry.name.lower() == ".git")
    return next((Path(entry.path).parent for entry in found), None)


def linked_ignore_file(top: Path, skipped: frozenset[str] = frozenset()) -> Path | None:
    """The first ignore file that is a link to outside. Who reads it may print its lines, as errors. Raises TooLarge and
    OSError."""
    exclude = top / ".git/info/exclude"
    if not inside(str(exclude), str(top)):
        return exclude
    for entry in _entries(top, skipped):
        if entry.name.lower() in IGNORE_FILES and entry.is_symlink() and not inside(entry.path, str(top)):
            return Path(entry.path)
    return None


def ignored_folders(top: Path) -> frozenset[str]:
    """Names at the top, such as `node_modules`, that a plain line of its `.gitignore` leaves out. None, if anything may
    take them in again."""
    path = top / ".gitignore"
    overruled = any(os.path.lexists(top / name) for name in (".ignore", ".rgignore"))
    if overruled or path.is_symlink() or not path.is_file() or path.stat().st_size > _LONGEST:
        return frozenset()
    lines = path.read_text(encoding="utf-8", errors="replace").split("\n")
    if any(line.startswith("!") for line in lines):
        return frozenset()
    return frozenset(found[1] for line in lines if (found := _PLAIN_LINE.fullmatch(line.strip())))


def _entries(top: Path, skipped: frozenset[str]) -> Iterator[os.DirEntry[str]]:
    """Everything below, but for the top's own `.git` and the skipped folders of the top."""
    waiting = [str(top)]
    left = _MOST
    for folder in waiting:  # which grows meanwhile
        with os.scandir(folder) as found:
            for entry in found:
                left -= 1
                if left < 0:
                    raise TooLarge
                is_left_out = folder == str(top) and (entry.name == ".git" or entry.name in skipped)
                if not is_left_out:
                    yield entry
                    waiting += [entry.path] if entry.is_dir(follow_symlinks=False) else []
