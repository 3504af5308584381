"""Rows of turns. A turn's lease is its owner and generation: a write with an older generation changes nothing."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec
from msgspec import Struct

from clew.model.messages import Conversation, PromptMessage
from clew.model.threads import SessionKey
from clew.model.turns import Burst, Origin, Problem, Turn, TurnState, Usage
from clew.store.base import Row, Tx
from clew.store.rows import RUNNING, Among, Count, Moment, Rows, among, within
from clew.store.texts import loaded, stored


class _TurnRow(Struct):
    id: str
    thread: str
    seq: Count
    state: TurnState
    origin: Origin
    request: str
    surface: str | None
    address: str | None
    owner: str | None
    generation: Count
    attempts: Count
    continues: str | None
    stop_asked: Count
    runtime: str | None
    role: str
    runtime_turn: str | None
    request_node: str | None
    node: str | None
    queued_at: Moment
    started_at: Moment | None
    ended_at: Moment | None
    problem_code: str | None
    problem_message: str | None
    usage: str | None
    not_before: Moment | None
    sender_id: str | None
    album: str | None
    tried: str | None
    refused: Count


_COLUMNS = ", ".join(_TurnRow.__struct_fields__)
_request = msgspec.json.Decoder(tuple[PromptMessage, ...]).decode
_usage = msgspec.json.Decoder(Usage).decode


def insert(tx: Tx, turn: Turn) -> None:
    """A new turn, queued."""
    where = turn.conversation
    tx.run(
        "INSERT INTO turns (id, thread, seq, state, origin, request, surface, address, continues, queued_at,"
        " runtime, role, not_before, sender_id, album)"
        " VALUES (?, ?, ?, 'queued', ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        turn.id,
        turn.thread,
        turn.seq,
        turn.origin,
        msgspec.json.encode(turn.request).decode(),
        where.surface if where else None,
        where.address if where else None,
        turn.continues,
        turn.queued_at,
        turn.runtime,
        turn.role,
        turn.burst.until if turn.burst else None,
        turn.burst.sender_id if turn.burst else None,
        turn.burst.album if turn.burst else None,
    )


def insert_ended(tx: Tx, turn: Turn) -> None:
    """A turn that was over before clew heard of it."""
    insert(tx, turn)
    tx.run(
        "UPDATE turns SET state = ?, runtime_turn = ?, request_node = ?, node = ?, started_at = ?, ended_at = ?,"
        " problem_code = ?, problem_message = ? WHERE id = ?",
        turn.state,
        turn.runtime_turn,
        turn.request_node,
        turn.node,
        turn.started_at,
        turn.ended_at,
        turn.problem.code if turn.problem else None,
        stored(turn.problem.text) if turn.problem else None,
        turn.id,
    )


def known_ids(tx: Tx, thread: str) -> frozenset[str]:
    """Our ids and the runtime's ids of all turns of a thread."""
    rows = tx.all("SELECT id, runtime_turn FROM turns WHERE thread = ?", thread)
    return frozenset(name for row in rows for name in (row["id"], row["runtime_turn"]) if name)


def get(tx: Tx, turn: str) -> Turn | None:
    return ROWS.one(tx, tx.one(f"SELECT {_COLUMNS} FROM turns WHERE id = ?", turn))


def named_nodes(tx: Tx, thread: str) -> list[str]:
    """The nodes of history that the turns of a thread name, oldest first. Works for damaged rows too."""
    rows = tx.all("SELECT request_node, node FROM turns WHERE thread = ? ORDER BY seq", thread)
    return [node for row in rows for node in (row["request_node"], row["node"]) if isinstance(node, str)]


def start_times(tx: Tx, names: Sequence[str]) -> dict[str, int | None]:
    """When each of these turns started."""
    sql = f"SELECT id, started_at FROM turns WHERE {among('id', names)}"
    return {row["id"]: row["started_at"] for row in tx.all(sql, *names)}


def live(tx: Tx, thread: str) -> Turn | None:
    """The turn of a thread that runs, or waits at a gate."""
    return ROWS.one(
        tx, tx.one(f"SELECT {_COLUMNS} FROM turns WHERE thread = ? AND state IN ('running', 'waiting')", thread)
    )


def all_live(tx: Tx) -> list[Turn]:
    """All turns that run, or wait at a gate. Uses a partial index: cost grows with live turns only."""
    rows = tx.all(f"SELECT {_COLUMNS} FROM turns WHERE state IN ('running', 'waiting')")
    return sorted(ROWS.readable(tx, rows), key=lambda turn: turn.id)


def all_rows(tx: Tx) -> list[Turn]:
    """For audits and tests."""
    return ROWS.readable(tx, tx.all(f"SELECT {_COLUMNS} FROM turns ORDER BY id"))


