"""Stores files attached to messages in clew's own folder, atomically and under safe names."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path

from clew.support import private_files

LONGEST = 150  # bytes of a name
LARGEST = 20 << 20  # bytes of one file
MAGIC_BYTES = {  # the first bytes of images, to check that a file is what its media type says
    "image/gif": (b"GIF87a", b"GIF89a"),
    "image/jpeg": (b"\xff\xd8\xff",),
    "image/png": (b"\x89PNG\r\n\x1a\n",),
    "image/webp": (b"RIFF",),
}


def safe_names(names: Iterable[str]) -> Iterator[str]:
    """Make names safe for any folder, and unique."""
    used: set[str] = set()
    for given in names:
        name = _short(re.sub(r"[^\w.+-]", "_", Path(given).name).lstrip(".")) or "file"
        count = 1
        stem, dot, suffix = name.partition(".")
        while name in used:
            count += 1
            name = f"{stem}-{count}{dot}{suffix}"
        used.add(name)
        yield name


def _short(name: str) -> str:
    """The end of a name, with its suffix, short enough for every file system and for an added number."""
    return name.encode("utf-8", "replace")[-LONGEST:].decode("utf-8", "ignore").lstrip(".")


def delete(kept: Path) -> None:
    """Delete a stored file, and its folder if that is empty then."""
    kept.unlink(missing_ok=True)
    with suppress(OSError):  # the folder has other files
        kept.parent.rmdir()


def read(kept: Path) -> bytes:
    """Read a stored file. Every OSError names the file, also if the disk fails midway, so that callers can tell it from
    a network error."""
    try:
        return kept.read_bytes()
    except OSError as error:
        raise OSError(error.errno, error.strerror, str(kept)) from error


def save(data: bytes, target: Path) -> None:
    """Write a private file atomically: it gets its name when it is complete."""
    private_files.make_folder(target.parent)
    part = target.with_name(f".{target.name}.part")
    private_files.write(part, data)
    part.replace(target)
