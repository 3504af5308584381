"""The question of a suspended thread, such as [Continue] [Stop]: sent once, and edited when it is settled, so that
nobody presses a button that has no effect any more. It never decides."""

from __future__ import annotations

from clew.engine.account_limits import alternative, fallback_of, usable_agent
from clew.engine.core import Core
from clew.engine.delivery.enqueue import (
    answer_target,
    deliveries_named,
    enqueue_delivery,
    next_free_id,
    reachable_target,
)
from clew.engine.delivery.language import localized
from clew.engine.gates.button_labels import suspension_buttons
from clew.model.delivery import Delivery, DeliveryKind, DeliveryState
from clew.model.messages import Conversation
from clew.model.threads import SuspendedBy, Thread, ThreadStatus
from clew.model.turns import Turn
from clew.store import Tx
from clew.store.tables import bindings, deliveries, threads, turns
from clew.texts import chat_messages, handoff_messages, limit_messages

GATHER = 1000  # milliseconds in which more messages of a backlog may arrive before clew asks about them


def ask(tx: Tx, core: Core, thread: Thread, turn: Turn, by: SuspendedBy, question: str) -> None:
    """Enqueue the question in the transaction that suspends the thread. About a backlog clew asks in the conversation
    of its newest message."""
    newest = turns.queued(tx, thread.id)[-1:] if by is SuspendedBy.BACKLOG else []
    _enqueue(tx, core, turn, by, answer_target(tx, core, thread, *(newest or [turn])), question)


def move(tx: Tx, core: Core, thread: Thread, to: Conversation) -> None:
    """Ask in the conversation where the thread is now, or in the one that stands in for the local client; the old
    message says that it moved. The newest delivery says where it is asked, also if only the local client shows it."""
    asked, turn = _newest(tx, thread.id)
    if asked is None or turn is None or thread.suspended_by not in _DELIVERY_NAMES:
        return
    where = reachable_target(tx, core, thread, to)
    if asked.conversation == where and _is_visible(tx, asked):
        return
    _rewrite(tx, core, asked, turn, handoff_messages.moved(to.surface, core.local_surface))
    _enqueue(tx, core, turn, thread.suspended_by, where, thread.suspend_message or "")


def _is_visible(tx: Tx, asked: Delivery) -> bool:
    """Whether the question is shown where it was asked, or will be."""
    is_gone = asked.state in (DeliveryState.FAILED, DeliveryState.SUPERSEDED)
    return not is_gone and not list(deliveries_named(tx, f"{asked.id}:over"))


def where_asked(tx: Tx, thread: str) -> Conversation | None:
    """The conversation where it was asked last; None: only the local client shows it."""
    asked, _ = _newest(tx, thread)
    return asked.conversation if asked is not None else None


def is_rewritten(tx: Tx, core: Core, thread: str, where: Conversation) -> bool:
    """Whether the question is in this conversation and is edited to show the outcome."""
    asked, _ = _newest(tx, thread)
    return asked is not None and asked.conversation == where and _can_edit(core, asked)


def prompt_id(tx: Tx, thread: Thread) -> str | None:
    """An id of the question that a suspended thread asks: a new one each time, even for the same text."""
    if thread.status is not ThreadStatus.SUSPENDED:
        return None
    asked = deliveries.newest_ask(tx, thread.id) if thread.suspended_by in _DELIVERY_NAMES else None
    return (asked.id if asked is not None else thread.last_turn) or thread.id


def is_question(tx: Tx, message: Delivery) -> bool:
    """Whether a message asks, or asked, what a suspended thread asks."""
    shown = deliveries.original(tx, message)
    return shown.kind is DeliveryKind.ASK and shown.gate is None


def asks_somebody_else(tx: Tx, thread: str) -> bool:
    """Whether it asks a person who wrote from a conversation that is not bound to the thread, such as by a quote."""
    asked, turn = _newest(tx, thread)
    where = asked.conversation if asked is not None else None
    return (
        where is not None
        and turn is not None
        and where == turn.conversation
        and bindings.thread_at(tx, where) != thread
    )


def show_outcome(tx: Tx, core: Core, thread: Thread, outcome: str) -> None:
    """Edit the question of a thread that was suspended to show the outcome, without buttons."""
    asked, turn = _newest(tx, thread.id)
    if asked is not None and turn is not None:
        _rewrite(tx, core, asked, turn, chat_messages.settled(thread.suspend_message or "", outcome))


def drop_lost_copy(tx: Tx, core: Core, thread: str, where: Conversation, message_id: str) -> None:
    """A button without a gate was pressed on a message whose receipt was lost. Which question it is is unknown, so it
    answers none; now that its id is known, its buttons are removed."""
    asked, turn = _newest(tx, thread)
    if asked is None or turn is None or asked.conversation != where or not _can_edit(core, asked):
        return
    now, id = core.clock.now(), next_free_id(tx, f"{asked.id}:copy")
    copy = Delivery(id, DeliveryKind.NOTICE, thread, turn.id, where, "", DeliveryState.SENT, now, card=asked.id)
    deliveries.record_copy(tx, copy, message_id, asked.first_sent_at or asked.created_at)
    text = chat_messages.OUT_OF_DATE
    enqueue_delivery(tx, core, turn, DeliveryKind.REDRAW, where, text, id=f"{id}:over", edits=id)


