"""Files that an agent reads and writes through us: inside the workspace of its thread, and not outside it."""

from __future__ import annotations

import os
from pathlib import Path

from clew.errors import BadInput

LARGEST = 10_000_000  # bytes


def inside(workspace: str, path: str) -> Path:
    """Where a path leads, links followed. Raises BadInput where that is outside."""
    root = Path(workspace).resolve()
    try:
        found = (root / path).resolve()
    except (OSError, ValueError, RuntimeError) as error:
        raise BadInput(f"{path!r} is no path: {error}") from error
    if not found.is_relative_to(root):
        raise BadInput(f"{path} is outside the workspace {root}; clew gives out only what is in it")
    return found


def is_folder(path: str) -> bool:
    return Path(path).is_dir()


def read(path: Path, line: int | None, limit: int | None) -> str:
    """The text, or so many lines of it from a line on. Raises BadInput and OSError."""
    if not path.is_file():
        raise FileNotFoundError(f"{path} is no file")
    if path.stat().st_size > LARGEST:
        raise BadInput(f"{path} has more than {LARGEST:,} bytes")
    try:
        text = path.read_bytes().decode("utf-8")  # with its own ends of lines
    except UnicodeDecodeError as error:
        raise BadInput(f"{path} is no text") from error
    if line is None and limit is None:
        return text
    first = max(0, (line or 1) - 1)
    lines = text.splitlines(keepends=True)
    return "".join(lines[first : first + limit if limit is not None else None])


def current(path: Path) -> str | None:
    """What is there now; None where there is nothing, or nothing to show."""
    try:
        return read(path, None, None)
    except (OSError, BadInput):
        return None


def stays(workspace: str, asked: str, shown: Path) -> None:
    """Raises BadInput where a path leads elsewhere than a person was shown: a link may have been put there since."""
    if inside(workspace, asked) != shown:
        raise BadInput(f"{asked} does not lead to {shown} any more")


def write(path: Path, content: str) -> None:
    """Raises BadInput and OSError."""
    path.parent.mkdir(parents=True, exist_ok=True)
    if path.exists() and not path.is_file():
        raise BadInput(f"{path} is no file")
    # Without O_NONBLOCK, opening a pipe that nobody reads waits for ever.
    flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOFOLLOW
    with os.fdopen(os.open(path, flags, 0o666), "w", encoding="utf-8", newline="") as file:
        file.write(content)
