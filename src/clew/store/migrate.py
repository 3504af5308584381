"""Opens a store and migrates it: numbered SQL files, a version table, one transaction, after a backup of the file."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from pathlib import Path

from clew.store.base import Store, Tx
from clew.store.sqlite import file
from clew.store.sqlite.driver import SqliteConnection, WriterThread, connect, explain
from clew.support import crash
from clew.support.clock import Clock
from clew.support.errors import StoreError
from clew.texts.catalogue import say

CODES = 15  # the migration whose rows are rewritten by `recode`
HANDLES = 16  # the migration after which older threads get handles
MIGRATIONS = Path(__file__).parent / "migrations"


def open_store(path: Path, clock: Clock, before_commit: Callable[[], None] = lambda: None) -> Store:
    """Migrate the file at `path` (or create it) and open it. Raises StoreError, and then has changed nothing.
    `before_commit` is called before each transaction that writes."""
    try:
        store_id = _prepare(path, clock)
        return Store(WriterThread(path, before_commit=before_commit), store_id)
    except sqlite3.Error as error:
        raise explain(error, path) from error
    except OSError as error:
        raise StoreError(say("daemon.cannot_open", path=str(path), error=str(error))) from error


def migrations() -> list[tuple[int, Path]]:
    """(number, SQL file) of every migration, in order."""
    return [(int(path.name[:4]), path) for path in sorted(MIGRATIONS.glob("*.sql"))]


def migrate(connection: SqliteConnection, clock: Clock) -> str:
    """Run the missing migrations in one transaction. Returns the store's id."""
    raw = connection.raw
    raw.execute("BEGIN IMMEDIATE")
    try:
        raw.execute(
            "CREATE TABLE IF NOT EXISTS schema_version (version BIGINT PRIMARY KEY, applied_at BIGINT NOT NULL)"
        )
        done = version(connection)
        for number, path in migrations():
            if number > done:
                connection.script(path.read_text(encoding="utf-8").replace("$SERIAL", connection.serial))
                if number == CODES:
                    from clew.store.recode import recode  # only stores of an earlier version need it

                    recode(connection)
                if number == HANDLES:
                    from clew.store.tables.handles import name_older_threads

                    name_older_threads(Tx(connection))
                raw.execute("INSERT INTO schema_version (version, applied_at) VALUES (?, ?)", (number, clock.now()))
                crash.point("store.migrated-not-committed")
        raw.execute("INSERT INTO meta (name, value) VALUES ('store', ?) ON CONFLICT DO NOTHING", (clock.token()[:12],))
        [store] = connection.all("SELECT value FROM meta WHERE name = 'store'", ())
        raw.execute("COMMIT")
    except BaseException:
        if raw.in_transaction:
            raw.execute("ROLLBACK")
        raise
    return str(store["value"])


def version(connection: SqliteConnection) -> int:
    """The schema version of the file; 0 if it has no tables of clew yet."""
    known = connection.all("SELECT 1 FROM sqlite_master WHERE name = 'schema_version'", ())
    if not known:
        return 0
    return int(connection.all("SELECT coalesce(max(version), 0) AS version FROM schema_version", ())[0]["version"])


def _prepare(path: Path, clock: Clock) -> str:
    if not path.exists() and not file.take_back(path):
        return _make(path, clock)
    file.put_aside_saved(path)
    if path.stat().st_size == 0:
        raise StoreError(say("daemon.empty_file", path=str(path)))
    done = _inspect(path)
    newest = migrations()[-1][0]
    if done > newest:
        raise StoreError(say("daemon.newer_store", path=str(path), found=done, known=newest))
    return _bring_up(path, clock, copy=path.with_name(f"{path.name}.before-{newest:04}") if done < newest else None)


def _make(path: Path, clock: Clock) -> str:
    """Create the file atomically: a half-made one, left by a killed start, would look like a damaged file."""
    fresh = path.with_name(f"{path.name}.new")
    file.clear(fresh)
    store_id = _bring_up(fresh, clock, copy=None)
    crash.point("store.made-not-named")
    file.put_aside_logs(path)
    fresh.rename(path)
    file.sync(path.parent)
    return store_id


def _bring_up(path: Path, clock: Clock, copy: Path | None) -> str:
    connection = connect(path, create=True)
    try:
        if copy is not None:
            file.copy(connection.raw, copy)
            crash.point("store.copied-not-migrated")
        path.chmod(0o600)
        return migrate(connection, clock)
    finally:
        connection.raw.close()


def _inspect(path: Path) -> int:
    """The version of an existing file, read without writing to it."""
    raw = sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True)
    try:
        connection = SqliteConnection(raw)
        done = version(connection)
        if done == 0 and connection.all("SELECT 1 FROM sqlite_master LIMIT 1", ()):
            raise StoreError(say("daemon.other_database", path=str(path)))
        return done
    finally:
        raw.close()
