"""A question that its place refuses for good, because a topic was deleted or clew was sent out of a group, is asked
where people can still be reached. It never decides."""

from __future__ import annotations

from clew.engine.core import Core
from clew.engine.delivery.enqueue import PART, is_part
from clew.engine.gates import cards, suspension_prompt
from clew.model.delivery import Delivery
from clew.model.gates import Gate, GateState
from clew.model.messages import Conversation
from clew.store import Tx
from clew.store.tables import deliveries, gates, places, threads, turns
from clew.texts import gate_messages


def ask_elsewhere(tx: Tx, core: Core, refused: Delivery) -> None:
    """Where there is no such place, it waits at the desk."""
    thread = threads.get(tx, refused.thread)
    if is_part(refused):
        _without_part(tx, core, refused)
    to = _elsewhere(tx, core, refused.conversation) if refused.conversation else None
    if thread is None or to is None:
        return
    for gate in _asked_by(tx, refused):
        turn = turns.get(tx, gate.turn)
        if gate.state is GateState.OPEN and gate.where == refused.conversation and turn is not None:
            gates.forget_card(tx, gate.id)
            cards.drop(tx, gate.card)
            cards.show_at(tx, core, turn, gate, to, gate_messages.STRANDED)
    newest = deliveries.newest_ask(tx, thread.id)
    if newest is not None and newest.id == refused.id:
        suspension_prompt.move(tx, core, thread, to)


def _without_part(tx: Tx, core: Core, refused: Delivery) -> None:
    """The card behind it must not allow what is not all there."""
    for gate in _asked_by(tx, refused):
        if gate.state is GateState.OPEN and gate.card is not None and refused.id.startswith(f"{gate.card}{PART}"):
            cards.part_failed(tx, core, gate)


def _elsewhere(tx: Tx, core: Core, refused_by: Conversation) -> Conversation | None:
    """Its surface's home, else where the person is who is not at the desk; never back to where it was refused."""
    ways = [place for place in (places.home(tx, refused_by.surface), places.away(tx)) if place is not None]
    if refused_by in ways:
        ways = ways[ways.index(refused_by) + 1 :]
    return next((place for place in ways if place != refused_by and core.can_send_to(place)), None)


def _asked_by(tx: Tx, refused: Delivery) -> list[Gate]:
    """All that stand on the card; or the one that it reminds of, or is a part of."""
    reminded = gates.get(tx, refused.id.partition(":")[0])
    return gates.on_card(tx, refused.id) or ([reminded] if reminded is not None else [])
