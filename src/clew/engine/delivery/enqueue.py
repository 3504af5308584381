"""Enqueues deliveries: the only module that creates them. A delivery that cannot be sent is recorded too, with that
state. It never sends."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import count

from msgspec.structs import replace

from clew.engine.core import Core
from clew.engine.delivery.language import localized
from clew.engine.delivery.split import size, split
from clew.model.delivery import Button, Delivery, DeliveryKind, DeliveryState
from clew.model.events.logged import DeliveryOwed
from clew.model.messages import Attachment, Conversation, Inbound
from clew.model.surface import Units
from clew.model.threads import Thread
from clew.model.turns import Origin, Turn
from clew.store import Tx
from clew.store.tables import deliveries, inbox, places, turns
from clew.store.tables.inbox import Arrival
from clew.support.display import shortened
from clew.texts import chat_messages

_MARKS = [text for mark in (chat_messages.POSSIBLE_REPEAT, chat_messages.RECOVERED) for text in (mark, mark.zh)]
SEPARATORS = 16  # characters that a surface may put between text and note


def answer_target(tx: Tx, core: Core, thread: Thread, turn: Turn) -> Conversation | None:
    """Where a turn's answer goes: the turn's conversation (which may have moved), if it can be reached."""
    now = turns.get(tx, turn.id) or turn
    return reachable_target(tx, core, thread, now.conversation)


def reachable_target(tx: Tx, core: Core, thread: Thread, wanted: Conversation | None) -> Conversation | None:
    """The wanted conversation; if we cannot send there, the thread's notify target, else the away target."""
    if core.can_send_to(wanted):
        return wanted
    return Conversation.parse(thread.notify_target) if thread.notify_target else places.away(tx)


def enqueue_delivery(
    tx: Tx,
    core: Core,
    turn: Turn,
    kind: DeliveryKind,
    where: Conversation | None,
    body: str,
    *,
    note: str = "",
    id: str | None = None,
    after: int = 0,
    since: int = 0,
    edits: str | None = None,
    buttons: Sequence[Button] = (),
    file: Attachment | None = None,
    gate: str | None = None,
    card: str | None = None,
    part: int | None = None,
    reply_to: str | None = None,
) -> None:
    """Enqueue a delivery. Its id is deterministic, so that enqueueing twice creates one. It is due `after` so many
    milliseconds, and ordered behind all that was enqueued before `since`."""
    body, note = localized(tx, core, where, body), localized(tx, core, where, note)
    body = body if kind is DeliveryKind.FINAL else shortened_to_fit(core, where, body)
    now = core.clock.now()
    if kind is DeliveryKind.FINAL and part is None:
        part = 1
    state, error = _initial_state(core, where)
    rewritten = deliveries.get(tx, edits) if edits is not None else None
    delivery = Delivery(
        id=id or f"{turn.id}:{kind}",
        kind=kind,
        thread=turn.thread,
        turn=turn.id,
        conversation=where if state is not DeliveryState.NO_TARGET else None,
        body=body,
        state=state,
        created_at=max(since, deliveries.time_after_queue(tx, turn.thread, where, now) if where is not None else now),
        due_at=now + after,
        error=error,
        note=note,
        edits=edits,
        buttons=shown_buttons(tx, core, where, buttons),
        file=file,
        gate=rewritten.gate if rewritten is not None else gate,
        card=card,
        part=part,
        reply_to=reply_to,
    )
    if deliveries.enqueue(tx, delivery) and state is DeliveryState.PENDING and where is not None:
        tx.log(turn.thread, turn.id, now, DeliveryOwed(where.surface))


