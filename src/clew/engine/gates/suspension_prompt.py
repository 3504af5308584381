"""What a suspended thread asks outside a turn, such as [Continue] [Stop]: said once, and rewritten when it is settled,
so that nobody presses what does not count any more. It never decides."""

from __future__ import annotations

from clew.engine.core import Core
from clew.engine.delivery.enqueue import (
    answer_target,
    deliveries_named,
    enqueue_delivery,
    next_free_id,
    reachable_target,
)
from clew.engine.gates.buttons import ASKS
from clew.model.delivery import Delivery, DeliveryKind, DeliveryState
from clew.model.messages import Conversation
from clew.model.threads import SuspendedBy, Thread, ThreadStatus
from clew.model.turns import Turn
from clew.store import Tx
from clew.store.tables import bindings, deliveries, turns
from clew.texts import handoff_messages, messages
from clew.texts.bilingual import Bilingual


def ask(tx: Tx, core: Core, thread: Thread, turn: Turn, by: SuspendedBy, question: str) -> None:
    """Owed in the transaction that suspends the thread. A backlog is asked about where its newest message was said."""
    newest = turns.queued(tx, thread.id)[-1:] if by is SuspendedBy.BACKLOG else []
    _owe(tx, core, turn, by, answer_target(tx, core, thread, *(newest or [turn])), question)


def move(tx: Tx, core: Core, thread: Thread, to: Conversation) -> None:
    """It is asked where the thread is now, or who is asked for the desk; where it was, it says so. The newest row tells
    where it is asked, also where that is the desk alone."""
    asked, turn = _newest(tx, thread.id)
    if asked is None or turn is None or thread.suspended_by not in _NAMES:
        return
    where = reachable_target(tx, core, thread, to)
    if asked.conversation == where and _stands(tx, asked):
        return
    _rewrite(tx, core, asked, turn, handoff_messages.moved(to.surface, core.local_surface))
    _owe(tx, core, turn, thread.suspended_by, where, asked.body)


def _stands(tx: Tx, asked: Delivery) -> bool:
    """It can be read where it was asked, or will be."""
    is_gone = asked.state in (DeliveryState.FAILED, DeliveryState.SUPERSEDED)
    return not is_gone and not list(deliveries_named(tx, f"{asked.id}:over"))


def place(tx: Tx, thread: str) -> Conversation | None:
    """Where it was asked last; None: at the desk alone."""
    asked, _ = _newest(tx, thread)
    return asked.conversation if asked is not None else None


def is_rewritten(tx: Tx, core: Core, thread: str, where: Conversation) -> bool:
    """Whether whoever speaks there sees what became of it on the question itself."""
    asked, _ = _newest(tx, thread)
    return asked is not None and asked.conversation == where and _can_edit(core, asked)


def question(tx: Tx, thread: Thread) -> str | None:
    """Which question a suspended thread asks: another one each time, whatever its words."""
    if thread.status is not ThreadStatus.SUSPENDED:
        return None
    asked = deliveries.newest_ask(tx, thread.id) if thread.suspended_by in _NAMES else None
    return (asked.turn if asked is not None else thread.last_turn) or thread.id


def is_question(message: Delivery) -> bool:
    """Whether it asks, or asked, what a suspended thread asks."""
    return (message.edits or message.id).startswith(tuple(f"{message.turn}:{name}" for name in _NAMES.values()))


def is_for_another(tx: Tx, thread: str) -> bool:
    """Whether it asks somebody who wrote from a place that is not bound to the thread, as by a quote."""
    asked, turn = _newest(tx, thread)
    where = asked.conversation if asked is not None else None
    return (
        where is not None
        and turn is not None
        and where == turn.conversation
        and bindings.thread_at(tx, where) != thread
    )


def settled(tx: Tx, core: Core, thread: str, outcome: str) -> None:
    """It says what became of it, and has nothing to press."""
    asked, turn = _newest(tx, thread)
    if asked is not None and turn is not None:
        _rewrite(tx, core, asked, turn, messages.settled(asked.body, outcome))


def _owe(tx: Tx, core: Core, turn: Turn, by: SuspendedBy, where: Conversation | None, question: str) -> None:
    """What is asked last is the newest, wherever the clock was set."""
    id, before = next_free_id(tx, f"{turn.id}:{_NAMES[by]}"), deliveries.newest_ask(tx, turn.thread)
    since = before.created_at + 1 if before is not None else 0
    question = messages.with_hint(question, _hint(tx, core, turn.thread, by, where))
    enqueue_delivery(tx, core, turn, DeliveryKind.ASK, where, question, id=id, since=since, buttons=ASKS[by])


def _hint(tx: Tx, core: Core, thread: str, by: SuspendedBy, where: Conversation | None) -> Bilingual:
    """How it can be answered there. In a conversation that is not bound to the thread, a bare word means another one,
    or begins a new one."""
    words, reply = _WORDS[by]
    if where is None or bindings.thread_at(tx, where) == thread:
        return reply
    surface = core.surfaces.get(where.surface)
    if surface is None or not surface.can.chat:
        return messages.AT_THE_MACHINE
    return messages.press(words) if surface.can.buttons else messages.quote(words)


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


_NAMES = {SuspendedBy.CUT: "ask", SuspendedBy.BACKLOG: "backlog"}
_WORDS = {
    SuspendedBy.CUT: (messages.TO_CUT, messages.CONTINUE_OR_STOP),
    SuspendedBy.BACKLOG: (messages.TO_BACKLOG, messages.ALL_MERGE_OR_SKIP),
}
