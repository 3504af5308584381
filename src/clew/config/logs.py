"""The log: one JSON object per line, in rotating files, without secrets.

Only `clew logs` reads it. Clew never depends on it: its state is in the store.
"""

from __future__ import annotations

import json
import logging
import os
import re
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import UTC, datetime
from io import TextIOWrapper
from logging.handlers import RotatingFileHandler
from math import isfinite
from pathlib import Path
from typing import BinaryIO

from clew.config.settings import LogConfig

REDACTED = "[redacted]"

_BLOCK = 64 * 1024  # bytes read at a time from the end of a log
_POLL = 0.25  # seconds between two reads of a log that is followed

# These patterns must be linear in the length of a word: an agent's output can be one word of a megabyte.
_SECRET_NAME = r"(?:authorization|cookie|token|secret|password|passwd|api[_-]?key)"
_SECRET_KEY = re.compile(rf"(?i){_SECRET_NAME}$")
_SECRET_SHAPES = (
    re.compile(r"(?i)(authorization[\"']?\s*[:=]\s*[\"']?)[^\r\n\"']+"),
    re.compile(r"(?i)(\bbearer\s+)[\w.~+/=-]{6,}"),
    re.compile(rf"(?i)({_SECRET_NAME}[\"']?\s*[:=]\s*[\"']?)[^\s\"'&,;}}]+"),
    re.compile(r"()\b(?:sk|rk|pk)-[\w-]{8,}"),
    re.compile(r"()\b(?:gh[a-z]_|github_pat_|xox[a-z]-)[\w-]{8,}"),
    re.compile(r"()\beyJ[\w-]{8,}\.[\w-]+\.[\w-]+"),
)

# Control characters that terminals act on, and that JSON does not escape.
_UNSAFE = re.compile("[\x7f-\x9f\u2028-\u202e\u2066-\u2069]")

_OURS = frozenset(("at", "level", "logger", "message", "traceback"))
_ORDINARY = frozenset(vars(logging.LogRecord("", 0, "", 0, "", (), None))) | {"asctime", "message", "taskName"}


class Redactor:
    """Removes secrets from a text: known ones, and what looks like one."""

    def __init__(self, secrets: Iterable[str] = ()) -> None:
        longest_first = sorted(filter(None, secrets), key=len, reverse=True)
        self._known = re.compile("|".join(map(re.escape, longest_first))) if longest_first else None

    def __call__(self, text: str) -> str:
        if self._known:
            text = self._known.sub(REDACTED, text)
        for shape in _SECRET_SHAPES:
            text = shape.sub(rf"\g<1>{REDACTED}", text)
        return text

    def value(self, value: object, key: str = "") -> object:
        """A value of any type, redacted and ready for JSON."""
        if value is None or _SECRET_KEY.search(key):
            return value and REDACTED
        if isinstance(value, bool | int) or (isinstance(value, float) and isfinite(value)):
            return value
        if isinstance(value, Mapping):
            return {self(str(name)): self.value(each, str(name)) for name, each in value.items()}
        if isinstance(value, list | tuple | set | frozenset):
            return [self.value(each) for each in value]
        return self(str(value))


class JsonLines(logging.Formatter):
    def __init__(self, redact: Redactor) -> None:
        super().__init__()
        self._redact = redact

    def format(self, record: logging.LogRecord) -> str:
        entry = {
            "at": timestamp(record.created),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": self._redact(record.getMessage()),
            **{key: self._redact.value(value, key) for key, value in _extra(record).items()},
        }
        if trace := self._trace(record):
            entry["traceback"] = self._redact(trace)
        return _UNSAFE.sub(lambda found: f"\\u{ord(found[0]):04x}", json.dumps(entry, ensure_ascii=False))

    def _trace(self, record: logging.LogRecord) -> str:
        """The traceback, or the stack if the caller asked for it."""
        return self.formatException(record.exc_info) if record.exc_info else record.stack_info or ""


