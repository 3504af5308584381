"""Finds rows that cannot be read, and sets them aside: in one transaction, with a copy in the table `set_aside`."""

from __future__ import annotations

import base64
import json
from collections.abc import Sequence
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from clew.model.messages import Conversation
from clew.model.turns import Origin
from clew.store.base import BadRow, Lost, Row, Tx
from clew.store.rows import Rows
from clew.store.sqlite.driver import SqliteConnection
from clew.store.tables import (
    adoptions,
    bindings,
    continuity,
    counters,
    deliveries,
    edits,
    gates,
    handoffs,
    idempotency,
    inbox,
    items,
    limits,
    log,
    nodes,
    people,
    places,
    preludes,
    rules,
    usage,
)
from clew.store.tables import threads as thread_rows
from clew.store.tables import turns as turn_rows
from clew.store.texts import stored
from clew.texts.catalogue import say

TABLES: dict[str, Rows[Any]] = {
    rows.table: rows
    for rows in (
        thread_rows.ROWS,
        turn_rows.ROWS,
        items.ROWS,
        preludes.ROWS,
        inbox.STEERS,
        gates.ROWS,
        deliveries.ROWS,
        handoffs.ROWS,
        bindings.ROWS,
        rules.ROWS,
        people.PEOPLE,
        continuity.ROWS,
        inbox.ROWS,
        nodes.CONTENTS,
        log.ROWS,
        limits.ROWS,
        places.PLACES,
        places.HOMES,
        places.OWNER_CHATS,
        places.AWAY,
        people.PAIRINGS,
        adoptions.ROWS,
        edits.ROWS,
        usage.LIMITS,
        usage.USED,
        usage.PASSES,
        idempotency.ROWS,
        counters.ROWS,
    )
}
PAGE = 500  # rows per query
_WAITING = {"turns": ("queued", "running", "waiting"), "steers": ("offered", "sent")}  # a person's message, by state

# What is left of a row whose key must not be forgotten: a message is accepted once, and the config's allow list must
# not give a person more than the role that cannot be read.
_LEFT: dict[str, tuple[str, tuple[str, ...]]] = {
    "inbox": (
        "sender = '', fate = 'refused', thread = NULL, turn = NULL, words = ?, received_at = 0",
        (stored(say("daemon.fate_lost")),),
    ),
    "people": ("name = id, role = 'watcher', added_at = 0, added_by = 'clew repair'", ()),
}

# What means nothing without the row that it belongs to: (table, column, condition).
_BELONGING = {
    "threads": (
        ("turns", "thread", "state IN ('queued', 'running', 'waiting')"),
        ("gates", "thread", "state IN ('open', 'answered')"),
        ("deliveries", "thread", "state IN ('pending', 'sending')"),
        ("handoffs", "thread", "state IN ('pending', 'running')"),
        ("bindings", "thread", "1 = 1"),
    ),
    "turns": (
        ("items", "turn", "1 = 1"),
        ("preludes", "turn", "1 = 1"),
        ("steers", "turn", "state IN ('offered', 'sent')"),
        ("gates", "turn", "state IN ('open', 'answered')"),
    ),
}


class Page(Struct, frozen=True):
    """Some rows of a table, which are checked in one transaction: those after this key, in order."""

    table: str
    condition: str
    after: tuple[object, ...] = ()


def pages(*, live: bool) -> list[Page]:
    """Where to begin. `live`: only rows that work may wait for, which is quick."""
    return [Page(name, each) for name, rows in TABLES.items() for each in (rows.live if live else ("1 = 1",))]


def check(tx: Tx, page: Page) -> tuple[list[BadRow], Page | None]:
    """The rows of a page that cannot be read, and the next page."""
    rows = TABLES[page.table]
    columns, key, marks = ", ".join(rows.columns), ", ".join(rows.key), ", ".join("?" * len(rows.key))
    after = f" AND ({key}) > ({marks})" if page.after else ""
    sql = f"SELECT {columns} FROM {page.table} WHERE {page.condition}{after} ORDER BY {key} LIMIT ?"
    found = tx.all(sql, *page.after, PAGE)
    bad = [each for row in found if (each := rows.check(tx, row))]
    more = replace(page, after=tuple(found[-1][column] for column in rows.key)) if len(found) == PAGE else None
    return bad, more


