"""Messages that their author edited or deleted on the platform. While its turn is queued, an edit changes the request,
and a deleted message is taken back. A running turn has the message already: an edit is offered, and is sent only if its
author presses the button. Afterwards nothing happens."""

from __future__ import annotations

from msgspec.structs import replace

from clew.engine.core import Core
from clew.engine.delivery.enqueue import enqueue_notice
from clew.engine.inbox.access import SPEAKERS, role_of
from clew.engine.inbox.commands import text_for_agent
from clew.engine.turns.completion import drop_queued
from clew.engine.turns.suspension import none_waits
from clew.model.delivery import Button
from clew.model.events.logged import MessageEdited, MessageTakenBack
from clew.model.messages import CLEW, Conversation, Fate, Inbound
from clew.model.turns import Turn, TurnState
from clew.store import Tx
from clew.store.tables import edits, inbox, turns
from clew.store.tables.edits import Edit
from clew.store.tables.inbox import Arrival
from clew.support.text import clean
from clew.texts import card_messages, chat_messages, gate_messages

SEND = "edit:"  # what the button says, before the id of the message
CORRECTION = "I have edited my message. It now says:"
LONGEST_BUTTON = 64  # bytes
_LIVE = frozenset({TurnState.RUNNING, TurnState.WAITING})


def change(tx: Tx, core: Core, inbound: Inbound) -> None:
    """A message has a new text: `inbound` is the message as it is now."""
    turn, text = _open_turn_of(tx, inbound), clean(text_for_agent(core, inbound))
    if turn is None or not text or role_of(tx, core, inbound) not in SPEAKERS:
        return
    if text in [said.text for said in turn.request if said.id == inbound.message_id]:
        return
    if turn.state is TurnState.QUEUED and turn.request_node is None:
        _change_queued(tx, core, turn, inbound.message_id, text)
    else:
        _offer(tx, core, turn, inbound, text)


def _open_turn_of(tx: Tx, inbound: Inbound) -> Turn | None:
    """The turn that is queued or runs and has the message. That may be another than the first that had it: one that
    continues it, or with which it was merged."""
    first = inbox.find(tx, inbound.conversation, inbound.message_id)
    if first is None or first.turn is None or first.thread is None:
        return None
    turn = turns.get(tx, first.turn)
    if turn is not None and turn.state in _LIVE:
        return turn  # a steer is not in its request
    waiting = [turns.live(tx, first.thread), *turns.queued(tx, first.thread)]
    return next((each for each in waiting if each and _has(each, inbound.message_id)), None)


def _has(turn: Turn, message: str) -> bool:
    return message in [said.id for said in turn.request]


def _change_queued(tx: Tx, core: Core, turn: Turn, message: str, text: str) -> None:
    request = tuple(replace(said, text=text) if said.id == message else said for said in turn.request)
    if request != turn.request and turns.set_request(tx, turn.id, request):
        tx.log(turn.thread, turn.id, core.clock.now(), MessageEdited(message))


def _offer(tx: Tx, core: Core, turn: Turn, inbound: Inbound, text: str) -> None:
    """Ask once for each message; the button sends the newest text."""
    where, message = inbound.conversation, inbound.message_id
    edits.put(tx, where, message, Edit(text, inbound.sender_id))
    surface, button = core.surfaces.get(where.surface), Button(card_messages.EDIT_BUTTON, f"{SEND}{message}")
    has_button = surface is not None and surface.can.buttons > 0 and len(button.says.encode()) <= LONGEST_BUTTON
    words = chat_messages.EDIT_OFFERED if has_button else chat_messages.EDIT_TOO_LATE
    buttons = (button,) if has_button else ()
    enqueue_notice(tx, core, where, words, f"{message}@{where}:edited", turn.thread, buttons=buttons, reply_to=message)


def pressed(tx: Tx, inbound: Inbound) -> Inbound | Arrival | None:
    """The edit whose button was pressed, as a message of its author. None: it is another button."""
    message = inbound.text.removeprefix(SEND)
    if not inbound.pressed or message == inbound.text:
        return None
    where = inbound.conversation
    edit, first = edits.get(tx, where, message), inbox.find(tx, where, message)
    if edit is None or first is None or first.thread is None:
        return Arrival(Fate.REFUSED, None, None, chat_messages.SETTLED)
    if edit.sender_id != inbound.sender_id:
        return Arrival(Fate.REFUSED, first.thread, None, chat_messages.NOT_YOUR_EDIT)
    edits.remove(tx, where, message)
    text = f"{CORRECTION}\n{edit.text}"
    return replace(inbound, text=text, thread=first.thread, pressed=False, quoted=None, sees=())


def take_back(tx: Tx, core: Core, surface: str, message: str) -> None:
    """Somebody deleted a message. The platform may not say in which conversation, so it is looked for among the turns
    that are queued or run, and what was said into them: these are few."""
    for turn in turns.open_on(tx, surface):
        if not _has(turn, message):
            continue
        words = chat_messages.DELETED_TOO_LATE
        if turn.state is TurnState.QUEUED and _remove(tx, core, turn, message):
            tx.log(turn.thread, turn.id, core.clock.now(), MessageTakenBack(message))
            words = chat_messages.DELETED if turn.request_node is None else chat_messages.DELETED_DROPPED
        _tell_deleted(tx, core, turn.conversation, words, message, turn.thread)
    for steer in inbox.steers_named(tx, surface, message):
        _tell_deleted(tx, core, steer.conversation, chat_messages.DELETED_TOO_LATE, message, steer.thread)


def _tell_deleted(tx: Tx, core: Core, where: Conversation | None, words: str, message: str, thread: str) -> None:
    enqueue_notice(tx, core, where, words, f"{message}@{where}:deleted", thread)


def _remove(tx: Tx, core: Core, turn: Turn, message: str) -> bool:
    """Remove a message from a queued turn, and drop the turn if nobody's message is left in it, also one that its agent
    refused before. False: the message is in the history with others."""
    left = tuple(said for said in turn.request if said.id != message)
    if any(said.author != CLEW for said in left):
        return turns.set_request(tx, turn.id, left)
    drop_queued(tx, core, turn)
    none_waits(tx, core, turn.thread, gate_messages.TAKEN_BACK)
    return True
