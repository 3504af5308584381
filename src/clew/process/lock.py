"""Who holds a home. One process at a time works on a store: the lock is the kernel's, and ends with its process.

The file says who it is, and stays: after a crash it tells whose children may be left.
"""

from __future__ import annotations

import fcntl
import json
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, replace
from datetime import datetime
from pathlib import Path
from typing import Any

from clew.support.errors import StoreHeld

_SIZE = 512  # bytes: each write covers the one before as a whole, so that no reader sees half of both
_PATIENCE = 0.5  # seconds; `is_free` takes the lock for a moment, and must not keep a daemon from starting


@dataclass(frozen=True, slots=True)
class Holder:
    pid: int
    started: str  # with the pid it names a process for good
    since: int
    what: str = "daemon"
    store: str | None = None  # the store's id, which its children carry
    foreground: bool = False  # somebody else sees to it, such as a service manager
    stopping: bool = False  # it was asked to; whatever ends it now, its supervisor does not bring it back


class HeldLock:
    """The lock, as long as it is ours."""

    def __init__(self, handle: int, holder: Holder, before: Holder | None) -> None:
        self._handle = handle
        self.before = before
        # Whose children may be left, until this one knows its store by itself.
        self.holder = replace(holder, store=before.store if before else None)

    def note_store(self, store: str) -> None:
        self.holder = replace(self.holder, store=store)
        self.write()

    def note_stopping(self) -> None:
        self.holder = replace(self.holder, stopping=True)
        with suppress(OSError):  # it stops all the same
            self.write()

    def write(self) -> None:
        os.pwrite(self._handle, json.dumps(asdict(self.holder)).encode().ljust(_SIZE), 0)


@contextmanager
def hold(path: Path, holder: Holder) -> Iterator[HeldLock]:
    """Raises StoreHeld, naming who has it."""
    handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        if not _try_for_a_moment(handle):
            raise StoreHeld(describe_holder(path))
        held = HeldLock(handle, holder, read(path))
        held.write()
        yield held
    finally:
        os.close(handle)


def is_free(path: Path) -> bool:
    try:
        handle = os.open(path, os.O_RDONLY | os.O_CLOEXEC)  # a disk may have become read-only
    except FileNotFoundError:
        return True
    try:
        return _try(handle, fcntl.LOCK_SH)  # two who only look do not see each other
    finally:
        os.close(handle)


def read(path: Path) -> Holder | None:
    """Who holds it, or held it last."""
    with suppress(OSError, ValueError, TypeError):
        data: dict[str, Any] = json.loads(path.read_bytes())
        return Holder(**data)
    return None


def describe_holder(path: Path) -> str:
    """Who has it, since when, and what to do."""
    home = path.parent.parent
    if not (holder := read(path)):
        return f"another clew process works on {home} just now; try again in a moment"
    since = datetime.fromtimestamp(holder.since / 1000).strftime("%Y-%m-%d %H:%M:%S")
    return (
        f"{home} is held by a clew {holder.what} with pid {holder.pid}, since {since};"
        " `clew down` stops it, or set CLEW_HOME to another folder"
    )


def _try_for_a_moment(handle: int) -> bool:
    deadline = time.monotonic() + _PATIENCE
    while not _try(handle):
        if time.monotonic() > deadline:
            return False
        time.sleep(0.01)
    return True


def _try(handle: int, how: int = fcntl.LOCK_EX) -> bool:
    try:
        fcntl.flock(handle, how | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True
