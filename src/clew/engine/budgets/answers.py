"""What a message means to a suspended thread whose budget is used up: go on with this turn, raise the budget, stop, or
one more message that waits. Only an owner may go above a budget."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from clew.engine.budgets import wording
from clew.engine.budgets.limits import raise_limit, reached
from clew.engine.core import Core
from clew.engine.delivery.enqueue import enqueue_dropped_notices
from clew.engine.turns import suspension
from clew.engine.turns.completion import drop_queued
from clew.engine.turns.queueing import queue_turn
from clew.model.messages import Conversation, Fate, PromptMessage
from clew.model.threads import SuspendedBy, Thread
from clew.model.turns import Origin, Turn
from clew.store import Tx
from clew.store.tables import threads, turns, usage
from clew.store.tables.inbox import Arrival
from clew.texts import chat_messages
from clew.texts.catalogue import say

_Answer = Callable[[Tx, Core, Thread, Turn, str, Conversation], Arrival]


def answer_suspended(
    tx: Tx,
    core: Core,
    thread: Thread,
    message: PromptMessage,
    where: Conversation,
    *,
    means_it: bool = True,
    resumes: bool = False,
    is_owner: bool = True,
) -> Arrival:
    """For every suspended thread. `means_it`: it was said after the question, and not to something else. `resumes`: it
    came with the command to go on."""
    if thread.suspended_by is not SuspendedBy.BUDGET:
        return suspension.answer_suspended(tx, core, thread, message, where, means_it=means_it, resumes=resumes)
    waiting = turns.queued(tx, thread.id)
    if not waiting:
        suspension.reopen(tx, core, thread, chat_messages.continued_by(message.author))
        return _behind(tx, core, thread, message, where, "")
    word = suspension.word_of(message)
    answer = _answer_for(word) if means_it else None
    if answer is None:
        return _other_words(tx, core, thread, message, where, waiting[0])
    if not is_owner and answer is not _stop:
        return Arrival(Fate.REFUSED, thread.id, None, say("budgets.only_owner"))
    return answer(tx, core, thread, waiting[0], message.author, where)


def _answer_for(word: str | None) -> _Answer | None:
    if word in chat_messages.STOP:
        return _stop
    if word in chat_messages.RAISE:
        return _raise
    return _go_on if word in chat_messages.GO_ON else None


def _go_on(tx: Tx, core: Core, thread: Thread, turn: Turn, by: str, where: Conversation) -> Arrival:
    usage.let_pass(tx, turn.id, by, core.clock.now())
    suspension.reopen(tx, core, thread, chat_messages.let_pass_by(by))
    return Arrival(Fate.ANSWER, thread.id, turn.id, say("budgets.going_on"))


def _raise(tx: Tx, core: Core, thread: Thread, turn: Turn, by: str, where: Conversation) -> Arrival:
    raised = [raise_limit(tx, core, used_up, by) for used_up in reached(tx, core, turn)]
    outcome = chat_messages.raised_by(by)
    for name in threads.suspended_by(tx, SuspendedBy.BUDGET):
        tx.attempt(partial(_reopen_with_room, tx, core, name, outcome), None)
    return Arrival(Fate.ANSWER, thread.id, turn.id, wording.raised(raised) if raised else say("budgets.has_room"))


def _reopen_with_room(tx: Tx, core: Core, name: str, outcome: str) -> None:
    thread, waiting = threads.get(tx, name), turns.queued(tx, name)
    if thread is not None and waiting and not reached(tx, core, waiting[0]):
        suspension.reopen(tx, core, thread, outcome)


def _stop(tx: Tx, core: Core, thread: Thread, turn: Turn, by: str, where: Conversation) -> Arrival:
    """Drop the turn that waits. The next one is asked about anew."""
    drop_queued(tx, core, turn)
    enqueue_dropped_notices(tx, core, [turn], chat_messages.stopped_by(by), where)
    suspension.reopen(tx, core, thread, chat_messages.stopped_by(by))
    return Arrival(Fate.ANSWER, thread.id, None, say("budgets.dropped"))


def _other_words(
    tx: Tx, core: Core, thread: Thread, message: PromptMessage, where: Conversation, first: Turn
) -> Arrival:
    """One more message waits, unless there is room by now, such as on the next day."""
    hint = chat_messages.GO_ON_RAISE_OR_STOP
    has_room = not reached(tx, core, first)
    if has_room:
        suspension.reopen(tx, core, thread, say("budgets.has_room"))
    if not message.text.strip() and not message.attachments:
        question = chat_messages.asks(thread.suspend_message or "", hint)
        fate = Fate.ANSWER if has_room else Fate.REFUSED
        return Arrival(fate, thread.id, first.id, say("budgets.has_room") if has_room else question)
    return _behind(
        tx, core, thread, message, where, "" if has_room else chat_messages.asks(say("budgets.behind"), hint)
    )


def _behind(tx: Tx, core: Core, thread: Thread, message: PromptMessage, where: Conversation, words: str) -> Arrival:
    turn = queue_turn(tx, core.clock, thread.main_session, Origin.MESSAGE, (message,), where)
    return Arrival(Fate.TURN, thread.id, turn.id, words)
