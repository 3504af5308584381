"""What an agent made and its answer names: pictures and documents of the thread's folder, kept as they are when the
turn ends, so that they can be brought to the chat behind the answer.

An answer is untrusted text. So only plain files within the folder leave, of kinds that people open and that hold no
keys, under names without a leading dot; no link leads out of it. What was named and does not come along is told."""

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
from clew.support.files import MAGIC_BYTES, safe_names, save
from clew.texts import messages

FOLDER = "made-"  # and the turn's id: where among clew's files it is kept
MOST = 5  # files of one answer
LONGEST_PATH = 1000  # characters
PLAIN = "application/octet-stream"

_PICTURES = {"png", "jpg", "jpeg", "gif", "webp", "svg"}
_PAPERS = {"pdf", "docx", "xlsx", "pptx", "odt", "ods", "odp", "epub", "csv", "tsv", "txt", "md", "html", "ipynb"}
_ARCHIVES = {"zip", "gz", "tgz", "xz", "bz2", "7z", "tar"}
_RECORDINGS = {"mp3", "ogg", "opus", "wav", "m4a", "mp4", "mov", "webm"}
KINDS = _PICTURES | _PAPERS | _ARCHIVES | _RECORDINGS | {"log", "diff", "patch"}  # by the end of the name

_CODE = re.compile(
    r"^ {0,3}(?P<fence>`{3,}+|~{3,}+)[^\n]*\n.*?(?:^ {0,3}(?P=fence)[`~]*[ ]*$|\Z)"
    r"|(?<!`)(?P<ticks>`++)[^`\n]+(?P=ticks)(?!`)",
    re.MULTILINE | re.DOTALL,
)
_LINK = re.compile(
    r"(?P<picture>!?)\[[^\[\]\n]*\]\("
    r"(?:<(?P<quoted>[^<>\n]+)>|(?P<bare>[^\s()<>]+(?:\([^\s()<>]*\)[^\s()<>]*)*))(?:[ ]+\"[^\"\n]*\")?\)"
)
_ELSEWHERE = re.compile(r"[a-zA-Z][a-zA-Z0-9+.-]+:")


class Artifacts(Struct, frozen=True):
    files: tuple[Attachment, ...] = ()
    untold: tuple[str, ...] = ()  # what does not come along, a line each


NOTHING_MADE = Artifacts()


class _Stays(Exception):
    """It is not sent; why, for a person."""


def gather(answer: str, images: Sequence[str], workspace: Path, folder: Path, largest: int) -> Artifacts:
    """The files that an answer names, and the images that the runtime itself tells of, copied into `folder`."""
    found, lines = _found([*images], [*named(answer)], workspace)
    lines += [messages.more_files(len(found) - MOST, MOST)] if len(found) > MOST else []
    files: list[Attachment] = []
    kept = found[:MOST]
    for path, safe in zip(kept, safe_names(path.name for path in kept), strict=True):
        try:
            data = _read(path, largest)
            save(data, folder / safe)
        except _Stays as why:
            lines.append(messages.file_stays(safe, str(why)))
        except OSError as error:  # a disk that is full must not keep the turn from ending
            lines.append(messages.file_stays(safe, error.strerror or messages.FILE_GONE))
        else:
            files.append(Attachment(safe, str(folder / safe), _media_type(safe, data)))
    return Artifacts(tuple(files), tuple(lines))


def named(answer: str) -> Iterator[str]:
    """Paths of pictures and documents that it shows or links to. A link to a line is about code, and none of them."""
    for link in _LINK.finditer(_CODE.sub("", answer)):
        target = link["quoted"] or link["bare"]
        target = target.removeprefix("file://")
        if len(target) > LONGEST_PATH or _ELSEWHERE.match(target) or target.startswith(("#", "//")):
            continue
        path = unquote(target)
        if link["picture"] or _is_sent(path):
            yield path


def _is_sent(path: str) -> bool:
    return path.rpartition(".")[2].lower() in KINDS


def _found(images: list[str], paths: list[str], workspace: Path) -> tuple[list[Path], list[str]]:
    """Each file once, where it really is; and what is not there, or has to stay."""
    found: dict[Path, None] = {}
    lines: dict[str, None] = {}
    for image in images:  # the runtime's own word, not the model's: it keeps them in a folder of its own
        found[Path(image)] = None
    for path in paths:
        try:
            found[_within(workspace, path)] = None
        except _Stays as why:
            lines[messages.file_stays(next(safe_names([path])), str(why))] = None
    return list(found), list(lines)


def _within(workspace: Path, path: str) -> Path:
    """The plain file of the folder that it names, with all links followed."""
    root = Path(os.path.realpath(workspace))
    try:
        real = Path(os.path.realpath(root / path))
    except (OSError, ValueError):
        raise _Stays(messages.FILE_GONE) from None
    if not real.is_relative_to(root):
        raise _Stays(messages.FILE_OUTSIDE)
    if any(part.startswith(".") for part in real.relative_to(root).parts) or not _is_sent(real.name):
        raise _Stays(messages.FILE_KIND)
    return real


def _read(path: Path, largest: int) -> bytes:
    try:
        handle = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    except (OSError, ValueError):
        raise _Stays(messages.FILE_GONE) from None
    try:
        about = os.fstat(handle)
        if not stat.S_ISREG(about.st_mode):
            raise _Stays(messages.FILE_GONE)
        if about.st_size > largest:
            raise _Stays(messages.file_too_large(about.st_size, largest))
        with os.fdopen(handle, "rb", closefd=False) as file:
            data = file.read(about.st_size)
    finally:
        os.close(handle)
    if not data:
        raise _Stays(messages.FILE_EMPTY)
    return data


def _media_type(name: str, data: bytes) -> str:
    """What calls itself a picture has to look like one."""
    kind = mimetypes.guess_type(name)[0] or PLAIN
    if kind.startswith("image/") and not data.startswith(MAGIC_BYTES.get(kind, ())):
        return PLAIN
    return kind
