"""Rows that say which thread a conversation talks to, and what each runtime needs to come back to a thread."""

from __future__ import annotations

from clew.model import Conversation
from clew.runtimes.base import Continuity, ForkPoint
from clew.store.base import Tx


def bind(tx: Tx, where: Conversation, thread: str, at: int) -> None:
    tx.run(
        "INSERT INTO bindings (surface, address, thread, bound_at) VALUES (?, ?, ?, ?)"
        " ON CONFLICT (surface, address) DO UPDATE SET thread = excluded.thread, bound_at = excluded.bound_at",
        where.surface,
        where.address,
        thread,
        at,
    )


def bound(tx: Tx, where: Conversation) -> str | None:
    row = tx.one("SELECT thread FROM bindings WHERE surface = ? AND address = ?", where.surface, where.address)
    return row["thread"] if row else None


def unbind(tx: Tx, where: Conversation) -> None:
    tx.run("DELETE FROM bindings WHERE surface = ? AND address = ?", where.surface, where.address)


def keep_continuity(tx: Tx, thread: str, runtime: str, continuity: Continuity) -> None:
    """From here on the runtime comes back by this; where it was to be forked from is done with."""
    tx.run(
        "INSERT INTO continuity (thread, runtime, data) VALUES (?, ?, ?)"
        " ON CONFLICT (thread, runtime) DO UPDATE SET data = excluded.data, fork_data = NULL, fork_turn = NULL",
        thread,
        runtime,
        continuity.data,
    )


def keep_fork_point(tx: Tx, thread: str, runtime: str, point: ForkPoint) -> None:
    tx.run(
        "INSERT INTO continuity (thread, runtime, fork_data, fork_turn) VALUES (?, ?, ?, ?)",
        thread,
        runtime,
        point.continuity.data,
        point.runtime_turn,
    )


def continuity(tx: Tx, thread: str, runtime: str) -> tuple[Continuity | None, ForkPoint | None]:
    row = tx.one("SELECT data, fork_data, fork_turn FROM continuity WHERE thread = ? AND runtime = ?", thread, runtime)
    if row is None:
        return None, None
    if row["data"] is not None:
        return Continuity(row["data"]), None
    return None, ForkPoint(Continuity(row["fork_data"]), row["fork_turn"])
