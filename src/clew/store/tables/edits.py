"""Rows of the new texts of messages that were edited while their turn ran."""

from __future__ import annotations

from msgspec import Struct

from clew.model.messages import Conversation
from clew.store.base import Row, Tx
from clew.store.rows import Rows


class Edit(Struct, frozen=True):
    text: str
    sender_id: str


class _EditRow(Struct):
    surface: str
    address: str
    message_id: str
    sender_id: str
    text: str


_COLUMNS = ", ".join(_EditRow.__struct_fields__)


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
    sql = f"SELECT {_COLUMNS} FROM edits WHERE surface = ? AND address = ? AND message_id = ?"
    return ROWS.one(tx, tx.one(sql, where.surface, where.address, message))


def remove(tx: Tx, where: Conversation, message: str) -> None:
    sql = "DELETE FROM edits WHERE surface = ? AND address = ? AND message_id = ?"
    tx.run(sql, where.surface, where.address, message)


def _edit(row: Row) -> Edit:
    return Edit(row["text"], row["sender_id"])


ROWS = Rows("edits", _EditRow, _edit, key=("surface", "address", "message_id"), live=())
