"""Files that a client uploads: first stored under an id, then linked into the folder of the thread whose message names
them. Types and sizes are limited; file names are made safe."""

from __future__ import annotations

import asyncio
import contextlib
import os
import shutil
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

from clew.model.messages import Attachment
from clew.model.views import UploadView
from clew.support import private_files
from clew.support.errors import BadInput, ClewError, NotFound, StoreError
from clew.support.files import LARGEST, MAGIC_BYTES, safe_names
from clew.texts.catalogue import say

MAX_PENDING = 200 << 20  # bytes of all uploads that no message has named yet
DAY = 24 * 3600  # seconds after which an unused upload is removed
TYPES = ("application/json", "application/pdf", "image/gif", "image/jpeg", "image/png", "image/webp")
TEXT = "text/"


class TooLarge(ClewError):
    code = "too_large"
    status = 413


class WrongType(BadInput):
    code = "wrong_type"
    status = 415


class Full(ClewError):
    code = "full"
    status = 507


def checked_type(given: str) -> str:
    kind = given.partition(";")[0].strip().lower()
    if kind in TYPES or (kind.startswith(TEXT) and kind != TEXT):
        return kind
    accepted = ", ".join((*TYPES, "text/*"))
    raise WrongType(say("daemon.type_not_accepted", kind=kind or say("daemon.no_type"), accepted=accepted))


async def store(folder: Path, id: str, name: str, kind: str, body: AsyncIterator[bytes], now: float) -> UploadView:
    """Store an upload until a message names it. A failed upload leaves nothing."""
    await asyncio.to_thread(_make_room, folder, now)
    place = folder / id
    private_files.make_folder(folder)
    place.mkdir(mode=0o700)
    safe = next(safe_names([name]))
    try:
        size = await _write(place / "part", kind, body)
        (place / "part").rename(place / "file")
        private_files.write(place / "about", f"{safe}\n{kind}\n".encode())
    except BaseException:
        shutil.rmtree(place, ignore_errors=True)
        raise
    return UploadView(id, safe, kind, size)


async def _write(path: Path, kind: str, body: AsyncIterator[bytes]) -> int:
    size = 0
    with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
        async for piece in body:
            size += len(piece)
            if size > LARGEST:
                raise TooLarge(say("daemon.file_too_large", size=LARGEST >> 20))
            file.write(piece)
    if not size:
        raise BadInput(say("daemon.file_empty"))
    if kind in MAGIC_BYTES and not _head(path).startswith(MAGIC_BYTES[kind]):
        raise WrongType(say("daemon.file_looks_wrong", kind=kind))
    return size


def _head(path: Path) -> bytes:
    with path.open("rb") as file:
        return file.read(16)


def _make_room(folder: Path, now: float) -> None:
    """Remove uploads that no message named within a day; raise Full if the others take too much space."""
    held = 0
    for place in folder.iterdir() if folder.exists() else ():
        with contextlib.suppress(FileNotFoundError):  # another upload may have removed it
            if now - place.stat().st_mtime > DAY:
                shutil.rmtree(place, ignore_errors=True)
                continue
            sizes = [file.stat() for file in place.iterdir()]
            held += sum(each.st_size for each in sizes if each.st_nlink == 1)  # others are linked into a thread already
    if held > MAX_PENDING:
        raise Full(say("daemon.uploads_full", size=MAX_PENDING >> 20))


@asynccontextmanager
async def claimed(ids: Sequence[str], folder: Path, target: Path) -> AsyncIterator[tuple[Attachment, ...]]:
    """Link the files of a message into its thread's folder while it is being accepted; if it is not, delete the
    links."""
    if not ids:
        yield ()
        return
    is_new = not await asyncio.to_thread(target.exists)
    try:
        yield await asyncio.to_thread(_claim_or_existing, ids, folder, target)
    except Exception:
        if is_new:
            shutil.rmtree(target, ignore_errors=True)
        raise


def _claim_or_existing(ids: Sequence[str], folder: Path, target: Path) -> tuple[Attachment, ...]:
    """Link the files. If the uploads have expired but the message was accepted before, its files are there already."""
    try:
        return _claim(ids, folder, target)
    except NotFound:
        if not target.exists():
            raise
        return ()
    except OSError as error:
        raise StoreError(say("daemon.files_not_stored", error=error.strerror or str(error))) from error


def _claim(ids: Sequence[str], folder: Path, target: Path) -> tuple[Attachment, ...]:
    found = [(folder / id, *_about(folder / id)) for id in ids]
    private_files.make_folder(target)
    names = safe_names([name for _, name, _ in found])
    return tuple(
        _link(place, target / safe, name, kind) for (place, name, kind), safe in zip(found, names, strict=True)
    )


def _about(place: Path) -> tuple[str, str]:
    try:
        name, kind = (place / "about").read_text().splitlines()
    except (FileNotFoundError, NotADirectoryError) as error:
        raise NotFound(say("daemon.no_upload", id=place.name)) from error
    return name, kind


def _link(place: Path, target: Path, name: str, kind: str) -> Attachment:
    """Hard-link the upload, so that a retry of the same message still finds it."""
    if not target.exists():
        os.link(place / "file", target)
    return Attachment(name, str(target), kind)


def discard(folder: Path) -> None:
    """Delete the folder of a thread that was not created, because its message had been accepted before."""
    shutil.rmtree(folder, ignore_errors=True)
