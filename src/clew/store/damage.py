"""Finds rows that cannot be read, and sets them aside: in one transaction, with a copy in the table `set_aside`."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator, Sequence
from typing import Any

from clew.store.base import BadRow, Row, Tx
from clew.store.rows import Rows
from clew.store.sqlite.driver import SqliteConnection
from clew.store.tables import bindings, continuity, deliveries, gates, handoffs, inbox, items, log, nodes, people, rules
from clew.store.tables import threads as thread_rows
from clew.store.tables import turns as turn_rows

TABLES: dict[str, Rows[Any]] = {
    rows.table: rows
    for rows in (
        thread_rows.ROWS,
        turn_rows.ROWS,
        items.ROWS,
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
    )
}
PAGE = 500  # rows per query

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
        ("steers", "turn", "state IN ('offered', 'sent')"),
        ("gates", "turn", "state IN ('open', 'answered')"),
    ),
}


def find(tx: Tx, *, live: bool = False) -> list[BadRow]:
    """The rows that cannot be read. `live`: only those that work may wait for, which is quick."""
    return [bad for rows in TABLES.values() for row in _walk(tx, rows, live) if (bad := rows.check(tx, row))]


def find_live(connection: SqliteConnection) -> list[BadRow]:
    """The same for a file that a daemon may have open."""
    return find(Tx(connection), live=True)


def still_bad(tx: Tx, known: Sequence[BadRow]) -> list[BadRow]:
    """Those of these rows that are still there and cannot be read."""
    return [bad for each in known for row in _rows_of(tx, each) if (bad := TABLES[each.table].check(tx, row))]


def set_aside(tx: Tx, known: Sequence[BadRow], at: int) -> list[BadRow]:
    """Take these rows out of their tables, with what means nothing without them. Returns what was taken out."""
    done: list[BadRow] = []
    for each in known:
        for row in _rows_of(tx, each):
            if bad := TABLES[each.table].check(tx, row):
                done += _take_out(tx, bad, row, at)
    return done


def _take_out(tx: Tx, bad: BadRow, row: Row, at: int) -> list[BadRow]:
    """The row, then what belongs to it: in this order, so that nothing is taken out twice."""
    sql = "INSERT INTO set_aside (source, name, thread, reason, content, at) VALUES (?, ?, ?, ?, ?, ?)"
    tx.run(sql, bad.table, bad.key, bad.thread, bad.reason, json.dumps(row, default=_encoded, ensure_ascii=False), at)
    condition, values = _is_row(bad)
    tx.run(f"DELETE FROM {bad.table} WHERE {condition}", *values)
    done = [bad]
    for table, column, live in _BELONGING.get(bad.table, ()):
        for each in tx.all(f"SELECT * FROM {table} WHERE {column} = ? AND {live}", bad.where[0]):
            done += _take_out(tx, _belonging(TABLES[table], each, bad), each, at)
    return done


def _belonging(rows: Rows[Any], row: Row, owner: BadRow) -> BadRow:
    values = tuple(row[column] for column in rows.key)
    reason = f"belongs to {owner.table} {owner.key}"
    return BadRow(rows.table, "/".join(map(str, values)), owner.thread, reason, values)


def _walk(tx: Tx, rows: Rows[Any], live: bool) -> Iterator[Row]:
    columns, key = ", ".join(rows.columns), ", ".join(rows.key)
    condition, after = rows.live if live else "1 = 1", ""
    last: list[object] = []
    while True:
        sql = f"SELECT {columns} FROM {rows.table} WHERE {condition}{after} ORDER BY {key} LIMIT ?"
        page = tx.all(sql, *last, PAGE)
        yield from page
        if len(page) < PAGE:
            return
        last = [page[-1][column] for column in rows.key]
        after = f" AND ({key}) > ({', '.join('?' * len(last))})"


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