def rephrase(tx: Tx, core: Core, thread: Thread, question: str) -> Conversation | None:
    """Change the question in the message that asks it, which keeps its buttons. Returns the conversation of that
    message. None: it cannot be changed."""
    asked, turn = _newest(tx, thread.id)
    where = asked.conversation if asked is not None else None
    if asked is None or turn is None or thread.suspended_by is None or where is None:
        return None
    text = chat_messages.asks(question, _hint(tx, core, thread.id, thread.suspended_by, where))
    *_, unsent = asked, *deliveries_named(tx, f"{asked.id}:rephrased")
    if deliveries.replace_text(tx, unsent.id, localized(tx, core, where, text), unsent.buttons):
        return where
    if not _can_edit(core, asked):
        return None
    other = other_agent(tx, core, thread.id, thread.suspended_by)
    id, buttons = next_free_id(tx, f"{asked.id}:rephrased"), suspension_buttons(thread.suspended_by, other)
    enqueue_delivery(tx, core, turn, DeliveryKind.REDRAW, where, text, id=id, edits=asked.id, buttons=buttons)
    return where


def question(thread: Thread) -> str | None:
    """What a suspended thread asks or tells, with a hint how to answer it."""
    if thread.suspend_message is None or thread.suspended_by not in _HINTS:
        return thread.suspend_message
    return chat_messages.asks(thread.suspend_message, _HINTS[thread.suspended_by][1])


def _enqueue(tx: Tx, core: Core, turn: Turn, by: SuspendedBy, where: Conversation | None, question: str) -> None:
    """The question that is asked last must be the newest row, even if the clock was set back."""
    id, before = next_free_id(tx, f"{turn.id}:{_DELIVERY_NAMES[by]}"), deliveries.newest_ask(tx, turn.thread)
    since = before.created_at + 1 if before is not None else 0
    question = chat_messages.asks(question, _hint(tx, core, turn.thread, by, where))
    offered = suspension_buttons(by, other_agent(tx, core, turn.thread, by))
    after = GATHER if by is SuspendedBy.BACKLOG else 0
    enqueue_delivery(
        tx, core, turn, DeliveryKind.ASK, where, question, id=id, since=since, buttons=offered, after=after
    )


def _hint(tx: Tx, core: Core, thread: str, by: SuspendedBy, where: Conversation | None) -> str:
    """How the question can be answered there. In a conversation that is not bound to the thread, a short answer means
    another thread, or begins a new one."""
    words, reply = _HINTS[by]
    if where is None or bindings.thread_at(tx, where) == thread:
        other = other_agent(tx, core, thread, by)
        return reply if other is None else _hint_with(by, other)
    surface = core.surfaces.get(where.surface)
    if surface is None or not surface.can.chat:
        return chat_messages.AT_THE_COMPUTER
    return chat_messages.press(words) if surface.can.buttons else chat_messages.quote(words)


def _hint_with(by: SuspendedBy, other: str) -> str:
    return limit_messages.hint(other) if by is SuspendedBy.LIMIT else limit_messages.cut_hint(other)


def other_agent(tx: Tx, core: Core, thread: str, by: SuspendedBy) -> str | None:
    """An agent that could take the work of a suspended thread: the next of its list; at a limit without a list any."""
    if by not in (SuspendedBy.LIMIT, SuspendedBy.CUT):
        return None
    row = threads.get(tx, thread)
    queued = turns.queued(tx, thread)[:1]
    turn = queued[0] if queued else turns.live(tx, thread) or turns.last_own(tx, thread)
    if row is None or turn is None:
        return None
    if by is SuspendedBy.LIMIT and not fallback_of(core, row):
        return usable_agent(core, row, turn)
    return alternative(core, row, turn)


def _newest(tx: Tx, thread: str) -> tuple[Delivery | None, Turn | None]:
    asked = deliveries.newest_ask(tx, thread)
    return asked, turns.get(tx, asked.turn) if asked is not None and asked.turn else None


def _rewrite(tx: Tx, core: Core, asked: Delivery, turn: Turn, text: str) -> None:
    if asked.state is DeliveryState.PENDING and asked.first_sent_at is None:
        deliveries.supersede(tx, asked.id)
    elif _can_edit(core, asked):
        enqueue_delivery(
            tx,
            core,
            turn,
            DeliveryKind.REDRAW,
            asked.conversation,
            text,
            id=next_free_id(tx, f"{asked.id}:over"),
            edits=asked.id,
        )


def _can_edit(core: Core, asked: Delivery) -> bool:
    surface = core.surfaces.get(asked.conversation.surface) if asked.conversation else None
    return surface is not None and surface.can.edit


_DELIVERY_NAMES = {
    SuspendedBy.CUT: "ask",
    SuspendedBy.BACKLOG: "backlog",
    SuspendedBy.BUDGET: "budget",
    SuspendedBy.LIMIT: "limit",
}
_HINTS = {
    SuspendedBy.CUT: (chat_messages.TO_CUT, chat_messages.CONTINUE_OR_STOP),
    SuspendedBy.BACKLOG: (chat_messages.TO_BACKLOG, chat_messages.ALL_MERGE_OR_SKIP),
    SuspendedBy.BUDGET: (chat_messages.TO_BUDGET, chat_messages.GO_ON_RAISE_OR_STOP),
    SuspendedBy.LIMIT: (limit_messages.TO_PARKED, limit_messages.hint(None)),
}
