"""SQLite: opening the file, its dialect, and the two executors. No other module has SQLite-specific SQL."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import queue
import sqlite3
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, TypeVar

from msgspec import Struct

from clew.store.base import Body, Committed, Row, Tx
from clew.store.sqlite.file import OpenFile
from clew.support import crash
from clew.support.errors import SearchBusy, SearchTooLong, StoreError, UnreadableRow
from clew.texts.catalogue import say

T = TypeVar("T")
SERIAL = "INTEGER PRIMARY KEY AUTOINCREMENT"
_log = logging.getLogger(__name__)
_BATCH = 256
_READERS = 2
_SEARCHES = 8  # the most searches that run or wait; one runs at a time
_SEARCH = 5.0  # seconds from a search's request to its deadline
_STEPS = 10_000  # SQLite VM steps between two checks of the deadline: a few milliseconds
_KNOWN = 1000  # statements whose columns are cached; the code has fewer


class SqliteConnection:
    """The dialect: what `Tx` needs, over one sqlite3 connection."""

    serial = SERIAL

    def __init__(self, raw: sqlite3.Connection) -> None:
        self.raw = raw
        self._columns: dict[str, tuple[str, ...]] = {}  # by statement

    def run(self, sql: str, params: Sequence[Any]) -> int:
        return self.raw.execute(sql, params).rowcount

    def insert(self, sql: str, params: Sequence[Any]) -> int:
        """Execute an INSERT. Returns the autoincremented key of the new row."""
        return self.raw.execute(sql, params).lastrowid or 0

    def all(self, sql: str, params: Sequence[Any]) -> list[Row]:
        try:
            cursor = self.raw.execute(sql, params)
            rows = cursor.fetchall()
        except sqlite3.OperationalError as error:
            if "decode" not in str(error):
                raise
            cursor, rows = self._undecoded(sql, params)
        if not rows:
            return rows
        columns = self._columns.get(sql) or self._note_columns(sql, cursor)
        return [dict(zip(columns, row, strict=True)) for row in rows]  # sqlite3.Row searches all names every time

    def _undecoded(self, sql: str, params: Sequence[Any]) -> tuple[sqlite3.Cursor, list[Any]]:
        """The same rows, in which text that is no UTF-8 is bytes: whoever reads the row finds it damaged. A statement
        that changes rows must not run twice."""
        if not sql.lstrip().startswith(("SELECT", "WITH")):
            raise UnreadableRow(say("daemon.not_text"))
        self.raw.text_factory = _text
        try:
            cursor = self.raw.execute(sql, params)
            return cursor, cursor.fetchall()
        finally:
            self.raw.text_factory = str

    def _note_columns(self, sql: str, cursor: sqlite3.Cursor) -> tuple[str, ...]:
        columns = tuple(column[0] for column in cursor.description)
        if len(self._columns) < _KNOWN:
            self._columns[sql] = columns
        return columns

    def script(self, sql: str) -> None:
        """Execute several statements, inside the open transaction."""
        for statement in _statements(sql):
            self.raw.execute(statement)


def connect(path: Path, *, read_only: bool = False, create: bool = False) -> SqliteConnection:
    """Open the file with WAL and an fsync at every commit. A missing file is created only with `create`."""
    name = f"{path.absolute().as_uri()}?mode={'rwc' if create else 'rw'}"
    raw = sqlite3.connect(name, uri=True, isolation_level=None, check_same_thread=False, timeout=10.0)
    raw.execute("PRAGMA busy_timeout = 10000")
    raw.execute("PRAGMA synchronous = FULL")
    if read_only:
        raw.execute("PRAGMA query_only = 1")
    else:
        raw.execute("PRAGMA journal_mode = WAL")
    raw.execute("PRAGMA cache_size = -16000")
    raw.execute("PRAGMA temp_store = MEMORY")
    return SqliteConnection(raw)


def _reader(path: Path) -> SqliteConnection:
    """A read-only connection that has already opened the file and its log, so it works even if they are removed."""
    connection = connect(path, read_only=True)
    connection.all("SELECT 1 FROM sqlite_master LIMIT 1", ())
    return connection


def explain(error: sqlite3.Error, path: Path | str) -> StoreError:
    """Turn an SQLite error into one that says what is wrong with the file, and what to do."""
    words = str(error)
    if "full" in words:
        return StoreError(say("daemon.no_room", path=str(path)))
    if "readonly" in words or "unable to open" in words:
        return StoreError(say("daemon.cannot_write", path=str(path)))
    if "not a database" in words or "malformed" in words:
        return StoreError(say("daemon.damaged", path=str(path), error=words))
    if "locked" in words:
        return StoreError(say("daemon.locked", path=str(path)))
    if "I/O" in words:
        return StoreError(say("daemon.disk_trouble", path=str(path), error=words))
    return StoreError(say("daemon.store_error", path=str(path), error=words))


class _Job(Struct, eq=False):
    body: Body[Any]
    loop: asyncio.AbstractEventLoop
    future: asyncio.Future[Any]
    on_commit: Callable[[Committed], None]
    result: Any = None
    error: BaseException | None = None
    committed: Committed | None = None


class WriterThread:
    """Runs bodies. One thread writes, with group commit: all waiting bodies go into one transaction, each in its own
    savepoint, and their callers resume after the COMMIT. A failed COMMIT fails them all. Reader threads work on
    snapshots; searches run in a thread of their own, one at a time, each with a deadline."""

    def __init__(
        self,
        path: Path,
        search: float = _SEARCH,
        now: Callable[[], float] = time.monotonic,
        before_commit: Callable[[], None] = lambda: None,
    ) -> None:
        self._path = path
        self._before_commit = before_commit
        self._search_seconds = search
        self._now = now
        self._jobs: queue.SimpleQueue[_Job | None] = queue.SimpleQueue()
        self._connection = connect(path)
        self._idle: queue.SimpleQueue[SqliteConnection] = queue.SimpleQueue()
        self._opened = [_reader(path) for _ in range(_READERS)]  # now: later the name may belong to another file
        for connection in self._opened:
            self._idle.put(connection)
        self._searcher = _reader(path)
        self._searches = ThreadPoolExecutor(1, thread_name_prefix="clew-search")
        self._searching = 0
        self._is_closing = False
        self._file = OpenFile(path)
        self._readers = ThreadPoolExecutor(_READERS, thread_name_prefix="clew-reader")
        self._thread = threading.Thread(target=self._work, name="clew-writer", daemon=True)
        self._thread.start()

    async def write(self, body: Body[T], committed: Callable[[Committed], None]) -> T:
        loop = asyncio.get_running_loop()
        future: asyncio.Future[T] = loop.create_future()
        self._jobs.put(_Job(body, loop, future, committed))
        return await future

    async def read(self, body: Body[T]) -> T:
        return await asyncio.get_running_loop().run_in_executor(self._readers, self._read, body)

    async def search(self, body: Body[T]) -> T:
        if self._searching >= _SEARCHES:
            raise SearchBusy(say("daemon.searches_busy", count=_SEARCHES))
        until = self._now() + self._search_seconds
        self._searching += 1
        try:
            return await asyncio.get_running_loop().run_in_executor(self._searches, self._search, body, until)
        finally:
            self._searching -= 1

    def close(self) -> None:
        self._jobs.put(None)
        self._thread.join()
        self._readers.shutdown()
        self._is_closing = True
        self._searches.shutdown(cancel_futures=True)
        for connection in [self._connection, self._searcher, *self._opened]:
            connection.raw.close()

    def _read(self, body: Body[T]) -> T:
        connection = self._idle.get()
        try:
            return self._read_with(connection, body)
        finally:
            self._idle.put(connection)

    def _search(self, body: Body[T], until: float) -> T:
        def timed(tx: Tx) -> T:
            """Interrupt only the body: the end of the transaction after it must not be interrupted."""
            self._searcher.raw.set_progress_handler(lambda: self._is_closing or self._now() >= until, _STEPS)
            try:
                return body(tx)
            finally:
                self._searcher.raw.set_progress_handler(None, 0)

        return self._read_with(self._searcher, timed)

    def _read_with(self, connection: SqliteConnection, body: Body[T]) -> T:
        try:
            self._file.check(connection.raw, to_write=False)
            return _snapshot(connection, body)
        except sqlite3.ProgrammingError:
            raise  # a bug of the body
        except sqlite3.Error as error:
            if getattr(error, "sqlite_errorcode", None) == sqlite3.SQLITE_INTERRUPT:
                raise SearchTooLong(say("daemon.search_too_long", seconds=f"{self._search_seconds:g}")) from error
            raise explain(error, self._path) from error

    def _work(self) -> None:
        while (first := self._jobs.get()) is not None:
            batch = self._batch(first)
            try:
                self._commit(batch)
            except Exception as error:  # if the writer thread died, every caller would wait for ever
                _log.exception("the writer failed; reopening the file")
                _fail(batch, StoreError(f"{self._path}: {error}"))
                self._reopen()
            _answer(batch)

    def _reopen(self) -> None:
        if not self._file.is_there():
            return  # the name belongs to another file now
        with contextlib.suppress(sqlite3.Error):
            self._connection.raw.close()
        with contextlib.suppress(sqlite3.Error):
            self._connection = connect(self._path)

    def _batch(self, first: _Job) -> list[_Job]:
        batch = [first]
        while len(batch) < _BATCH:
            try:
                job = self._jobs.get_nowait()
            except queue.Empty:
                break
            if job is None:
                self._jobs.put(None)
                break
            batch.append(job)
        return batch

    def _commit(self, batch: list[_Job]) -> None:
        try:
            self._file.check(self._connection.raw, to_write=True)  # first: it saves a removed file
            self._before_commit()
            self._connection.raw.execute("BEGIN IMMEDIATE")
            for job in batch:
                _run_in_savepoint(self._connection, job)
            crash.point("store.written-not-committed")
            self._connection.raw.execute("COMMIT")
            crash.point("store.committed-not-told")
        except StoreError as error:
            _fail(batch, error)
        except sqlite3.Error as error:
            _fail(batch, explain(error, self._path))
            _roll_back(self._connection)


def _run_in_savepoint(connection: SqliteConnection, job: _Job) -> None:
    tx = Tx(connection)
    connection.raw.execute("SAVEPOINT body")
    try:
        job.result = job.body(tx)
        job.committed = tx.finish()
    except (sqlite3.IntegrityError, sqlite3.ProgrammingError) as error:
        connection.raw.execute("ROLLBACK TO body")
        job.error = error
    except sqlite3.Error:
        raise  # the disk or the file failed: any body of this batch may be incomplete
    except BaseException as error:  # the body's own failure goes to its caller
        connection.raw.execute("ROLLBACK TO body")
        job.error = error
    connection.raw.execute("RELEASE body")


def _fail(batch: list[_Job], trouble: StoreError) -> None:
    for job in batch:
        job.error = trouble


def _roll_back(connection: SqliteConnection) -> None:
    if connection.raw.in_transaction:
        connection.raw.execute("ROLLBACK")


def _answer(batch: list[_Job]) -> None:
    """Resume the callers, with one wake-up of each event loop for the whole batch."""
    for loop in {job.loop for job in batch}:
        mine = [job for job in batch if job.loop is loop]
        if not loop.is_closed():
            loop.call_soon_threadsafe(_settle, mine)


def _settle(batch: list[_Job]) -> None:
    for job in batch:
        if job.error is None and job.committed is not None:
            _notify_listeners(job)
        if job.future.done():
            continue
        if job.error is not None:
            job.future.set_exception(job.error)
        else:
            job.future.set_result(job.result)


def _notify_listeners(job: _Job) -> None:
    """A listener that raises must not leave the rest of the batch unanswered."""
    try:
        assert job.committed is not None
        job.on_commit(job.committed)
    except Exception:
        _log.exception("a listener failed")


def _snapshot(connection: SqliteConnection, body: Body[T]) -> T:
    connection.raw.execute("BEGIN")
    try:
        return body(Tx(connection))
    finally:
        _roll_back(connection)


class Inline:
    """Runs each body at once, on the event loop: for simulations, which must be deterministic. A full disk fails the
    commit, after the body has run; an unreadable file fails before the body."""

    def __init__(
        self,
        connection: SqliteConnection,
        fails: Callable[[], bool] = lambda: False,
        hides: Callable[[], bool] = lambda: False,
    ) -> None:
        self._connection = connection
        self._fails = fails  # whether the disk is full now
        self._hides = hides  # whether the file is unreadable now
        self.alive = True

    async def write(self, body: Body[T], committed: Callable[[Committed], None]) -> T:
        await asyncio.sleep(0)
        result, done = self._transact(body)
        committed(done)
        await asyncio.sleep(0)
        return result

    async def read(self, body: Body[T]) -> T:
        await asyncio.sleep(0)
        self._check()
        if self._hides():
            raise StoreError("the file cannot be read")
        return body(Tx(self._connection))  # nobody writes meanwhile, so it needs no snapshot

    async def search(self, body: Body[T]) -> T:
        return await self.read(body)

    def close(self) -> None:
        self.alive = False

    def _check(self) -> None:
        if not self.alive:
            raise StoreError("this process is dead")

    def _transact(self, body: Body[T]) -> tuple[T, Committed]:
        self._check()
        tx, is_full = Tx(self._connection), self._fails()
        self._connection.raw.execute("BEGIN IMMEDIATE")
        try:
            result = body(tx)
            done = tx.finish()
            if is_full:
                raise StoreError("no room left")
            self._connection.raw.execute("COMMIT")
        except BaseException:
            _roll_back(self._connection)
            raise
        return result, done


def wipe(connection: SqliteConnection) -> None:
    """Delete all rows except those that opening a store writes: for simulations, which reuse a store."""
    tables = connection.all("SELECT name FROM sqlite_master WHERE type = 'table'", ())
    names = [row["name"] for row in tables if row["name"] not in ("meta", "schema_version")]
    connection.raw.execute("BEGIN")
    for name in names:
        connection.raw.execute(f"DELETE FROM {name}")
    connection.raw.execute("COMMIT")


def _text(value: bytes) -> str | bytes:
    try:
        return value.decode()
    except UnicodeDecodeError:
        return value


def _statements(sql: str) -> list[str]:
    lines = [line for line in sql.splitlines() if not line.lstrip().startswith("--")]
    return [part.strip() for part in "\n".join(lines).split(";") if part.strip()]
