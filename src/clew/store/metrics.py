"""Counts for monitoring. They use partial indexes: their cost grows with what is open, not with all rows."""

from __future__ import annotations

from msgspec import Struct

from clew.store.base import Tx
from clew.store.texts import loaded


class OpenCounts(Struct, frozen=True):
    """Counts of what is not finished. Times are Unix milliseconds; None if there is nothing."""

    turns: dict[str, int]
    pending: dict[str, int]
    oldest_delivery: int | None
    failed: int
    gates: int
    oldest_gate: int | None


def count_open(tx: Tx) -> OpenCounts:
    live = {row["state"]: int(row["n"]) for row in tx.all(_LIVE)}
    queued = _number(tx, "SELECT count(*) AS n FROM turns WHERE state = 'queued'")
    pending = tx.all("SELECT surface, count(*) AS n FROM deliveries WHERE state = 'pending' GROUP BY surface")
    return OpenCounts(
        turns={"queued": queued or 0, "running": live.get("running", 0), "waiting": live.get("waiting", 0)},
        pending={row["surface"]: int(row["n"]) for row in pending},
        oldest_delivery=_number(tx, "SELECT min(created_at) AS n FROM deliveries WHERE state = 'pending'"),
        failed=_number(tx, f"SELECT count(*) AS n FROM deliveries WHERE {_UNSENT} AND state = 'failed'") or 0,
        gates=_number(tx, "SELECT count(*) AS n FROM gates WHERE state = 'open'") or 0,
        oldest_gate=_number(tx, "SELECT min(asked_at) AS n FROM gates WHERE state = 'open'"),
    )


_LIVE = "SELECT state, count(*) AS n FROM turns WHERE state IN ('running', 'waiting') GROUP BY state"
_UNSENT = "state IN ('pending', 'failed') AND kind = 'final'"


class Span(Struct, frozen=True):
    """A time span: of a turn from its request to its end, of a gate from question to answer. `end` is None if it still
    waits."""

    begin: int
    end: int | None
    failed: bool = False


def turns_since(tx: Tx, since: int) -> list[Span]:
    """Turns that ran and have ended since. Uses a covering index."""
    rows = tx.all(
        "SELECT queued_at, ended_at, state FROM turns WHERE ended_at IS NOT NULL AND ended_at >= ?"
        " AND started_at IS NOT NULL",
        since,
    )
    spans = [Span(row["queued_at"], row["ended_at"], row["state"] == "failed") for row in rows]
    return [span for span in spans if _is_readable(span)]


def gates_since(tx: Tx, since: int) -> list[Span]:
    """Gates that were closed since, or are open."""
    rows = tx.all(
        "SELECT asked_at, coalesce(answered_at, closed_at) AS over FROM gates"
        " WHERE closed_at IS NOT NULL AND closed_at >= ?"
        " UNION ALL SELECT asked_at, NULL FROM gates WHERE state = 'open'",
        since,
    )
    return [span for row in rows if _is_readable(span := Span(row["asked_at"], row["over"]))]


def _is_readable(span: Span) -> bool:
    return isinstance(span.begin, int) and isinstance(span.end, int | None)


def _number(tx: Tx, sql: str) -> int | None:
    row = tx.one(sql)
    return row["n"] if row and isinstance(row["n"], int) else None  # a damaged row may have another type


class DeliveryTrouble(Struct, frozen=True):
    """Answers to one surface that did not arrive, grouped by their error."""

    surface: str
    for_good: bool  # clew does not try again by itself
    count: int
    error: str


def delivery_troubles(tx: Tx) -> list[DeliveryTrouble]:
    """Why answers do not arrive, the newest last. Uses a partial index: cost grows with open deliveries only."""
    rows = tx.all(
        "SELECT surface, state, error, count(*) AS n, max(created_at) AS newest FROM deliveries"
        " WHERE state IN ('pending', 'failed') AND kind = 'final' AND error IS NOT NULL"
        " GROUP BY surface, state, error ORDER BY newest"
    )
    return [
        DeliveryTrouble(row["surface"], row["state"] == "failed", int(row["n"]), loaded(row["error"])) for row in rows
    ]
