"""Queries over all rows that check the promises, for tests, simulations and `clew doctor`. Never on a hot path."""

from __future__ import annotations

from collections import Counter

import msgspec
from msgspec import Struct

from clew.model.delivery import Delivery
from clew.model.events.kinds import EventKind
from clew.model.gates import Gate
from clew.model.handoff import HandoffState
from clew.model.messages import Conversation, Fate, PromptMessage
from clew.model.threads import ThreadStatus
from clew.model.turns import Turn
from clew.store.base import Tx
from clew.store.sqlite.driver import SqliteConnection
from clew.store.tables import deliveries, gates, handoffs, log, turns
from clew.store.tables.inbox import Arrival
from clew.store.texts import loaded


class ReceivedMessage(Struct, frozen=True):
    """A message that arrived, and its fate."""

    id: str
    where: Conversation
    arrival: Arrival
    at: int


def newest_entry(connection: SqliteConnection) -> int:
    """The time of the newest log entry of a file that no daemon has open."""
    return log.newest(Tx(connection))[1]


def all_messages(tx: Tx) -> list[ReceivedMessage]:
    """Everything that arrived, oldest first."""
    return [
        ReceivedMessage(
            row["message_id"],
            Conversation(row["surface"], row["address"]),
            Arrival(Fate(row["fate"]), row["thread"], row["turn"], loaded(row["words"])),
            row["received_at"],
        )
        for row in tx.all("SELECT * FROM inbox ORDER BY received_at")
    ]


def fates_of(tx: Tx, message_id: str) -> list[str]:
    """Every fate that is stored for a message; there should be exactly one."""
    return [row["fate"] for row in tx.all("SELECT fate FROM inbox WHERE message_id = ?", message_id)]


def all_fates(tx: Tx) -> list[tuple[str, str]]:
    """(message id, fate) of everything that arrived."""
    return [(row["message_id"], row["fate"]) for row in tx.all("SELECT message_id, fate FROM inbox")]


def thread_of_messages(tx: Tx) -> dict[str, str | None]:
    """The thread of each message, by message id; without refused messages."""
    return {row["message_id"]: row["thread"] for row in tx.all("SELECT * FROM inbox WHERE fate != 'refused'")}


def times_asked(tx: Tx) -> Counter[str]:
    """In how many turns each message is a request. Continuations repeat it on purpose and do not count."""
    asked: Counter[str] = Counter()
    for row in tx.all("SELECT request FROM turns WHERE continues IS NULL"):
        asked.update(said.id for said in msgspec.json.decode(row["request"], type=list[PromptMessage]))
    return asked


def messages_for_agents(tx: Tx) -> list[tuple[str, str]]:
    """(message id, thread) of every message that was meant for an agent."""
    rows = tx.all("SELECT message_id, thread FROM inbox WHERE fate IN ('turn', 'steer')")
    return [(row["message_id"], row["thread"]) for row in rows]


def begun_while_suspended(tx: Tx) -> list[str]:
    """Turns that were claimed while their thread was suspended."""
    rows = tx.all(
        "SELECT thread, turn, kind, data FROM log WHERE kind IN ('thread.status', 'turn.claimed') ORDER BY seq"
    )
    found, status = [], {}
    for row in rows:
        if row["kind"] == EventKind.THREAD_STATUS:
            status[row["thread"]] = msgspec.json.decode(row["data"])["status"]
        elif status.get(row["thread"]) == ThreadStatus.SUSPENDED:
            found.append(row["turn"])
    return found


def cut_and_forgotten(tx: Tx) -> list[tuple[str, str]]:
    """(message id, turn) of steers of a turn that was cut off, if no turn continues it and nobody was asked about
    it."""
    rows = tx.all(
        "SELECT s.message_id, t.id FROM steers s JOIN turns t ON t.id = s.turn"
        " WHERE s.state = 'taken' AND t.state = 'interrupted' AND t.stop_asked = 0"
        " AND NOT EXISTS (SELECT 1 FROM turns c WHERE c.continues = t.id)"
        " AND NOT EXISTS (SELECT 1 FROM deliveries d WHERE d.turn = t.id AND d.kind = 'ask')"
    )
    return [(row["message_id"], row["id"]) for row in rows]


def not_repeated(tx: Tx) -> list[tuple[str, str]]:
    """(turn, message id) of continuations that leave out a message of the turn they continue. A turn that was merged
    into another has an empty request and is skipped."""
    found = []
    for row in tx.all(
        "SELECT c.id, c.request, c.continues, t.request AS first FROM turns c JOIN turns t ON t.id = c.continues"
    ):
        again, first = (msgspec.json.decode(row[name], type=list[PromptMessage]) for name in ("request", "first"))
        steers = tx.all("SELECT message_id FROM steers WHERE turn = ? AND state = 'taken'", row["continues"])
        said = {each.id for each in first if each.author != "clew"} | {steer["message_id"] for steer in steers}
        found += [(row["id"], id) for id in sorted(said - {each.id for each in again}) if again]
    return found


