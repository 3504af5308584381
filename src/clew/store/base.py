"""The transaction that a body gets, and the store that runs bodies."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol, TypeVar

import msgspec
from msgspec import Struct, field
from msgspec.structs import asdict, replace

from clew.model.events.kinds import EventKind
from clew.model.events.logged import Logged
from clew.model.messages import Conversation
from clew.support.coded import plain, with_texts
from clew.support.errors import StoreError, UnreadableRow

_log = logging.getLogger(__name__)
T = TypeVar("T")
_ACTIVITY = frozenset(  # a thread in which one of these happens comes first in lists
    {
        EventKind.THREAD_STATUS,
        EventKind.THREAD_IMPORTED,
        EventKind.TURN_QUEUED,
        EventKind.TURN_ENDED,
        EventKind.STEER_OFFERED,
        EventKind.GATE_OPENED,
        EventKind.GATE_ANSWERED,
        EventKind.HANDOFF_COMPLETED,
    }
)
Row = Mapping[str, Any]
Body = Callable[["Tx"], T]


class Entry(Struct, frozen=True):
    """One row of the event log: what happened to which thread. It holds ids; content is in the other tables."""

    seq: int
    thread: str
    turn: str | None
    kind: str
    at: int
    data: Mapping[str, Any] = field(default_factory=dict)


class Lost(Struct, frozen=True):
    """A message that was to run, and cannot."""

    where: Conversation | None  # None: the row does not say it


class BadRow(Struct, frozen=True):
    """A row that cannot be read: by another program, a failing disk, or a bug."""

    table: str
    key: str
    thread: str | None  # to which it belongs, as far as the row says
    reason: str
    where: tuple[object, ...] = ()  # the values of its primary key
    is_newer: bool = False  # it can be read but for a word that a newer version may know
    message: Lost | None = None  # a person's message that is lost with it, if it was set aside


class Connection(Protocol):
    """What an SQL dialect must provide: `?` for parameters, rows by column name."""

    def run(self, sql: str, params: Sequence[Any]) -> int: ...

    def insert(self, sql: str, params: Sequence[Any]) -> int: ...

    def all(self, sql: str, params: Sequence[Any]) -> list[Row]: ...


class Tx:
    """A transaction. Its body only reads and writes rows: it may run again, and a failed commit undoes it. What has to
    happen in memory is passed to `after`. Listeners get what it logs after the commit, never before."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._logged: list[Entry] = []  # not numbered yet
        self._actions: list[Callable[[], object]] = []
        self.bad: list[BadRow] = []  # rows that it met and could not read

    def run(self, sql: str, *params: Any) -> int:
        """Execute a statement. Returns how many rows it changed."""
        return self._connection.run(sql, params)

    def all(self, sql: str, *params: Any) -> list[Row]:
        return self._connection.all(sql, params)

    def one(self, sql: str, *params: Any) -> Row | None:
        rows = self._connection.all(sql, params)
        return rows[0] if rows else None

    def log(self, thread: str, turn: str | None, at: int, happened: Logged) -> None:
        """Add an entry to the event log. It is written and numbered at the end of the body. The codes of clew's own
        sentences in it are logged beside them, as `texts`."""
        data = asdict(with_texts(happened))
        if not data["texts"]:
            del data["texts"]
        self._logged.append(Entry(0, thread, turn, happened.event, at, data))

    def after(self, action: Callable[[], object]) -> None:
        """Call this on the event loop after the commit, before listeners and the caller learn of it."""
        self._actions.append(action)

    def attempt(self, part: Callable[[], T], otherwise: T) -> T:
        """Run a part of the body that concerns one thread of many. If it needs a row that cannot be read, only this
        part is undone."""
        logged, actions = len(self._logged), len(self._actions)
        self._connection.run("SAVEPOINT part", ())
        try:
            done = part()
        except UnreadableRow:
            self._connection.run("ROLLBACK TO part", ())
            del self._logged[logged:], self._actions[actions:]
            done = otherwise
        self._connection.run("RELEASE part", ())  # not after another error: SQLite may have ended the transaction
        return done

    def finish(self) -> Committed:
        """Write and number what was logged. The executor calls it, once, when the body has ended."""
        self._note_activity()
        return Committed([self._number(entry) for entry in self._logged], self._actions)

    def _note_activity(self) -> None:
        """Store when something last happened in the threads: at most one write per thread."""
        newest = {entry.thread: entry.at for entry in self._logged if entry.kind in _ACTIVITY}
        for thread, at in newest.items():
            self._connection.run("UPDATE threads SET active_at = ? WHERE id = ? AND active_at < ?", (at, thread, at))

    def _number(self, entry: Entry) -> Entry:
        data = msgspec.json.encode(entry.data, enc_hook=plain).decode()
        sql = "INSERT INTO log (thread, turn, kind, data, at) VALUES (?, ?, ?, ?, ?)"
        return replace(entry, seq=self._connection.insert(sql, (entry.thread, entry.turn, entry.kind, data, entry.at)))


class Committed(Struct, frozen=True):
    """What follows the commit of a body."""

    entries: list[Entry]
    actions: list[Callable[[], object]]


class Executor(Protocol):
    """Runs bodies: in a writer thread with group commit, or inline in a simulation."""

    async def write(self, body: Body[T], committed: Callable[[Committed], None]) -> T: ...

    async def read(self, body: Body[T]) -> T: ...

    async def search(self, body: Body[T]) -> T: ...

    def close(self) -> None: ...


class Store:
    """Runs transaction bodies, and passes what they logged to listeners."""

    def __init__(self, executor: Executor, store_id: str) -> None:
        self._executor = executor
        self._listeners: list[Callable[[Sequence[Entry]], None]] = []
        self.id = store_id
        self.trouble: str | None = None  # why the newest write failed; None if it succeeded
        self.bad_rows: dict[tuple[str, str], BadRow] = {}  # by table and key: rows that some body could not read

    def listen(self, listener: Callable[[Sequence[Entry]], None]) -> None:
        """Add a listener. It is called on the event loop with what each commit logged, in the order of the commits."""
        self._listeners.append(listener)

    async def write(self, body: Body[T]) -> T:
        try:
            done = await self._executor.write(self._noting(body), self._committed)
        except StoreError as error:
            self.trouble = error.words
            raise
        self.trouble = None
        return done

    async def read(self, body: Body[T]) -> T:
        return await self._executor.read(self._noting(body))

    async def search(self, body: Body[T]) -> T:
        """A read that may scan every row; no other read waits for it. Raises SearchTooLong at its deadline, and
        SearchBusy."""
        return await self._executor.search(self._noting(body))

    def close(self) -> None:
        self._executor.close()

    def _noting(self, body: Body[T]) -> Body[T]:
        def run(tx: Tx) -> T:
            try:
                return body(tx)
            finally:
                for bad in tx.bad:
                    self._note(bad)

        return run

    def _note(self, bad: BadRow) -> None:
        if self.bad_rows.get((bad.table, bad.key)) != bad:
            _log.error("row %s of table %s cannot be read: %s; see clew repair", bad.key, bad.table, bad.reason)
            self.bad_rows[bad.table, bad.key] = bad

    def _committed(self, committed: Committed) -> None:
        for action in committed.actions:
            try:
                action()
            except Exception:  # listeners have to learn of the commit all the same
                _log.exception("what follows a commit failed")
        if committed.entries:
            for listener in self._listeners:
                listener(committed.entries)
