"""What a suspended thread asks outside a turn, such as [Continue] [Stop]: said once, and rewritten when it is settled,
so that nobody presses what does not count any more. It never decides."""

from __future__ import annotations

from clew.engine import words
from clew.engine.buttons import ASKS
from clew.engine.core import Core
from clew.engine.owing import owe, owed_to, unused, used
from clew.model import Conversation, Delivery, DeliveryKind, DeliveryState, SuspendedBy, Thread, Turn
from clew.store import Tx, bindings, deliveries, turns


def ask(tx: Tx, core: Core, thread: Thread, turn: Turn, by: SuspendedBy, question: str) -> None:
    """Owed in the transaction that suspends the thread. A backlog is asked about where its newest message was said."""
    newest = turns.queued(tx, thread.id)[-1:] if by is SuspendedBy.BACKLOG else []
    where, id = owed_to(tx, core, thread, *(newest or [turn])), unused(tx, f"{turn.id}:{_NAMES[by]}")
    owe(tx, core, turn, DeliveryKind.ASK, where, question, id=id, buttons=ASKS[by])


def move(tx: Tx, core: Core, thread: Thread, to: Conversation) -> None:
    """It is asked where the thread is now; where it was, it says so."""
    asked, turn = _newest(tx, thread.id)
    if asked is None or turn is None or thread.suspended_by not in _NAMES:
        return
    if asked.conversation == to and not list(used(tx, f"{asked.id}:over")):
        return
    _rewrite(tx, core, asked, turn, words.moved(to.surface, core.desk))
    if core.reaches(to):
        id, pressed = unused(tx, f"{turn.id}:{_NAMES[thread.suspended_by]}"), ASKS[thread.suspended_by]
        owe(tx, core, turn, DeliveryKind.ASK, to, asked.body, id=id, buttons=pressed)


def is_for_another(tx: Tx, thread: str) -> bool:
    """Whether it asks somebody who wrote from a place that is not bound to the thread, as by a quote."""
    asked, turn = _newest(tx, thread)
    where = asked.conversation if asked is not None else None
    return where is not None and turn is not None and where == turn.conversation and bindings.bound(tx, where) != thread


def settled(tx: Tx, core: Core, thread: str, outcome: str) -> None:
    """It says what became of it, and has nothing to press."""
    asked, turn = _newest(tx, thread)
    if asked is not None and turn is not None:
        _rewrite(tx, core, asked, turn, words.settled(asked.body, outcome))


def _newest(tx: Tx, thread: str) -> tuple[Delivery | None, Turn | None]:
    asked = deliveries.newest_ask(tx, thread)
    return asked, turns.get(tx, asked.turn) if asked is not None and asked.turn else None


def _rewrite(tx: Tx, core: Core, asked: Delivery, turn: Turn, text: str) -> None:
    if asked.state is DeliveryState.PENDING and asked.first_sent_at is None:
        deliveries.supersede(tx, asked.id)
    elif _can_edit(core, asked):
        owe(
            tx,
            core,
            turn,
            DeliveryKind.REDRAW,
            asked.conversation,
            text,
            id=unused(tx, f"{asked.id}:over"),
            edits=asked.id,
        )


def _can_edit(core: Core, asked: Delivery) -> bool:
    surface = core.surfaces.get(asked.conversation.surface) if asked.conversation else None
    return surface is not None and surface.can.edit


_NAMES = {SuspendedBy.CUT: "ask", SuspendedBy.BACKLOG: "backlog"}
