"""Reads and prunes the event log. `Tx.log` writes it, in the transaction of what happened."""

from __future__ import annotations

from itertools import takewhile

import msgspec
from msgspec import Struct

from clew.model.events.kinds import EventKind
from clew.store.base import Entry, Row, Tx
from clew.store.rows import Count, Moment, Rows
from clew.store.tables import counters

_PRUNED = "log.pruned"


class _EntryRow(Struct):
    seq: Count
    thread: str
    turn: str | None
    kind: str
    data: str
    at: Moment


_COLUMNS = ", ".join(_EntryRow.__struct_fields__)


def after(tx: Tx, seq: int, thread: str | None, limit: int) -> list[Entry]:
    if thread is None:
        rows = tx.all(f"SELECT {_COLUMNS} FROM log WHERE seq > ? ORDER BY seq LIMIT ?", seq, limit)
    else:
        sql = f"SELECT {_COLUMNS} FROM log WHERE thread = ? AND seq > ? ORDER BY seq LIMIT ?"
        rows = tx.all(sql, thread, seq, limit)
    return ROWS.readable(tx, rows)


def newest(tx: Tx) -> tuple[int, int]:
    """The newest sequence number, and when it was written; zeros for an empty log."""
    row = tx.one("SELECT seq, at FROM log ORDER BY seq DESC LIMIT 1")
    if row is None:
        return 0, 0
    return int(row["seq"]), row["at"] if isinstance(row["at"], int) else 0


def is_lost(tx: Tx, seq: int, thread: str | None) -> bool:
    """Whether entries after `seq` were pruned. A thread whose first entry still exists has lost nothing."""
    if seq >= pruned(tx):
        return False
    if thread is None:
        return True
    first = tx.one("SELECT kind FROM log WHERE thread = ? ORDER BY seq LIMIT 1", thread)
    return first is None or first["kind"] != EventKind.THREAD_CREATED


def data_of(tx: Tx, thread: str, turn: str, kind: EventKind) -> str | None:
    """The data of the newest entry of this kind about a turn, as JSON; None if there is none, or it was pruned."""
    sql = "SELECT data FROM log WHERE thread = ? AND turn = ? AND kind = ? ORDER BY seq DESC LIMIT 1"
    row = tx.one(sql, thread, turn, kind)
    return str(row["data"]) if row else None


def pruned(tx: Tx) -> int:
    """The sequence number up to which the log was pruned."""
    return counters.named(tx, _PRUNED).get(_PRUNED, 0)


def too_old(tx: Tx, before: int, keep: int, limit: int) -> list[int]:
    """Sequence numbers of the oldest entries that may be pruned, at most `limit`: those written before `before`, and
    those older than the newest `keep`. The newest entry always stays, so that numbers keep growing."""
    found = tx.one("SELECT max(seq) AS seq FROM log")
    last = int(found["seq"] or 0) if found else 0
    oldest = tx.all("SELECT seq, at FROM log WHERE seq > ? AND seq < ? ORDER BY seq LIMIT ?", pruned(tx), last, limit)
    return [
        row["seq"]
        for row in takewhile(
            lambda row: not isinstance(row["at"], int) or row["at"] < before or row["seq"] <= last - keep, oldest
        )
    ]


def prune(tx: Tx, last: int) -> None:
    """Delete all entries up to this number."""
    tx.run("DELETE FROM log WHERE seq <= ?", last)
    tx.run(
        "INSERT INTO counters (name, value) VALUES (?, ?) ON CONFLICT (name) DO UPDATE SET value = excluded.value",
        _PRUNED,
        last,
    )


def _entry(row: Row) -> Entry:
    return Entry(row["seq"], row["thread"], row["turn"], row["kind"], row["at"], msgspec.json.decode(row["data"]))


ROWS = Rows("log", _EntryRow, _entry, key=("seq",), live=())  # work waits for none of them