def suspended_for_nothing(tx: Tx) -> list[str]:
    """Threads that are suspended by a backlog or a budget, but have no queued messages."""
    rows = tx.all(
        "SELECT id FROM threads h WHERE status = 'suspended' AND suspended_by IN ('backlog', 'budget')"
        " AND NOT EXISTS (SELECT 1 FROM turns t WHERE t.thread = h.id AND t.state = 'queued')"
    )
    return [row["id"] for row in rows]


def thread_of_turns(tx: Tx) -> dict[str, str]:
    return {row["id"]: row["thread"] for row in tx.all("SELECT id, thread FROM turns")}


def not_given_to_agents(tx: Tx) -> set[str]:
    """Messages of turns that no agent has started (queued, or ended before), and steers not yet taken."""
    rows = tx.all("SELECT request FROM turns WHERE runtime_turn IS NULL")
    steers = tx.all("SELECT message_id FROM steers WHERE state IN ('offered', 'sent')")
    requests = (msgspec.json.decode(row["request"], type=list[PromptMessage]) for row in rows)
    return {said.id for request in requests for said in request} | {row["message_id"] for row in steers}


def threads_of(tx: Tx, where: Conversation, since: int) -> list[str]:
    """The threads that got the messages of a conversation, in order."""
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


_AT_A_GATE = (  # the thread's turn waits for a person, and messages queued meanwhile wait too
    "EXISTS (SELECT 1 FROM turns w JOIN gates g ON g.turn = w.id AND g.state = 'open'"
    " WHERE w.thread = {thread} AND w.state = 'waiting')"
)


def unfinished(tx: Tx) -> list[str]:
    """Everything unfinished. When clew is idle, only what waits for a person (a gate, a suspension) may be left, and
    that is not listed."""
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
    return gates.all_rows(tx)


def all_turns(tx: Tx) -> list[Turn]:
    return turns.all_rows(tx)


def all_deliveries(tx: Tx) -> list[Delivery]:
    return deliveries.all_rows(tx)


def asked_of_people(tx: Tx) -> set[str]:
    """Gates that a person was asked about. The others were answered by a rule when they were opened."""
    rows = tx.all("SELECT data FROM log WHERE kind = 'gate.opened'")
    return {msgspec.json.decode(row["data"])["gate"] for row in rows}


def ended_without_delivery(tx: Tx) -> list[str]:
    """Turns that ended without a delivery row. There should be none; turns that ran outside clew need none."""
    rows = tx.all(
        "SELECT id FROM turns WHERE state IN ('completed', 'failed', 'interrupted') AND origin != 'outside'"
        " AND NOT EXISTS (SELECT 1 FROM deliveries d WHERE d.turn = turns.id AND d.kind IN ('final', 'ask'))"
    )
    return [row["id"] for row in rows]


def sent(tx: Tx) -> list[str]:
    """Deliveries that are recorded as sent, without placeholders, which later text replaces, and without copies whose
    receipt was lost."""
    rows = tx.all(
        f"SELECT id FROM deliveries WHERE state = 'sent' AND kind != 'placeholder' AND NOT {_COPY} ORDER BY id"
    )
    return [row["id"] for row in rows]


_COPY = "(body = '' AND edits IS NULL AND kind IN ('ask', 'notice'))"


def copies(tx: Tx) -> list[tuple[str, str]]:
    """(delivery, message id) of copies whose receipt was lost, until somebody pressed a button on them."""
    rows = tx.all(f"SELECT id, message_id FROM deliveries WHERE state = 'sent' AND {_COPY} ORDER BY id")
    return [(row["id"], row["message_id"]) for row in rows]


class Final(Struct, frozen=True):
    """An answer that was sent, or will be."""

    id: str
    turn: str
    thread: str
    address: str  # empty: only the local client shows it
    completed: bool


def finals(tx: Tx) -> list[Final]:
    """The answers of all ended turns, without superseded ones, in the order of their ends."""
    rows = tx.all(
        "SELECT d.id, d.turn, d.thread, d.address, t.state FROM log l JOIN turns t ON t.id = l.turn"
        " JOIN deliveries d ON d.turn = t.id AND d.kind = 'final' AND d.part = 1 AND d.state != 'superseded'"
        " WHERE l.kind = 'turn.ended' ORDER BY l.seq"
    )
    return [
        Final(row["id"], row["turn"], row["thread"], row["address"] or "", row["state"] == "completed") for row in rows
    ]


