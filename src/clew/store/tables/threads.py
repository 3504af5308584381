"""Rows of threads. Every change of status is a compare-and-set."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from msgspec import Struct
from msgspec.structs import replace

from clew.model.gates import Policy
from clew.model.threads import ListPosition, Priority, SuspendedBy, Thread, ThreadFilter, ThreadKind, ThreadStatus
from clew.store.base import BadRow, Row, Tx
from clew.store.rows import Among, Count, Moment, Rows, among, literal, within
from clew.store.tables.choices import OnLimit, QuietHours, as_columns, choices_of
from clew.store.tables.handles import new_handle
from clew.store.texts import loaded, stored


class _ThreadRow(Struct):
    id: str
    kind: ThreadKind
    status: ThreadStatus
    title: str
    runtime: str
    workspace: str
    model: str | None
    effort: str | None
    head: str | None
    created_at: Moment
    completed_at: Moment | None
    suspended_by: SuspendedBy | None
    suspend_message: str | None
    notify_target: str | None
    forked_from: str | None
    last_turn: str | None
    policy: Policy
    handle: str | None
    active_at: Moment
    priority: Priority
    wake_at: Moment | None
    limit_waits: Count
    fallback: str | None
    on_limit: OnLimit | None
    most_waits: Count | None
    quiet_hours: QuietHours | None
    limit_window: Moment | None


_COLUMNS = ", ".join(_ThreadRow.__struct_fields__)


LAST = 2**62  # later than every moment


class Damaged(Struct, frozen=True):
    """A thread whose row cannot be parsed. It is listed as damaged, so that it does not hide the others."""

    id: str
    reason: str
    active_at: int = LAST  # sorts like a row with a number that is none


def insert(tx: Tx, thread: Thread) -> None:
    tx.run(
        f"INSERT INTO threads ({_COLUMNS}) VALUES ({', '.join('?' * len(_ThreadRow.__struct_fields__))})",
        thread.id,
        thread.kind,
        thread.status,
        thread.title,
        thread.runtime,
        thread.workspace,
        thread.model,
        thread.effort,
        thread.head,
        thread.created_at,
        thread.completed_at,
        thread.suspended_by,
        stored(thread.suspend_message),
        thread.notify_target,
        thread.forked_from,
        thread.last_turn,
        thread.policy,
        new_handle(tx, thread.id, thread.title),
        thread.active_at or thread.created_at,
        thread.priority,
        thread.wake_at,
        thread.limit_waits,
        *as_columns(thread.choices),
        thread.limit_window,
    )


def get(tx: Tx, thread: str) -> Thread | None:
    row = tx.one(f"SELECT {_COLUMNS} FROM threads WHERE id = ?", thread)
    return ROWS.one(tx, row)


def head(tx: Tx, thread: str) -> str | None:
    """The head of a thread. Works for damaged rows too."""
    row = tx.one("SELECT head FROM threads WHERE id = ?", thread)
    return row["head"] if row else None


def runtimes(tx: Tx) -> list[str]:
    """The agents of all threads."""
    return [row["runtime"] for row in tx.all("SELECT DISTINCT runtime FROM threads") if isinstance(row["runtime"], str)]


def matching(tx: Tx, prefix: str, ids: Among = None) -> list[str]:
    """Ids that begin with `prefix`, at most two: enough to know whether it is unique."""
    inside, known = within(ids)
    sql = f"SELECT id FROM threads WHERE id >= ? AND id < ? {inside} ORDER BY id LIMIT 2"
    return [row["id"] for row in tx.all(sql, prefix, prefix + "~", *known)]


class ThreadSummary(Struct, frozen=True):
    """A thread with its live turn, the length of its queue, and its newest answer with the receipt."""

    thread: Thread | Damaged
    live_turn: str | None
    queued: int
    receipt: str | None  # the state of the delivery
    sent_at: int | None
    error: str | None
    answer_end: str | None  # the last characters of the answer
    last_state: str | None = None  # of the newest ended turn
    problem: str | None = None  # why it failed
    node: str | None = None  # which holds its outcome
    last_runtime: str | None = None  # of that turn
    last_role: str | None = None
    adopted: str | None = None  # the runtime's id of the adopted session


_FIRST_ASK = (  # whether a person wants it continued, of a turn that got no answer
    "SELECT q.id FROM deliveries q WHERE q.turn = t.last_turn AND q.kind = 'ask' AND q.gate IS NULL"
    " ORDER BY q.created_at LIMIT 1"
)
_SEEN = (
    f"SELECT {', '.join(f't.{column}' for column in _COLUMNS.split(', '))},"
    " (SELECT l.id FROM turns l WHERE l.thread = t.id AND l.state IN ('running', 'waiting')) AS live_turn,"
    " (SELECT count(*) FROM turns q WHERE q.thread = t.id AND q.state = 'queued') AS queued,"
    " (SELECT o.session FROM adoptions o WHERE o.thread = t.id) AS adopted,"
    " coalesce(d.state, a.state) AS receipt, coalesce(d.sent_at, a.sent_at) AS sent_at,"
    " coalesce(d.error, a.error) AS error,"
    " substr(d.body, CASE WHEN length(d.body) > 400 THEN length(d.body) - 399 ELSE 1 END) AS answer_end,"
    " e.state AS last_state, e.problem_message AS problem, e.node,"
    " e.runtime AS last_runtime, e.role AS last_role"
    " FROM ({threads}) t LEFT JOIN turns e ON e.id = t.last_turn"
    " LEFT JOIN deliveries d ON d.turn = t.last_turn AND d.kind = 'final' AND d.part = 1"
    f" LEFT JOIN deliveries a ON a.id = ({_FIRST_ASK}) ORDER BY t.active_at DESC, t.id DESC"
)


def summary(tx: Tx, thread: str) -> ThreadSummary | None:
    row = tx.one(_SEEN.format(threads=f"SELECT {_COLUMNS} FROM threads WHERE id = ?"), thread)
    return _seen(tx, row) if row else None


def page(tx: Tx, wanted: ThreadFilter) -> list[ThreadSummary]:
    """One page, by last activity, newest first. Active and finished threads are two views of one table."""
    where, params = _conditions(wanted)
    order = "ORDER BY id DESC" if wanted.newest else _NEWEST
    one_page = f"SELECT {_COLUMNS} FROM threads WHERE {' AND '.join(where)} {order} LIMIT ?"
    return [_seen(tx, row) for row in tx.all(_SEEN.format(threads=one_page), *params, wanted.limit)]


def slices(tx: Tx, wanted: ThreadFilter, size: int) -> Iterator[ThreadFilter]:
    """Split a filter into filters over `size` threads each, newest first, so that a search can report how far it
    came."""
    before = wanted.before
    while True:
        where, params = _conditions(replace(wanted, text=None, before=before))
        last = tx.one(
            f"SELECT id, active_at FROM threads WHERE {' AND '.join(where)} {_NEWEST} LIMIT 1 OFFSET ?",
            *params,
            size - 1,
        )
        since = _position(last) if last else None
        yield replace(wanted, before=before, since=since)
        if since is None:
            return
        before = since


def position(tx: Tx, thread: str) -> ListPosition:
    """Where this thread stands in the list now."""
    row = tx.one("SELECT id, active_at FROM threads WHERE id = ?", thread)
    assert row is not None, thread
    return _position(row)


def _position(row: Row) -> ListPosition:
    return ListPosition(_moment(row["active_at"]), row["id"])


def _moment(value: object) -> int:
    """A time to sort by. SQLite sorts what is no number after all numbers."""
    return value if isinstance(value, int) else LAST


def ids(tx: Tx, after: str, limit: int) -> list[str]:
    """Ids of all threads after `after`, in order, including damaged rows."""
    rows = tx.all("SELECT id FROM threads WHERE id > ? ORDER BY id LIMIT ?", after, limit)
    return [row["id"] for row in rows if isinstance(row["id"], str)]


_NEWEST = "ORDER BY active_at DESC, id DESC"
_LIVE = "SELECT l.thread FROM turns l WHERE l.state IN ('running', 'waiting')"
_WAITING = f"{_LIVE} AND l.state = 'waiting' UNION SELECT id FROM threads WHERE status = 'suspended'"
_ACTIVE = "status NOT IN ('completed', 'cancelled')"  # with threads whose status is damaged
_HISTORY = "status IN ('completed', 'cancelled')"
_FOUND = (  # matches the id, the title, the folder, or the newest answer
    "lower(id) LIKE ? ESCAPE '!' OR lower(title) LIKE ? ESCAPE '!' OR lower(workspace) LIKE ? ESCAPE '!'"
    " OR EXISTS (SELECT 1 FROM deliveries f WHERE f.turn = threads.last_turn AND f.kind = 'final'"
    " AND lower(f.body) LIKE ? ESCAPE '!')"
)
_VIEWS = {  # same conditions as the partial indexes, so that SQLite uses them
    ThreadStatus.IDLE: f"{_ACTIVE} AND status = 'idle' AND NOT EXISTS ({_LIVE} AND l.thread = threads.id)",
    ThreadStatus.SUSPENDED: "status = 'suspended'",
    ThreadStatus.COMPLETED: f"{_HISTORY} AND status = 'completed'",
    ThreadStatus.CANCELLED: "status = 'cancelled'",
}


def _conditions(wanted: ThreadFilter) -> tuple[list[str], list[object]]:
    where = [_view(wanted)]
    params: list[object] = []
    if wanted.workspace is not None:
        where.append("workspace = ?")
        params.append(wanted.workspace)
    for sign, end in (("<", wanted.before), (">=", wanted.since)):
        if end is not None:
            where.append(f"(active_at, id) {sign} (?, ?)")
            params += [end.active_at, end.thread]
    if wanted.among is not None:
        where.append(among("id", wanted.among))
        params += wanted.among
    if wanted.text:
        where.append(f"({_FOUND})")
        sought = literal(wanted.text.lower())
        params += [f"{sought}%", *[f"%{sought}%"] * 3]
    return where, params


def _view(wanted: ThreadFilter) -> str:
    if wanted.newest:
        return "1 = 1"
    if wanted.waiting:
        return f"id IN ({_WAITING})"
    if wanted.running:
        return f"id IN ({_LIVE})"
    return _VIEWS[wanted.status] if wanted.status else _HISTORY if wanted.history else _ACTIVE


def idle_chats(tx: Tx, until: int) -> list[Thread]:
    """Idle chats in which nothing has happened since `until`, and nothing is open or queued, newest first. Without
    adopted sessions: another program may work in them, and clew would not know."""
    rows = tx.all(
        f"SELECT {_COLUMNS} FROM threads WHERE {_VIEWS[ThreadStatus.IDLE]} AND kind = 'chat' AND active_at <= ?"
        " AND NOT EXISTS (SELECT 1 FROM turns q WHERE q.thread = threads.id AND q.state = 'queued')"
        " AND NOT EXISTS (SELECT 1 FROM gates g WHERE g.thread = threads.id AND g.state = 'open')"
        f" AND NOT EXISTS (SELECT 1 FROM adoptions o WHERE o.thread = threads.id) {_NEWEST}",
        until,
    )
    return ROWS.readable(tx, rows)


def newest_runtime(tx: Tx, names: Sequence[str]) -> str | None:
    """Of these runtimes the one of the newest thread on any of them."""
    sql = f"SELECT runtime FROM threads WHERE {among('runtime', names)} ORDER BY id DESC LIMIT 1"
    row = tx.one(sql, *names)
    return row["runtime"] if row else None


def next_seq(tx: Tx, thread: str) -> int:
    """The sequence number of a new turn. Numbers leave gaps, so that a continuation fits right after its turn."""
    row = tx.one("UPDATE threads SET next_seq = next_seq + 1024 WHERE id = ? RETURNING next_seq - 1024 AS seq", thread)
    assert row is not None, thread
    return int(row["seq"])


def move_head(tx: Tx, thread: str, old: str | None, new: str) -> bool:
    if old is None:
        return tx.run("UPDATE threads SET head = ? WHERE id = ? AND head IS NULL", new, thread) == 1
    return tx.run("UPDATE threads SET head = ? WHERE id = ? AND head = ?", new, thread, old) == 1


def reopen(tx: Tx, thread: str, was: ThreadStatus) -> bool:
    """Set the status from `was` back to idle, and clear why the thread had ended or was suspended."""
    changed = tx.run(
        "UPDATE threads SET status = 'idle', completed_at = NULL, suspended_by = NULL, suspend_message = NULL,"
        " wake_at = NULL WHERE id = ? AND status = ?",
        thread,
        was,
    )
    return changed == 1


def finish(tx: Tx, thread: str, was: ThreadStatus, status: ThreadStatus, at: int) -> bool:
    """Set the status to completed or cancelled, with the time."""
    changed = tx.run(
        "UPDATE threads SET status = ?, completed_at = ?, suspended_by = NULL, suspend_message = NULL,"
        " wake_at = NULL WHERE id = ? AND status = ?",
        status,
        at,
        thread,
        was,
    )
    return changed == 1


def suspend(tx: Tx, thread: str, by: SuspendedBy, message: str) -> bool:
    changed = tx.run(
        "UPDATE threads SET status = 'suspended', suspended_by = ?, suspend_message = ?"
        " WHERE id = ? AND status = 'idle'",
        by,
        stored(message),
        thread,
    )
    return changed == 1


def suspended_by(tx: Tx, by: SuspendedBy) -> list[str]:
    """Threads that are suspended for this reason. Uses the partial index of suspended threads."""
    rows = tx.all("SELECT id FROM threads WHERE status = 'suspended' AND suspended_by = ?", by)
    return sorted(str(row["id"]) for row in rows)


def set_suspend_message(tx: Tx, thread: str, message: str) -> None:
    tx.run("UPDATE threads SET suspend_message = ? WHERE id = ? AND status = 'suspended'", stored(message), thread)


def set_title(tx: Tx, thread: str, title: str) -> None:
    tx.run("UPDATE threads SET title = ? WHERE id = ?", title, thread)


def set_notify_target(tx: Tx, thread: str, target: str | None) -> None:
    tx.run("UPDATE threads SET notify_target = ? WHERE id = ?", target, thread)


def set_settings(
    tx: Tx, thread: str, model: str | None, effort: str | None, policy: Policy, priority: Priority
) -> None:
    sql = "UPDATE threads SET model = ?, effort = ?, policy = ?, priority = ? WHERE id = ?"
    tx.run(sql, model, effort, policy, priority, thread)


def priorities(tx: Tx) -> dict[str, Priority]:
    """The threads whose priority is not the usual one. Uses the partial index of them."""
    rows = tx.all("SELECT id, priority FROM threads WHERE priority <> 'normal'")
    known = set(Priority)
    return {str(row["id"]): Priority(row["priority"]) for row in rows if row["priority"] in known}


def has_past(tx: Tx, thread: str) -> bool:
    """Whether a turn has ended in it, or in the thread that it was forked from."""
    row = tx.one("SELECT last_turn, forked_from FROM threads WHERE id = ?", thread)
    return row is not None and (row["last_turn"], row["forked_from"]) != (None, None)


def set_runtime(tx: Tx, thread: str, runtime: str, model: str | None) -> None:
    """Another agent works on it. The effort is its own default."""
    tx.run("UPDATE threads SET runtime = ?, model = ?, effort = NULL WHERE id = ?", runtime, model, thread)


def set_last_turn(tx: Tx, thread: str, turn: str) -> None:
    tx.run("UPDATE threads SET last_turn = ? WHERE id = ?", turn, thread)


# Looked up, because calling an enumeration takes five times as long and a page of threads has many rows.
_KINDS = {each.value: each for each in ThreadKind}
_STATUSES = {each.value: each for each in ThreadStatus}
_POLICIES = {each.value: each for each in Policy}
_PRIORITIES = {each.value: each for each in Priority}


def _thread(row: Row) -> Thread:
    return Thread(
        id=row["id"],
        kind=_KINDS[row["kind"]],
        status=_STATUSES[row["status"]],
        title=row["title"],
        runtime=row["runtime"],
        workspace=row["workspace"],
        created_at=row["created_at"],
        model=row["model"],
        effort=row["effort"],
        head=row["head"],
        completed_at=row["completed_at"],
        suspended_by=SuspendedBy(row["suspended_by"]) if row["suspended_by"] else None,
        suspend_message=loaded(row["suspend_message"]),
        notify_target=row["notify_target"],
        forked_from=row["forked_from"],
        last_turn=row["last_turn"],
        policy=_POLICIES[row["policy"]],
        handle=row["handle"],
        active_at=row["active_at"],
        priority=_PRIORITIES[row["priority"]],
        wake_at=row["wake_at"],
        limit_waits=row["limit_waits"],
        limit_window=row["limit_window"],
        choices=choices_of(row),
    )


def _seen(tx: Tx, row: Row) -> ThreadSummary:
    return ThreadSummary(
        _thread_or_damaged(tx, row),
        row["live_turn"],
        int(row["queued"]),
        row["receipt"],
        row["sent_at"] if isinstance(row["sent_at"], int) else None,
        loaded(_text(row["error"])) if row["error"] else None,
        _text(row["answer_end"]),
        row["last_state"],
        loaded(_text(row["problem"])) if row["problem"] else None,
        _text(row["node"]),
        row["last_runtime"],
        row["last_role"],
        row["adopted"],
    )


def _text(value: object) -> str | None:
    """A column of another table, whose row may be damaged."""
    return value if isinstance(value, str) else None


def _thread_or_damaged(tx: Tx, row: Row) -> Thread | Damaged:
    found = ROWS.try_read(tx, row)
    if isinstance(found, BadRow):
        return Damaged(str(row["id"]), found.reason, _moment(row["active_at"]))
    return found


ROWS = Rows("threads", _ThreadRow, _thread, live=(_ACTIVE,))
