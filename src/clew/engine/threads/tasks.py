"""Completes a task with its last turn, and suspends it if the turn failed."""

from __future__ import annotations

from clew.engine.seams import EndedTurn, Follow
from clew.model.events.logged import StatusChanged
from clew.model.threads import SuspendedBy, ThreadKind, ThreadStatus
from clew.model.turns import Origin, TurnState
from clew.store import Tx
from clew.store.tables import threads, turns
from clew.support.clock import Clock
from clew.texts.chat_messages import task_failed


class TaskCompletion:
    """A listener of a turn's end."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock

    def turn_ended(self, tx: Tx, ended: EndedTurn) -> None:
        thread, now = ended.thread, self._clock.now()
        if thread.kind is not ThreadKind.TASK or thread.status is not ThreadStatus.IDLE:
            return
        if ended.follow is not Follow.ANSWER or ended.turn.origin is Origin.GREETING:
            return
        if ended.state is TurnState.COMPLETED and not turns.count_queued(tx, thread.id):
            threads.finish(tx, thread.id, ThreadStatus.IDLE, ThreadStatus.COMPLETED, now)
            tx.log(thread.id, None, now, StatusChanged(ThreadStatus.COMPLETED))
        elif ended.state is TurnState.FAILED:
            threads.suspend(tx, thread.id, SuspendedBy.FAILURE, task_failed(ended.problem))
            tx.log(thread.id, None, now, StatusChanged(ThreadStatus.SUSPENDED))
