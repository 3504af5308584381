"""Files that a client on this machine names, copied into clew's own folder before their message is accepted."""

from __future__ import annotations

import asyncio
import mimetypes
import os
import shutil
import stat
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import BinaryIO

from clew.errors import BadInput
from clew.kept import LARGEST, keep, safe_names
from clew.model import Attachment


@asynccontextmanager
async def taken(paths: Sequence[str], folder: Path) -> AsyncIterator[tuple[Attachment, ...]]:
    """The copies, while their message is being accepted; if it is not, they go again.

    A file that an earlier try of the same message brought is kept as it is.
    """
    if not paths:
        yield ()
        return
    is_new = not await asyncio.to_thread(folder.exists)
    try:
        yield await asyncio.to_thread(_take_all, paths, folder)
    except Exception:
        if is_new:
            shutil.rmtree(folder, ignore_errors=True)
        raise


def _take_all(paths: Sequence[str], folder: Path) -> tuple[Attachment, ...]:
    return tuple(_take(Path(path), folder / name) for path, name in zip(paths, safe_names(paths), strict=True))


def _take(source: Path, target: Path) -> Attachment:
    media_type = mimetypes.guess_type(source.name)[0] or "application/octet-stream"
    if not target.exists():
        with _open(source) as file:
            _copy(file, source, target)
    return Attachment(source.name, str(target), media_type)


@contextmanager
def _open(source: Path) -> Iterator[BinaryIO]:
    if not source.is_absolute():
        raise BadInput(f"{source}: give the whole path of a file")
    try:
        # Without O_NONBLOCK, opening a pipe that nobody writes to waits for ever.
        handle = os.open(source, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError as error:
        raise BadInput(f"{source} cannot be attached: {error.strerror}") from error
    with os.fdopen(handle, "rb") as file:
        found = os.fstat(file.fileno())
        if not stat.S_ISREG(found.st_mode):
            raise BadInput(f"{source} cannot be attached: it is not a file")
        yield file


def _copy(file: BinaryIO, source: Path, target: Path) -> None:
    data = file.read(LARGEST + 1)
    if len(data) > LARGEST:
        raise BadInput(f"{source} cannot be attached: it is larger than {LARGEST >> 20} MiB")
    keep(data, target)
