"""The lock of a home: one process at a time works on a store. It is a kernel lock, which ends with its process.

The lock file names the holder and is never removed: after a crash it says whose children may be left.
"""

from __future__ import annotations

import fcntl
import os
import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import datetime
from pathlib import Path
from typing import Any

from msgspec import Struct
from msgspec.structs import asdict, replace

from clew.support.coded import worded
from clew.support.errors import StoreHeld

LOOK = signal.SIGURG  # asks a daemon to look after its socket; whoever does not know it ignores it
_SIZE = 512  # bytes: each write replaces the one before completely, so that no reader sees a mix of both
_TIMEOUT = 0.5  # seconds; `is_free` takes the lock for a moment, and must not prevent a daemon from starting


class Holder(Struct, frozen=True):
    pid: int
    started: str  # the start time; with the pid it identifies a process uniquely
    since: int
    what: str = "daemon"
    store: str | None = None  # the store's id, which is in the marks of its children
    foreground: bool = False  # somebody else restarts it, such as a service manager
    ready: bool = False  # it has opened its socket
    stopping: bool = False  # it was asked to stop, so its supervisor does not restart it
    recovered_at: int | None = None  # when a daemon last started after one that had not been asked to stop


class HeldLock:
    """The lock, while this process holds it."""

    def __init__(self, path: Path, handle: int, holder: Holder) -> None:
        self._path = path
        self._handle = handle
        self._file = os.fstat(handle)
        self.before = before = read(path)
        # The previous holder's store, whose children may be left, until this process has opened its store.
        self.holder = replace(
            holder, store=before.store if before else None, recovered_at=_recovered_at(holder, before)
        )

    @property
    def is_ours(self) -> bool:
        """False if the lock file was removed or replaced: then another process can hold the new one."""
        try:
            return os.path.samestat(self._path.stat(), self._file)
        except (FileNotFoundError, NotADirectoryError):
            return False
        except OSError:
            return True  # a failing disk: nothing is known

    def note_store(self, store: str) -> None:
        self.holder = replace(self.holder, store=store)
        self.write()

    def note_ready(self) -> None:
        self.holder = replace(self.holder, ready=True)
        with suppress(OSError):  # it works all the same
            self.write()

    def note_stopping(self) -> None:
        self.holder = replace(self.holder, stopping=True)
        with suppress(OSError):  # it stops all the same
            self.write()

    def write(self) -> None:
        import json  # every command imports this module, and most write no lock

        os.pwrite(self._handle, json.dumps(asdict(self.holder)).encode().ljust(_SIZE), 0)


@contextmanager
def hold(path: Path, holder: Holder) -> Iterator[HeldLock]:
    """Take the lock. Raises StoreHeld, which names the holder."""
    handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        if not _lock_with_timeout(handle):
            raise StoreHeld(describe_holder(path))
        held = HeldLock(path, handle, holder)
        if not held.is_ours:  # somebody has removed the file just now
            raise StoreHeld(describe_holder(path))
        held.write()
        yield held
    finally:
        os.close(handle)


def _recovered_at(holder: Holder, before: Holder | None) -> int | None:
    if before is None:
        return None
    is_recovery = holder.what == before.what == "daemon" and not before.stopping
    return holder.since if is_recovery else before.recovered_at


def is_free(path: Path) -> bool:
    try:
        handle = os.open(path, os.O_RDONLY | os.O_CLOEXEC)  # a disk may have become read-only
    except FileNotFoundError:
        return True
    try:
        return _try_lock(handle, fcntl.LOCK_SH)  # shared, so that two checks do not see each other
    finally:
        os.close(handle)


def read(path: Path) -> Holder | None:
    """The current or last holder."""
    import json

    with suppress(OSError, ValueError, TypeError):
        data: dict[str, Any] = json.loads(path.read_bytes())
        return Holder(**data)
    return None


def describe_holder(path: Path) -> str:
    """Who holds the lock, since when, and what to do."""
    home = path.parent
    if not (holder := read(path)):
        return worded(
            "process.home_in_use",
            "another clew process works on {home} just now; try again in a moment",
            home=f"{home}",
        )
    since = datetime.fromtimestamp(holder.since / 1000).strftime("%Y-%m-%d %H:%M:%S")
    return worded(
        "process.held",
        "{home} is held by a clew {what} with pid {pid}, since {since}; `clew down` stops it, or set CLEW_HOME to"
        " another folder",
        home=f"{home}",
        what=describe_what(holder),
        pid=f"{holder.pid}",
        since=since,
    )


def describe_what(holder: Holder) -> str:
    """What holds the lock; anything but the daemon is called by its command."""
    return worded("process.daemon_alone", "daemon") if holder.what == "daemon" else holder.what


def _lock_with_timeout(handle: int) -> bool:
    deadline = time.monotonic() + _TIMEOUT
    while not _try_lock(handle):
        if time.monotonic() > deadline:
            return False
        time.sleep(0.01)
    return True


def _try_lock(handle: int, how: int = fcntl.LOCK_EX) -> bool:
    try:
        fcntl.flock(handle, how | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True
