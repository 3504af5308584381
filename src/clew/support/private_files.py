"""Files and folders that only their owner may read: making them, and mending a home that was looser.

The modes are given file by file. The daemon's umask stays the person's own: its children inherit it, and what agents
write into a workspace has to look as if the person had written it.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from pathlib import Path

from clew.support.home import Home

OTHERS = 0o077
# What clew itself keeps in a home. Anything else in there is a person's own, or a workspace, and is left as it is.
FOLDERS = ("logs", "files", "uploads", "run", "scripted")
FILES = ("config.toml", "clew.db*", "token", "chat_history")


def make_folder(folder: Path) -> None:
    """With the folders above it that are missing, which are private too."""
    if not folder.is_dir():
        make_folder(folder.parent)
        folder.mkdir(mode=0o700, exist_ok=True)


def write(path: Path, data: bytes) -> None:
    """Private from its first moment on."""
    handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)
    with os.fdopen(handle, "wb") as file:
        os.fchmod(handle, 0o600)
        file.write(data)


def make_private(home: Home) -> list[Path]:
    """Takes the rights of others away from the home and from what clew keeps in it; returns what was changed. The home
    itself is first: from then on nobody else can exchange a file below it."""
    return [path for path in (home.root, *_kept(home.root)) if _make_private(path)]


def _kept(root: Path) -> Iterator[Path]:
    for pattern in FILES:
        yield from root.glob(pattern)
    for name in FOLDERS:
        yield from _tree(root / name)


def _tree(folder: Path) -> Iterator[Path]:
    """The folder and all that is in it. Links are not followed."""
    if folder.is_symlink() or not folder.is_dir():
        return
    yield folder
    for above, folders, files in os.walk(folder):
        yield from (Path(above, name) for name in (*folders, *files))


def _make_private(path: Path) -> bool:
    """False: it is private, or not ours to change, or gone by now."""
    try:
        found = path.lstat()
        if stat.S_ISLNK(found.st_mode) or found.st_uid != os.getuid() or not found.st_mode & OTHERS:
            return False
        path.chmod(stat.S_IMODE(found.st_mode) & ~OTHERS)
        return True
    except OSError:  # a disk that cannot be written is told by whoever writes next
        return False