def enqueue_answer(tx: Tx, core: Core, turn: Turn, where: Conversation | None, body: str, note: str) -> None:
    """Enqueue an answer; if it is too long for one message of its surface, in parts, each a delivery of its own."""
    body, note = localized(tx, core, where, body), localized(tx, core, where, note)
    parts = _parts(core, where, body, note)
    question = question_of(tx, core, turn, where)
    for number, text in enumerate(parts, 1):
        id = f"{turn.id}:{DeliveryKind.FINAL}" + (f":{number}" if number > 1 else "")
        small = note if number == len(parts) else ""
        asked = question if number == 1 else None
        enqueue_delivery(
            tx, core, turn, DeliveryKind.FINAL, where, text, note=small, id=id, part=number, reply_to=asked
        )


def question_of(tx: Tx, core: Core, turn: Turn, where: Conversation | None) -> str | None:
    """The newest message of a turn's request that was written in this conversation, if its surface has replies."""
    surface = core.surfaces.get(where.surface) if where else None
    if where is None or surface is None or not surface.can.replies:
        return None
    said = (message.id for message in reversed(turn.request))
    return next((id for id in said if inbox.is_written(tx, where, id)), None)


def enqueue_files(tx: Tx, core: Core, turn: Turn, where: Conversation | None, files: Sequence[Attachment]) -> None:
    """Enqueue the files of an answer, each as a message behind it."""
    for number, file in enumerate(files, 1):
        enqueue_delivery(tx, core, turn, DeliveryKind.FILE, where, file.name, id=f"{turn.id}:file:{number}", file=file)


def _parts(core: Core, where: Conversation | None, body: str, note: str) -> list[str]:
    surface = core.surfaces.get(where.surface) if where else None
    if surface is None or surface.can.max_length is None:
        return [body]
    space = surface.can.max_length - size(note, surface.can.units) - reserved_length(surface.can.units)
    return [part.shown for part in split(body, space, surface.can.units)]


def shortened_to_fit(core: Core, where: Conversation | None, body: str) -> str:
    """A text that must fit into one message, such as a card: its beginning and its end, if it is too long."""
    surface = core.surfaces.get(where.surface) if where else None
    if surface is None or surface.can.max_length is None:
        return body
    space = limit = surface.can.max_length - reserved_length(surface.can.units)
    shown = body
    while size(shown, surface.can.units) > limit:
        shown, space = shortened(body, space), space * 3 // 4
    return shown


def reserved_length(units: Units) -> int:
    """Length to reserve for the marks that a repeated send adds to the text."""
    return SEPARATORS + max(size(mark, units) for mark in _MARKS)


def enqueue_reply(tx: Tx, core: Core, inbound: Inbound, arrival: Arrival) -> None:
    """Tell the sender of a chat message what became of it. Other surfaces return that to their caller themselves."""
    surface = core.surfaces.get(inbound.conversation.surface)
    if surface is None or not surface.can.chat or inbound.pressed or not arrival.words:
        return
    file, kind = arrival.file, DeliveryKind.FILE if arrival.file else DeliveryKind.NOTICE
    id = f"{inbound.message_id}@{inbound.conversation}:{'file:1' if file else 'words'}"
    words, where, thread = file.name if file else arrival.words, inbound.conversation, arrival.thread or ""
    _enqueue(tx, core, where, words, id, thread, arrival.turn, kind, buttons=arrival.buttons, file=file)


def enqueue_greeting(tx: Tx, core: Core, where: Conversation, words: str, id: str) -> None:
    """Enqueue a message that belongs to no thread."""
    _enqueue(tx, core, where, words, id, "", None)


def enqueue_notice(
    tx: Tx,
    core: Core,
    where: Conversation | None,
    words: str,
    id: str,
    thread: str,
    *,
    turn: str | None = None,
    buttons: Sequence[Button] = (),
    reply_to: str | None = None,
) -> None:
    """Enqueue one line about a thread, if we can send to the conversation."""
    if where is not None and core.can_send_to(where):
        replied = reply_to if core.surfaces[where.surface].can.replies else None
        _enqueue(tx, core, where, words, id, thread, turn, buttons=buttons, reply_to=replied)


