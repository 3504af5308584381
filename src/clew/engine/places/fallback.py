"""Brings a question that its conversation refuses for good to another one, and an answer if its conversation is gone
(topic deleted, clew removed from the group). What was asked in private is never brought to a group. It never answers a
question."""

from __future__ import annotations

from clew.engine.core import Core
from clew.engine.delivery.enqueue import enqueue_notice
from clew.engine.gates import cards, suspension_prompt
from clew.engine.places.targets import home_or_none, owner_chat
from clew.model.delivery import Delivery, DeliveryKind
from clew.model.events.logged import DeliveryOwed
from clew.model.gates import Gate, GateState
from clew.model.messages import Conversation
from clew.model.turns import Turn
from clew.store import Tx
from clew.store.tables import deliveries, gates, inbox, places, threads, turns
from clew.support.display.as_code import plain_or_code
from clew.texts import chat_messages, gate_messages


def take_elsewhere(tx: Tx, core: Core, refused: Delivery, is_gone: bool) -> None:
    if refused.kind in (DeliveryKind.FINAL, DeliveryKind.FILE):
        if is_gone:
            _answer_elsewhere(tx, core, refused)
    else:
        _ask_elsewhere(tx, core, refused, is_gone)


def _answer_elsewhere(tx: Tx, core: Core, refused: Delivery) -> None:
    """Send the refused answer elsewhere, after a line that says whose it is and why it comes there. Only within its
    surface, for which its parts were made."""
    thread, row = threads.get(tx, refused.thread), deliveries.get(tx, refused.id)
    where = refused.conversation
    to = _next_way(tx, core, refused) if where is not None and _is_chat(core, where) else None
    if where is None or thread is None or row is None or to is None or to.surface != where.surface:
        return
    why = chat_messages.answer_elsewhere(plain_or_code(thread.title), row.error or "")
    enqueue_notice(tx, core, to, why, f"{refused.turn}:elsewhere:{to}", thread.id)
    now = core.clock.now()
    if deliveries.readdress(tx, refused.id, to, now, deliveries.time_after_queue(tx, thread.id, to, now)):
        tx.log(thread.id, refused.turn, now, DeliveryOwed(to.surface))


def _next_way(tx: Tx, core: Core, refused: Delivery) -> Conversation | None:
    """The next conversation to try. None: there is no other that may read it."""
    ways = _ways(tx, core, refused.conversation) if refused.conversation is not None else []
    return next((way for way in ways if _may_read(tx, core, refused, way)), None)


def _may_read(tx: Tx, core: Core, refused: Delivery, way: Conversation) -> bool:
    """Whether it may come there: to the chat of its topic; if not all of the request was written in a group, else only
    to a direct chat. What the computer asks may come to where its person said that they are away, and anywhere if they
    sent it to a group themselves."""
    if refused.conversation is not None and core.parent_of(refused.conversation) == way:
        return True
    turn = turns.get(tx, refused.turn) if refused.turn is not None else None
    was_public = turn is not None and bool(turn.request) and all(message.among for message in turn.request)
    is_for_away = turn is not None and _is_of_local_client(core, turn) and way == places.away(tx)
    was_public = was_public or (turn is not None and _is_of_local_client(core, turn) and _went_to_group(tx, core, turn))
    return was_public or is_for_away or not _is_chat(core, way) or _is_direct(tx, core, way)


def _is_of_local_client(core: Core, turn: Turn) -> bool:
    return turn.conversation is None or turn.conversation.surface == core.local_surface


def _went_to_group(tx: Tx, core: Core, turn: Turn) -> bool:
    """Whether it is known that the notify target of the thread is a group."""
    thread = threads.get(tx, turn.thread)
    target = Conversation.parse(thread.notify_target) if thread is not None and thread.notify_target else None
    if target is None or not _is_chat(core, target):
        return False
    chat = core.parent_of(target)
    if chat is not None:  # a topic
        return not _is_direct(tx, core, target) and not _is_direct(tx, core, chat)
    return _newest_is_among(tx, target) is True


def _newest_is_among(tx: Tx, where: Conversation) -> bool | None:
    """Whether the newest message there for an agent was written in a group; None: there is none."""
    newest = inbox.newest_for_agent(tx, where)
    turn = turns.get(tx, newest[0]) if newest is not None else None
    if turn is None or newest is None:
        return None
    return next((each.among for each in turn.request if each.id == newest[1]), None)


def _is_direct(tx: Tx, core: Core, where: Conversation) -> bool:
    """Whether it is known that only one person reads there: the direct chat of the owner, or one whose newest message
    for an agent was not written in a group."""
    if owner_chat(tx, core, where.surface) == where:
        return True
    return _newest_is_among(tx, where) is False


def _is_chat(core: Core, where: Conversation) -> bool:
    surface = core.surfaces.get(where.surface)
    return surface is not None and surface.can.chat


def _ask_elsewhere(tx: Tx, core: Core, refused: Delivery, is_gone: bool) -> None:
    """Show the refused question elsewhere. If no other conversation may read it, only local clients show it, and the
    chat in which an owner names its code."""
    thread, to = threads.get(tx, refused.thread), _next_way(tx, core, refused)
    if refused.part is not None:
        _mark_incomplete(tx, core, refused)
    if thread is None or (to is None and not is_gone):
        return
    for gate in _asked_by(tx, refused):
        turn = turns.get(tx, gate.turn)
        if gate.state is GateState.OPEN and gate.where == refused.conversation and turn is not None:
            gates.forget_card(tx, gate.id)
            cards.drop_empty_card(tx, gate.card)
            if to is not None:
                cards.show_at(tx, core, turn, gate, to, gate_messages.STRANDED)
    newest = deliveries.newest_ask(tx, thread.id)
    if to is not None and newest is not None and newest.id == refused.id:
        suspension_prompt.move(tx, core, thread, to)


def _mark_incomplete(tx: Tx, core: Core, refused: Delivery) -> None:
    """A card whose part was refused must not be accepted, since its text is incomplete."""
    for gate in _asked_by(tx, refused):
        if gate.state is GateState.OPEN and gate.card == refused.card:
            cards.part_failed(tx, core, gate)


def _ways(tx: Tx, core: Core, refused_by: Conversation) -> list[Conversation]:
    """The chat of a topic, else the home of the surface and its chat, else the direct chat of the owner, else the away
    target and its chat. Each is tried after the one before it refused, so it ends."""
    ways: list[Conversation] = []
    surface = refused_by.surface
    for place in (home_or_none(tx, core, surface), owner_chat(tx, core, surface), places.away(tx)):
        ways += [each for each in (place, core.parent_of(place)) if each is not None] if place is not None else []
    ways = list(dict.fromkeys(ways))
    if refused_by in ways:
        ways = ways[ways.index(refused_by) + 1 :]
    elif (chat := core.parent_of(refused_by)) is not None:
        ways = [chat, *ways]
    return [place for place in ways if place != refused_by and core.can_send_to(place)]


def _asked_by(tx: Tx, refused: Delivery) -> list[Gate]:
    """The gates on the refused card; or the gate that the delivery is a reminder or a part of."""
    own = gates.get(tx, refused.gate) if refused.gate is not None else None
    return gates.on_card(tx, refused.id) or ([own] if own is not None else [])
