"""Rows of preludes: what a turn's agent is told of what happened before. At most one for each turn."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct

from clew.model.turns import Prelude, PreludeSummary
from clew.store.base import Row, Tx
from clew.store.rows import RUNNING, Count, Moment, Rows, among


class _PreludeRow(Struct):
    turn: str
    runtime: str
    since: str | None
    text: str
    messages: Count
    left_out: Count
    at: Moment


_COLUMNS = ", ".join(_PreludeRow.__struct_fields__)


def put(tx: Tx, turn: str, prelude: Prelude) -> None:
    """Store it in place of an earlier one."""
    tx.run(
        f"INSERT INTO preludes ({_COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?)"
        " ON CONFLICT (turn) DO UPDATE SET runtime = excluded.runtime, since = excluded.since, text = excluded.text,"
        " messages = excluded.messages, left_out = excluded.left_out, at = excluded.at",
        turn,
        prelude.runtime,
        prelude.since,
        prelude.text,
        prelude.messages,
        prelude.left_out,
        prelude.at,
    )


def get(tx: Tx, turn: str) -> Prelude | None:
    return ROWS.one(tx, tx.one(f"SELECT {_COLUMNS} FROM preludes WHERE turn = ?", turn))


def remove(tx: Tx, turn: str) -> None:
    tx.run("DELETE FROM preludes WHERE turn = ?", turn)


def summaries(tx: Tx, turns: Sequence[str]) -> dict[str, PreludeSummary]:
    """Of those turns that have one; without the text."""
    sql = f"SELECT turn, runtime, messages, left_out FROM preludes WHERE {among('turn', turns)}"
    rows = tx.all(sql, *turns)
    return {row["turn"]: PreludeSummary(row["runtime"], row["messages"], row["left_out"]) for row in rows}


def _prelude(row: Row) -> Prelude:
    return Prelude(row["runtime"], row["since"], row["text"], row["messages"], row["left_out"], row["at"])


ROWS = Rows("preludes", _PreludeRow, _prelude, key=("turn",), live=(f"turn IN ({RUNNING})",))
