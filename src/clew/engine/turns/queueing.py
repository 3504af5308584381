"""Queues a turn at the end of its thread. Which one runs next is decided by `scheduler`."""

from __future__ import annotations

from clew.model.events.logged import TurnQueued
from clew.model.messages import Conversation, PromptMessage
from clew.model.threads import SessionKey
from clew.model.turns import Burst, Origin, Turn, TurnState
from clew.store import Tx
from clew.store.tables import threads, turns
from clew.support.clock import Clock


def queue_turn(
    tx: Tx,
    clock: Clock,
    session: SessionKey,
    origin: Origin,
    request: tuple[PromptMessage, ...],
    where: Conversation | None,
    burst: Burst | None = None,
) -> Turn:
    """Append a turn to its thread's queue. It runs in `session`. With `burst`, it waits a moment for more messages."""
    turn = Turn(
        id=clock.ulid(),
        thread=session.thread,
        seq=threads.next_seq(tx, session.thread),
        state=TurnState.QUEUED,
        origin=origin,
        request=request,
        conversation=where,
        queued_at=clock.now(),
        runtime=session.runtime,
        role=session.role,
        burst=burst,
    )
    turns.insert(tx, turn)
    tx.log(turn.thread, turn.id, turn.queued_at, TurnQueued(origin))
    return turn
