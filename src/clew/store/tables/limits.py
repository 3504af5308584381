"""Rows of usage limits: what each runtime's account reported of its windows."""

from __future__ import annotations

from msgspec import Struct
from msgspec.structs import replace

from clew.model.events import LimitStatus, LimitWindow
from clew.store.base import Row, Tx
from clew.store.rows import Moment, Rows


class _LimitRow(Struct):
    runtime: str
    name: str
    used: float | None
    resets_at: Moment | None
    status: LimitStatus
    minutes: int | None
    seen_at: Moment
    asked_by: str | None
    asked_at: Moment | None


class SeenLimit(Struct, frozen=True):
    """A window, whose account it is of, and when it was reported."""

    runtime: str
    window: LimitWindow
    seen_at: int


class Asking(Struct, frozen=True):
    """The thread whose turn asks an account again, and since when."""

    thread: str
    at: int


_COLUMNS = ", ".join(_LimitRow.__struct_fields__)
_ROW = f"SELECT {_COLUMNS} FROM limits WHERE runtime = ? AND name = ?"


def put(tx: Tx, runtime: str, window: LimitWindow, at: int) -> None:
    """Store a window in place of what was known of it, also of a row that cannot be read."""
    row = tx.one(_ROW, runtime, window.name)
    if row is not None and ROWS.check(tx, row):
        tx.run("DELETE FROM limits WHERE runtime = ? AND name = ?", runtime, window.name)
    tx.run(
        "INSERT INTO limits (runtime, name, used, resets_at, status, minutes, seen_at) VALUES (?, ?, ?, ?, ?, ?, ?)"
        " ON CONFLICT (runtime, name) DO UPDATE SET"
        " used = excluded.used, resets_at = excluded.resets_at, status = excluded.status,"
        " minutes = excluded.minutes, seen_at = excluded.seen_at",
        runtime,
        window.name,
        window.used,
        window.resets_at,
        window.status,
        window.minutes,
        at,
    )


def of(tx: Tx, runtime: str) -> list[SeenLimit]:
    rows = tx.all(f"SELECT {_COLUMNS} FROM limits WHERE runtime = ? ORDER BY name", runtime)
    return ROWS.readable(tx, rows)


def everything(tx: Tx) -> list[SeenLimit]:
    return ROWS.readable(tx, tx.all(f"SELECT {_COLUMNS} FROM limits ORDER BY runtime, name"))


def asking(tx: Tx, runtime: str, name: str) -> Asking | None:
    """Who asks the account of this window."""
    row = tx.one(_ROW, runtime, name)
    if not ROWS.readable(tx, [row] if row else []) or row is None or None in (row["asked_by"], row["asked_at"]):
        return None
    return Asking(row["asked_by"], row["asked_at"])


def set_asking(tx: Tx, runtime: str, name: str, asks: Asking | None) -> None:
    sql = "UPDATE limits SET asked_by = ?, asked_at = ? WHERE runtime = ? AND name = ?"
    tx.run(sql, asks.thread if asks else None, asks.at if asks else None, runtime, name)


def clear_reached(tx: Tx, runtime: str, at: int) -> None:
    """The account works again: none of its windows is at its limit."""
    for seen in of(tx, runtime):
        if seen.window.status is LimitStatus.REACHED:
            put(tx, runtime, replace(seen.window, status=LimitStatus.OK, used=None, resets_at=None), at)


def _seen(row: Row) -> SeenLimit:
    window = LimitWindow(row["name"], LimitStatus(row["status"]), row["used"], row["resets_at"], row["minutes"])
    return SeenLimit(row["runtime"], window, row["seen_at"])


ROWS = Rows("limits", _LimitRow, _seen, key=("runtime", "name"))
