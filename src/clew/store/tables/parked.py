"""Rows of threads that are parked at a usage limit: `wake_at` is when each goes on."""

from __future__ import annotations

from msgspec import Struct

from clew.model.threads import SuspendedBy
from clew.store.base import Tx
from clew.store.rows import LATEST
from clew.store.tables.threads import suspend
from clew.store.texts import stored


class Waits(Struct, frozen=True):
    """For how many usage windows in a row a thread has waited, and when the last of them ends."""

    count: int
    until: int


def park(tx: Tx, thread: str, wake_at: int | None, message: str, waits: Waits) -> bool:
    """Suspend a thread at a usage limit, until a time or until a person says so."""
    if not suspend(tx, thread, SuspendedBy.LIMIT, message):
        return False
    sql = "UPDATE threads SET wake_at = ?, limit_waits = ?, limit_window = ? WHERE id = ?"
    tx.run(sql, wake_at, waits.count, waits.until, thread)
    return True


def set_wake(tx: Tx, thread: str, wake_at: int, message: str) -> bool:
    """Let a parked thread go on at another time."""
    changed = tx.run(
        "UPDATE threads SET wake_at = ?, suspend_message = ? WHERE id = ? AND suspended_by = 'limit'",
        wake_at,
        stored(message),
        thread,
    )
    return changed == 1


def unpark(tx: Tx, thread: str, at: int) -> bool:
    """Let a parked thread go on. Its next turn may try an account that was at its limit."""
    changed = tx.run(
        "UPDATE threads SET status = 'idle', suspended_by = NULL, suspend_message = NULL, wake_at = ?"
        " WHERE id = ? AND status = 'suspended' AND suspended_by = 'limit'",
        at,
        thread,
    )
    return changed == 1


def may_try(tx: Tx, thread: str) -> bool:
    """Whether the next turn of an idle thread may try an account at its limit."""
    return (
        tx.one("SELECT 1 AS one FROM threads WHERE id = ? AND status = 'idle' AND wake_at IS NOT NULL", thread)
        is not None
    )


def use_try(tx: Tx, thread: str) -> None:
    """Record what became of the try: the account refused the turn, or the turn ended."""
    tx.run("UPDATE threads SET wake_at = NULL WHERE id = ? AND status = 'idle' AND wake_at IS NOT NULL", thread)


# A parked thread and its next turn; by priority, then the turn that was queued first.
_PARKED = (
    "SELECT t.id, t.wake_at, q.runtime FROM threads t LEFT JOIN turns q ON q.id = (SELECT f.id FROM turns f"
    " WHERE f.thread = t.id AND f.state = 'queued' ORDER BY f.seq LIMIT 1) WHERE t.suspended_by = 'limit' AND {which}"
    " ORDER BY CASE t.priority WHEN 'high' THEN 0 WHEN 'low' THEN 2 ELSE 1 END, q.queued_at, t.id"
)


def parked_for(tx: Tx, runtime: str, after: int = 0) -> list[str]:
    """The threads that wait for this account and go on by themselves, by priority and age. `after`: only those that
    would go on later than then."""
    rows = tx.all(_PARKED.format(which="t.wake_at >= ? AND q.runtime = ?"), after, runtime)
    return [row["id"] for row in rows]


def forget_waits(tx: Tx, thread: str) -> None:
    tx.run("UPDATE threads SET limit_waits = 0, limit_window = NULL WHERE id = ? AND limit_waits > 0", thread)


def next_wake(tx: Tx, after: int) -> int | None:
    """When the next parked thread that is not due yet goes on. Uses the partial index of parked threads."""
    sql = "SELECT min(wake_at) AS at FROM threads WHERE suspended_by = 'limit' AND wake_at > ? AND wake_at <= ?"
    row = tx.one(sql, after, LATEST)  # what is no number is later
    return int(row["at"]) if row and row["at"] is not None else None


class Parked(Struct, frozen=True):
    """A parked thread that is due, and the runtime of its next turn."""

    thread: str
    runtime: str | None  # None: no turn waits in it


def due_parked(tx: Tx, now: int) -> list[Parked]:
    """Parked threads whose time has come, by priority and age."""
    return [Parked(row["id"], row["runtime"]) for row in tx.all(_PARKED.format(which="t.wake_at <= ?"), now)]


def too_late(tx: Tx, latest: int) -> list[Parked]:
    """Parked threads that would go on later than any limit lasts."""
    return [Parked(row["id"], row["runtime"]) for row in tx.all(_PARKED.format(which="t.wake_at > ?"), latest)]
