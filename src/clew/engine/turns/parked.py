"""Threads that are parked at a usage limit: how they come to wait, go on, and what a message means to one. When one is
parked, and when it wakes, is decided in `agents`."""

from __future__ import annotations

from msgspec import Struct

from clew.engine.core import Core
from clew.engine.delivery.enqueue import enqueue_dropped_notices
from clew.engine.gates import suspension_prompt
from clew.engine.turns.completion import drop_queued, log_status
from clew.engine.turns.queueing import queue_turn
from clew.model.messages import Conversation, Fate, PromptMessage
from clew.model.threads import SuspendedBy, Thread, ThreadStatus
from clew.model.turns import Origin, Turn
from clew.store import Tx
from clew.store.tables import parked, threads, turns
from clew.store.tables.inbox import Arrival
from clew.store.tables.parked import Waits
from clew.support import crash
from clew.texts import chat_messages, gate_messages, limit_messages
from clew.texts.catalogue import say

SOON = 60_000  # milliseconds; what goes on sooner shows its outcome then


class Wait(Struct, frozen=True):
    """How a thread waits for an account."""

    wake_at: int | None  # None: until a person says so
    why: str  # is stored
    shown: str  # is sent; it may say how long from now that is


def park(tx: Tx, core: Core, thread: Thread, turn: Turn, wait: Wait, waits: Waits) -> bool:
    """Suspend a thread whose next turn has to wait for an account."""
    if not parked.park(tx, thread.id, wait.wake_at, wait.why, waits):
        return False
    log_status(tx, core, thread.id, ThreadStatus.SUSPENDED)
    suspension_prompt.ask(tx, core, thread, turn, SuspendedBy.LIMIT, wait.shown)
    return True


def reschedule(tx: Tx, core: Core, thread: Thread, wait: Wait) -> None:
    """Let a parked thread go on at another time. Nobody gets another message; the one that told them is changed."""
    if wait.wake_at is None or not parked.set_wake(tx, thread.id, wait.wake_at, wait.why):
        return
    log_status(tx, core, thread.id, ThreadStatus.SUSPENDED)
    if wait.wake_at - core.clock.now() >= SOON:
        suspension_prompt.rephrase(tx, core, thread, wait.shown)


def unpark(tx: Tx, core: Core, thread: Thread, outcome: str) -> bool:
    """Let a parked thread go on; its next turn may try its account once, whatever is known of that."""
    if not parked.unpark(tx, thread.id, core.clock.now()):
        return False
    log_status(tx, core, thread.id, ThreadStatus.IDLE)
    suspension_prompt.show_outcome(tx, core, thread, outcome)
    crash.point("limits.woken")
    return True


def answer_parked(
    tx: Tx, core: Core, thread: Thread, message: PromptMessage, where: Conversation, word: str | None, *, resumes: bool
) -> Arrival:
    """`word`: what may be a word of command, if its sender had the question before them. `resumes`: it came with the
    command to go on."""
    is_bare = word in ("", *limit_messages.NOW, *chat_messages.CONTINUE)
    if word in chat_messages.STOP:
        return _stop(tx, core, thread, message, where)
    if (agent := limit_messages.named_agent(word)) is not None and agent in core.runtimes:
        return move(tx, core, thread, agent, message.author)
    if not (resumes or is_bare):
        turn = queue_turn(tx, core.clock, thread.main_session, Origin.MESSAGE, (message,), where)
        return Arrival(Fate.TURN, thread.id, turn.id, say("limits.behind", why=thread.suspend_message or ""))
    added = () if is_bare else (queue_turn(tx, core.clock, thread.main_session, Origin.MESSAGE, (message,), where),)
    unpark(tx, core, thread, say("limits.resumed_by", who=gate_messages.person(message.author)))
    first = next(iter((*added, *turns.queued(tx, thread.id))), None)
    fate = Fate.TURN if added else Fate.ANSWER
    return Arrival(fate, thread.id, first.id if first else None, say("limits.trying"))


def move(tx: Tx, core: Core, thread: Thread, agent: str, by: str) -> Arrival:
    """Give the next turn of a parked thread to another agent, which its person chose."""
    first = next(iter(turns.queued(tx, thread.id)), None)
    if first is not None:
        turns.move_to_runtime(tx, first, agent, (*first.tried, first.runtime))
    unpark(tx, core, thread, say("limits.moved_by", who=gate_messages.person(by), agent=agent))
    return Arrival(Fate.ANSWER, thread.id, first.id if first else None, say("limits.moved", agent=agent))


def stop_parked(tx: Tx, core: Core, thread: Thread, here: Conversation | None, by: str) -> Turn | None:
    """Drop the turn that waits for the account. What waits behind it has its own turn to wait."""
    first = next(iter(turns.queued(tx, thread.id)), None)
    if first is not None:
        drop_queued(tx, core, first)
        enqueue_dropped_notices(tx, core, [first], gate_messages.STOPPED_FIRST, here)
    end_parking(tx, core, thread, chat_messages.stopped_by(by))
    return first


def end_parking(tx: Tx, core: Core, thread: Thread, outcome: str) -> None:
    """Nothing has to wait any more. If more turns do, each is looked at anew."""
    if threads.reopen(tx, thread.id, ThreadStatus.SUSPENDED):
        log_status(tx, core, thread.id, ThreadStatus.IDLE)
        suspension_prompt.show_outcome(tx, core, thread, outcome)


def _stop(tx: Tx, core: Core, thread: Thread, message: PromptMessage, where: Conversation) -> Arrival:
    stop_parked(tx, core, thread, where, message.author)
    return Arrival(Fate.ANSWER, thread.id, None, chat_messages.STOPPED)
