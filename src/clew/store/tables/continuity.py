"""Rows of continuity: what a runtime needs to resume a thread, and how far it has seen it. One row for each session, so
that no runtime and no role touches the memory of another."""

from __future__ import annotations

from msgspec import Struct

from clew.model.gates import Policy
from clew.model.threads import Continuity, ForkPoint, SessionBegan, SessionKey
from clew.store.base import Row, Tx
from clew.store.rows import OF_OPEN_TURNS, Count, Moment, Rows
from clew.store.texts import loaded, stored

_KEY = "thread = ? AND runtime = ? AND role = ?"


class RuntimeLink(Struct, frozen=True):
    """The state of a thread on one runtime, in one role."""

    runtime: str
    role: str
    reference: str | None  # by which the runtime resumes the thread; only the runtime interprets it
    began: SessionBegan | None  # how its session began, as the session says; None: none was opened yet
    seen: str | None  # the thread's head after its newest turn there; None: the session has seen nothing yet
    status: str | None  # `warm`, `resumed` or `cold`: how the newest turn started; `error`: it did not. None: none yet
    used_at: int | None
    restarts: int  # how often it was resumed
    trouble: str | None
    policy: Policy | None = None  # of its newest turn; None: it was always the thread's own


class _SessionRow(Struct):
    thread: str
    runtime: str
    role: str
    data: str | None
    fork_data: str | None
    fork_turn: str | None
    began: SessionBegan | None
    seen: str | None
    status: str | None
    used_at: Moment | None
    restarts: Count
    trouble: str | None
    policy: Policy | None


_COLUMNS = ", ".join(_SessionRow.__struct_fields__)


def save(tx: Tx, key: SessionKey, continuity: Continuity) -> None:
    """Store how the runtime resumes the thread, and delete the fork point."""
    tx.run(
        "INSERT INTO continuity (thread, runtime, role, data) VALUES (?, ?, ?, ?)"
        " ON CONFLICT (thread, runtime, role) DO UPDATE SET data = excluded.data, fork_data = NULL, fork_turn = NULL",
        key.thread,
        key.runtime,
        key.role,
        continuity.data,
    )


def save_fork_point(tx: Tx, key: SessionKey, point: ForkPoint, seen: str | None) -> None:
    """Store where the session is forked from. `seen`: the node up to which the fork knows the thread."""
    tx.run(
        "INSERT INTO continuity (thread, runtime, role, fork_data, fork_turn, seen) VALUES (?, ?, ?, ?, ?, ?)"
        " ON CONFLICT (thread, runtime, role) DO UPDATE SET fork_data = excluded.fork_data,"
        " fork_turn = excluded.fork_turn, seen = excluded.seen",
        key.thread,
        key.runtime,
        key.role,
        point.continuity.data,
        point.runtime_turn,
        seen,
    )


def get(tx: Tx, key: SessionKey) -> tuple[Continuity | None, ForkPoint | None]:
    row = tx.one(f"SELECT {_COLUMNS} FROM continuity WHERE {_KEY}", key.thread, key.runtime, key.role)
    ROWS.one(tx, row)
    if row is None or (row["data"], row["fork_data"]) == (None, None):
        return None, None
    if row["data"] is not None:
        return Continuity(row["data"]), None
    return None, ForkPoint(Continuity(row["fork_data"]), row["fork_turn"])


def record_opened(tx: Tx, key: SessionKey, began: SessionBegan) -> None:
    """Record how a newly opened session began. A new one has seen nothing yet."""
    tx.run(
        "INSERT INTO continuity (thread, runtime, role, began) VALUES (?, ?, ?, ?)"
        " ON CONFLICT (thread, runtime, role) DO UPDATE SET began = excluded.began,"
        " seen = CASE WHEN excluded.began = 'resumed' THEN continuity.seen END",
        key.thread,
        key.runtime,
        key.role,
        began,
    )


def seen(tx: Tx, key: SessionKey) -> str | None:
    """The thread's head after the newest turn of the session; None: it has seen nothing yet."""
    row = tx.one(f"SELECT {_COLUMNS} FROM continuity WHERE {_KEY}", key.thread, key.runtime, key.role)
    link = ROWS.one(tx, row)
    return link.seen if link is not None else None


