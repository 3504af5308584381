"""Rows of handoffs. Every change is a compare-and-set on state and generation, so of two racing writers one wins."""

from __future__ import annotations

from typing import Any

from msgspec import Struct

from clew.model.handoff import Handoff, HandoffState
from clew.model.messages import Conversation
from clew.store.base import Row, Tx
from clew.store.rows import Count, Moment, Rows
from clew.store.texts import loaded, stored


class _HandoffRow(Struct):
    id: str
    thread: str
    surface: str
    address: str | None
    state: HandoffState
    owner: str | None
    generation: Count
    asked_by: str
    asked_in: str | None
    say: str
    quiet: Count
    requested_at: Moment
    expires_at: Moment
    opening_at: Moment | None
    opened: str | None
    displaced: str | None
    displaced_drove: Count
    former: str | None
    ended_at: Moment | None
    error: str | None
    message_id: str | None


_COLUMNS = ", ".join(_HandoffRow.__struct_fields__)
_OPEN = "state IN ('pending', 'running')"


def request(tx: Tx, handoff: Handoff) -> bool:
    """Insert a handoff. False if the thread has an open handoff already."""
    changed = tx.run(
        "INSERT INTO handoffs (id, thread, surface, address, state, asked_by, asked_in, say, quiet, requested_at,"
        " expires_at, message_id) VALUES (?, ?, ?, ?, 'pending', ?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING",
        handoff.id,
        handoff.thread,
        handoff.surface,
        handoff.target.address if handoff.target else None,
        handoff.asked_by,
        str(handoff.asked_in) if handoff.asked_in else None,
        handoff.say,
        int(handoff.quiet),
        handoff.requested_at,
        handoff.expires_at,
        handoff.message_id,
    )
    return changed == 1


def get(tx: Tx, handoff: str) -> Handoff | None:
    row = tx.one(f"SELECT {_COLUMNS} FROM handoffs WHERE id = ?", handoff)
    return ROWS.one(tx, row)


def by_message(tx: Tx, message_id: str) -> Handoff | None:
    return ROWS.one(tx, tx.one(f"SELECT {_COLUMNS} FROM handoffs WHERE message_id = ?", message_id))


def all_open(tx: Tx) -> list[Handoff]:
    """Pending and running handoffs. Uses a partial index: cost grows with open handoffs only."""
    return ROWS.readable(tx, tx.all(f"SELECT {_COLUMNS} FROM handoffs WHERE {_OPEN} ORDER BY id"))


def newest(tx: Tx, limit: int) -> list[Handoff]:
    return ROWS.readable(tx, tx.all(f"SELECT {_COLUMNS} FROM handoffs ORDER BY id DESC LIMIT ?", limit))


def opened_before(tx: Tx, handoff: Handoff) -> list[Conversation]:
    """Where earlier handoffs of its thread to the surface went, newest first."""
    sql = (
        f"SELECT {_COLUMNS} FROM handoffs WHERE thread = ? AND surface = ? AND state = 'completed' AND id < ?"
        " ORDER BY id DESC LIMIT 10"
    )
    found = ROWS.readable(tx, tx.all(sql, handoff.thread, handoff.surface, handoff.id))
    return [each.opened for each in found if each.opened is not None]


def claim(tx: Tx, handoff: Handoff, owner: str) -> Handoff | None:
    """Take a handoff to carry it out, also from a dead owner. None if another owner was faster."""
    row = tx.one(
        "UPDATE handoffs SET state = 'running', owner = ?, generation = generation + 1"
        f" WHERE id = ? AND generation = ? AND {_OPEN} RETURNING {_COLUMNS}",
        owner,
        handoff.id,
        handoff.generation,
    )
    return ROWS.one(tx, row)


def record_opening(tx: Tx, handoff: Handoff, at: int) -> bool:
    """Record that a new thread of the platform is about to be requested: from now on one may exist."""
    return _fenced(tx, handoff, "opening_at = coalesce(opening_at, ?)", at)


