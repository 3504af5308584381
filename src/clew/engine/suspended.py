"""What a message means to a thread that waits for a person: it answers what was asked. It never guesses a yes."""

from __future__ import annotations

from clew.engine import words
from clew.engine.core import Core
from clew.engine.ending import drop, queue_continuation, queue_turn
from clew.model import Conversation, Fate, Origin, Said, SuspendedBy, Thread, ThreadStatus, Turn
from clew.store import Tx, threads, turns
from clew.store.inbox import Arrival


def answer_suspended(tx: Tx, core: Core, thread: Thread, message: Said, where: Conversation) -> Arrival:
    """Of two answers at once, one counts; the other comes after it, as a message."""
    if thread.suspended_by is SuspendedBy.BACKLOG:
        return _answer_backlog(tx, core, thread, message, where)
    return _answer_cut(tx, core, thread, message, where)


def _answer_cut(tx: Tx, core: Core, thread: Thread, message: Said, where: Conversation) -> Arrival:
    _reopen(tx, core, thread)
    word = message.text.strip().lower()
    cut = turns.get(tx, thread.last_turn) if thread.last_turn else None
    if word in words.STOP:
        return Arrival(Fate.ANSWER, thread.id, None, "Stopped. Say something new whenever you like.")
    if cut is None:
        turn = queue_turn(tx, core.clock, thread.id, Origin.RESUME, (message,), where)
        return Arrival(Fate.TURN, thread.id, turn, "")
    request = _go_on(core, cut, None if word in words.CONTINUE else message)
    return Arrival(Fate.TURN, thread.id, queue_continuation(tx, core.clock, cut, request, Origin.RESUME), "")


def _go_on(core: Core, cut: Turn, supplement: Said | None) -> tuple[Said, ...]:
    """The request again, why it comes again, and what the person adds."""
    original = tuple(said for said in cut.request if said.author != "clew")
    note = Said(core.clock.ulid(), "clew", words.continuation(()))
    return (*original, note) if supplement is None else (*original, note, supplement)


def _answer_backlog(tx: Tx, core: Core, thread: Thread, message: Said, where: Conversation) -> Arrival:
    word = message.text.strip().lower()
    waiting = turns.queued(tx, thread.id)
    if word in words.RUN_ALL:
        _reopen(tx, core, thread)
        return Arrival(Fate.ANSWER, thread.id, waiting[0].id if waiting else None, "Running them in order.")
    if word in words.MERGE:
        return _merge(tx, core, thread, waiting)
    if word in words.SKIP:
        return _skip(tx, core, thread, waiting)
    turn = queue_turn(tx, core.clock, thread.id, Origin.MESSAGE, (message,), where)
    return Arrival(Fate.TURN, thread.id, turn, words.still_backlog(len(waiting)))


def _merge(tx: Tx, core: Core, thread: Thread, waiting: list[Turn]) -> Arrival:
    """All of it as one request, in the place of the first."""
    _reopen(tx, core, thread)
    if not waiting:
        return Arrival(Fate.ANSWER, thread.id, None, "Nothing waits any more.")
    first, rest = waiting[0], waiting[1:]
    turns.set_request(tx, first.id, tuple(said for turn in waiting for said in turn.request))
    for turn in rest:
        drop(tx, core.clock, turn)
    return Arrival(Fate.ANSWER, thread.id, first.id, f"Merged {len(waiting)} into one.")


def _skip(tx: Tx, core: Core, thread: Thread, waiting: list[Turn]) -> Arrival:
    for turn in waiting:
        drop(tx, core.clock, turn)
    _reopen(tx, core, thread)
    return Arrival(Fate.ANSWER, thread.id, None, f"Skipped {len(waiting)}.")


def _reopen(tx: Tx, core: Core, thread: Thread) -> None:
    if threads.reopen(tx, thread.id, ThreadStatus.SUSPENDED):
        tx.log(thread.id, None, "thread.status", core.clock.now(), status=ThreadStatus.IDLE)
