"""Files that a client sends: first kept aside under an id, then put into the folder of the thread whose message names
them. By type and by size; a name is only ever the last part of a path, and made safe."""

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

ASIDE = 200 << 20  # bytes that may wait for their message, all together
DAY = 24 * 3600  # seconds after which what nobody named is removed
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
    raise WrongType(f"Files of type {kind or '(none)'} are not taken; those that are: {', '.join(TYPES)}, text/*.")


async def keep(folder: Path, id: str, name: str, kind: str, body: AsyncIterator[bytes], now: float) -> UploadView:
    """Aside, until a message names it. Whole or not at all."""
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
                raise TooLarge(f"The file is larger than {LARGEST >> 20} MiB.")
            file.write(piece)
    if not size:
        raise BadInput("The file is empty; send its bytes as the body.")
    if kind in MAGIC_BYTES and not _head(path).startswith(MAGIC_BYTES[kind]):
        raise WrongType(f"The file does not look like {kind}.")
    return size


def _head(path: Path) -> bytes:
    with path.open("rb") as file:
        return file.read(16)


def _make_room(folder: Path, now: float) -> None:
    """What nobody named for a day goes; what is left must leave room."""
    held = 0
    for place in folder.iterdir() if folder.exists() else ():
        with contextlib.suppress(FileNotFoundError):  # another upload may have made room
            if now - place.stat().st_mtime > DAY:
                shutil.rmtree(place, ignore_errors=True)
                continue
            sizes = [file.stat() for file in place.iterdir()]
            held += sum(each.st_size for each in sizes if each.st_nlink == 1)  # others are in a thread by now
    if held > ASIDE:
        raise Full(f"{ASIDE >> 20} MiB of files wait for a message that names them; send those first.")


@asynccontextmanager
async def given(ids: Sequence[str], folder: Path, target: Path) -> AsyncIterator[tuple[Attachment, ...]]:
    """The files of a message, in its thread's own folder, while it is being accepted; if it is not, they go again."""
    if not ids:
        yield ()
        return
    is_new = not await asyncio.to_thread(target.exists)
    try:
        yield await asyncio.to_thread(_give_or_have, ids, folder, target)
    except Exception:
        if is_new:
            shutil.rmtree(target, ignore_errors=True)
        raise


def _give_or_have(ids: Sequence[str], folder: Path, target: Path) -> tuple[Attachment, ...]:
    """Of a message that was accepted long ago the files are there, and nobody asks for them again."""
    try:
        return _give(ids, folder, target)
    except NotFound:
        if not target.exists():
            raise
        return ()
    except OSError as error:
        raise StoreError(f"files cannot be kept here: {error.strerror}; `clew doctor` tells more") from error


def _give(ids: Sequence[str], folder: Path, target: Path) -> tuple[Attachment, ...]:
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
        raise NotFound(
            f"There is no file {place.name}; files are kept for a day until a message names them."
        ) from error
    return name, kind


def _link(place: Path, target: Path, name: str, kind: str) -> Attachment:
    """A second name for the same bytes, so that another try of the same message finds them too."""
    if not target.exists():
        os.link(place / "file", target)
    return Attachment(name, str(target), kind)


def forget(folder: Path) -> None:
    """The folder of a thread that came to nothing: its message had been accepted before."""
    shutil.rmtree(folder, ignore_errors=True)
