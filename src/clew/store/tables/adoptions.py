"""Rows of adopted sessions: started outside clew, and taken over."""

from __future__ import annotations

from msgspec import Struct

from clew.model.threads import Continuity
from clew.store.base import Row, Tx
from clew.store.rows import Moment, Rows


class Adoption(Struct, frozen=True):
    thread: str
    runtime: str
    session: str  # the runtime's own id of it
    last_turn: str | None  # the newest of the runtime's turns that was imported or skipped
    adopted_at: int


class _AdoptionRow(Struct):
    thread: str
    runtime: str
    session: str
    last_turn: str | None
    adopted_at: Moment


_COLUMNS = ", ".join(_AdoptionRow.__struct_fields__)


def insert(tx: Tx, adoption: Adoption) -> None:
    tx.run(
        "INSERT INTO adoptions (thread, runtime, session, last_turn, adopted_at) VALUES (?, ?, ?, ?, ?)",
        adoption.thread,
        adoption.runtime,
        adoption.session,
        adoption.last_turn,
        adoption.adopted_at,
    )


def get(tx: Tx, thread: str) -> Adoption | None:
    return ROWS.one(tx, tx.one(f"SELECT {_COLUMNS} FROM adoptions WHERE thread = ?", thread))


def runtimes(tx: Tx) -> dict[str, str]:
    """The runtime of the adopted session of every thread that has one."""
    found = ROWS.readable(tx, tx.all(f"SELECT {_COLUMNS} FROM adoptions"))
    return {each.thread: each.runtime for each in found}


def set_last_turn(tx: Tx, thread: str, runtime_turn: str) -> None:
    tx.run("UPDATE adoptions SET last_turn = ? WHERE thread = ?", runtime_turn, thread)


def owners(tx: Tx, runtime: str) -> dict[Continuity, str]:
    """The thread of every session of a runtime that clew has, whether clew started it or adopted it."""
    rows = tx.all("SELECT thread, data FROM continuity WHERE runtime = ? AND data IS NOT NULL", runtime)
    return {Continuity(row["data"]): row["thread"] for row in rows}


def _adoption(row: Row) -> Adoption:
    return Adoption(row["thread"], row["runtime"], row["session"], row["last_turn"], row["adopted_at"])


ROWS = Rows("adoptions", _AdoptionRow, _adoption, key=("thread",))
