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
GIT_FILES = names(".gitignore .gitattributes .gitmodules .mailmap")  # that git reads, wherever they lie

_MOST = 50_000  # entries
_LONGEST = 64 * 1024  # bytes of an ignore file
_PLAIN_LINE = re.compile(rb"/?([A-Za-z0-9_.@+-]+)/?")


class TooLarge(Exception):
    """Not all of the tree was looked at."""


def foreign_to_git(top: Path) -> Path | None:
    """The first folder below the top that has a `.git` of its own, or file that git reads and that is no plain file.
    Raises TooLarge and OSError."""
    for entry in _entries(top, ignored_folders(top)):
        name = entry.name.lower()
        if name == ".git":
            return Path(entry.path).parent
        if name in GIT_FILES and not entry.is_file(follow_symlinks=False):
            return Path(entry.path)
    return None


def linked_ignore_file(top: Path, skipped: frozenset[str] = frozenset()) -> Path | None:
    """The first ignore file that is a link to outside, or no plain file. Who reads it may print its lines, as errors.
    Raises TooLarge and OSError."""
    for entry in _entries(top, skipped, git_too=True):
        name = entry.name.lower()
        if name in IGNORE_FILES and not _is_own_file(entry.path, top):
            return Path(entry.path)
        if name == ".git" and (found := _foreign_exclude(Path(entry.path), top)) is not None:
            return found
    return None


def _is_own_file(path: str | Path, top: Path) -> bool:
    """It is not there, or a plain file of the workspace."""
    return inside(str(path), str(top)) and (Path(path).is_file() or not os.path.lexists(path))


def _foreign_exclude(git: Path, top: Path) -> Path | None:
    """Ripgrep reads `info/exclude` of each repository below; of one with a `.git` file, where that leads."""
    if git.is_dir() and not git.is_symlink():
        own = git
    elif git.parent == top:
        return None if _is_own_worktree(git) else git
    else:
        own = _led_to(git)
    is_own = inside(str(own), str(top)) and not os.path.lexists(own / "commondir")
    return None if is_own and _is_own_file(own / "info/exclude", top) else git


def _led_to(git: Path) -> Path:
    """Where a `.git` file leads; to itself, if it is none."""
    if not git.is_file() or git.is_symlink() or git.stat().st_size > _LONGEST:
        return git
    text = os.fsdecode(git.read_bytes())
    return git.parent / text.removeprefix("gitdir: ").removesuffix("\n") if text.startswith("gitdir: ") else git


def _is_own_worktree(git: Path) -> bool:
    """The workspace's own repository may lie elsewhere: of a worktree it does."""
    own = _led_to(git)
    common = own / "commondir"
    shared = own / os.fsdecode(common.read_bytes()).strip("\n") if common.is_file() else own
    exclude = shared / "info/exclude"
    return own != git and not exclude.is_symlink() and (exclude.is_file() or not os.path.lexists(exclude))


def ignored_folders(top: Path) -> frozenset[str]:
    """Names at the top, such as `node_modules`, that a plain line of its `.gitignore` leaves out. None, if anything may
    take them in again."""
    path = top / ".gitignore"
    overruled = any(os.path.lexists(top / name) for name in (".ignore", ".rgignore"))
    if overruled or path.is_symlink() or not path.is_file() or path.stat().st_size > _LONGEST:
        return frozenset()
    text = path.read_bytes()
    lines = text.split(b"\n")
    if b"\r" in text or any(line.startswith(b"!") for line in lines):
        return frozenset()
    return frozenset(found[1].decode() for line in lines if (found := _PLAIN_LINE.fullmatch(line)))


def _entries(top: Path, skipped: frozenset[str], git_too: bool = False) -> Iterator[os.DirEntry[str]]:
    """Everything below, but for what lies in folders called `.git`, the skipped folders of the top, and the top's own
    `.git`, unless `git_too`."""
    waiting = [str(top)]
    left = _MOST
    for folder in waiting:  # which grows meanwhile
        with os.scandir(folder) as found:
            for entry in found:
                left -= 1
                if left < 0:
                    raise TooLarge
                is_git, at_top = entry.name == ".git", folder == str(top)
                if at_top and (entry.name in skipped or (is_git and not git_too)):
                    continue
                yield entry
                waiting += [entry.path] if not is_git and entry.is_dir(follow_symlinks=False) else []