def record_opened(tx: Tx, handoff: Handoff, where: Conversation, displaced: str | None, drove: bool) -> bool:
    """Record where the thread went. `displaced` is the thread that was bound there before; `drove`: also driven."""
    assignment = "opened = ?, displaced = ?, displaced_drove = ?"
    return _fenced(tx, handoff, assignment, where.address, displaced, int(drove))


def forget_opened(tx: Tx, handoff: Handoff) -> bool:
    """The conversation is gone: another one has to be opened."""
    return _fenced(tx, handoff, "opened = NULL, displaced = NULL, displaced_drove = 0")


def update_displaced(tx: Tx, where: Conversation, failed: Handoff) -> None:
    """A handoff failed: a later handoff to the same conversation has now displaced what the failed one displaced."""
    tx.run(
        "UPDATE handoffs SET displaced = ?, displaced_drove = ? WHERE state = 'running' AND surface = ? AND opened = ?"
        " AND displaced = ? AND id != ?",
        failed.displaced,
        int(failed.displaced_drove),
        where.surface,
        where.address,
        failed.thread,
        failed.id,
    )


def complete(tx: Tx, handoff: Handoff, at: int, former: Conversation | None) -> bool:
    return _fenced(
        tx, handoff, "state = 'completed', owner = NULL, ended_at = ?, former = ?", at, str(former) if former else None
    )


def fail(tx: Tx, handoff: Handoff, at: int, error: str) -> bool:
    """End a handoff as failed, also one that nobody has claimed yet (to cancel it)."""
    changed = tx.run(
        "UPDATE handoffs SET state = 'failed', owner = NULL, generation = generation + 1, ended_at = ?, error = ?"
        f" WHERE id = ? AND {_OPEN}",
        at,
        stored(error),
        handoff.id,
    )
    return changed == 1


def _fenced(tx: Tx, handoff: Handoff, assignment: str, *params: Any) -> bool:
    changed = tx.run(
        f"UPDATE handoffs SET {assignment} WHERE id = ? AND generation = ? AND state = 'running'",
        *params,
        handoff.id,
        handoff.generation,
    )
    return changed == 1


def _handoff(row: Row) -> Handoff:
    surface = row["surface"]
    return Handoff(
        id=row["id"],
        thread=row["thread"],
        surface=surface,
        target=Conversation(surface, row["address"]) if row["address"] is not None else None,
        state=HandoffState(row["state"]),
        asked_by=row["asked_by"],
        requested_at=row["requested_at"],
        expires_at=row["expires_at"],
        asked_in=Conversation.parse(row["asked_in"]) if row["asked_in"] else None,
        say=row["say"],
        quiet=bool(row["quiet"]),
        owner=row["owner"],
        generation=row["generation"],
        opening_at=row["opening_at"],
        opened=Conversation(surface, row["opened"]) if row["opened"] is not None else None,
        displaced=row["displaced"],
        displaced_drove=bool(row["displaced_drove"]),
        former=Conversation.parse(row["former"]) if row["former"] else None,
        ended_at=row["ended_at"],
        error=loaded(row["error"]),
        message_id=row["message_id"],
    )


def move(tx: Tx, old: Conversation, new: Conversation) -> None:
    """Let open handoffs name the conversation's new address."""
    for column in ("address", "opened"):
        tx.run(
            f"UPDATE handoffs SET {column} = ? WHERE state IN ('pending', 'running') AND surface = ? AND {column} = ?",
            new.address,
            old.surface,
            old.address,
        )
    tx.run(
        "UPDATE handoffs SET asked_in = ? WHERE state IN ('pending', 'running') AND asked_in = ?", str(new), str(old)
    )


ROWS = Rows("handoffs", _HandoffRow, _handoff, live=(f"id IN (SELECT id FROM handoffs WHERE {_OPEN})",))