def queued(tx: Tx, thread: str) -> list[Turn]:
    sql = f"SELECT {_COLUMNS} FROM turns WHERE thread = ? AND state = 'queued' ORDER BY seq"
    return ROWS.all(tx, tx.all(sql, thread))


def open_on(tx: Tx, surface: str) -> list[Turn]:
    """Turns that are queued or live and whose answers go to this surface. Uses the partial indexes of both."""
    found: list[Turn] = []
    for these in ("state = 'queued'", "state IN ('running', 'waiting')"):
        rows = tx.all(f"SELECT {_COLUMNS} FROM turns WHERE {these} AND surface = ?", surface)
        found += ROWS.readable(tx, rows)
    return sorted(found, key=lambda turn: turn.id)


def count_queued(tx: Tx, thread: str) -> int:
    row = tx.one("SELECT count(*) AS n FROM turns WHERE thread = ? AND state = 'queued'", thread)
    return int(row["n"]) if row else 0


def threads_with_queued(tx: Tx) -> list[str]:
    rows = tx.all("SELECT DISTINCT thread FROM turns WHERE state = 'queued' ORDER BY thread")
    return [row["thread"] for row in rows if isinstance(row["thread"], str)]


def idle_with_queued(tx: Tx) -> list[str]:
    """Threads that are not suspended and have a queued turn. Uses the partial index of queued turns."""
    rows = tx.all(
        "SELECT DISTINCT q.thread FROM turns q JOIN threads t ON t.id = q.thread"
        " WHERE q.state = 'queued' AND t.status = 'idle' ORDER BY q.thread"
    )
    return [row["thread"] for row in rows if isinstance(row["thread"], str)]


def last_started(tx: Tx, session: SessionKey, seq: int) -> Turn | None:
    """The newest turn of a session, up to `seq`, that its runtime has started."""
    sql = (
        f"SELECT {_COLUMNS} FROM turns WHERE thread = ? AND seq <= ? AND runtime = ? AND role = ?"
        " AND runtime_turn IS NOT NULL ORDER BY seq DESC LIMIT 1"
    )
    return ROWS.one(tx, tx.one(sql, session.thread, seq, session.runtime, session.role))


def sessions(tx: Tx, names: Sequence[str]) -> dict[str, SessionKey]:
    """The session of each of these turns."""
    sql = f"SELECT id, thread, runtime, role FROM turns WHERE {among('id', names)}"
    return {row["id"]: SessionKey(row["thread"], row["runtime"], row["role"]) for row in tx.all(sql, *names)}


def newest_thread(tx: Tx, ids: Among = None) -> str | None:
    """The thread that got a turn last; of all, or among these."""
    inside, known = within(ids, "thread")
    row = tx.one(f"SELECT thread FROM turns WHERE 1 = 1 {inside} ORDER BY id DESC LIMIT 1", *known)
    return row["thread"] if row else None


def last_own(tx: Tx, thread: str) -> Turn | None:
    """The newest ended turn that ran in clew, not in another program."""
    sql = (
        f"SELECT {_COLUMNS} FROM turns WHERE thread = ? AND node IS NOT NULL AND origin != 'outside'"
        " ORDER BY seq DESC LIMIT 1"
    )
    return ROWS.one(tx, tx.one(sql, thread))


def continuation_of(tx: Tx, turn: Turn) -> str | None:
    """The turn that continues this one: it has the next sequence number."""
    row = tx.one(
        "SELECT id FROM turns WHERE thread = ? AND seq = ? AND continues = ?", turn.thread, turn.seq + 1, turn.id
    )
    return row["id"] if row else None


LONGEST_BURST = 60_000  # milliseconds; a turn that would wait longer does not wait: the clock was set back


def due_at(tx: Tx, thread: str) -> int | None:
    """Until when the first queued turn of a thread waits for more messages."""
    first = tx.one("SELECT not_before FROM turns WHERE thread = ? AND state = 'queued' ORDER BY seq LIMIT 1", thread)
    due = first["not_before"] if first else None
    return due if isinstance(due, int) else None  # the row may be damaged


_NEXT = (  # the first queued turn of an idle thread, if none is live and it does not wait for more messages
    "id = (SELECT id FROM turns WHERE thread = ? AND state = 'queued' ORDER BY seq LIMIT 1)"
    " AND state = 'queued' AND (not_before IS NULL OR not_before <= ? OR not_before > ?)"
    " AND NOT EXISTS (SELECT 1 FROM turns o WHERE o.thread = turns.thread AND o.state IN ('running', 'waiting'))"
    " AND EXISTS (SELECT 1 FROM threads t WHERE t.id = turns.thread AND t.status = 'idle')"
)


