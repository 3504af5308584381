"""Reads and writes files for an agent, only inside the workspace of its thread."""

from __future__ import annotations

import os
from pathlib import Path

from clew.runtimes import file_changes
from clew.support.errors import BadInput


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
    if path.stat().st_size > file_changes.LARGEST:
        raise BadInput(f"{path} has more than {file_changes.LARGEST:,} bytes")
    try:
        text = path.read_bytes().decode("utf-8")  # keeps its line endings
    except UnicodeDecodeError as error:
        raise BadInput(f"{path} is not a text file") from error
    if line is None and limit is None:
        return text
    first = max(0, (line or 1) - 1)
    lines = text.splitlines(keepends=True)
    return "".join(lines[first : first + limit if limit is not None else None])


def check_unmoved(workspace: str, asked: str, shown: Path) -> None:
    """Raises BadInput if a path now resolves to another file than the person was shown, by a new symbolic link."""
    if inside(workspace, asked) != shown:
        raise BadInput(f"{asked} does not lead to {shown} any more")


def write(path: Path, content: str, shown: str) -> None:
    """Write a file. `shown`: the mark of what the person was shown. Raises BadInput if the file has changed, and
    OSError."""
    if file_changes.look(path).mark != shown:
        raise BadInput(f"{path} has changed since this was asked. Nothing was written. Read it again, and ask again.")
    path.parent.mkdir(parents=True, exist_ok=True)
    if path.exists() and not path.is_file():
        raise BadInput(f"{path} is no file")
    # Without O_NONBLOCK, opening a pipe without a reader blocks for ever.
    flags = os.O_WRONLY | os.O_CREAT | os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOFOLLOW
    flags |= os.O_TRUNC if shown else os.O_EXCL
    with os.fdopen(os.open(path, flags, 0o666), "w", encoding="utf-8", newline="") as file:
        file.write(content)
