"""Brings a question or an answer to another conversation if its own refuses it for good (topic deleted, clew removed
from the group). It never answers a question."""

from __future__ import annotations

from clew.engine.core import Core
from clew.engine.delivery.enqueue import enqueue_notice
from clew.engine.gates import cards, suspension_prompt
from clew.engine.places.targets import home_or_none
from clew.model.delivery import Delivery, DeliveryKind
from clew.model.events.logged import DeliveryOwed
from clew.model.gates import Gate, GateState
from clew.model.messages import Conversation
from clew.store import Tx
from clew.store.tables import deliveries, gates, places, threads, turns
from clew.support.display.as_code import plain_or_code
from clew.texts import chat_messages, gate_messages


def take_elsewhere(tx: Tx, core: Core, refused: Delivery) -> None:
    if refused.kind in (DeliveryKind.FINAL, DeliveryKind.FILE):
        _answer_elsewhere(tx, core, refused)
    else:
        _ask_elsewhere(tx, core, refused)


def _answer_elsewhere(tx: Tx, core: Core, refused: Delivery) -> None:
    """Send the refused answer elsewhere, after a line that says whose it is and why it comes there. Only within its
    surface, for which its parts were made."""
    thread, row = threads.get(tx, refused.thread), deliveries.get(tx, refused.id)
    where = refused.conversation
    to = _elsewhere(tx, core, where) if where is not None and _is_chat(core, where) else None
    if where is None or thread is None or row is None or to is None or to.surface != where.surface:
        return
    why = chat_messages.answer_elsewhere(plain_or_code(thread.title), row.error or "")
    enqueue_notice(tx, core, to, why, f"{refused.turn}:elsewhere:{to}", thread.id)
    now = core.clock.now()
    if deliveries.readdress(tx, refused.id, to, now, deliveries.time_after_queue(tx, thread.id, to, now)):
        tx.log(thread.id, refused.turn, now, DeliveryOwed(to.surface))


def _is_chat(core: Core, where: Conversation) -> bool:
    surface = core.surfaces.get(where.surface)
    return surface is not None and surface.can.chat


def _ask_elsewhere(tx: Tx, core: Core, refused: Delivery) -> None:
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
    """The chat of a topic, else the home of the surface and its chat, else the away target and its chat. Each is tried
    after the one before it refused, so it ends."""
    ways: list[Conversation] = []
    for place in (home_or_none(tx, core, refused_by.surface), places.away(tx)):
        ways += [each for each in (place, core.parent_of(place)) if each is not None] if place is not None else []
    ways = list(dict.fromkeys(ways))
    if refused_by in ways:
        ways = ways[ways.index(refused_by) + 1 :]
    elif (chat := core.parent_of(refused_by)) is not None:
        ways = [chat, *ways]
    return next((place for place in ways if place != refused_by and core.can_send_to(place)), None)


def _asked_by(tx: Tx, refused: Delivery) -> list[Gate]:
    """The gates on the refused card; or the gate that the delivery is a reminder or a part of."""
    own = gates.get(tx, refused.gate) if refused.gate is not None else None
    return gates.on_card(tx, refused.id) or ([own] if own is not None else [])