def claimable(tx: Tx, thread: str, at: int) -> Turn | None:
    """The turn that `claim` would claim."""
    sql = f"SELECT {_COLUMNS} FROM turns WHERE {_NEXT}"
    return ROWS.one(tx, tx.one(sql, thread, at, at + LONGEST_BURST))


def claim(tx: Tx, thread: str, owner: str, at: int) -> Turn | None:
    """Claim the first queued turn of an idle thread, if none is live and it does not wait for more messages. Of two
    claimers only one gets it."""
    row = tx.one(
        "UPDATE turns SET state = 'running', owner = ?, generation = generation + 1, attempts = attempts + 1,"
        f" started_at = coalesce(started_at, ?) WHERE {_NEXT} RETURNING {_COLUMNS}",
        owner,
        at,
        thread,
        at,
        at + LONGEST_BURST,
    )
    return ROWS.one(tx, row)


def count_running_beside(tx: Tx, thread: str) -> int:
    """How many turns run in the folder of this thread, without those at a gate. Cost grows with live turns only."""
    row = tx.one(
        "SELECT count(*) AS n FROM turns t JOIN threads h ON h.id = t.thread"
        " WHERE t.state IN ('running', 'waiting') AND t.state = 'running'"
        " AND h.workspace = (SELECT workspace FROM threads WHERE id = ?)",
        thread,
    )
    return int(row["n"]) if row else 0


def waiting(tx: Tx) -> frozenset[str]:
    """Ids of turns that wait at a gate. Uses the partial index of live turns."""
    rows = tx.all("SELECT id FROM turns WHERE state IN ('running', 'waiting') AND state = 'waiting'")
    return frozenset(row["id"] for row in rows)


def adopt(tx: Tx, turn: Turn, owner: str) -> Turn | None:
    """Take over the lease of a dead owner."""
    row = tx.one(
        "UPDATE turns SET owner = ?, generation = generation + 1"
        f" WHERE id = ? AND generation = ? AND state IN ('running', 'waiting') RETURNING {_COLUMNS}",
        owner,
        turn.id,
        turn.generation,
    )
    return ROWS.one(tx, row)


def is_held(tx: Tx, turn: Turn) -> bool:
    """Whether this lease is still valid."""
    now = get(tx, turn.id)
    return now is not None and now.generation == turn.generation and now.state in (TurnState.RUNNING, TurnState.WAITING)


def requeue(tx: Tx, turn: Turn, runtime: str | None = None, *, was_refused: bool = False) -> bool:
    """Return a turn that never ran to its old place in the queue, perhaps for another runtime. `was_refused`: its
    runtime has a record of it, so it gets another id there."""
    name = runtime or turn.runtime
    attempts = "attempts = CASE WHEN runtime = ? THEN attempts ELSE 0 END"
    changed = (
        f"state = 'queued', owner = NULL, runtime_turn = NULL, started_at = NULL, {attempts}, runtime = ?,"
        " refused = refused + ?"
    )
    return _fenced(tx, turn, changed, name, name, int(was_refused))


def move_to_runtime(tx: Tx, turn: Turn, runtime: str, tried: tuple[str, ...]) -> bool:
    """Give a queued turn that never ran to another runtime. `tried`: those that could not begin it."""
    changed = tx.run(
        "UPDATE turns SET runtime = ?, tried = ? WHERE id = ? AND state = 'queued'", runtime, " ".join(tried), turn.id
    )
    return changed == 1


def set_tried(tx: Tx, turn: str, tried: tuple[str, ...]) -> None:
    """Record which runtimes could not begin a turn."""
    tx.run("UPDATE turns SET tried = ? WHERE id = ?", " ".join(tried), turn)


def record_started(tx: Tx, turn: Turn, runtime_turn: str) -> bool:
    return _fenced(tx, turn, "runtime_turn = ?", runtime_turn)


def set_waiting(tx: Tx, turn: str, *, waiting: bool) -> bool:
    """Set whether a live turn waits at a gate."""
    was, now = ("running", "waiting") if waiting else ("waiting", "running")
    return tx.run("UPDATE turns SET state = ? WHERE id = ? AND state = ?", now, turn, was) == 1


def set_request_node(tx: Tx, turn: str, node: str) -> None:
    tx.run("UPDATE turns SET request_node = ? WHERE id = ?", node, turn)


def set_request(tx: Tx, turn: str, request: tuple[PromptMessage, ...]) -> bool:
    """Replace the request of a queued turn, if it is not in the history yet."""
    encoded = msgspec.json.encode(request).decode()
    sql = "UPDATE turns SET request = ? WHERE id = ? AND state = 'queued' AND request_node IS NULL"
    return tx.run(sql, encoded, turn) == 1


