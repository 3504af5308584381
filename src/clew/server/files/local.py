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

from clew.model.messages import Attachment
from clew.support.display import escape_hidden
from clew.support.errors import BadInput
from clew.support.files import LARGEST, safe_names, save

NO_FILE = "it is not a file"


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
        save(_read(source), target)
    return Attachment(source.name, str(target), media_type)


def _read(source: Path) -> bytes:
    if not source.is_absolute():
        raise BadInput(f"{_shown(source)}: give the whole path of a file")
    try:
        with _open(source) as handle:
            data = _bytes(handle)
    except OSError as error:
        raise _unattachable(source, error.strerror or str(error)) from error
    except ValueError as error:  # a path that no file system takes
        raise _unattachable(source, str(error)) from error
    if len(data) > LARGEST:
        raise _unattachable(source, f"it is larger than {LARGEST >> 20} MiB")
    return data


@contextmanager
def _open(source: Path) -> Iterator[int]:
    """Looked at before it is opened, since to open a device may do something; and again after, since another file may
    have its name by then. Without O_NONBLOCK, opening a pipe that nobody writes to waits for ever."""
    if not stat.S_ISREG(source.stat().st_mode):
        raise _unattachable(source, NO_FILE)
    handle = os.open(source, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    try:
        if not stat.S_ISREG(os.fstat(handle).st_mode):
            raise _unattachable(source, NO_FILE)
        yield handle
    finally:
        os.close(handle)


def _bytes(handle: int) -> bytes:
    """One more than may be kept, if there are so many."""
    with os.fdopen(handle, "rb", closefd=False) as file:
        return file.read(LARGEST + 1)


def _unattachable(source: Path, why: str) -> BadInput:
    return BadInput(f"{_shown(source)} cannot be attached: {why}")


def _shown(source: Path) -> str:
    return escape_hidden(str(source), lines=False)
