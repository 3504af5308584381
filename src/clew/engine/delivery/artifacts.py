"""Collects the files that an answer links to: copies pictures and documents from the thread's folder when the turn
ends, so that they can be sent to the chat behind the answer.

An answer is untrusted text, so only regular files inside the folder (links resolved) are sent, of document and media
types, with no path component that starts with a dot. The answer says which linked files are not sent, and why."""

from __future__ import annotations

import mimetypes
import os
import re
import stat
from collections.abc import Iterator, Sequence
from pathlib import Path
from urllib.parse import unquote

from msgspec import Struct

from clew.model.messages import Attachment
from clew.support.coded import Text
from clew.support.files import MAGIC_BYTES, safe_names, save
from clew.texts import chat_messages

FOLDER = "made-"  # plus the turn's id: the folder of the copies
MAX_FILES = 5  # of one answer
LONGEST_PATH = 1000  # characters
PLAIN = "application/octet-stream"

_PICTURES = {"png", "jpg", "jpeg", "gif", "webp", "svg"}
_PAPERS = {"pdf", "docx", "xlsx", "pptx", "odt", "ods", "odp", "epub", "csv", "tsv", "txt", "md", "html", "ipynb"}
_ARCHIVES = {"zip", "gz", "tgz", "xz", "bz2", "7z", "tar"}
_RECORDINGS = {"mp3", "ogg", "opus", "wav", "m4a", "mp4", "mov", "webm"}
KINDS = _PICTURES | _PAPERS | _ARCHIVES | _RECORDINGS | {"log", "diff", "patch"}  # file name extensions

# Compiled with the first answer: that takes 2 ms.
_CODE = (
    r"(?ms)^ {0,3}(?P<fence>`{3,}+|~{3,}+)[^\n]*\n.*?(?:^ {0,3}(?P=fence)[`~]*[ ]*$|\Z)"
    r"|(?<!`)(?P<ticks>`++)[^`\n]+(?P=ticks)(?!`)"
)
_LINK = (
    r"(?P<picture>!?)\[[^\[\]\n]*\]\("
    r"(?:<(?P<quoted>[^<>\n]+)>|(?P<bare>[^\s()<>]+(?:\([^\s()<>]*\)[^\s()<>]*)*))(?:[ ]+\"[^\"\n]*\")?\)"
)
_ELSEWHERE = re.compile(r"[a-zA-Z][a-zA-Z0-9+.-]+:")


class Artifacts(Struct, frozen=True):
    files: tuple[Attachment, ...] = ()
    notes: tuple[Text, ...] = ()  # a line for each file that is not sent


NOTHING_MADE = Artifacts()


class FileNotSent(Exception):
    """The file is not sent; `why` says why, for people."""

    def __init__(self, why: Text) -> None:
        super().__init__(why)
        self.why = why


def gather(answer: str, images: Sequence[str], workspace: Path, folder: Path, largest: int) -> Artifacts:
    """Copy the files that an answer links to, and the images that the runtime reports, into `folder`."""
    found, lines = _resolve_all([*images], [*linked_paths(answer)], workspace)
    lines += [chat_messages.more_files(len(found) - MAX_FILES, MAX_FILES)] if len(found) > MAX_FILES else []
    files: list[Attachment] = []
    kept = found[:MAX_FILES]
    for path, safe in zip(kept, safe_names(path.name for path in kept), strict=True):
        try:
            data = _read(path, largest)
            save(data, folder / safe)
        except FileNotSent as refused:
            lines.append(chat_messages.file_stays(safe, refused.why))
        except OSError as error:  # a full disk must not save the turn from ending
            lines.append(chat_messages.file_stays(safe, error.strerror or chat_messages.FILE_GONE))
        else:
            files.append(Attachment(safe, str(folder / safe), _media_type(safe, data)))
    return Artifacts(tuple(files), tuple(lines))


def copy_file(path: str, workspace: Path, folder: Path, largest: int) -> Attachment:
    """Copy one file of the workspace that a person asked for, of any type, into `folder`. Raises FileNotSent or
    OSError."""
    real = _within(workspace, path, any_type=True)
    data, safe = _read(real, largest), next(safe_names([real.name]))
    save(data, folder / safe)
    return Attachment(safe, str(folder / safe), _media_type(safe, data))


def linked_paths(answer: str) -> Iterator[str]:
    """Paths of pictures and documents that the answer shows or links to. Links to a line of code are left out."""
    for link in re.finditer(_LINK, re.sub(_CODE, "", answer)):
        target = link["quoted"] or link["bare"]
        target = target.removeprefix("file://")
        if len(target) > LONGEST_PATH or _ELSEWHERE.match(target) or target.startswith(("#", "//")):
            continue
        path = unquote(target)
        if link["picture"] or _has_sendable_type(path):
            yield path


def _has_sendable_type(path: str) -> bool:
    return path.rpartition(".")[2].lower() in KINDS


def _resolve_all(images: list[str], paths: list[str], workspace: Path) -> tuple[list[Path], list[Text]]:
    """The real path of each file, once; and a line for each that cannot be sent."""
    found: dict[Path, None] = {}
    lines: dict[Text, None] = {}
    for image in images:  # reported by the runtime, not the model: they may be outside the workspace
        found[Path(image)] = None
    for path in paths:
        try:
            found[_within(workspace, path)] = None
        except FileNotSent as refused:
            lines[chat_messages.file_stays(next(safe_names([path])), refused.why)] = None
    return list(found), list(lines)


def _within(workspace: Path, path: str, *, any_type: bool = False) -> Path:
    """The real path that `path` names, with links resolved. Raises FileNotSent if it is outside, hidden or of another
    type."""
    root = Path(os.path.realpath(workspace))
    try:
        real = Path(os.path.realpath(root / path))
    except (OSError, ValueError):
        raise FileNotSent(chat_messages.FILE_GONE) from None
    if not real.is_relative_to(root):
        raise FileNotSent(chat_messages.FILE_OUTSIDE)
    if any(part.startswith(".") for part in real.relative_to(root).parts):
        raise FileNotSent(chat_messages.FILE_HIDDEN if any_type else chat_messages.FILE_KIND)
    if not any_type and not _has_sendable_type(real.name):
        raise FileNotSent(chat_messages.FILE_KIND)
    return real


def _read(path: Path, largest: int) -> bytes:
    try:
        handle = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    except (OSError, ValueError):
        raise FileNotSent(chat_messages.FILE_GONE) from None
    try:
        about = os.fstat(handle)
        if not stat.S_ISREG(about.st_mode):
            raise FileNotSent(chat_messages.FILE_GONE)
        if about.st_size > largest:
            raise FileNotSent(chat_messages.file_too_large(about.st_size, largest))
        with os.fdopen(handle, "rb", closefd=False) as file:
            data = file.read(about.st_size)
    finally:
        os.close(handle)
    if not data:
        raise FileNotSent(chat_messages.FILE_EMPTY)
    return data


def _media_type(name: str, data: bytes) -> str:
    """The media type by the name; a picture must also start with the magic bytes of its type."""
    kind = mimetypes.guess_type(name)[0] or PLAIN
    if kind.startswith("image/") and not data.startswith(MAGIC_BYTES.get(kind, ())):
        return PLAIN
    return kind
