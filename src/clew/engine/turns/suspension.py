"""Threads that wait for a person: how they come to ask about a backlog, and what a message means to one that waits. It
answers what was asked; it never guesses a yes."""

from __future__ import annotations

from clew.engine.core import Core
from clew.engine.delivery.enqueue import enqueue_delivery, enqueue_dropped_notices, reachable_target
from clew.engine.gates import suspension_prompt
from clew.engine.turns.completion import drop_queued, log_status, queue_continuation, requeue_steer
from clew.engine.turns.parked import answer_parked, end_parking
from clew.engine.turns.queueing import next_session, queue_turn, request_again
from clew.model.delivery import DeliveryKind
from clew.model.messages import CLEW, Conversation, Fate, PromptMessage
from clew.model.threads import SuspendedBy, Thread, ThreadStatus
from clew.model.turns import Origin, Turn, TurnState
from clew.store import Tx
from clew.store.tables import bindings, gates, inbox, threads, turns
from clew.store.tables.inbox import Arrival
from clew.texts import chat_messages, limit_messages


def hold_backlog(tx: Tx, core: Core, name: str) -> None:
    """Suspend a thread whose messages waited too long, and ask once what to do with them. What was said into a turn
    that had never run is one of them."""
    for turn in turns.queued(tx, name):
        if turn.origin is Origin.GREETING:
            drop_queued(tx, core, turn)  # nobody waits for it
        for steer in inbox.open_steers(tx, turn.id):
            requeue_steer(tx, core, steer)
    thread, waiting = threads.get(tx, name), turns.queued(tx, name)
    question = chat_messages.backlog(len(waiting))
    if thread is None or not waiting or not threads.suspend(tx, name, SuspendedBy.BACKLOG, question):
        return
    log_status(tx, core, name, ThreadStatus.SUSPENDED)
    suspension_prompt.ask(tx, core, thread, waiting[0], SuspendedBy.BACKLOG, question)


def none_waits(tx: Tx, core: Core, name: str, outcome: str) -> None:
    """What was asked about is not there any more: there is nothing to ask."""
    thread = threads.get(tx, name)
    if thread is None or turns.count_queued(tx, name):
        return
    if thread.suspended_by in (SuspendedBy.BACKLOG, SuspendedBy.BUDGET):
        reopen(tx, core, thread, outcome)
    elif thread.suspended_by is SuspendedBy.LIMIT:
        end_parking(tx, core, thread, outcome)


def answer_suspended(
    tx: Tx,
    core: Core,
    thread: Thread,
    message: PromptMessage,
    where: Conversation,
    *,
    means_it: bool = True,
    resumes: bool = False,
) -> Arrival:
    """Of two answers at once, one counts; the other comes after it, as a message. `means_it`: it was said after the
    question, and not to something else. `resumes`: it came with the command to go on."""
    if thread.suspended_by is SuspendedBy.BACKLOG:
        return _answer_backlog(tx, core, thread, message, where, means_it=means_it)
    if thread.suspended_by is SuspendedBy.LIMIT:
        word = word_of(message) if means_it or resumes else None
        return answer_parked(tx, core, thread, message, where, word, resumes=resumes)
    word = word_of(message)
    if word in chat_messages.STOP:
        reopen(tx, core, thread, chat_messages.stopped_by(message.author))
        gates.forget_carried(tx, thread.id)
        return _stopped(tx, core, thread, turns.last_own(tx, thread.id), where)
    agent = limit_messages.named_agent(word)
    if agent is not None and means_it and agent in core.runtimes:
        return _go_on(tx, core, thread, message, where, agent)
    is_yes = resumes or (word in chat_messages.CONTINUE and means_it)
    if thread.suspended_by is SuspendedBy.CUT and not is_yes:
        return _put_aside(tx, core, thread, message, where)
    return _go_on(tx, core, thread, message, where)


def word_of(message: PromptMessage) -> str | None:
    """What may be a word of command; a message that carries a file never is one."""
    return None if message.attachments else chat_messages.word(message.text)


def _go_on(
    tx: Tx, core: Core, thread: Thread, message: PromptMessage, where: Conversation, agent: str | None = None
) -> Arrival:
    """With the work that was cut off, or failed; with what the person adds, if they say more than to go on; on another
    agent, if they name one."""
    reopen(tx, core, thread, chat_messages.continued_by(message.author))
    cut = turns.last_own(tx, thread.id)
    if cut is None:
        turn = queue_turn(tx, core.clock, thread.main_session, Origin.RESUME, (message,), where)
        return Arrival(Fate.TURN, thread.id, turn.id, "")
    is_bare = agent is not None or word_of(message) in ("", *chat_messages.CONTINUE)
    if not is_bare:
        gates.forget_carried(tx, thread.id)
    request = (*request_again(tx, core.clock, cut), *(() if is_bare else (message,)))
    there = where if core.can_send_to(where) else bindings.driver(tx, thread.id)  # whoever decides gets the answer
    name = queue_continuation(tx, core.clock, cut, request, Origin.RESUME, there, agent)
    return Arrival(Fate.TURN, thread.id, name, "")