def about(**fields: object) -> dict[str, object]:
    """More fields of a line: `log.info("…", extra=about(thread=…))`. Plain `extra` does not allow `thread`."""
    return {"about": fields}


def _extra(record: logging.LogRecord) -> dict[str, object]:
    plain = {key: value for key, value in vars(record).items() if key not in _ORDINARY}
    fields = plain.pop("about", {})
    return {key: value for key, value in {**plain, **fields}.items() if key not in _OURS}


def timestamp(seconds: float) -> str:
    """RFC 3339, UTC, milliseconds."""
    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


class _PrivateFile(RotatingFileHandler):
    """A rotating log file that is private from the moment it is created."""

    def _open(self) -> TextIOWrapper:
        file = os.open(self.baseFilename, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
        os.fchmod(file, 0o600)
        return os.fdopen(file, "a", encoding=self.encoding, errors=self.errors)


def start(path: Path, config: LogConfig, secrets: Iterable[str] = ()) -> logging.Handler:
    """Write everything that is logged from now on to a file. Undo it with `stop`."""
    handler = _PrivateFile(
        path, maxBytes=config.max_bytes, backupCount=config.keep, encoding="utf-8", errors="backslashreplace"
    )
    handler.setFormatter(JsonLines(Redactor(secrets)))
    root = logging.getLogger()
    root.setLevel(config.level.upper())
    root.addHandler(handler)
    return handler


def stop(handler: logging.Handler) -> None:
    logging.getLogger().removeHandler(handler)
    handler.close()


def tail(path: Path, lines: int) -> list[str]:
    """The last lines, oldest first; if the file has too few, also from the rotated one."""
    found = _last_lines(path, lines)
    if len(found) < lines:
        found = _last_lines(_aside(path), lines - len(found)) + found
    return found


def _aside(path: Path) -> Path:
    return path.with_name(f"{path.name}.1")


def _last_lines(path: Path, lines: int) -> list[str]:
    if lines <= 0:
        return []
    try:
        with path.open("rb") as file:
            text = _read_back(file.fileno(), lines)
    except FileNotFoundError:
        return []
    return text.decode("utf-8", "replace").split("\n")[:-1][-lines:]


def _read_back(file: int, lines: int) -> bytes:
    """The end of a file, with at least `lines` complete lines if it has so many."""
    begin = os.fstat(file).st_size
    text = b""
    while begin > 0 and text.count(b"\n") <= lines:
        size = min(_BLOCK, begin)
        begin -= size
        text = os.pread(file, size, begin) + text
    return text


def follow(path: Path, sleep: Callable[[float], None] = time.sleep) -> Iterator[str]:
    """Each line that is written from now on, across rotations, until the caller stops."""
    followed = _Followed(path)
    try:
        while True:
            yield from followed.lines()
            sleep(_POLL)
    finally:
        followed.close()


class _Followed:
    def __init__(self, path: Path) -> None:
        self._path = path
        self._file = self._open()
        self._rest = b""
        if self._file:
            self._file.seek(0, os.SEEK_END)

    def lines(self) -> Iterator[str]:
        """New lines. Look for a newer file before reading the old one: after that nothing is added to the old one."""
        newer = None if self._is_current() else self._open()
        yield from self._read()
        if newer:
            self.close()
            self._file, self._rest = newer, b""
            yield from self._read()

    def close(self) -> None:
        if self._file:
            self._file.close()

    def _read(self) -> Iterator[str]:
        if self._file:
            *whole, self._rest = (self._rest + self._file.read()).split(b"\n")
            yield from (line.decode("utf-8", "replace") for line in whole)

    def _open(self) -> BinaryIO | None:
        try:
            return self._path.open("rb")
        except FileNotFoundError:
            return None

    def _is_current(self) -> bool:
        """Whether our file still has that name, and was not truncated."""
        if not self._file:
            return False
        try:
            now = self._path.stat()
        except FileNotFoundError:
            return True  # during a rotation; the next call finds the newer file
        return os.path.samestat(os.fstat(self._file.fileno()), now) and self._file.tell() <= now.st_size