def enqueue_dropped_notices(tx: Tx, core: Core, dropped: Sequence[Turn], why: str, here: Conversation | None) -> None:
    """Notify each conversation whose queued messages were dropped, except `here`, where that was requested."""
    waited = [turn for turn in dropped if turn.origin is not Origin.GREETING]
    for where in dict.fromkeys(turn.conversation for turn in waited):
        told = [turn for turn in waited if turn.conversation == where]
        if where != here:
            first, text = told[0], chat_messages.not_run(len(told), why)
            enqueue_notice(tx, core, where, text, f"{first.id}:dropped", first.thread, turn=first.id)


def enqueue_handoff_notice(
    tx: Tx, core: Core, where: Conversation, words: str, id: str, thread: str, handoff: str
) -> None:
    """Enqueue the first message of a handoff, in the new conversation."""
    _enqueue(tx, core, where, words, id, thread, None, DeliveryKind.HANDOFF, handoff)


def _enqueue(
    tx: Tx,
    core: Core,
    where: Conversation,
    words: str,
    id: str,
    thread: str,
    turn: str | None,
    kind: DeliveryKind = DeliveryKind.NOTICE,
    handoff: str | None = None,
    buttons: Sequence[Button] = (),
    file: Attachment | None = None,
    reply_to: str | None = None,
) -> None:
    now = core.clock.now()
    at, pending = deliveries.time_after_queue(tx, thread, where, now), DeliveryState.PENDING
    text = shortened_to_fit(core, where, localized(tx, core, where, words))
    notice = Delivery(
        id,
        kind,
        thread,
        turn,
        where,
        text,
        pending,
        at,
        due_at=now,
        handoff=handoff,
        buttons=shown_buttons(tx, core, where, buttons),
        file=file,
        reply_to=reply_to,
    )
    if deliveries.enqueue(tx, notice):
        tx.log(thread, turn, now, DeliveryOwed(where.surface))


def deliveries_named(tx: Tx, name: str) -> Iterator[Delivery]:
    """Deliveries whose id is `name`, `name:2`, `name:3`, …, in order."""
    for number in count(1):
        found = deliveries.get(tx, name if number == 1 else f"{name}:{number}")
        if found is None:
            return
        yield found


def next_free_id(tx: Tx, name: str) -> str:
    """`name`, or `name:N` if earlier deliveries have that id, so that the same event can be reported again."""
    before = len(list(deliveries_named(tx, name)))
    return f"{name}:{before + 1}" if before else name


def shown_buttons(tx: Tx, core: Core, where: Conversation | None, buttons: Sequence[Button]) -> tuple[Button, ...]:
    """The buttons that the surface can show, localized. The text says how to answer without buttons."""
    surface = core.surfaces.get(where.surface) if where else None
    shown = buttons[: surface.can.buttons] if surface is not None else ()
    return tuple(replace(button, label=localized(tx, core, where, button.label)) for button in shown)


def mark_superseded(tx: Tx, core: Core, turn: Turn) -> None:
    """Record that a turn gets no answer of its own: it was dropped, or another turn continues it."""
    now = core.clock.now()
    name, kind = f"{turn.id}:{DeliveryKind.FINAL}", DeliveryKind.FINAL
    nothing = Delivery(name, kind, turn.thread, turn.id, turn.conversation, "", DeliveryState.SUPERSEDED, now, part=1)
    deliveries.enqueue(tx, nothing)


def _initial_state(core: Core, where: Conversation | None) -> tuple[DeliveryState, str | None]:
    if where is None:
        return DeliveryState.NO_TARGET, None
    if core.can_send_to(where):
        return DeliveryState.PENDING, None
    if where.surface in core.surfaces or where.surface == core.local_surface:
        return DeliveryState.NO_TARGET, None
    return DeliveryState.FAILED, chat_messages.surface_gone(where.surface)


def part_name(card: str, number: int) -> str:
    return f"{card}:part:{number}"
