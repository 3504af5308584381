"""Rows of the texts and activities of a live turn: one per item, rewritten as it grows, deleted at the turn's end."""

from __future__ import annotations

from msgspec import Struct

from clew.model.turns import Item
from clew.store.base import Row, Tx
from clew.store.rows import RUNNING, Count, Rows
from clew.store.texts import loaded, stored


class _ItemRow(Struct):
    turn: str
    item: str
    kind: str
    phase: str
    title: str
    body: str
    outcome: str | None
    exit_code: Count | None
    folder: str | None
    position: Count
    parent: str | None


_COLUMNS = ", ".join(_ItemRow.__struct_fields__)


def put(tx: Tx, turn: str, item: Item) -> None:
    tx.run(
        "INSERT INTO items (turn, item, kind, phase, title, body, outcome, exit_code, folder, position, parent)"
        " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
        " ON CONFLICT (turn, item) DO UPDATE SET phase = excluded.phase, title = excluded.title, body = excluded.body,"
        " outcome = excluded.outcome, exit_code = excluded.exit_code, folder = excluded.folder",
        turn,
        item.item,
        item.kind,
        item.phase,
        stored(item.title),
        item.body,
        item.outcome,
        item.exit_code,
        item.folder,
        item.position,
        item.parent,
    )


def rename(tx: Tx, turn: str, item: str, name: str) -> None:
    tx.run("UPDATE items SET item = ? WHERE turn = ? AND item = ?", name, turn, item)


def finish(tx: Tx, turn: str, item: str, title: str | None, outcome: str) -> None:
    """Set the outcome, and optionally a new title, of an item that somebody else wrote."""
    tx.run(
        "UPDATE items SET phase = 'done', title = coalesce(?, title), outcome = ? WHERE turn = ? AND item = ?",
        stored(title),
        outcome,
        turn,
        item,
    )


def of_turn(tx: Tx, turn: str) -> list[Item]:
    """The items of a turn, in the order in which they started."""
    return ROWS.all(tx, tx.all(f"SELECT {_COLUMNS} FROM items WHERE turn = ? ORDER BY position", turn))


def clear(tx: Tx, turn: str) -> None:
    tx.run("DELETE FROM items WHERE turn = ?", turn)


def _item(row: Row) -> Item:
    return Item(
        row["item"],
        row["kind"],
        row["phase"],
        loaded(row["title"]),
        row["body"],
        row["outcome"],
        row["exit_code"],
        row["folder"],
        row["position"],
        row["parent"],
    )


ROWS = Rows("items", _ItemRow, _item, key=("turn", "item"), live=(f"turn IN ({RUNNING})",))
