"""Forks a thread: a new one on the same history, after a turn of the first."""

from __future__ import annotations

from clew.engine.core import Core
from clew.model import history
from clew.model.runtime import ForkPoint
from clew.model.threads import Thread, ThreadStatus
from clew.model.turns import ENDED, Turn
from clew.store import Tx
from clew.store.tables import bindings, nodes, threads, turns
from clew.support.errors import NotFound, Refused


def fork(tx: Tx, core: Core, source: Thread, turn_id: str | None, title: str | None) -> str:
    """Create a thread on the same history. The runtime forks its session at the new thread's first turn."""
    turn = _fork_turn(tx, source, turn_id)
    now = core.clock.now()
    new = Thread(
        id=core.clock.ulid(),
        kind=source.kind,
        status=ThreadStatus.IDLE,
        title=title or f"{source.title} (fork)",
        runtime=source.runtime,
        workspace=source.workspace,
        created_at=now,
        model=source.model,
        effort=source.effort,
        policy=source.policy,
        forked_from=source.id,
    )
    threads.insert(tx, new)
    node = history.make(history.Forked(new.id, now, source.id), turn.node if turn else _start_of(tx, source))
    nodes.insert(tx, node)
    threads.move_head(tx, new.id, None, node.hash)
    point = _fork_point(tx, source, turn)
    if point is not None:
        bindings.save_fork_point(tx, new.id, new.runtime, point)
    tx.log(new.id, None, "thread.created", now, thread_kind=new.kind, title=new.title, forked_from=source.id)
    return new.id


def _fork_turn(tx: Tx, source: Thread, turn_id: str | None) -> Turn | None:
    """The turn after which to fork: the named one, else the newest ended one."""
    wanted = turn_id or source.last_turn
    turn = turns.get(tx, wanted) if wanted else None
    if turn_id and (turn is None or turn.thread != source.id):
        raise NotFound(f"Thread {source.id} has no turn {turn_id}; `clew read {source.id} --json` names them.")
    if turn_id and (turn is None or turn.state not in ENDED or turn.node is None):
        raise Refused(f"Turn {turn_id} has not ended; fork from an earlier one, or wait.")
    return turn


def _start_of(tx: Tx, source: Thread) -> str | None:
    """The first node of the thread, to fork from if no turn has ended yet."""
    begins = (history.Started.type, history.Forked.type)
    walked = nodes.back_from(tx, source.head, 1_000)
    return next((node.hash for node in walked if node.type in begins), source.head)


def _fork_point(tx: Tx, source: Thread, turn: Turn | None) -> ForkPoint | None:
    """Where the runtime has to fork its session, if it has one of the source."""
    continuity, pending = bindings.continuity(tx, source.id, source.runtime)
    seen = turns.last_with_runtime(tx, source.id, turn.seq) if turn else None
    if continuity is None or seen is None:
        return pending
    return ForkPoint(continuity, seen.runtime_turn)