def how_ended(tx: Tx) -> dict[str, tuple[str, bool]]:
    """(state, whether a person asked to stop it) of every turn."""
    return {
        row["id"]: (row["state"], bool(row["stop_asked"])) for row in tx.all("SELECT id, state, stop_asked FROM turns")
    }


def sent_to(tx: Tx) -> list[tuple[str, str]]:
    """(delivery, address) of every delivery that is recorded as sent."""
    rows = tx.all(
        "SELECT id, address FROM deliveries WHERE state = 'sent' AND kind != 'placeholder' AND address IS NOT NULL"
    )
    return [(row["id"], row["address"]) for row in rows]


def asked_in(tx: Tx) -> dict[str, set[str]]:
    """The addresses that should get the answer, by turn: those of its messages, and the thread's notify target. A
    continuation inherits the addresses of the turn it continues."""
    places: dict[str, set[str]] = {}
    for row in tx.all("SELECT turn, address FROM inbox WHERE fate IN ('turn', 'steer') AND turn IS NOT NULL"):
        places.setdefault(row["turn"], set()).add(row["address"])
    turns = "SELECT t.id, t.continues, h.notify_target FROM turns t JOIN threads h ON h.id = t.thread"
    for row in tx.all(f"{turns} ORDER BY t.thread, t.seq"):
        if row["notify_target"]:
            places.setdefault(row["id"], set()).add(row["notify_target"].partition(":")[2])
        if row["continues"]:
            places.setdefault(row["id"], set()).update(places.get(row["continues"], ()))
    return places


def moved_to(tx: Tx) -> dict[str, set[str]]:
    """The addresses from which each thread was driven after it moved; the local client's address is empty."""
    found: dict[str, set[str]] = {}
    for row in tx.all("SELECT thread, data FROM log WHERE kind = 'thread.wheel'"):
        wheel = msgspec.json.decode(row["data"])
        spoke = tx.all("SELECT address FROM inbox WHERE sender = ? AND surface = ?", wheel["by"], wheel["where"])
        found.setdefault(row["thread"], set()).update(
            [""] if wheel["where"] == "cli" else (each["address"] for each in spoke)
        )
    for handoff in handoffs.newest(tx, 10_000):
        if handoff.state is HandoffState.COMPLETED and handoff.opened is not None:
            found.setdefault(handoff.thread, set()).add(handoff.opened.address)
    return found


def went_away_to(tx: Tx) -> set[str]:
    """The addresses that got messages of the local client while the person was away."""
    rows = tx.all("SELECT data FROM log WHERE kind = 'person.away'")
    return {msgspec.json.decode(row["data"])["where"].partition(":")[2] for row in rows}


def dropped_without_notice(tx: Tx) -> list[tuple[str, str, str]]:
    """(turn, thread, address) of dropped turns whose conversation neither got a notice nor dropped them itself. Turns
    that were merged into another have an empty request and are skipped."""
    rows = tx.all(
        "SELECT id, thread, address FROM turns t WHERE state = 'interrupted' AND request_node IS NULL"
        " AND request != '[]' AND origin != 'greeting' AND address != ''"
        " AND NOT EXISTS (SELECT 1 FROM turns o JOIN deliveries d ON d.turn = o.id AND d.kind = 'notice'"
        "  WHERE o.thread = t.thread AND d.address = t.address AND o.ended_at = t.ended_at)"
        " AND NOT EXISTS (SELECT 1 FROM inbox i WHERE i.address = t.address AND i.received_at = t.ended_at)"
    )
    return [(row["id"], row["thread"], row["address"]) for row in rows]


def suspended(tx: Tx) -> list[tuple[str, bool]]:
    """Threads that wait for a person's decision about their work, and whether they have a notify target."""
    rows = tx.all(
        "SELECT id, notify_target FROM threads WHERE status = 'suspended' AND suspended_by IN ('cut', 'backlog')"
    )
    return [(row["id"], bool(row["notify_target"])) for row in rows]


def all_suspended(tx: Tx) -> dict[str, str]:
    """Every suspended thread, and by what it is suspended."""
    rows = tx.all("SELECT id, suspended_by FROM threads WHERE status = 'suspended'")
    return {row["id"]: row["suspended_by"] for row in rows}


def parked(tx: Tx) -> list[tuple[str, int | None, str | None]]:
    """(thread, when it wakes, why it waits) of threads that are parked at a usage limit."""
    rows = tx.all("SELECT id, wake_at, suspend_message FROM threads WHERE suspended_by = 'limit'")
    return [(row["id"], row["wake_at"], row["suspend_message"]) for row in rows]
