"""Rows of deliveries. An id is derived from what the delivery is about, so enqueueing twice is enqueueing once."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct

from clew.model.delivery import Button, Delivery, DeliveryKind, DeliveryState
from clew.model.messages import Attachment, Conversation
from clew.store.base import Row, Tx
from clew.store.rows import LATEST, Count, Moment, Rows
from clew.store.texts import loaded, stored


class _DeliveryRow(Struct):
    id: str
    kind: DeliveryKind
    thread: str
    turn: str | None
    surface: str | None
    address: str | None
    body: str
    state: DeliveryState
    attempts: Count
    due_at: Moment
    generation: Count
    in_doubt: Count
    first_sent_at: Moment | None
    message_id: str | None
    sent_at: Moment | None
    error: str | None
    created_at: Moment
    note: str
    edits: str | None
    buttons: str
    file: str | None
    gate: str | None
    handoff: str | None
    card: str | None
    part: Count | None
    reply_to: str | None


_COLUMNS = ", ".join(_DeliveryRow.__struct_fields__)
_buttons = msgspec.json.Decoder(tuple[Button, ...]).decode
_file = msgspec.json.Decoder(Attachment).decode


def enqueue(tx: Tx, delivery: Delivery) -> bool:
    """Insert a delivery. False if one with this id exists already."""
    where = delivery.conversation
    changed = tx.run(
        "INSERT INTO deliveries"
        " (id, kind, thread, turn, surface, address, body, note, state, due_at, created_at, error, edits, buttons,"
        " file, gate, handoff, card, part, reply_to)"
        " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (id) DO NOTHING",
        delivery.id,
        delivery.kind,
        delivery.thread,
        delivery.turn,
        where.surface if where else None,
        where.address if where else None,
        delivery.body,
        delivery.note,
        delivery.state,
        delivery.due_at,
        delivery.created_at,
        stored(delivery.error),
        delivery.edits,
        _encode(delivery.buttons),
        _encode(delivery.file) if delivery.file else None,
        delivery.gate,
        delivery.handoff,
        delivery.card,
        delivery.part,
        delivery.reply_to,
    )
    return changed == 1


def time_after_queue(tx: Tx, thread: str, where: Conversation, now: int) -> int:
    """A creation time after all unsent deliveries of a thread to a conversation, so that deliveries that are enqueued
    in one millisecond leave in the order in which they were enqueued."""
    row = tx.one(
        "SELECT max(created_at + 0) AS newest FROM deliveries WHERE thread = ? AND surface = ? AND address = ?"
        " AND state IN ('pending', 'sending')",
        thread,
        where.surface,
        where.address,
    )
    newest = row["newest"] if row else None
    return max(now, newest + 1) if isinstance(newest, int) and newest < LATEST else now


def get(tx: Tx, delivery: str) -> Delivery | None:
    row = tx.one(f"SELECT {_COLUMNS} FROM deliveries WHERE id = ?", delivery)
    return ROWS.one(tx, row)


def all_rows(tx: Tx) -> list[Delivery]:
    """For audits and tests."""
    return ROWS.readable(tx, tx.all(f"SELECT {_COLUMNS} FROM deliveries ORDER BY id"))


def outstanding(tx: Tx, limit: int) -> list[Delivery]:
    """What has not arrived, the newest first: pending, sending, or a failed answer."""
    given_up = "state IN ('pending', 'failed') AND kind = 'final' AND state = 'failed'"  # begins like the index
    each = ("state = 'pending'", "state = 'sending'", given_up)
    parts = " UNION ALL ".join(f"SELECT {_COLUMNS} FROM deliveries WHERE {these}" for these in each)
    rows = tx.all(f"{parts} ORDER BY created_at DESC, id DESC LIMIT ?", limit)
    return ROWS.readable(tx, rows)


def of_thread(tx: Tx, thread: str, limit: int = 200) -> list[Delivery]:
    sql = f"SELECT {_COLUMNS} FROM deliveries WHERE thread = ? ORDER BY created_at DESC, id DESC LIMIT ?"
    return ROWS.readable(tx, reversed(tx.all(sql, thread, limit)))


# Deliveries of a thread to one conversation are sent in order, one at a time.
_FREE = (
    "NOT EXISTS (SELECT 1 FROM deliveries e WHERE e.thread = d.thread AND e.surface = d.surface"
    " AND e.address = d.address AND e.state IN ('pending', 'sending')"
    " AND (e.created_at < d.created_at OR (e.created_at = d.created_at AND e.id < d.id)))"
)


def next_to_send(tx: Tx, surface: str, limit: int) -> list[tuple[str, int]]:
    """(id, due time) of pending deliveries of a surface that no earlier delivery blocks; the earliest due first. A row
    that cannot be read blocks those after it in its conversation, and no others."""
    wanted = limit
    while True:
        rows = tx.all(
            f"SELECT {_COLUMNS} FROM deliveries d WHERE d.state = 'pending' AND d.surface = ? AND {_FREE}"
            " ORDER BY d.due_at, d.created_at, d.id LIMIT ?",
            surface,
            wanted,
        )
        found = ROWS.readable(tx, rows)
        if len(found) >= limit or len(rows) < wanted:
            return [(each.id, each.due_at) for each in found[:limit]]
        wanted += limit


def claim_pending(tx: Tx, delivery: str, owner: str, leaving: int | None) -> Delivery | None:
    """Claim a delivery to send it. None if it is not pending any more. `leaving`: the time of its first send, if it is
    sent right now."""
    row = tx.one(
        "UPDATE deliveries SET state = 'sending', owner = ?, generation = generation + 1, attempts = attempts + 1,"
        f" first_sent_at = coalesce(first_sent_at, ?) WHERE id = ? AND state = 'pending' RETURNING {_COLUMNS}",
        owner,
        leaving,
        delivery,
    )
    return ROWS.one(tx, row)


def claim(tx: Tx, delivery: Delivery, owner: str) -> Delivery | None:
    """Claim a pending or failed delivery, for `clew notify`. None: an earlier delivery blocks it (a failed one becomes
    pending), or somebody else has changed it."""
    same = "id = ? AND generation = ?"
    row = tx.one(
        "UPDATE deliveries AS d SET state = 'sending', owner = ?, generation = generation + 1, attempts = attempts + 1"
        f" WHERE {same} AND state IN ('pending', 'failed') AND {_FREE} RETURNING {_COLUMNS}",
        owner,
        delivery.id,
        delivery.generation,
    )
    if row is None:
        again = f"UPDATE deliveries SET state = 'pending' WHERE {same} AND state = 'failed'"
        tx.run(again, delivery.id, delivery.generation)
    return ROWS.one(tx, row)


def queued_before(tx: Tx, delivery: Delivery) -> list[Delivery]:
    """Pending deliveries of its thread to the same conversation that must be sent before it, in order."""
    where = delivery.conversation
    if where is None:
        return []
    rows = tx.all(
        f"SELECT {_COLUMNS} FROM deliveries WHERE thread = ? AND surface = ? AND address = ? AND state = 'pending'"
        " AND (created_at, id) < (?, ?) ORDER BY created_at, id",
        delivery.thread,
        where.surface,
        where.address,
        delivery.created_at,
        delivery.id,
    )
    return ROWS.readable(tx, rows)


def surfaces_pending(tx: Tx) -> list[str]:
    rows = tx.all("SELECT DISTINCT surface FROM deliveries WHERE state = 'pending' ORDER BY surface")
    return [row["surface"] for row in rows]


def undelivered_finals(tx: Tx, *, failed: bool, after: Delivery | None, limit: int) -> list[Delivery]:
    """Answers of ended turns that have not arrived, turn by turn, with their parts in order."""
    only = "" if failed else " AND state = 'pending'"
    sql = (
        f"SELECT {_COLUMNS} FROM deliveries WHERE state IN ('pending', 'failed') AND kind = 'final'{only}"
        " AND (turn, part) > (?, ?) ORDER BY turn, part LIMIT ?"
    )
    turn, part = (after.turn, after.part) if after is not None else ("", 0)
    return ROWS.readable(tx, tx.all(sql, turn, part, limit))


def sending_finals(tx: Tx) -> list[Delivery]:
    """Answers of ended turns that are being sent; if no daemon runs, their sender is dead."""
    rows = tx.all(f"SELECT {_COLUMNS} FROM deliveries WHERE state = 'sending' AND kind = 'final' ORDER BY id")
    return ROWS.readable(tx, rows)


def unsent_files(tx: Tx) -> list[Path]:
    """The copies of files that have not arrived."""
    sql = f"SELECT {_COLUMNS} FROM deliveries WHERE state IN ('pending', 'sending', 'failed') AND kind = 'file'"
    return [Path(each.file.path) for each in ROWS.readable(tx, tx.all(sql)) if each.file is not None]


def record_first_send(tx: Tx, delivery: Delivery, at: int) -> bool:
    """Record that it is about to be sent for the first time: from now on a crash leaves it in doubt."""
    return _fenced(tx, delivery, "first_sent_at = coalesce(first_sent_at, ?)", at)


def record_sent(tx: Tx, delivery: Delivery, message_id: str, at: int, conversation: Conversation) -> bool:
    return _fenced(
        tx,
        delivery,
        "state = 'sent', owner = NULL, message_id = ?, sent_at = ?, error = NULL, in_doubt = 0,"
        " surface = ?, address = ?",
        message_id,
        at,
        conversation.surface,
        conversation.address,
    )


def postpone(tx: Tx, delivery: Delivery, due_at: int, error: str, *, in_doubt: bool, uncounted: bool = False) -> bool:
    return _fenced(
        tx,
        delivery,
        "state = 'pending', owner = NULL, due_at = ?, error = ?, in_doubt = ?, attempts = attempts - ?",
        due_at,
        stored(error),
        int(in_doubt),
        int(uncounted),
    )


def record_failed(tx: Tx, delivery: Delivery, error: str) -> bool:
    return _fenced(tx, delivery, "state = 'failed', owner = NULL, error = ?", stored(error))


def readdress(tx: Tx, delivery: str, to: Conversation, due_at: int, created_at: int) -> bool:
    """Send a delivery that one conversation refused for good to another one. It stays in doubt, if an earlier attempt
    may have arrived."""
    changed = tx.run(
        "UPDATE deliveries SET state = 'pending', surface = ?, address = ?, due_at = ?, created_at = ?, attempts = 0"
        " WHERE id = ? AND state = 'failed'",
        to.surface,
        to.address,
        due_at,
        created_at,
        delivery,
    )
    return changed == 1


def record_found(tx: Tx, delivery: str, message_id: str, at: int) -> bool:
    """A delivery in doubt has arrived: somebody pressed a button on it. False if it is not in doubt."""
    changed = tx.run(
        "UPDATE deliveries SET state = 'sent', message_id = ?, sent_at = ?, error = NULL, in_doubt = 0"
        " WHERE id = ? AND state = 'pending' AND in_doubt = 1",
        message_id,
        at,
        delivery,
    )
    return changed == 1


def record_copy(tx: Tx, copy: Delivery, message_id: str, at: int) -> None:
    """Record a message of clew whose receipt was lost: a copy of what was then sent again."""
    enqueue(tx, copy)
    tx.run("UPDATE deliveries SET message_id = ?, sent_at = ? WHERE id = ?", message_id, at, copy.id)


def last_edited(tx: Tx, message: str) -> int | None:
    """When the message of this delivery was edited last; None: never."""
    row = tx.one("SELECT max(sent_at) AS at FROM deliveries WHERE edits = ? AND kind = 'redraw'", message)
    return int(row["at"]) if row is not None and row["at"] is not None else None


def fail_all(tx: Tx, surface: str, error: str) -> None:
    tx.run(
        "UPDATE deliveries SET state = 'failed', error = ? WHERE state = 'pending' AND surface = ?",
        stored(error),
        surface,
    )


def supersede(tx: Tx, delivery: str) -> bool:
    """Drop a pending delivery that is no longer needed."""
    return tx.run("UPDATE deliveries SET state = 'superseded' WHERE id = ? AND state = 'pending'", delivery) == 1


def supersede_edits(tx: Tx, delivery: str) -> None:
    """Drop pending edits of a delivery: a newer edit replaces them."""
    tx.run("UPDATE deliveries SET state = 'superseded' WHERE edits = ? AND state = 'pending'", delivery)


def drop_edit(tx: Tx, delivery: Delivery) -> bool:
    """Drop a claimed edit of a message that was never sent."""
    return _fenced(tx, delivery, "state = 'superseded', owner = NULL")


def replace_text(tx: Tx, delivery: str, body: str, buttons: Sequence[Button] = ()) -> bool:
    """Replace the text and buttons of a pending delivery. False if it may have been sent."""
    sql = "UPDATE deliveries SET body = ?, buttons = ? WHERE id = ? AND state = 'pending' AND first_sent_at IS NULL"
    return tx.run(sql, body, _encode(buttons), delivery) == 1


def is_ask_sending(tx: Tx, where: Conversation) -> bool:
    """Whether a question is being sent there. Uses a partial index: cost grows with running sends only."""
    sql = "SELECT 1 FROM deliveries WHERE state = 'sending' AND surface = ? AND address = ? AND kind = 'ask' LIMIT 1"
    return tx.one(sql, where.surface, where.address) is not None


def is_answer(tx: Tx, where: Conversation, message_id: str) -> bool:
    sql = "SELECT 1 FROM deliveries WHERE surface = ? AND address = ? AND message_id = ? AND kind = 'final' LIMIT 1"
    return tx.one(sql, where.surface, where.address, message_id) is not None


def by_receipt(tx: Tx, where: Conversation, message_id: str) -> Delivery | None:
    """The delivery that the platform knows by this message id."""
    sql = f"SELECT {_COLUMNS} FROM deliveries WHERE surface = ? AND address = ? AND message_id = ? ORDER BY id LIMIT 1"
    row = tx.one(sql, where.surface, where.address, message_id)
    return ROWS.one(tx, row)


def original(tx: Tx, message: Delivery) -> Delivery:
    """The delivery that a message rewrites, shows again or is a part of; else the message itself."""
    shown = get(tx, message.edits or message.card or "")
    return original(tx, shown) if shown is not None else message


def newest_ask(tx: Tx, thread: str) -> Delivery | None:
    """The newest question of a suspended thread, which is about no gate."""
    row = tx.one(
        f"SELECT {_COLUMNS} FROM deliveries WHERE thread = ? AND kind = 'ask' AND gate IS NULL"
        " ORDER BY created_at DESC, id DESC LIMIT 1",
        thread,
    )
    return ROWS.one(tx, row)


def retry_now(tx: Tx, now: int) -> None:
    """Make postponed deliveries due now. A new daemon does this: the clock may have been set back."""
    tx.run("UPDATE deliveries SET due_at = ? WHERE state = 'pending' AND due_at > ?", now, now)


def release_sending(tx: Tx, now: int, own: str) -> list[str]:
    """Return deliveries that a dead process was sending to pending; if their send had started, they are in doubt.
    `own`: this daemon, which may send some already."""
    rows = tx.all(
        "UPDATE deliveries SET state = 'pending', owner = NULL, generation = generation + 1, due_at = ?,"
        " in_doubt = CASE WHEN first_sent_at IS NULL THEN in_doubt ELSE 1 END"
        " WHERE state = 'sending' AND coalesce(owner, '') <> ? RETURNING id",
        now,
        own,
    )
    return [row["id"] for row in rows]


def has_unsent(tx: Tx, surface: str) -> bool:
    """Whether the surface has pending or sending deliveries."""
    sql = "SELECT 1 FROM deliveries WHERE surface = ? AND state IN ('pending', 'sending') LIMIT 1"
    return tx.one(sql, surface) is not None


def pending_by_surface(tx: Tx) -> dict[str, int]:
    """How many deliveries are pending. Uses a partial index: cost grows with pending ones only."""
    rows = tx.all("SELECT surface, count(*) AS n FROM deliveries WHERE state = 'pending' GROUP BY surface")
    return {row["surface"]: int(row["n"]) for row in rows}


def _fenced(tx: Tx, delivery: Delivery, assignment: str, *params: Any) -> bool:
    changed = tx.run(
        f"UPDATE deliveries SET {assignment} WHERE id = ? AND generation = ? AND state = 'sending'",
        *params,
        delivery.id,
        delivery.generation,
    )
    return changed == 1


def _delivery(row: Row) -> Delivery:
    return Delivery(
        id=row["id"],
        kind=DeliveryKind(row["kind"]),
        thread=row["thread"],
        turn=row["turn"],
        conversation=Conversation(row["surface"], row["address"]) if row["surface"] else None,
        body=row["body"],
        state=DeliveryState(row["state"]),
        created_at=row["created_at"],
        attempts=row["attempts"],
        due_at=row["due_at"],
        generation=row["generation"],
        in_doubt=bool(row["in_doubt"]),
        first_sent_at=row["first_sent_at"],
        message_id=row["message_id"],
        sent_at=row["sent_at"],
        error=loaded(row["error"]),
        note=row["note"],
        edits=row["edits"],
        buttons=_buttons(row["buttons"]),
        file=_file(row["file"]) if row["file"] else None,
        gate=row["gate"],
        handoff=row["handoff"],
        card=row["card"],
        part=row["part"],
        reply_to=row["reply_to"],
    )


def _encode(value: Sequence[Button] | Attachment) -> str:
    return msgspec.json.encode(value).decode()


def move(tx: Tx, old: Conversation, new: Conversation) -> None:
    """Send pending deliveries to the conversation's new address. Messages at the old one cannot be edited any more."""
    here = "state = 'pending' AND surface = ? AND address = ?"
    tx.run(f"UPDATE deliveries SET state = 'superseded' WHERE {here} AND edits IS NOT NULL", old.surface, old.address)
    tx.run(f"UPDATE deliveries SET address = ? WHERE {here}", new.address, old.surface, old.address)


_OPEN = "SELECT id FROM deliveries WHERE state IN ('pending', 'sending')"
ROWS = Rows("deliveries", _DeliveryRow, _delivery, live=(f"id IN ({_OPEN})",))
