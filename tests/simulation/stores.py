"""In-memory databases of stories: created once and wiped for the next story, so that SQLite keeps its prepared
statements."""

from __future__ import annotations

import random
import sqlite3
from functools import cache

from clew.store.migrate import migrate
from clew.store.sqlite.driver import SqliteConnection, wipe
from tests.simulation.clock import VirtualClock

_free: list[SqliteConnection] = []


def take() -> tuple[str, SqliteConnection]:
    """Return the id of an empty store, and a connection to it."""
    store_id, made = _made()
    if _free:
        return store_id, _free.pop()
    raw = _connect()
    made.raw.backup(raw)
    return store_id, SqliteConnection(raw)


def give_back(connection: SqliteConnection) -> None:
    """Return the database of a story that is not needed any more."""
    wipe(connection)
    _free.append(connection)


@cache
def _made() -> tuple[str, SqliteConnection]:
    connection = SqliteConnection(_connect())
    return migrate(connection, VirtualClock(random.Random("store"))), connection


def _connect() -> sqlite3.Connection:
    return sqlite3.connect(":memory:", isolation_level=None, check_same_thread=False, cached_statements=512)
