"""Rows of bindings: the thread of each conversation."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct

from clew.model.messages import Conversation
from clew.store.base import Row, Tx
from clew.store.rows import OF_OPEN_TURNS, Count, Moment, Rows, among


class _BindingRow(Struct):
    surface: str
    address: str
    thread: str
    bound_at: Moment
    drives: Count


class Binding(Struct, frozen=True):
    where: Conversation
    thread: str
    drives: bool


_COLUMNS = ", ".join(_BindingRow.__struct_fields__)


def bind(tx: Tx, where: Conversation, thread: str, at: int, *, drives: bool = True) -> None:
    """Bind a conversation to a thread: its messages go there. At most one conversation drives a thread."""
    if drives:
        clear_driver(tx, thread)
    tx.run(
        "INSERT INTO bindings (surface, address, thread, bound_at, drives) VALUES (?, ?, ?, ?, ?)"
        " ON CONFLICT (surface, address) DO UPDATE SET"
        " thread = excluded.thread, bound_at = excluded.bound_at, drives = excluded.drives",
        where.surface,
        where.address,
        thread,
        at,
        int(drives),
    )


def driver(tx: Tx, thread: str) -> Conversation | None:
    """The conversation that drives a thread; None: the local client."""
    found = ROWS.one(tx, tx.one(f"SELECT {_COLUMNS} FROM bindings WHERE thread = ? AND drives = 1", thread))
    return found.where if found else None


def clear_driver(tx: Tx, thread: str) -> None:
    tx.run("UPDATE bindings SET drives = 0 WHERE thread = ? AND drives = 1", thread)


def set_driver(tx: Tx, where: Conversation, thread: str) -> bool:
    """Let a conversation drive a thread. False if it is not bound to it."""
    clear_driver(tx, thread)
    sql = "UPDATE bindings SET drives = 1 WHERE surface = ? AND address = ? AND thread = ?"
    return tx.run(sql, where.surface, where.address, thread) == 1


def thread_at(tx: Tx, where: Conversation) -> str | None:
    sql = f"SELECT {_COLUMNS} FROM bindings WHERE surface = ? AND address = ?"
    found = ROWS.one(tx, tx.one(sql, where.surface, where.address))
    return found.thread if found else None


def known_at(tx: Tx, where: Conversation, limit: int) -> tuple[str, ...]:
    """The threads of a conversation, newest first: the one that is bound to it, and those that were spoken to there,
    are bound to no other conversation now, and in which nothing was said elsewhere since."""
    spoken = (
        "FROM inbox i WHERE i.surface = ? AND i.address = ? AND i.thread IS NOT NULL AND i.fate IN ('turn', 'steer')"
    )
    here = (where.surface, where.address)
    rows = tx.all(
        "SELECT thread FROM bindings WHERE surface = ? AND address = ? UNION SELECT f.thread FROM"
        f" (SELECT i.thread, min(i.received_at) AS first {spoken} GROUP BY i.thread) f"
        " WHERE NOT EXISTS (SELECT 1 FROM bindings b WHERE b.thread = f.thread)"
        " AND NOT EXISTS (SELECT 1 FROM inbox o WHERE o.thread = f.thread AND o.received_at >= f.first"
        " AND o.fate IN ('turn', 'steer', 'answer') AND NOT (o.surface = ? AND o.address = ?))"
        " ORDER BY 1 DESC LIMIT ?",
        *here,
        *here,
        *here,
        limit,
    )
    return tuple(row["thread"] for row in rows if isinstance(row["thread"], str))


def of_threads(tx: Tx, threads: Sequence[str]) -> list[tuple[Conversation, str, bool]]:
    """(conversation, thread, whether it drives) of each binding of these threads; the oldest first."""
    sql = f"SELECT {_COLUMNS} FROM bindings WHERE {among('thread', threads)} ORDER BY bound_at"
    rows = tx.all(sql, *threads)
    return [(each.where, each.thread, each.drives) for each in ROWS.readable(tx, rows)]


def newest(tx: Tx, limit: int) -> list[tuple[Conversation, str]]:
    """The newest bindings: the conversation, and the title of its thread."""
    rows = tx.all(
        "SELECT b.surface, b.address, t.title FROM bindings b JOIN threads t ON t.id = b.thread"
        " ORDER BY b.bound_at DESC LIMIT ?",
        limit,
    )
    return [(Conversation(row["surface"], row["address"]), row["title"]) for row in rows]


def unbind(tx: Tx, where: Conversation) -> None:
    tx.run("DELETE FROM bindings WHERE surface = ? AND address = ?", where.surface, where.address)


def move(tx: Tx, old: Conversation, new: Conversation) -> str | None:
    """Bind the conversation's new address in place of its old one, and return the thread. If the new one is bound
    already, people use that: the old binding is only removed, and None is returned."""
    thread = thread_at(tx, old)
    if thread is not None and thread_at(tx, new) is not None:
        unbind(tx, old)
        return None
    tx.run("UPDATE bindings SET address = ? WHERE surface = ? AND address = ?", new.address, old.surface, old.address)
    return thread


def _binding(row: Row) -> Binding:
    return Binding(Conversation(row["surface"], row["address"]), row["thread"], bool(row["drives"]))


ROWS = Rows("bindings", _BindingRow, _binding, key=("surface", "address"), live=OF_OPEN_TURNS)
