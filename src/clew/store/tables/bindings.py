"""Rows of bindings (the thread of each conversation) and of continuity (what a runtime needs to resume a thread)."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct

from clew.model.messages import Conversation
from clew.model.runtime import Continuity, ForkPoint
from clew.store.base import Tx


class RuntimeLink(Struct, frozen=True):
    """The state of a thread on one runtime."""

    runtime: str
    reference: str | None  # by which the runtime resumes the thread; only the runtime interprets it
    status: str | None  # `warm`, `resumed` or `cold`: how the newest turn started; `error`: it did not. None: none yet
    used_at: int | None
    restarts: int  # how often it was resumed
    trouble: str | None


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
    row = tx.one("SELECT surface, address FROM bindings WHERE thread = ? AND drives = 1", thread)
    return Conversation(row["surface"], row["address"]) if row else None


def clear_driver(tx: Tx, thread: str) -> None:
    tx.run("UPDATE bindings SET drives = 0 WHERE thread = ? AND drives = 1", thread)


def set_driver(tx: Tx, where: Conversation, thread: str) -> bool:
    """Let a conversation drive a thread. False if it is not bound to it."""
    clear_driver(tx, thread)
    sql = "UPDATE bindings SET drives = 1 WHERE surface = ? AND address = ? AND thread = ?"
    return tx.run(sql, where.surface, where.address, thread) == 1


def thread_at(tx: Tx, where: Conversation) -> str | None:
    row = tx.one("SELECT thread FROM bindings WHERE surface = ? AND address = ?", where.surface, where.address)
    return row["thread"] if row else None


def of_threads(tx: Tx, threads: Sequence[str]) -> list[tuple[Conversation, str, bool]]:
    """(conversation, thread, whether it drives) of each binding of these threads; the oldest first."""
    if not threads:
        return []
    rows = tx.all(
        "SELECT surface, address, thread, drives FROM bindings"
        f" WHERE thread IN ({', '.join('?' * len(threads))}) ORDER BY bound_at",
        *threads,
    )
    return [(Conversation(row["surface"], row["address"]), row["thread"], bool(row["drives"])) for row in rows]


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


def save_continuity(tx: Tx, thread: str, runtime: str, continuity: Continuity) -> None:
    """Store how the runtime resumes the thread, and delete the fork point."""
    tx.run(
        "INSERT INTO continuity (thread, runtime, data) VALUES (?, ?, ?)"
        " ON CONFLICT (thread, runtime) DO UPDATE SET data = excluded.data, fork_data = NULL, fork_turn = NULL",
        thread,
        runtime,
        continuity.data,
    )


def save_fork_point(tx: Tx, thread: str, runtime: str, point: ForkPoint) -> None:
    tx.run(
        "INSERT INTO continuity (thread, runtime, fork_data, fork_turn) VALUES (?, ?, ?, ?)",
        thread,
        runtime,
        point.continuity.data,
        point.runtime_turn,
    )


def continuity(tx: Tx, thread: str, runtime: str) -> tuple[Continuity | None, ForkPoint | None]:
    row = tx.one("SELECT data, fork_data, fork_turn FROM continuity WHERE thread = ? AND runtime = ?", thread, runtime)
    if row is None or (row["data"], row["fork_data"]) == (None, None):
        return None, None
    if row["data"] is not None:
        return Continuity(row["data"]), None
    return None, ForkPoint(Continuity(row["fork_data"]), row["fork_turn"])


def record_use(tx: Tx, thread: str, runtime: str, status: str, at: int) -> None:
    """Record that a turn started on this runtime."""
    again = int(status == "resumed")
    tx.run(
        "INSERT INTO continuity (thread, runtime, status, used_at, restarts) VALUES (?, ?, ?, ?, ?)"
        " ON CONFLICT (thread, runtime) DO UPDATE SET status = excluded.status, used_at = excluded.used_at,"
        " restarts = continuity.restarts + excluded.restarts, trouble = NULL",
        thread,
        runtime,
        status,
        at,
        again,
    )


def record_failure(tx: Tx, thread: str, runtime: str, trouble: str, at: int) -> None:
    """Record that the runtime could not start a turn."""
    tx.run(
        "INSERT INTO continuity (thread, runtime, status, used_at, trouble) VALUES (?, ?, 'error', ?, ?)"
        " ON CONFLICT (thread, runtime) DO UPDATE SET status = 'error', used_at = excluded.used_at,"
        " trouble = excluded.trouble",
        thread,
        runtime,
        at,
        trouble,
    )


def runtime_links(tx: Tx, thread: str) -> list[RuntimeLink]:
    rows = tx.all(
        "SELECT runtime, data, status, used_at, restarts, trouble FROM continuity WHERE thread = ? ORDER BY runtime",
        thread,
    )
    return [
        RuntimeLink(row["runtime"], row["data"], row["status"], row["used_at"], row["restarts"], row["trouble"])
        for row in rows
    ]
