"""Reads and writes files for an agent, only inside the workspace of its thread."""

from __future__ import annotations

import hashlib
import os
import stat
from pathlib import Path

from msgspec import Struct

from clew.support.errors import BadInput

LARGEST = 10_000_000  # bytes


class Found(Struct, frozen=True):
    """What is at a path at one moment. An empty mark means: nothing."""

    mark: str = ""  # hash of the content
    stamp: str = ""  # changes with every write; cheap to read
    size: int = 0  # bytes
    text: str | None = None  # None: nothing there, or it cannot be shown

    @property
    def is_unseen(self) -> bool:
        """Whether something is there that cannot be shown: not text, too large, or not readable."""
        return self.mark != "" and self.text is None


def inside(workspace: str, path: str) -> Path:
    """Resolve a path, with symbolic links. Raises BadInput if it is outside the workspace."""
    root = Path(workspace).resolve()
    try:
        found = (root / path).resolve()
    except (OSError, ValueError, RuntimeError) as error:
        raise BadInput(f"{path!r} is not a path: {error}") from error
    if not found.is_relative_to(root):
        raise BadInput(f"{path} is outside the workspace {root}; clew only reads and writes inside it")
    return found


def is_folder(path: str) -> bool:
    return Path(path).is_dir()


def read(path: Path, line: int | None, limit: int | None) -> str:
    """Return the text, or `limit` lines of it from `line`. Raises BadInput and OSError."""
    if not path.is_file():
        raise FileNotFoundError(f"{path} is no file")
    if path.stat().st_size > LARGEST:
        raise BadInput(f"{path} has more than {LARGEST:,} bytes")
    try:
        text = path.read_bytes().decode("utf-8")  # keeps its line endings
    except UnicodeDecodeError as error:
        raise BadInput(f"{path} is not a text file") from error
    if line is None and limit is None:
        return text
    first = max(0, (line or 1) - 1)
    lines = text.splitlines(keepends=True)
    return "".join(lines[first : first + limit if limit is not None else None])


def look(path: Path) -> Found:
    """Read what is at a path. Raises OSError if that is not possible."""
    if (found := _stat(path)) is None:
        return Found()
    unseen = Found(_stamp(found), _stamp(found), found.st_size)
    if not stat.S_ISREG(found.st_mode) or found.st_size > LARGEST:
        return unseen
    try:
        data = path.read_bytes()
    except PermissionError:
        return unseen
    return Found(hashlib.sha256(data).hexdigest(), unseen.stamp, len(data), _text(data))


def stamp(path: Path) -> str:
    """Return the stamp of what is there now; empty if nothing. Raises OSError."""
    return _stamp(found) if (found := _stat(path)) is not None else ""


def _stat(path: Path) -> os.stat_result | None:
    try:
        return path.stat()
    except (FileNotFoundError, NotADirectoryError):
        return None


def _stamp(found: os.stat_result) -> str:
    """Hash the file's metadata. It includes ctime, which no program can set."""
    parts = (found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns, found.st_ctime_ns)
    return hashlib.sha256(repr(parts).encode()).hexdigest()


def _text(data: bytes) -> str | None:
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError:
        return None


def check_unmoved(workspace: str, asked: str, shown: Path) -> None:
    """Raises BadInput if a path now resolves to another file than the person was shown, by a new symbolic link."""
    if inside(workspace, asked) != shown:
        raise BadInput(f"{asked} does not lead to {shown} any more")


def write(path: Path, content: str, shown: str) -> None:
    """Write a file. `shown`: the mark of what the person was shown. Raises BadInput if the file has changed, and
    OSError."""
    if look(path).mark != shown:
        raise BadInput(f"{path} has changed since this was asked. Nothing was written. Read it again, and ask again.")
    path.parent.mkdir(parents=True, exist_ok=True)
    if path.exists() and not path.is_file():
        raise BadInput(f"{path} is no file")
    # Without O_NONBLOCK, opening a pipe without a reader blocks for ever.
    flags = os.O_WRONLY | os.O_CREAT | os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOFOLLOW
    flags |= os.O_TRUNC if shown else os.O_EXCL
    with os.fdopen(os.open(path, flags, 0o666), "w", encoding="utf-8", newline="") as file:
        file.write(content)