def find_live(connection: SqliteConnection) -> list[BadRow]:
    """The rows that work may wait for and that cannot be read, in a file that a daemon may have open."""
    found: list[BadRow] = []
    for first in pages(live=True):
        page: Page | None = first
        while page is not None:
            bad, page = check(Tx(connection), page)
            found += bad
    return found


def stays(bad: BadRow) -> bool:
    """Whether the row is left in its table: history is never changed, and a newer version can read what it wrote."""
    return bad.table == nodes.CONTENTS.table or bad.is_newer


def still_bad(tx: Tx, known: Sequence[BadRow]) -> list[BadRow]:
    """Those of these rows that are still there and cannot be read."""
    return [bad for each in known for row in _rows_of(tx, each) if (bad := TABLES[each.table].check(tx, row))]


def set_aside(tx: Tx, known: Sequence[BadRow], at: int) -> list[BadRow]:
    """Take these rows out of their tables, with what means nothing without them. Returns what was taken out. Rows that
    stay are skipped."""
    done: list[BadRow] = []
    for each in known:
        for row in _rows_of(tx, each):
            bad = TABLES[each.table].check(tx, row)
            if bad and not stays(bad):
                done += _take_out(tx, bad, row, at)
    return done


def _take_out(tx: Tx, bad: BadRow, row: Row, at: int) -> list[BadRow]:
    """The row, then what belongs to it: in this order, so that nothing is taken out twice."""
    sql = "INSERT INTO set_aside (source, name, thread, reason, content, at) VALUES (?, ?, ?, ?, ?, ?)"
    tx.run(sql, bad.table, bad.key, bad.thread, bad.reason, json.dumps(row, default=_encoded, ensure_ascii=False), at)
    condition, values = _is_row(bad)
    if bad.table in _LEFT and all(isinstance(value, str) for value in bad.where):
        assignment, new = _LEFT[bad.table]
        tx.run(f"UPDATE {bad.table} SET {assignment} WHERE {condition}", *new, *values)
    else:
        tx.run(f"DELETE FROM {bad.table} WHERE {condition}", *values)
    done = [replace(bad, message=_message(bad, row))]
    for table, column, live in _BELONGING.get(bad.table, ()):
        for each in tx.all(f"SELECT * FROM {table} WHERE {column} = ? AND {live}", bad.where[0]):
            done += _take_out(tx, _belonging(TABLES[table], each, bad), each, at)
    return done


def _belonging(rows: Rows[Any], row: Row, owner: BadRow) -> BadRow:
    values = tuple(row[column] for column in rows.key)
    reason = f"belongs to {owner.table} {owner.key}"
    return BadRow(rows.table, "/".join(map(str, values)), owner.thread, reason, values)


def _message(bad: BadRow, row: Row) -> Lost | None:
    if row.get("state") not in _WAITING.get(bad.table, ()) or row.get("origin") == Origin.GREETING:
        return None
    surface, address = row["surface"], row["address"]
    return Lost(Conversation(surface, address) if isinstance(surface, str) and isinstance(address, str) else None)


def _rows_of(tx: Tx, bad: BadRow) -> list[Row]:
    condition, values = _is_row(bad)
    return tx.all(f"SELECT * FROM {bad.table} WHERE {condition}", *values)


def _is_row(bad: BadRow) -> tuple[str, list[object]]:
    """The condition for the row. Text that is no UTF-8 was read as bytes."""
    pairs = list(zip(TABLES[bad.table].key, bad.where, strict=True))
    each = [
        f"{column} IS NULL"
        if value is None
        else f"CAST({column} AS BLOB) = ?"
        if isinstance(value, bytes)
        else f"{column} = ?"
        for column, value in pairs
    ]
    return " AND ".join(each), [value for _, value in pairs if value is not None]


def _encoded(value: object) -> object:
    return {"base64": base64.b64encode(value).decode()} if isinstance(value, bytes) else str(value)
