"""The file under an open store: whether it is still the one that was opened, and what is done where it is not. SQLite
itself would go on with a file that nobody can find any more, and everything in it would end with the process."""

from __future__ import annotations

import contextlib
import logging
import os
import sqlite3
import threading
from pathlib import Path

from clew.support import crash
from clew.support.errors import StoreError

_log = logging.getLogger(__name__)
REMOVED = 74  # the exit code after the file was removed and put back

Identity = tuple[int, int]


def identity(path: Path) -> Identity | None:
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_dev, found.st_ino


class OpenFile:
    """Made while the file is open. What is open stays readable, also without a name: so whoever notices saves it."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._opened = identity(path)
        self._wal = identity(_beside(path, "-wal"))
        self._lock = threading.Lock()
        self._replaced: StoreError | None = None

    def is_there(self) -> bool:
        return self._replaced is None and identity(self._path) == self._opened

    def check(self, raw: sqlite3.Connection, *, to_write: bool) -> None:
        """Before each use, with the connection that is about to be used. Raises StoreError."""
        if self.is_there():
            return
        if self._replaced is None and self._is_gone():
            if to_write:
                self._return(raw)
            return
        raise self._told(raw)

    def _is_gone(self) -> bool:
        try:
            self._path.stat()
        except (FileNotFoundError, NotADirectoryError):
            return True
        except OSError as error:  # a disk that fails, a folder that may not be looked into: neither gone nor replaced
            raise StoreError(f"{self._path} cannot be looked at: {error.strerror}; `clew doctor` tells more") from error
        return False

    def _return(self, raw: sqlite3.Connection) -> None:
        """It is put back, whole, and the process ends at once: the next one opens it as after any other crash."""
        put_back(raw, self._path)
        _log.critical("%s was removed while clew runs; it was put back, and clew starts anew", self._path)
        os._exit(REMOVED)

    def _told(self, raw: sqlite3.Connection) -> StoreError:
        """Once replaced it stays so until the next start: what it had is kept, and nothing is written any more."""
        with self._lock:
            if self._replaced is None:
                self._replaced = StoreError(f"{self._path} was replaced while clew runs. {self._kept(raw)}")
                _log.critical("%s", self._replaced.message)
            return self._replaced

    def _kept(self, raw: sqlite3.Connection) -> str:
        try:
            kept = keep(raw, self._path)
        except (OSError, sqlite3.Error) as error:
            self._replaced = None  # it is tried again
            raise StoreError(f"{self._path} was replaced while clew runs, and cannot be kept: {error}") from error
        self._part_from_the_log()
        return f"What it had is kept in {kept}; `clew restart` goes on with the new file"

    def _part_from_the_log(self) -> None:
        """The write-ahead log is named after the file, and would be read as a part of the new one."""
        if self._wal is not None and identity(_beside(self._path, "-wal")) == self._wal:
            _unlink_logs(self._path)


def put_back(raw: sqlite3.Connection, path: Path) -> None:
    """The content of an open store, under a name that is free again. Raises StoreError."""
    half = _beside(path, ".half")
    try:
        clear(half)
        copy(raw, half)
        half.rename(saved_of(path))
        crash.point("store.saved-not-named")
        if not take_back(path):
            raise FileNotFoundError(f"{saved_of(path)} was removed, too")
    except (OSError, sqlite3.Error) as error:
        raise StoreError(f"{path} was removed while clew runs, and cannot be put back: {error}") from error


def saved_of(path: Path) -> Path:
    """Where all of a store that was removed is, on its way to its own name."""
    return _beside(path, ".saved")


def take_back(path: Path) -> bool:
    """The second half of putting back, also for a process that ended between: what bears this name is whole. False
    where nothing does."""
    saved = saved_of(path)
    if not saved.exists():
        return False
    _unlink_logs(path)  # of the file that was removed
    crash.point("store.parted-not-named")
    saved.rename(path)
    sync(path.parent)
    return True


def put_aside_saved(path: Path) -> None:
    """Where somebody else has put a file back meanwhile: that one counts, and this is not to come back one day."""
    saved = saved_of(path)
    if saved.exists():
        aside = _free(path)
        saved.rename(aside)
        _log.warning("%s is there again; what clew had saved of the one that was removed is kept in %s", path, aside)


def keep(raw: sqlite3.Connection, path: Path) -> Path:
    """The content of an open store beside the file that took its name, under a name that is free."""
    kept = _free(path)
    copy(raw, kept)
    return kept


def _free(path: Path) -> Path:
    number = 1
    while (kept := _beside(path, f".kept-{number}")).exists():
        number += 1
    return kept


def put_aside_logs(path: Path) -> None:
    """Of a file that is gone: a new one of that name would take them for its own."""
    for kind in ("-wal", "-shm"):
        left = _beside(path, kind)
        if left.exists():
            _log.warning("%s is of a file that is gone; it was put aside", left)
            left.rename(_beside(left, ".left"))


def copy(raw: sqlite3.Connection, target: Path) -> None:
    with contextlib.closing(sqlite3.connect(target)) as connection:
        raw.backup(connection)
    target.chmod(0o600)


def clear(path: Path) -> None:
    """What a process that was killed left half made, with its journals."""
    for ending in ("", "-wal", "-shm", "-journal"):
        _beside(path, ending).unlink(missing_ok=True)


def sync(folder: Path) -> None:
    """So that a name in it survives a power cut."""
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
