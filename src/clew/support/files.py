"""Files that hang on messages, in clew's own folder: under names that are safe there, each whole or not at all."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path

from clew.support import private_files

LONGEST = 150  # bytes of a name
LARGEST = 20 << 20  # bytes of one file
MAGIC_BYTES = {  # of images: what calls itself one has to look like one
    "image/gif": (b"GIF87a", b"GIF89a"),
    "image/jpeg": (b"\xff\xd8\xff",),
    "image/png": (b"\x89PNG\r\n\x1a\n",),
    "image/webp": (b"RIFF",),
}


def safe_names(names: Iterable[str]) -> Iterator[str]:
    """Names that are safe in any folder, and each its own."""
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
    """Its end, where the suffix is, in as many bytes as every file system takes, with room for a number."""
    return name.encode("utf-8", "replace")[-LONGEST:].decode("utf-8", "ignore").lstrip(".")


def delete(kept: Path) -> None:
    """It is not needed any more; nor is its folder, after the last of them."""
    kept.unlink(missing_ok=True)
    with suppress(OSError):  # there are others in it
        kept.parent.rmdir()


def read(kept: Path) -> bytes:
    """Every error names the file, also one of a disk that fails in the middle: so it can be told from one of the
    network."""
    try:
        return kept.read_bytes()
    except OSError as error:
        raise OSError(error.errno, error.strerror, str(kept)) from error


def save(data: bytes, target: Path) -> None:
    """It gets its name when it is complete."""
    private_files.make_folder(target.parent)
    part = target.with_name(f".{target.name}.part")
    private_files.write(part, data)
    part.replace(target)
