"""Forks a thread: a new one on the same history, after a turn of the first."""

from __future__ import annotations

from msgspec import Struct

from clew.engine.core import Core
from clew.engine.delivery.language import CHINESE, detect_language
from clew.engine.progress import may_have_acted
from clew.engine.threads.lifecycle import unusual
from clew.model import history
from clew.model.events.logged import ThreadCreated
from clew.model.gates import Policy
from clew.model.threads import ForkPoint, SessionKey, Thread, ThreadKind, ThreadStatus
from clew.model.turns import ENDED, USAGE_LIMIT, Turn
from clew.store import Tx
from clew.store.tables import continuity, nodes, threads, turns
from clew.support.errors import NotFound, Refused
from clew.texts.bilingual import zh
from clew.texts.catalogue import say


class Fork(Struct, frozen=True):
    """How a fork differs from its source."""

    title: str
    kind: ThreadKind
    runtime: str
    model: str | None
    effort: str | None
    policy: Policy


def same(source: Thread, title: str | None) -> Fork:
    return Fork(title or _title(source.title), source.kind, source.runtime, source.model, source.effort, source.policy)


def fork(tx: Tx, core: Core, source: Thread, turn_id: str | None, into: Fork) -> str:
    """Create a thread on the same history. The runtime forks its session at the new thread's first turn."""
    turn = _fork_turn(tx, source, turn_id)
    now = core.clock.now()
    new = Thread(
        id=core.clock.ulid(),
        kind=into.kind,
        status=ThreadStatus.IDLE,
        title=into.title,
        runtime=into.runtime,
        workspace=source.workspace,
        created_at=now,
        model=into.model,
        effort=into.effort,
        policy=into.policy,
        forked_from=source.id,
        priority=source.priority,
        choices=source.choices,
    )
    threads.insert(tx, new)
    node = history.make(history.Forked(new.id, now, source.id), turn.node if turn else _start_of(tx, source))
    nodes.insert(tx, node)
    threads.move_head(tx, new.id, None, node.hash)
    _save_fork_points(tx, source, turn, new)
    tx.log(new.id, None, now, ThreadCreated(new.kind, new.title, source.id, unusual(source.priority)))
    return new.id


def _title(source: str) -> str:
    """The title of the source with a mark, in the language of the title."""
    marked = say("threads.fork_title", title=source)
    return zh(marked) if detect_language(source) == CHINESE else str.__str__(marked)


def _fork_turn(tx: Tx, source: Thread, turn_id: str | None) -> Turn | None:
    """The turn after which to fork: the named one, else the newest ended one."""
    wanted = turn_id or source.last_turn
    turn = turns.get(tx, wanted) if wanted else None
    if turn_id and (turn is None or turn.thread != source.id):
        raise NotFound(say("threads.no_turn_to_fork", thread=source.id, turn=turn_id))
    if turn_id and (turn is None or turn.state not in ENDED or turn.node is None):
        raise Refused(say("threads.turn_not_ended", turn=turn_id))
    return turn


def _start_of(tx: Tx, source: Thread) -> str | None:
    """The first node of the thread, to fork from if no turn has ended yet."""
    begins = (history.Started.type, history.Forked.type)
    walked = nodes.back_from(tx, source.head, 1_000)
    return next((node.hash for node in walked if node.type in begins), source.head)


def _save_fork_points(tx: Tx, source: Thread, turn: Turn | None, new: Thread) -> None:
    """Store for each session of the source where its runtime has to fork it."""
    for link in continuity.links(tx, source.id):
        session, fork = (SessionKey(thread.id, link.runtime, link.role) for thread in (source, new))
        stored, pending = continuity.get(tx, session)
        last = _last_kept(tx, session, turn.seq) if turn else None
        if stored is not None and last is not None:
            continuity.save_fork_point(tx, fork, ForkPoint(stored, last.runtime_turn), last.node)
        elif pending is not None:
            continuity.save_fork_point(tx, fork, pending, link.seen)


def _last_kept(tx: Tx, session: SessionKey, seq: int) -> Turn | None:
    """The newest turn of a session, up to `seq`, that its runtime surely keeps: it may keep nothing of one that its
    account refused."""
    turn = turns.last_started(tx, session, seq)
    while turn is not None and _was_refused(tx, turn):
        turn = turns.last_started(tx, session, turn.seq - 1)
    return turn


def _was_refused(tx: Tx, turn: Turn) -> bool:
    if turn.problem is None or turn.problem.code != USAGE_LIMIT or turn.node is None:
        return False
    node = nodes.get(tx, turn.node)
    ended = nodes.content(tx, node) if node is not None else None
    return isinstance(ended, history.Outcome) and not may_have_acted(ended.deeds)
