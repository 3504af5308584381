"""What is at a path before an agent changes it, and the diff of the change. For every runtime: a person must see what a
change replaces, whatever the agent says of it."""

from __future__ import annotations

import difflib
import hashlib
import json
import os
import stat
from pathlib import Path

from msgspec import Struct

from clew.support.coded import Text
from clew.support.display import escape_hidden
from clew.texts.catalogue import say
from clew.texts.together import lines

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


def look(path: Path) -> Found:
    """Read what is at a path. Raises OSError if that is not possible."""
    if (found := _stat(path)) is None:
        return Found()
    unseen = _unseen(found)
    if not stat.S_ISREG(found.st_mode) or found.st_size > LARGEST:
        return unseen
    try:
        data = path.read_bytes()
    except PermissionError:
        return unseen
    return Found(hashlib.sha256(data).hexdigest(), unseen.stamp, len(data), _text(data))


def look_outside(path: Path) -> Found:
    """Say only whether something is there, and how large it is. Raises OSError if that is not possible."""
    return _unseen(found) if (found := _stat(path)) is not None else Found()


def stamp(path: Path) -> str:
    """Return the stamp of what is there now; empty if nothing. Raises OSError."""
    return _stamp(found) if (found := _stat(path)) is not None else ""


def diff(path: str, old: str | None, new: str) -> str:
    """Return an exact unified diff. Only a newline ends a line, and a missing last newline is shown."""
    name = quoted_path(path)
    before = name if old is not None else "/dev/null"
    return "\n".join(difflib.unified_diff(_lines(old or ""), _lines(new), before, name, lineterm=""))


def replaced(path: str, found: Found) -> Text:
    """Describe the replaced file, with a hash, so that a yes for the thread counts for this content only."""
    size, mark = f"{found.size:,}", found.mark[:16]
    return say("approvals.replaces_unseen", size=size, mark=mark, path=quoted_path(path))


def new_empty(path: str) -> Text:
    """Describe a new file that has no lines for a diff."""
    return say("approvals.new_empty_file", path=quoted_path(path))


def described(path: str, old: str | None, new: str) -> str:
    """The diff of a change as the agent describes it, marked as such: clew could not check it against the file."""
    return lines(say("approvals.unread", path=quoted_path(path)), diff(path, old, new))


def quoted_path(path: str) -> str:
    """Return a path on one line, quoted if it has invisible characters, so that no two paths look alike."""
    is_plain = path == escape_hidden(path, lines=False) and not path.startswith('"')
    return path if is_plain else json.dumps(path)


def _lines(text: str) -> list[str]:
    lines = text.split("\n")
    last = lines.pop()
    return [*lines, *([f"{last}\n\\ No newline at end of file"] if last else [])]


def _unseen(found: os.stat_result) -> Found:
    return Found(_stamp(found), _stamp(found), found.st_size)


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
