"""Queues a turn at the end of its thread. Which one runs next is decided by `scheduler`."""

from __future__ import annotations

from collections.abc import Sequence

from clew.model.events.logged import TurnQueued
from clew.model.messages import CLEW, Conversation, PromptMessage
from clew.model.threads import SessionKey
from clew.model.turns import Burst, Origin, Turn, TurnState
from clew.store import Tx
from clew.store.tables import inbox, threads, turns
from clew.support.clock import Clock
from clew.texts import chat_messages


def own_words(turn: Turn) -> tuple[PromptMessage, ...]:
    """A turn's request without what clew added to it."""
    return tuple(said for said in turn.request if said.author != CLEW)


def request_again(tx: Tx, clock: Clock, cut: Turn, begun: Sequence[str] = ()) -> tuple[PromptMessage, ...]:
    """The request of a turn that was cut off, with what was said into it, and why it comes again."""
    note = PromptMessage(clock.ulid(), CLEW, chat_messages.continuation(begun))
    return (*own_words(cut), *inbox.taken_steers(tx, cut.id), note)


def next_session(tx: Tx, turn: Turn) -> SessionKey:
    """Where the thread goes on after this turn: another agent may have taken over meanwhile."""
    thread = threads.get(tx, turn.thread)
    return turn.session if thread is None or turn.role else thread.main_session


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
