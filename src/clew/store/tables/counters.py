"""Rows of counters, by name. One that cannot be read counts nothing."""

from __future__ import annotations

from msgspec import Struct

from clew.store.base import Row, Tx
from clew.store.rows import Count, Rows


class _CounterRow(Struct):
    name: str
    value: Count


def named(tx: Tx, beginning: str) -> dict[str, int]:
    """The counters whose names begin like this."""
    return dict(ROWS.readable(tx, tx.all("SELECT name, value FROM counters WHERE name LIKE ?", f"{beginning}%")))


def _counter(row: Row) -> tuple[str, int]:
    return row["name"], row["value"]


ROWS = Rows("counters", _CounterRow, _counter, key=("name",))
