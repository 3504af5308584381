"""Reading the event log. It is written by `Tx.log`, in the transaction of what happened."""

from __future__ import annotations

import msgspec

from clew.store.base import Entry, Row, Tx

_COLUMNS = "seq, thread, turn, kind, data, at"


def after(tx: Tx, seq: int, thread: str | None, limit: int) -> list[Entry]:
    if thread is None:
        rows = tx.all(f"SELECT {_COLUMNS} FROM log WHERE seq > ? ORDER BY seq LIMIT ?", seq, limit)
    else:
        sql = f"SELECT {_COLUMNS} FROM log WHERE thread = ? AND seq > ? ORDER BY seq LIMIT ?"
        rows = tx.all(sql, thread, seq, limit)
    return [_entry(row) for row in rows]


def newest(tx: Tx) -> tuple[int, int]:
    """The newest sequence number, and when it was written; zeros for an empty log."""
    row = tx.one("SELECT seq, at FROM log ORDER BY seq DESC LIMIT 1")
    return (int(row["seq"]), int(row["at"])) if row else (0, 0)


def _entry(row: Row) -> Entry:
    return Entry(row["seq"], row["thread"], row["turn"], row["kind"], row["at"], msgspec.json.decode(row["data"]))
