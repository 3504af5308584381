"""Questions that only an auditor asks: over all rows, to prove that the promises hold. Never on a hot path."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

import msgspec

from clew.model import Said
from clew.store.base import Tx


@dataclass(frozen=True, slots=True)
class Trouble:
    """Answers to one surface that did not arrive, for one reason."""

    surface: str
    for_good: bool  # it is not tried again by itself
    count: int
    error: str


def fates_of(tx: Tx, message_id: str) -> list[str]:
    """Every fate that was ever written down for a message; there should be one."""
    return [row["fate"] for row in tx.all("SELECT fate FROM inbox WHERE message_id = ?", message_id)]


def all_fates(tx: Tx) -> list[tuple[str, str]]:
    """(message id, fate) of everything that arrived."""
    return [(row["message_id"], row["fate"]) for row in tx.all("SELECT message_id, fate FROM inbox")]


def times_asked(tx: Tx) -> Counter[str]:
    """In how many turns each message is a request; a continuation repeats it on purpose and does not count."""
    asked: Counter[str] = Counter()
    for row in tx.all("SELECT request FROM turns WHERE continues IS NULL"):
        asked.update(said.id for said in msgspec.json.decode(row["request"], type=list[Said]))
    return asked


def unfinished(tx: Tx) -> list[str]:
    """What is not over. At rest there should be nothing but what a suspended thread keeps."""
    turns = tx.all(
        "SELECT t.id, t.state, h.status FROM turns t JOIN threads h ON h.id = t.thread"
        " WHERE t.state IN ('running', 'waiting') OR (t.state = 'queued' AND h.status != 'suspended')"
    )
    deliveries = tx.all("SELECT id, state, error FROM deliveries WHERE state IN ('pending', 'sending', 'failed')")
    steers = tx.all("SELECT message_id, state FROM steers WHERE state IN ('offered', 'sent')")
    return [
        *(f"turn {row['id']} is {row['state']} in a thread that is {row['status']}" for row in turns),
        *(f"delivery {row['id']} is {row['state']} ({row['error']})" for row in deliveries),
        *(f"steer {row['message_id']} is {row['state']}" for row in steers),
    ]


def troubles(tx: Tx) -> list[Trouble]:
    """What keeps answers from arriving, the newest last; by a partial index, so that it costs only what is open."""
    rows = tx.all(
        "SELECT surface, state, error, count(*) AS n, max(created_at) AS newest FROM deliveries"
        " WHERE state IN ('pending', 'failed') AND kind = 'final' AND error IS NOT NULL"
        " GROUP BY surface, state, error ORDER BY newest"
    )
    return [Trouble(row["surface"], row["state"] == "failed", int(row["n"]), row["error"]) for row in rows]


def ended_without_owing(tx: Tx) -> list[str]:
    """Turns that ended with no delivery row. There should be none."""
    rows = tx.all(
        "SELECT id FROM turns WHERE state IN ('completed', 'failed', 'interrupted')"
        " AND NOT EXISTS (SELECT 1 FROM deliveries d WHERE d.turn = turns.id AND d.kind IN ('final', 'ask'))"
    )
    return [row["id"] for row in rows]


def sent(tx: Tx) -> list[str]:
    """Deliveries that count as arrived, without the placeholders, which later text replaces."""
    rows = tx.all("SELECT id FROM deliveries WHERE state = 'sent' AND kind != 'placeholder' ORDER BY id")
    return [row["id"] for row in rows]