def _put_aside(tx: Tx, core: Core, thread: Thread, message: PromptMessage, where: Conversation) -> Arrival:
    """Asked whether to do again what may be done already, somebody said neither yes nor no: the agent hears that, and
    nothing of what was cut off is begun again."""
    reopen(tx, core, thread, chat_messages.put_aside_by(message.author))
    gates.forget_carried(tx, thread.id)
    note = PromptMessage(core.clock.ulid(), CLEW, chat_messages.PUT_ASIDE)
    cut = turns.last_own(tx, thread.id)
    session = next_session(tx, cut) if cut is not None else thread.main_session
    turn = queue_turn(tx, core.clock, session, Origin.MESSAGE, (note, message), where)
    told = "" if suspension_prompt.is_rewritten(tx, core, thread.id, where) else chat_messages.OLD_WORK_ASIDE
    return Arrival(Fate.TURN, thread.id, turn.id, told)


def _stopped(tx: Tx, core: Core, thread: Thread, cut: Turn | None, where: Conversation) -> Arrival:
    """Whoever was asked elsewhere, where the thread is now, hears that there is no answer."""
    target = reachable_target(tx, core, thread, suspension_prompt.where_asked(tx, thread.id))
    if cut is not None and target != where:
        enqueue_delivery(
            tx, core, cut, DeliveryKind.FINAL, target, chat_messages.final(TurnState.INTERRUPTED, "", None)
        )
    return Arrival(Fate.ANSWER, thread.id, None, chat_messages.STOPPED)


def _answer_backlog(
    tx: Tx, core: Core, thread: Thread, message: PromptMessage, where: Conversation, *, means_it: bool
) -> Arrival:
    word = word_of(message)
    waiting = turns.queued(tx, thread.id)
    if word and not means_it:
        return _behind_backlog(tx, core, thread, message, where, waiting, is_old=True)
    if word in chat_messages.RUN_ALL:
        reopen(tx, core, thread, chat_messages.run_by(message.author))
        return Arrival(Fate.ANSWER, thread.id, waiting[0].id if waiting else None, chat_messages.RUNNING_ALL)
    if word in chat_messages.MERGE:
        return _merge(tx, core, thread, waiting, message)
    if word in chat_messages.SKIP:
        return _skip(tx, core, thread, waiting, message, where)
    if not word and not message.attachments:
        question = chat_messages.asks(chat_messages.backlog(len(waiting)), chat_messages.ALL_MERGE_OR_SKIP)
        return Arrival(Fate.REFUSED, thread.id, None, question)
    return _behind_backlog(tx, core, thread, message, where, waiting, is_old=not means_it)


def _behind_backlog(
    tx: Tx,
    core: Core,
    thread: Thread,
    message: PromptMessage,
    where: Conversation,
    waiting: list[Turn],
    *,
    is_old: bool,
) -> Arrival:
    """Queue one more message. The question says how many wait; one that was sent before it is a part of that backlog,
    and gets no reply of its own."""
    turn = queue_turn(tx, core.clock, thread.main_session, Origin.MESSAGE, (message,), where)
    question = chat_messages.backlog(len(waiting) + 1)
    asked_in = suspension_prompt.rephrase(tx, core, thread, question)
    if asked_in is not None:
        threads.set_suspend_message(tx, thread.id, question)
    is_told = is_old and asked_in == where
    return Arrival(Fate.TURN, thread.id, turn.id, "" if is_told else chat_messages.still_backlog(len(waiting)))


def _merge(tx: Tx, core: Core, thread: Thread, waiting: list[Turn], message: PromptMessage) -> Arrival:
    """All of it as one request, in the place of the first; what was said in different conversations, or to different
    agents, as one for each, so that every answer comes from whom and to where it was asked for. What is history already
    stays as it is."""
    fresh = [turn for turn in waiting if turn.request_node is None]
    parts = list(dict.fromkeys((turn.conversation, turn.session) for turn in fresh))
    reopen(tx, core, thread, chat_messages.merged_by(message.author, len(parts)))
    if not fresh:
        return Arrival(Fate.ANSWER, thread.id, None, chat_messages.NOTHING_TO_MERGE)
    for part in parts:
        _merge_into_first(tx, core, [turn for turn in fresh if (turn.conversation, turn.session) == part])
    return Arrival(Fate.ANSWER, thread.id, fresh[0].id, chat_messages.merged(len(fresh), len(parts)))


def _merge_into_first(tx: Tx, core: Core, waiting: list[Turn]) -> None:
    turns.set_request(tx, waiting[0].id, tuple(said for turn in waiting for said in turn.request))
    for turn in waiting[1:]:
        turns.set_request(tx, turn.id, ())  # what was said is said once
        drop_queued(tx, core, turn)


def _skip(
    tx: Tx, core: Core, thread: Thread, waiting: list[Turn], message: PromptMessage, where: Conversation
) -> Arrival:
    for turn in waiting:
        drop_queued(tx, core, turn)
    enqueue_dropped_notices(tx, core, waiting, chat_messages.skipped_by(message.author), where)
    reopen(tx, core, thread, chat_messages.skipped_by(message.author))
    return Arrival(Fate.ANSWER, thread.id, None, chat_messages.skipped(len(waiting)))


def reopen(tx: Tx, core: Core, thread: Thread, outcome: str) -> None:
    """Back to idle; the question shows its outcome."""
    if threads.reopen(tx, thread.id, ThreadStatus.SUSPENDED):
        log_status(tx, core, thread.id, ThreadStatus.IDLE)
        suspension_prompt.show_outcome(tx, core, thread, outcome)
