"""Rows of what is owed to conversations. An id is chosen, not drawn, so owing twice is owing once."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec

from clew.model.delivery import Button, Delivery, DeliveryKind, DeliveryState
from clew.model.messages import Attachment, Conversation
from clew.store.base import Row, Tx

_COLUMNS = (
    "id, kind, thread, turn, surface, address, body, state, attempts, due_at, generation, in_doubt, first_sent_at,"
    " message_id, sent_at, error, created_at, note, edits, buttons, file"
)
_buttons = msgspec.json.Decoder(tuple[Button, ...]).decode
_file = msgspec.json.Decoder(Attachment).decode


def enqueue(tx: Tx, delivery: Delivery) -> bool:
    """False where it was owed already."""
    where = delivery.conversation
    changed = tx.run(
        "INSERT INTO deliveries"
        " (id, kind, thread, turn, surface, address, body, note, state, due_at, created_at, error, edits, buttons,"
        " file) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (id) DO NOTHING",
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
        delivery.error,
        delivery.edits,
        _encode(delivery.buttons),
        _encode(delivery.file) if delivery.file else None,
    )
    return changed == 1


def time_after_queue(tx: Tx, thread: str, where: Conversation, now: int) -> int:
    """A time after all that a thread still owes to a conversation: what is owed within one millisecond leaves in the
    order in which it was owed, too."""
    row = tx.one(
        "SELECT max(created_at + 0) AS newest FROM deliveries WHERE thread = ? AND surface = ? AND address = ?"
        " AND state IN ('pending', 'sending')",
        thread,
        where.surface,
        where.address,
    )
    return max(now, row["newest"] + 1) if row and row["newest"] is not None else now


def get(tx: Tx, delivery: str) -> Delivery | None:
    row = tx.one(f"SELECT {_COLUMNS} FROM deliveries WHERE id = ?", delivery)
    return _delivery(row) if row else None


def all_rows(tx: Tx) -> list[Delivery]:
    """For an auditor."""
    return [_delivery(row) for row in tx.all(f"SELECT {_COLUMNS} FROM deliveries ORDER BY id")]


def outstanding(tx: Tx, limit: int) -> list[Delivery]:
    """What has not arrived, the newest first: waiting, on its way, or an answer that was given up."""
    given_up = "state IN ('pending', 'failed') AND kind = 'final' AND state = 'failed'"  # in the words of the index
    each = ("state = 'pending'", "state = 'sending'", given_up)
    parts = " UNION ALL ".join(f"SELECT {_COLUMNS} FROM deliveries WHERE {these}" for these in each)
    rows = tx.all(f"{parts} ORDER BY created_at DESC, id DESC LIMIT ?", limit)
    return [_delivery(row) for row in rows]


def of_thread(tx: Tx, thread: str, limit: int = 200) -> list[Delivery]:
    sql = f"SELECT {_COLUMNS} FROM deliveries WHERE thread = ? ORDER BY created_at DESC, id DESC LIMIT ?"
    return [_delivery(row) for row in reversed(tx.all(sql, thread, limit))]


# What a thread owes to one conversation leaves in order, one by one.
_FREE = (
    "NOT EXISTS (SELECT 1 FROM deliveries e WHERE e.thread = d.thread AND e.surface = d.surface"
    " AND e.address = d.address AND e.state IN ('pending', 'sending')"
    " AND (e.created_at < d.created_at OR (e.created_at = d.created_at AND e.id < d.id)))"
)


def next_to_send(tx: Tx, surface: str, limit: int) -> list[tuple[str, int]]:
    """Ids of what is pending on a surface and behind nothing else, and when they are due; the first to be due first."""
    rows = tx.all(
        f"SELECT d.id, d.due_at FROM deliveries d WHERE d.state = 'pending' AND d.surface = ? AND {_FREE}"
        " ORDER BY d.due_at, d.created_at, d.id LIMIT ?",
        surface,
        limit,
    )
    return [(row["id"], row["due_at"]) for row in rows]


def claim_pending(tx: Tx, delivery: str, owner: str, leaving: int | None) -> Delivery | None:
    """None where it is not pending any more. `leaving`: count it as on its way from now on."""
    row = tx.one(
        "UPDATE deliveries SET state = 'sending', owner = ?, generation = generation + 1, attempts = attempts + 1,"
        f" first_sent_at = coalesce(first_sent_at, ?) WHERE id = ? AND state = 'pending' RETURNING {_COLUMNS}",
        owner,
        leaving,
        delivery,
    )
    return _delivery(row) if row else None


def claim(tx: Tx, delivery: Delivery, owner: str) -> Delivery | None:
    """One delivery by name, for a pass that a person asked for: pending or failed. None: it is behind something else,
    and waits for that, or it is not what it was."""
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
    return _delivery(row) if row else None


def queued_before(tx: Tx, delivery: Delivery) -> list[Delivery]:
    """What its thread owes to the same conversation and has to leave before it, in order."""
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
    return [_delivery(row) for row in rows]


def surfaces_pending(tx: Tx) -> list[str]:
    rows = tx.all("SELECT DISTINCT surface FROM deliveries WHERE state = 'pending' ORDER BY surface")
    return [row["surface"] for row in rows]


def undelivered_finals(tx: Tx, *, failed: bool, after: str, limit: int) -> list[Delivery]:
    """Answers of ended turns that have not arrived, turn by turn, the tenth part behind the second."""
    only = "" if failed else " AND state = 'pending'"
    sql = (
        f"SELECT {_COLUMNS} FROM deliveries WHERE state IN ('pending', 'failed') AND kind = 'final'{only}"
        " AND (turn, length(id), id) > (?, ?, ?) ORDER BY turn, length(id), id LIMIT ?"
    )
    return [_delivery(row) for row in tx.all(sql, after.partition(":")[0], len(after), after, limit)]


def sending_finals(tx: Tx) -> list[Delivery]:
    """Answers of ended turns that are on their way; or were, where nobody is there who could send."""
    rows = tx.all(f"SELECT {_COLUMNS} FROM deliveries WHERE state = 'sending' AND kind = 'final' ORDER BY id")
    return [_delivery(row) for row in rows]


def unsent_files(tx: Tx, turn: str) -> set[str]:
    """Names of the files that a turn made and that have not arrived."""
    rows = tx.all(
        "SELECT file FROM deliveries WHERE id > ? AND id < ? AND state IN ('pending', 'sending', 'failed')",
        f"{turn}:file:",
        f"{turn}:file;",  # the character behind the colon
    )
    return {Path(_file(row["file"]).path).name for row in rows}


def record_first_send(tx: Tx, delivery: Delivery, at: int) -> bool:
    """Just before it leaves for the first time: from here on a death leaves it in doubt."""
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
        error,
        int(in_doubt),
        int(uncounted),
    )


def record_failed(tx: Tx, delivery: Delivery, error: str) -> bool:
    return _fenced(tx, delivery, "state = 'failed', owner = NULL, error = ?", error)


def fail_all(tx: Tx, surface: str, error: str) -> None:
    tx.run("UPDATE deliveries SET state = 'failed', error = ? WHERE state = 'pending' AND surface = ?", error, surface)


def supersede(tx: Tx, delivery: str) -> bool:
    """What has not left yet and is no longer worth saying."""
    return tx.run("UPDATE deliveries SET state = 'superseded' WHERE id = ? AND state = 'pending'", delivery) == 1


def supersede_edits(tx: Tx, delivery: str) -> None:
    """A newer one says all that they would have said."""
    tx.run("UPDATE deliveries SET state = 'superseded' WHERE edits = ? AND state = 'pending'", delivery)


def drop_edit(tx: Tx, delivery: Delivery) -> bool:
    """What it would have rewritten was never sent."""
    return _fenced(tx, delivery, "state = 'superseded', owner = NULL")


def replace_text(tx: Tx, delivery: str, body: str, buttons: Sequence[Button] = ()) -> bool:
    """Other words for what has not begun to leave."""
    sql = "UPDATE deliveries SET body = ?, buttons = ? WHERE id = ? AND state = 'pending' AND first_sent_at IS NULL"
    return tx.run(sql, body, _encode(buttons), delivery) == 1


def is_ask_sending(tx: Tx, where: Conversation) -> bool:
    """Whether a question is on its way there; by the partial index of what is, so it costs only that."""
    sql = "SELECT 1 FROM deliveries WHERE state = 'sending' AND surface = ? AND address = ? AND kind = 'ask' LIMIT 1"
    return tx.one(sql, where.surface, where.address) is not None


def is_answer(tx: Tx, where: Conversation, message_id: str) -> bool:
    sql = "SELECT 1 FROM deliveries WHERE surface = ? AND address = ? AND message_id = ? AND kind = 'final' LIMIT 1"
    return tx.one(sql, where.surface, where.address, message_id) is not None


def by_receipt(tx: Tx, where: Conversation, message_id: str) -> Delivery | None:
    """What was delivered as this message of the platform."""
    sql = f"SELECT {_COLUMNS} FROM deliveries WHERE surface = ? AND address = ? AND message_id = ? ORDER BY id LIMIT 1"
    row = tx.one(sql, where.surface, where.address, message_id)
    return _delivery(row) if row else None


def newest_ask(tx: Tx, thread: str) -> Delivery | None:
    """What the thread itself asked last, as `TURN:NAME`; cards of gates are called otherwise."""
    row = tx.one(
        f"SELECT {_COLUMNS} FROM deliveries WHERE thread = ? AND kind = 'ask' AND id LIKE turn || ':%'"
        " ORDER BY created_at DESC, id DESC LIMIT 1",
        thread,
    )
    return _delivery(row) if row else None


def retry_now(tx: Tx, now: int) -> None:
    """What was put off is tried at once by a new daemon: the clock may have been set back since."""
    tx.run("UPDATE deliveries SET due_at = ? WHERE state = 'pending' AND due_at > ?", now, now)


def release_sending(tx: Tx, now: int) -> list[str]:
    """What a dead process was sending. Where it had begun to leave, it may have arrived: in doubt."""
    rows = tx.all(
        "UPDATE deliveries SET state = 'pending', owner = NULL, generation = generation + 1, due_at = ?,"
        " in_doubt = CASE WHEN first_sent_at IS NULL THEN in_doubt ELSE 1 END"
        " WHERE state = 'sending' RETURNING id",
        now,
    )
    return [row["id"] for row in rows]


def has_unsent(tx: Tx, surface: str) -> bool:
    """Whether anything waits for the surface, or is on its way there."""
    sql = "SELECT 1 FROM deliveries WHERE surface = ? AND state IN ('pending', 'sending') LIMIT 1"
    return tx.one(sql, surface) is not None


def pending_by_surface(tx: Tx) -> dict[str, int]:
    """What is open; by a partial index, so that it costs what is open and not what ever was."""
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
        error=row["error"],
        note=row["note"],
        edits=row["edits"],
        buttons=_buttons(row["buttons"]),
        file=_file(row["file"]) if row["file"] else None,
    )


def _encode(value: Sequence[Button] | Attachment) -> str:
    return msgspec.json.encode(value).decode()
