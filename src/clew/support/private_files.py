"""Makes files and folders that only their owner may read, and removes other people's rights from an existing home.

Modes are set file by file. The daemon keeps the person's umask: its children inherit it, and files that agents write
into a workspace must have the same modes as the person's own.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from pathlib import Path

from clew.support.home import Home

OTHERS = 0o077
# What clew itself stores in a home. Anything else there belongs to the person, or is a workspace, and is not touched.
FOLDERS = ("logs", "files", "uploads", "run", "scripted")
FILES = ("config.toml", "clew.db*", "clew.lock", "supervisor.lock", "token", "chat_history")


def make_folder(folder: Path) -> None:
    """Make a private folder, and its missing parents, private too."""
    if not folder.is_dir():
        make_folder(folder.parent)
        folder.mkdir(mode=0o700, exist_ok=True)


def write(path: Path, data: bytes) -> None:
    """Write a file that is private from the moment it is created."""
    handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)
    with os.fdopen(handle, "wb") as file:
        os.fchmod(handle, 0o600)
        file.write(data)


def make_private(home: Home) -> list[Path]:
    """Remove the rights of others from the home and from clew's files in it; returns what was changed. The home itself
    is first: from then on nobody else can replace a file in it."""
    return [path for path in (home.root, *_kept(home.root)) if _make_private(path)]


def _kept(root: Path) -> Iterator[Path]:
    for pattern in FILES:
        yield from root.glob(pattern)
    for name in FOLDERS:
        yield from _tree(root / name)


def _tree(folder: Path) -> Iterator[Path]:
    """The folder and everything in it. Links are not followed."""
    if folder.is_symlink() or not folder.is_dir():
        return
    yield folder
    for above, folders, files in os.walk(folder):
        yield from (Path(above, name) for name in (*folders, *files))


def _make_private(path: Path) -> bool:
    """False if it is private already, does not belong to us, or is gone."""
    try:
        found = path.lstat()
        if stat.S_ISLNK(found.st_mode) or found.st_uid != os.getuid() or not found.st_mode & OTHERS:
            return False
        path.chmod(stat.S_IMODE(found.st_mode) & ~OTHERS)
        return True
    except OSError:  # if the disk is read-only, the next write reports it
        return False
