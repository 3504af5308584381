"""Rows of the new texts of messages that were edited while their turn ran."""

from __future__ import annotations

from msgspec import Struct

from clew.model.messages import Conversation
from clew.store.base import Tx


class Edit(Struct, frozen=True):
    text: str
    sender_id: str


def put(tx: Tx, where: Conversation, message: str, edit: Edit) -> None:
    tx.run(
        "INSERT INTO edits (surface, address, message_id, sender_id, text) VALUES (?, ?, ?, ?, ?)"
        " ON CONFLICT (surface, address, message_id) DO UPDATE SET text = excluded.text",
        where.surface,
        where.address,
        message,
        edit.sender_id,
        edit.text,
    )


def get(tx: Tx, where: Conversation, message: str) -> Edit | None:
    sql = "SELECT text, sender_id FROM edits WHERE surface = ? AND address = ? AND message_id = ?"
    row = tx.one(sql, where.surface, where.address, message)
    return Edit(row["text"], row["sender_id"]) if row else None


def remove(tx: Tx, where: Conversation, message: str) -> None:
    sql = "DELETE FROM edits WHERE surface = ? AND address = ? AND message_id = ?"
    tx.run(sql, where.surface, where.address, message)