def join(tx: Tx, turn: Turn, message: PromptMessage, until: int) -> bool:
    """Add a message to a queued turn, which then waits until this time."""
    if not set_request(tx, turn.id, (*turn.request, message)):
        return False
    tx.run("UPDATE turns SET not_before = ? WHERE id = ?", until, turn.id)
    return True


def end(tx: Tx, turn: Turn, state: TurnState, at: int, node: str, problem: Problem | None, usage: Usage | None) -> bool:
    return _fenced(
        tx,
        turn,
        "state = ?, owner = NULL, ended_at = ?, node = ?, problem_code = ?, problem_message = ?, usage = ?",
        state,
        at,
        node,
        problem.code if problem else None,
        stored(problem.text) if problem else None,
        msgspec.json.encode(usage).decode() if usage else None,
    )


def drop_queued(tx: Tx, turn: str, at: int) -> bool:
    """A queued turn that will never run: the thread was cancelled or the person skipped it."""
    changed = tx.run(
        "UPDATE turns SET state = 'interrupted', ended_at = ?, stop_asked = 1 WHERE id = ? AND state = 'queued'",
        at,
        turn,
    )
    return changed == 1


def request_stop(tx: Tx, turn: str) -> bool:
    """Record that a person asked to stop the turn. Only this row knows it; a runtime's record does not."""
    changed = tx.run(
        "UPDATE turns SET stop_asked = 1 WHERE id = ? AND state IN ('running', 'waiting') AND stop_asked = 0", turn
    )
    return changed == 1


def move_queued(tx: Tx, thread: str, runtime: str) -> int:
    """Give the queued turns of a thread to a runtime. Those with a role of their own stay."""
    sql = "UPDATE turns SET runtime = ?, tried = NULL WHERE thread = ? AND state = 'queued' AND role = ''"
    return tx.run(sql, runtime, thread)


def redirect_answers(tx: Tx, thread: str, to: Conversation) -> None:
    """Send the answers of live and queued turns of a thread to another conversation."""
    for these in ("state IN ('running', 'waiting')", "state = 'queued'"):  # the conditions of the partial indexes
        sql = f"UPDATE turns SET surface = ?, address = ? WHERE thread = ? AND {these}"
        tx.run(sql, to.surface, to.address, thread)


def is_stopping(tx: Tx, turn: str) -> bool:
    row = tx.one("SELECT stop_asked FROM turns WHERE id = ?", turn)
    return bool(row and row["stop_asked"])


def _fenced(tx: Tx, turn: Turn, assignment: str, *params: Any) -> bool:
    changed = tx.run(
        f"UPDATE turns SET {assignment} WHERE id = ? AND generation = ? AND state IN ('running', 'waiting')",
        *params,
        turn.id,
        turn.generation,
    )
    return changed == 1


def _turn(row: Row) -> Turn:
    return Turn(
        id=row["id"],
        thread=row["thread"],
        seq=row["seq"],
        state=TurnState(row["state"]),
        origin=Origin(row["origin"]),
        request=_request(row["request"]),
        conversation=Conversation(row["surface"], row["address"]) if row["surface"] else None,
        queued_at=row["queued_at"],
        runtime=row["runtime"] or "",
        role=row["role"],
        owner=row["owner"],
        generation=row["generation"],
        attempts=row["attempts"],
        continues=row["continues"],
        stop_asked=bool(row["stop_asked"]),
        runtime_turn=row["runtime_turn"],
        request_node=row["request_node"],
        node=row["node"],
        started_at=row["started_at"],
        ended_at=row["ended_at"],
        problem=Problem.of(row["problem_code"], loaded(row["problem_message"])) if row["problem_code"] else None,
        usage=_usage(row["usage"]) if row["usage"] else None,
        burst=Burst(row["not_before"], row["sender_id"], row["album"]) if row["not_before"] is not None else None,
        tried=tuple((row["tried"] or "").split()),
        refused=row["refused"],
    )


def move(tx: Tx, old: Conversation, new: Conversation) -> list[Turn]:
    """Send the answers of live and queued turns to the conversation's new address. Returns the live ones."""
    moved = []
    for these in ("state IN ('running', 'waiting')", "state = 'queued'"):  # the conditions of the partial indexes
        here = f"{these} AND surface = ? AND address = ?"
        rows = tx.all(f"SELECT {_COLUMNS} FROM turns WHERE {here}", old.surface, old.address)
        tx.run(f"UPDATE turns SET address = ? WHERE {here}", new.address, old.surface, old.address)
        moved += ROWS.readable(tx, rows)
    return [turn for turn in moved if turn.state is not TurnState.QUEUED]


ROWS = Rows(
    "turns", _TurnRow, _turn, live=("id IN (SELECT id FROM turns WHERE state = 'queued')", f"id IN ({RUNNING})")
)
