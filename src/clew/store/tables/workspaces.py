"""The folders in which threads work. They are read from the rows of threads, damaged ones too."""

from __future__ import annotations

from collections.abc import Sequence

from clew.store.base import Tx
from clew.store.rows import among


def of_thread(tx: Tx, id: str) -> str:
    """Its folder, of a damaged row too; empty if that is not known."""
    row = tx.one("SELECT workspace FROM threads WHERE id = ?", id)
    return row["workspace"] if row is not None and isinstance(row["workspace"], str) else ""


def newest(tx: Tx, count: int) -> list[str]:
    """The folders of the newest threads, newest first."""
    rows = tx.all(
        "SELECT workspace, max(id) AS newest FROM (SELECT workspace, id FROM threads ORDER BY id DESC LIMIT ?) t"
        " GROUP BY workspace ORDER BY newest DESC",
        count,
    )
    return [row["workspace"] for row in rows if isinstance(row["workspace"], str)]


def of(tx: Tx, names: Sequence[str]) -> list[str]:
    """The folders of these threads, those of the newest first."""
    rows = tx.all(f"SELECT workspace FROM threads WHERE {among('id', names)} ORDER BY id DESC", *names)
    return list(dict.fromkeys(row["workspace"] for row in rows if isinstance(row["workspace"], str)))
