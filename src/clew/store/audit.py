"""Questions that only an auditor asks: over all rows, to prove that the promises hold. Never on a hot path."""

from __future__ import annotations

from collections import Counter

import msgspec
from msgspec import Struct

from clew.asking import Gate
from clew.model import Conversation, Said
from clew.store import gates
from clew.store.base import Tx


class Trouble(Struct, frozen=True):
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


def threads_of(tx: Tx, where: Conversation, since: int) -> list[str]:
    """The threads that what was said in a conversation went to."""
    rows = tx.all(
        "SELECT thread FROM inbox WHERE surface = ? AND address = ? AND received_at >= ?"
        " AND fate IN ('turn', 'steer') ORDER BY received_at",
        where.surface,
        where.address,
        since,
    )
    return [row["thread"] for row in rows]


def with_two_drivers(tx: Tx) -> list[str]:
    sql = "SELECT thread FROM bindings WHERE drives = 1 GROUP BY thread HAVING count(*) > 1"
    return [row["thread"] for row in tx.all(sql)]


_AT_A_GATE = (  # it waits for a person, and what was said meanwhile waits with it
    "EXISTS (SELECT 1 FROM turns w JOIN gates g ON g.turn = w.id AND g.state = 'open'"
    " WHERE w.thread = {thread} AND w.state = 'waiting')"
)


def unfinished(tx: Tx) -> list[str]:
    """What is not over. At rest there should be nothing but what waits for a person: at a gate, or suspended."""
    at_a_gate = _AT_A_GATE.format(thread="t.thread")
    turns = tx.all(
        "SELECT t.id, t.state, h.status FROM turns t JOIN threads h ON h.id = t.thread"
        f" WHERE t.state = 'running' OR (t.state = 'waiting' AND NOT {at_a_gate})"
        f" OR (t.state = 'queued' AND h.status != 'suspended' AND NOT {at_a_gate})"
    )
    deliveries = tx.all("SELECT id, state, error FROM deliveries WHERE state IN ('pending', 'sending', 'failed')")
    steers = tx.all(
        "SELECT message_id, state FROM steers WHERE state = 'offered'"
        f" OR (state = 'sent' AND NOT {_AT_A_GATE.format(thread='steers.thread')})"
    )
    return [
        *(f"turn {row['id']} is {row['state']} in a thread that is {row['status']}" for row in turns),
        *(f"delivery {row['id']} is {row['state']} ({row['error']})" for row in deliveries),
        *(f"steer {row['message_id']} is {row['state']}" for row in steers),
    ]


def all_gates(tx: Tx) -> list[Gate]:
    return gates.every(tx)


def asked_aloud(tx: Tx) -> set[str]:
    """Gates that a person was ever asked about; the others were answered as they were opened."""
    rows = tx.all("SELECT data FROM log WHERE kind = 'gate.opened'")
    return {msgspec.json.decode(row["data"])["gate"] for row in rows}


def troubles(tx: Tx) -> list[Trouble]:
    """What keeps answers from arriving, the newest last; by a partial index, so that it costs only what is open."""
    rows = tx.all(
        "SELECT surface, state, error, count(*) AS n, max(created_at) AS newest FROM deliveries"
        " WHERE state IN ('pending', 'failed') AND kind = 'final' AND error IS NOT NULL"
        " GROUP BY surface, state, error ORDER BY newest"
    )
    return [Trouble(row["surface"], row["state"] == "failed", int(row["n"]), row["error"]) for row in rows]


def ended_without_owing(tx: Tx) -> list[str]:
    """Turns that ended with no delivery row. There should be none; for what was asked outside clew nothing is owed."""
    rows = tx.all(
        "SELECT id FROM turns WHERE state IN ('completed', 'failed', 'interrupted') AND origin != 'outside'"
        " AND NOT EXISTS (SELECT 1 FROM deliveries d WHERE d.turn = turns.id AND d.kind IN ('final', 'ask'))"
    )
    return [row["id"] for row in rows]


def sent(tx: Tx) -> list[str]:
    """Deliveries that count as arrived, without the placeholders, which later text replaces."""
    rows = tx.all("SELECT id FROM deliveries WHERE state = 'sent' AND kind != 'placeholder' ORDER BY id")
    return [row["id"] for row in rows]
