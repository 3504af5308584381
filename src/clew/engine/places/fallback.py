"""Asks a question in another conversation if its own refuses it for good (topic deleted, clew removed from the group).
It never answers a question."""

from __future__ import annotations

from clew.engine.core import Core
from clew.engine.gates import cards, suspension_prompt
from clew.model.delivery import Delivery
from clew.model.gates import Gate, GateState
from clew.model.messages import Conversation
from clew.store import Tx
from clew.store.tables import deliveries, gates, places, threads, turns
from clew.texts import gate_messages


def ask_elsewhere(tx: Tx, core: Core, refused: Delivery) -> None:
    """Show the refused question elsewhere. If there is no other conversation, only local clients show it."""
    thread = threads.get(tx, refused.thread)
    if refused.part is not None:
        _mark_incomplete(tx, core, refused)
    to = _elsewhere(tx, core, refused.conversation) if refused.conversation else None
    if thread is None or to is None:
        return
    for gate in _asked_by(tx, refused):
        turn = turns.get(tx, gate.turn)
        if gate.state is GateState.OPEN and gate.where == refused.conversation and turn is not None:
            gates.forget_card(tx, gate.id)
            cards.drop_empty_card(tx, gate.card)
            cards.show_at(tx, core, turn, gate, to, gate_messages.STRANDED)
    newest = deliveries.newest_ask(tx, thread.id)
    if newest is not None and newest.id == refused.id:
        suspension_prompt.move(tx, core, thread, to)


def _mark_incomplete(tx: Tx, core: Core, refused: Delivery) -> None:
    """A card whose part was refused must not be accepted, since its text is incomplete."""
    for gate in _asked_by(tx, refused):
        if gate.state is GateState.OPEN and gate.card == refused.card:
            cards.part_failed(tx, core, gate)


def _elsewhere(tx: Tx, core: Core, refused_by: Conversation) -> Conversation | None:
    """The home of the surface, else the away target; never the conversation that refused it."""
    ways = [place for place in (places.home(tx, refused_by.surface), places.away(tx)) if place is not None]
    if refused_by in ways:
        ways = ways[ways.index(refused_by) + 1 :]
    return next((place for place in ways if place != refused_by and core.can_send_to(place)), None)


def _asked_by(tx: Tx, refused: Delivery) -> list[Gate]:
    """The gates on the refused card; or the gate that the delivery is a reminder or a part of."""
    own = gates.get(tx, refused.gate) if refused.gate is not None else None
    return gates.on_card(tx, refused.id) or ([own] if own is not None else [])
