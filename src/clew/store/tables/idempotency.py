"""Rows of responses to requests with an Idempotency-Key."""

from __future__ import annotations

from msgspec import Struct

from clew.store.base import Row, Tx
from clew.store.rows import Count, Moment, Rows


class StoredResponse(Struct, frozen=True):
    key: str
    digest: str  # of the request
    status: int
    media_type: str
    body: str


class _ResponseRow(Struct):
    key: str
    digest: str
    status: Count
    media_type: str
    body: str
    at: Moment


_COLUMNS = ", ".join(_ResponseRow.__struct_fields__)


def find(tx: Tx, key: str, since: int) -> StoredResponse | None:
    return ROWS.one(tx, tx.one(f"SELECT {_COLUMNS} FROM answers WHERE key = ? AND at > ?", key, since))


def save(tx: Tx, kept: StoredResponse, at: int, since: int) -> None:
    """Store a response, unless the key has one, and delete responses from before `since`."""
    tx.run("DELETE FROM answers WHERE at <= ?", since)
    tx.run(
        "INSERT INTO answers (key, digest, status, media_type, body, at) VALUES (?, ?, ?, ?, ?, ?)"
        " ON CONFLICT (key) DO NOTHING",
        kept.key,
        kept.digest,
        kept.status,
        kept.media_type,
        kept.body,
        at,
    )


def _response(row: Row) -> StoredResponse:
    return StoredResponse(row["key"], row["digest"], row["status"], row["media_type"], row["body"])


ROWS = Rows("answers", _ResponseRow, _response, key=("key",), live=())