def has_other_agents(tx: Tx, key: SessionKey) -> bool:
    """Whether another agent has a session of the thread too."""
    sql = "SELECT 1 AS one FROM continuity WHERE thread = ? AND runtime <> ? AND coalesce(began, seen) IS NOT NULL"
    return tx.one(sql, key.thread, key.runtime) is not None


def policy(tx: Tx, key: SessionKey) -> Policy | None:
    """The policy of the session's newest turn; None: not recorded."""
    row = tx.one(f"SELECT {_COLUMNS} FROM continuity WHERE {_KEY}", key.thread, key.runtime, key.role)
    link = ROWS.one(tx, row)
    return link.policy if link is not None else None


def set_policy(tx: Tx, key: SessionKey, now: Policy) -> None:
    tx.run(
        "INSERT INTO continuity (thread, runtime, role, policy) VALUES (?, ?, ?, ?)"
        " ON CONFLICT (thread, runtime, role) DO UPDATE SET policy = excluded.policy",
        key.thread,
        key.runtime,
        key.role,
        now,
    )


def set_seen(tx: Tx, key: SessionKey, head: str) -> None:
    """Record that the runtime has seen the thread up to this node: a turn on it has ended."""
    tx.run(
        "INSERT INTO continuity (thread, runtime, role, seen) VALUES (?, ?, ?, ?)"
        " ON CONFLICT (thread, runtime, role) DO UPDATE SET seen = excluded.seen",
        key.thread,
        key.runtime,
        key.role,
        head,
    )


def record_use(tx: Tx, key: SessionKey, status: str, began: SessionBegan | None, at: int) -> None:
    """Record that a turn started on this runtime. `began` is None if the session does not say it: it stays as it is."""
    again = int(status == "resumed")
    tx.run(
        "INSERT INTO continuity (thread, runtime, role, status, began, used_at, restarts) VALUES (?, ?, ?, ?, ?, ?, ?)"
        " ON CONFLICT (thread, runtime, role) DO UPDATE SET status = excluded.status,"
        " began = coalesce(excluded.began, continuity.began),"
        " used_at = excluded.used_at, restarts = continuity.restarts + excluded.restarts, trouble = NULL",
        key.thread,
        key.runtime,
        key.role,
        status,
        began,
        at,
        again,
    )


def record_failure(tx: Tx, key: SessionKey, trouble: str, at: int) -> None:
    """Record that the runtime could not start a turn."""
    tx.run(
        "INSERT INTO continuity (thread, runtime, role, status, used_at, trouble) VALUES (?, ?, ?, 'error', ?, ?)"
        " ON CONFLICT (thread, runtime, role) DO UPDATE SET status = 'error', used_at = excluded.used_at,"
        " trouble = excluded.trouble",
        key.thread,
        key.runtime,
        key.role,
        at,
        stored(trouble),
    )


def links(tx: Tx, thread: str) -> list[RuntimeLink]:
    """The sessions of a thread, by runtime and role."""
    rows = tx.all(f"SELECT {_COLUMNS} FROM continuity WHERE thread = ? ORDER BY runtime, role", thread)
    return ROWS.readable(tx, rows)


def _link(row: Row) -> RuntimeLink:
    return RuntimeLink(
        row["runtime"],
        row["role"],
        row["data"],
        SessionBegan(row["began"]) if row["began"] else None,
        row["seen"],
        row["status"],
        row["used_at"],
        row["restarts"],
        loaded(row["trouble"]),
        Policy(row["policy"]) if row["policy"] else None,
    )


def note_without_sandbox(tx: Tx, runtime: str) -> bool:
    """Note that people were told that this runtime has no sandbox. False: they were told before."""
    sql = "INSERT INTO counters (name, value) VALUES (?, 1) ON CONFLICT DO NOTHING"
    return tx.run(sql, f"told.no_sandbox.{runtime}") == 1


ROWS = Rows("continuity", _SessionRow, _link, key=("thread", "runtime", "role"), live=OF_OPEN_TURNS)
