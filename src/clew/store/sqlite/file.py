"""Detects that the database file was removed or replaced while the store is open, and saves its content. SQLite itself
would go on with the unlinked file, and everything in it would be lost when the process ends."""

from __future__ import annotations

import contextlib
import logging
import os
import sqlite3
import threading
from pathlib import Path

from clew.support import crash
from clew.support.errors import StoreError
from clew.texts.catalogue import say

_log = logging.getLogger(__name__)
REMOVED = 74  # the exit code after the file was removed and restored

Identity = tuple[int, int]


def identity(path: Path) -> Identity | None:
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_dev, found.st_ino


class OpenFile:
    """Watches the file of an open store. An open file stays readable after it was removed, so it can be saved."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._opened = identity(path)
        self._wal = identity(_beside(path, "-wal"))
        self._lock = threading.Lock()
        self._replaced: StoreError | None = None

    def is_there(self) -> bool:
        return self._replaced is None and identity(self._path) == self._opened

    def check(self, raw: sqlite3.Connection, *, to_write: bool) -> None:
        """Call before each use, with the connection that is about to be used. Raises StoreError."""
        if self.is_there():
            return
        if self._replaced is None and self._is_gone():
            if to_write:
                self._restore_and_exit(raw)
            return
        raise self._replaced_error(raw)

    def _is_gone(self) -> bool:
        try:
            self._path.stat()
        except (FileNotFoundError, NotADirectoryError):
            return True
        except OSError as error:  # a failing disk, a folder without permission: neither gone nor replaced
            raise StoreError(
                say("daemon.cannot_inspect", path=str(self._path), error=error.strerror or str(error))
            ) from error
        return False

    def _restore_and_exit(self, raw: sqlite3.Connection) -> None:
        """Restore the file and exit at once: the next process opens it as after any other crash."""
        put_back(raw, self._path)
        _log.critical("%s was removed while clew was running. It was restored, and clew restarts", self._path)
        os._exit(REMOVED)

    def _replaced_error(self, raw: sqlite3.Connection) -> StoreError:
        """The error after a replacement. The content is saved once, and nothing is written until the next start."""
        with self._lock:
            if self._replaced is None:
                saved = self._save(raw)
                self._replaced = StoreError(say("daemon.replaced", path=str(self._path), saved=str(saved)))
                _log.critical("%s", self._replaced.message)
            return self._replaced

    def _save(self, raw: sqlite3.Connection) -> Path:
        try:
            saved = save_copy(raw, self._path)
        except (OSError, sqlite3.Error) as error:
            self._replaced = None  # try again at the next use
            raise StoreError(say("daemon.replaced_not_saved", path=str(self._path), error=str(error))) from error
        self._remove_old_log()
        return saved

    def _remove_old_log(self) -> None:
        """Remove our write-ahead log: it is named after the file, and would be read as a part of the new one."""
        if self._wal is not None and identity(_beside(self._path, "-wal")) == self._wal:
            _unlink_logs(self._path)


def put_back(raw: sqlite3.Connection, path: Path) -> None:
    """Restore the removed file of an open store. Raises StoreError."""
    half = _beside(path, ".half")
    try:
        clear(half)
        copy(raw, half)
        half.rename(saved_of(path))
        crash.point("store.saved-not-named")
        if not take_back(path):
            raise FileNotFoundError(f"{saved_of(path)} was removed, too")
    except (OSError, sqlite3.Error) as error:
        raise StoreError(say("daemon.removed_not_restored", path=str(path), error=str(error))) from error


def saved_of(path: Path) -> Path:
    """The name of the complete copy of a removed store, before it is renamed to its own name."""
    return _beside(path, ".saved")


def take_back(path: Path) -> bool:
    """The second half of `put_back`, also after a crash between the halves: a file named `.saved` is complete. False if
    there is none."""
    saved = saved_of(path)
    if not saved.exists():
        return False
    _unlink_logs(path)  # of the file that was removed
    crash.point("store.parted-not-named")
    saved.rename(path)
    sync(path.parent)
    return True


def put_aside_saved(path: Path) -> None:
    """Rename a leftover `.saved` copy if somebody else has put a file in place meanwhile: that file counts, and the
    copy must not replace it later."""
    saved = saved_of(path)
    if saved.exists():
        aside = _free_name(path)
        saved.rename(aside)
        _log.warning("%s exists again; clew's copy of the removed file is now %s", path, aside)


def save_copy(raw: sqlite3.Connection, path: Path) -> Path:
    """Copy the content of an open store to a free name beside the file that replaced it."""
    saved = _free_name(path)
    copy(raw, saved)
    return saved


def _free_name(path: Path) -> Path:
    number = 1
    while (free := _beside(path, f".kept-{number}")).exists():
        number += 1
    return free


def put_aside_logs(path: Path) -> None:
    """Rename the logs of a removed file: SQLite would read them as logs of a new file of that name."""
    for kind in ("-wal", "-shm"):
        left = _beside(path, kind)
        if left.exists():
            _log.warning("%s belongs to a removed file; it was renamed", left)
            left.rename(_beside(left, ".left"))


def copy(raw: sqlite3.Connection, target: Path) -> None:
    with contextlib.closing(sqlite3.connect(target)) as connection:
        raw.backup(connection)
    target.chmod(0o600)


def clear(path: Path) -> None:
    """Remove a file that a killed process left half made, with its journals."""
    for ending in ("", "-wal", "-shm", "-journal"):
        _beside(path, ending).unlink(missing_ok=True)


def sync(folder: Path) -> None:
    """Sync a folder to disk, so that a new name in it survives a power cut."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def _unlink_logs(path: Path) -> None:
    for kind in ("-wal", "-shm"):
        _beside(path, kind).unlink(missing_ok=True)


def _beside(path: Path, ending: str) -> Path:
    return path.with_name(f"{path.name}{ending}")
