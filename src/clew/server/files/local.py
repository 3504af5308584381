"""Local files that a message names: copied into clew's own folder before the message is accepted."""

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
from clew.texts.catalogue import say


@asynccontextmanager
async def copied(paths: Sequence[str], folder: Path) -> AsyncIterator[tuple[Attachment, ...]]:
    """Copy the files while their message is being accepted; if it is not accepted, delete the copies.

    A file that an earlier try of the same message copied is left as it is.
    """
    if not paths:
        yield ()
        return
    is_new = not await asyncio.to_thread(folder.exists)
    try:
        yield await asyncio.to_thread(_copy_all, paths, folder)
    except Exception:
        if is_new:
            shutil.rmtree(folder, ignore_errors=True)
        raise


def _copy_all(paths: Sequence[str], folder: Path) -> tuple[Attachment, ...]:
    return tuple(_copy(Path(path), folder / name) for path, name in zip(paths, safe_names(paths), strict=True))


def _copy(source: Path, target: Path) -> Attachment:
    media_type = mimetypes.guess_type(source.name)[0] or "application/octet-stream"
    if not target.exists():
        save(_read(source), target)
    return Attachment(source.name, str(target), media_type)


def _read(source: Path) -> bytes:
    if not source.is_absolute():
        raise BadInput(say("daemon.absolute_path", path=_shown(source)))
    try:
        with _open(source) as handle:
            data = _bytes(handle)
    except OSError as error:
        raise _unattachable(source, error.strerror or str(error)) from error
    except ValueError as error:  # a path that no file system accepts
        raise _unattachable(source, str(error)) from error
    if len(data) > LARGEST:
        raise _unattachable(source, say("daemon.larger_than", size=LARGEST >> 20))
    return data


@contextmanager
def _open(source: Path) -> Iterator[int]:
    """Open a regular file. Checked before opening, since opening a device may have side effects; and again after it,
    since the path may lead to another file by then. Without O_NONBLOCK, opening a pipe without a writer blocks for
    ever."""
    if not stat.S_ISREG(source.stat().st_mode):
        raise _unattachable(source, say("daemon.not_regular"))
    handle = os.open(source, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    try:
        if not stat.S_ISREG(os.fstat(handle).st_mode):
            raise _unattachable(source, say("daemon.not_regular"))
        yield handle
    finally:
        os.close(handle)


def _bytes(handle: int) -> bytes:
    """Read at most one byte more than the limit."""
    with os.fdopen(handle, "rb", closefd=False) as file:
        return file.read(LARGEST + 1)


def _unattachable(source: Path, why: str) -> BadInput:
    return BadInput(say("daemon.not_attachable", path=_shown(source), why=why))


def _shown(source: Path) -> str:
    return escape_hidden(str(source), lines=False)
