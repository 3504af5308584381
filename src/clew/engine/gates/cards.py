"""Shows gates in conversations: one card for gates that open together. At each change the card is redrawn if the
surface can edit messages; else one more line is sent. This module never decides and never answers."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from msgspec.structs import replace

from clew.engine.core import Core
from clew.engine.delivery.enqueue import (
    answer_target,
    deliveries_named,
    enqueue_delivery,
    next_free_id,
    part_name,
    reachable_target,
    shortened_to_fit,
    shown_buttons,
)
from clew.engine.delivery.language import CHINESE, language_of
from clew.engine.gates import button_labels
from clew.engine.gates.choices import AT_FIRST, choices, has_numeric_options
from clew.engine.gates.status_lines import chat_status_line, in_english, title_line
from clew.engine.gates.visibility import (
    MessageLimit,
    Say,
    detail_seen,
    fence,
    folder_seen,
    has_detail_to_show,
    line_count,
    message_limit,
    part_deliveries,
    prose,
    prose_with_line_count,
    render_name,
    sent_time,
    split_request,
    title_seen,
)
from clew.model.delivery import Button, Delivery, DeliveryKind, DeliveryState
from clew.model.events.logged import DeliverySent
from clew.model.gates import Asked, Gate, GateKind, GateState, Question
from clew.model.messages import Conversation
from clew.model.threads import Thread
from clew.model.turns import Turn
from clew.store import Tx
from clew.store.tables import deliveries, gates, turns
from clew.texts import bilingual, card_messages, gate_messages, handoff_messages
from clew.texts.bilingual import Bilingual

JOIN_WINDOW = 150  # milliseconds that a card waits for more gates to join it
REMIND, AGAIN = "remind", "again"  # in the ids of deliveries that show a gate once more
COPY = "copy"  # the same, in another conversation than its card


def show(tx: Tx, core: Core, thread: Thread, turn: Turn, gate: Gate) -> None:
    """Enqueue a card for the gate, in the transaction that stores the gate."""
    where = answer_target(tx, core, thread, turn)
    if where is not None:
        show_at(tx, core, turn, gate, where)


def show_at(tx: Tx, core: Core, turn: Turn, gate: Gate, where: Conversation, note: str = "") -> None:
    """Add the gate to the card that is about to be sent, if it fits completely; else enqueue a card of its own, with
    parts before it if the request is too long for one message."""
    if _join_pending_card(tx, core, turn, gate, where):
        return
    card = next_free_id(tx, f"{gate.id}:{DeliveryKind.ASK}")
    gates.set_card(tx, gate.id, card, where, _enqueue_card(tx, core, turn, gate, where, card, note))


def show_copy(tx: Tx, core: Core, turn: Turn, gate: Gate, where: Conversation) -> None:
    """Show a gate in one more conversation, where it can be answered too. Its card stays where it is."""
    _enqueue_card(tx, core, turn, gate, where, next_free_id(tx, f"{gate.id}:{COPY}"))


def copy_shown_at(tx: Tx, core: Core, gate: Gate, where: Conversation) -> int | None:
    """The time from which a message in a conversation without the card can answer the gate: when its newest complete
    copy was sent there, after the gate was asked last. None: there is none."""
    before = _parts_before_card(gate, message_limit(core, where), _language_picker(tx, core, where))
    times = [
        sent
        for copy in deliveries_named(tx, f"{gate.id}:{COPY}")
        if before is not None and copy.conversation == where and _is_complete(tx, copy, len(before))
        if (sent := sent_time(copy)) is not None and sent >= gate.asked_at
    ]
    return max(times, default=None)


def _is_complete(tx: Tx, copy: Delivery, parts: int) -> bool:
    shown = [copy, *part_deliveries(tx, copy.id)]
    return len(shown) == parts + 1 and all(each.state is DeliveryState.SENT for each in shown)


def is_copy_coming(tx: Tx, gate: Gate, where: Conversation) -> bool:
    """Whether a copy of the gate is about to be sent there."""
    on_its_way = (DeliveryState.PENDING, DeliveryState.SENDING)
    copies = deliveries_named(tx, f"{gate.id}:{COPY}")
    return any(copy.conversation == where and copy.state in on_its_way for copy in copies)


def fits_in(tx: Tx, core: Core, gate: Gate, where: Conversation) -> bool:
    """Whether the gate can be shown completely in a conversation."""
    return _parts_before_card(gate, message_limit(core, where), _language_picker(tx, core, where)) is not None


def _enqueue_card(tx: Tx, core: Core, turn: Turn, gate: Gate, where: Conversation, card: str, note: str = "") -> int:
    """Returns how many messages show the gate completely; 0: it is too long for that."""
    say = _language_picker(tx, core, where)
    before = _parts_before_card(gate, message_limit(core, where, note), say)
    whole_in = len(before) + 1 if before is not None else 0
    for number, text in enumerate(before or (), 1):
        name = part_name(card, number)
        enqueue_delivery(
            tx, core, turn, DeliveryKind.NOTICE, where, text, id=name, gate=gate.id, card=card, part=number
        )
    shown = [replace(gate, whole_in=whole_in)]
    text, offered = render_card(shown, say), button_labels.card_buttons(shown)
    ask, due = DeliveryKind.ASK, JOIN_WINDOW
    enqueue_delivery(tx, core, turn, ask, where, text, note=note, id=card, after=due, buttons=offered, gate=gate.id)
    return whole_in


def _join_pending_card(tx: Tx, core: Core, turn: Turn, gate: Gate, where: Conversation) -> bool:
    card = _pending_card(tx, turn, where)
    if card is None:
        return False
    shown, limit = [*gates.on_card(tx, card.id), replace(gate, whole_in=1)], message_limit(core, where, card.note)
    if any(each.whole_in != 1 or limit.is_exceeded_by(each.asked) for each in shown):
        return False
    text, offered = render_card(shown, _language_picker(tx, core, where)), button_labels.card_buttons(shown)
    if not limit.fits(text) or not deliveries.replace_text(tx, card.id, text, shown_buttons(tx, core, where, offered)):
        return False
    gates.set_card(tx, gate.id, card.id, where, 1)
    return True


def _parts_before_card(gate: Gate, limit: MessageLimit, say: Say) -> list[str] | None:
    """The messages before the card that show the complete request; empty if the card alone does. None: the request
    cannot be shown completely there."""
    if limit.is_exceeded_by(gate.asked):
        return None
    if limit.fits(render_card([replace(gate, whole_in=1)], say)):
        return []
    found = split_request(gate, limit, say) if limit.length is not None else []
    fits = limit.fits(render_card([replace(gate, whole_in=len(found) + 1)], say))
    return found if found and fits else None


def show_again(tx: Tx, core: Core, thread: Thread, turn: Turn, gate: Gate) -> None:
    """Show a reopened gate. An edited card would notify nobody, so a new message is sent too; a card that was never
    sent is replaced."""
    card = deliveries.get(tx, gate.card) if gate.card else None
    if card is None or gate.where is None:
        show(tx, core, thread, turn, gate)
        return
    if card.state is DeliveryState.SUPERSEDED:
        show_at(tx, core, turn, gate, gate.where)
        return
    redraw(tx, core, gate)
    _enqueue_again(tx, core, gate, card_messages.ASKED_AGAIN_HEAD, AGAIN)


def move(tx: Tx, core: Core, thread: Thread, to: Conversation, asked: Sequence[Gate]) -> None:
    """Ask the open gates in another conversation, even if their turn is over; every copy elsewhere says where they
    went."""
    where = reachable_target(tx, core, thread, to)
    moving = [gate for gate in asked if gate.where != where]
    copies = {copy.id: copy for gate in moving for copy in _copies(tx, gate)}
    for gate in moving:
        gates.forget_card(tx, gate.id)
    for copy in copies.values():
        _withdraw(tx, core, copy, handoff_messages.moved(to.surface, core.local_surface))
    for gate in moving:
        turn = turns.get(tx, gate.turn)
        if turn is not None and where is not None:
            show_at(tx, core, turn, gate, where)


def note_pressed(tx: Tx, core: Core, code: str, where: Conversation, message_id: str) -> None:
    """A button was pressed on a message whose receipt was lost. Now its id is known: it is the card itself, if that is
    in doubt, else a copy of it, which is redrawn from now on."""
    gate = gates.by_code(tx, code)
    card = deliveries.get(tx, gate.card) if gate is not None and gate.card else None
    is_known = deliveries.by_receipt(tx, where, message_id) is not None or deliveries.is_ask_sending(tx, where)
    if gate is None or card is None or gate.where != where or is_known:
        return
    now = core.clock.now()
    if deliveries.record_found(tx, card.id, message_id, now):
        tx.log(gate.thread, gate.turn, now, DeliverySent(card.id))
        return
    id = next_free_id(tx, f"{gate.id}:{AGAIN}")
    copy = Delivery(id, DeliveryKind.ASK, gate.thread, gate.turn, where, "", DeliveryState.SENT, now, gate=gate.id)
    deliveries.record_copy(tx, copy, message_id, card.first_sent_at or card.created_at)
    if gate.state is not GateState.OPEN:
        redraw(tx, core, gate)


def _withdraw(tx: Tx, core: Core, copy: Delivery, moved_text: str) -> None:
    """Remove moved gates from a copy; other gates on it stay."""
    turn, left = turns.get(tx, copy.turn or ""), gates.on_card(tx, copy.id)
    text = render_card(left) if left else moved_text
    deliveries.supersede_edits(tx, copy.id)
    drop_parts(tx, copy.id)
    if copy.state is DeliveryState.PENDING and copy.first_sent_at is None:
        _redraw_unsent(tx, copy.id, left, text, ())
    elif turn is not None and copy.conversation is not None and _can_edit(core, copy.conversation):
        change = next_free_id(tx, f"{copy.id}:moved")
        enqueue_delivery(
            tx, core, turn, DeliveryKind.REDRAW, copy.conversation, text, id=change, edits=copy.id, gate=copy.gate
        )


def redraw(tx: Tx, core: Core, gate: Gate) -> None:
    """Redraw every copy with the gate's state."""
    for copy in _copies(tx, gate):
        if copy.conversation is not None:
            _redraw(tx, core, gate, copy, copy.conversation)


def _redraw(tx: Tx, core: Core, gate: Gate, copy: Delivery, where: Conversation) -> None:
    turn = turns.get(tx, gate.turn)
    assert turn is not None
    limit, say = message_limit(core, where, copy.note), _language_picker(tx, core, where)
    shown = gates.on_card(tx, copy.id) or [_as_copy(gate, limit, say)]
    if not limit.fits(render_card(shown, say)):
        shown = [_mark_incomplete(tx, each) for each in shown]
    offered = button_labels.card_buttons(shown)
    text = shortened_to_fit(core, where, render_card(shown, say))
    if copy.state is DeliveryState.PENDING and copy.first_sent_at is None:
        _redraw_unsent(tx, copy.id, shown, text, shown_buttons(tx, core, where, offered))
    elif _can_edit(core, where):
        deliveries.supersede_edits(tx, copy.id)
        change = next_free_id(tx, f"{copy.id}:{gate.code}:{gate.state}")
        enqueue_delivery(tx, core, turn, DeliveryKind.REDRAW, where, text, id=change, edits=copy.id, buttons=offered)
    elif copy.id == gate.card and gate.state in (GateState.TAKEN, GateState.VOID, GateState.EXPIRED):
        status = in_both_languages(lambda say: chat_status_line(gate, say))
        enqueue_delivery(tx, core, turn, DeliveryKind.NOTICE, where, status, id=f"{gate.id}:{gate.state}", gate=gate.id)


def remind(tx: Tx, core: Core, gate: Gate) -> None:
    _enqueue_again(tx, core, gate, card_messages.REMINDER_HEAD, REMIND)


def _enqueue_again(tx: Tx, core: Core, gate: Gate, head: str, name: str) -> None:
    turn = turns.get(tx, gate.turn)
    if turn is None or gate.where is None:
        return
    say = _language_picker(tx, core, gate.where)
    shown = _as_copy(gate, message_limit(core, gate.where, f"{head}\n{bilingual.zh(head)}"), say)
    text = f"{say(head)}\n{render_card([shown], say)}"
    offered = button_labels.card_buttons([shown])
    again = next_free_id(tx, f"{gate.id}:{name}")
    enqueue_delivery(tx, core, turn, DeliveryKind.ASK, gate.where, text, id=again, buttons=offered, gate=gate.id)


def render_alone(core: Core, gate: Gate, where: Conversation) -> Bilingual:
    """The state of a gate, and its request if it is open, for a person who asks. It allows no more than its card."""
    here = replace(gate, whole_in=gate.whole_in if gate.where == where else 0)
    shown = replace(gate, whole_in=1) if where == Conversation(core.local_surface, "") else here
    return in_both_languages(lambda say: render_card([_as_copy(shown, message_limit(core, where), say)], say))


def _as_copy(gate: Gate, limit: MessageLimit, say: Say) -> Gate:
    """The gate for a message that is not its card: complete on this one message, or without a way to allow it."""
    is_complete = gate.whole_in == 1 and limit.fits(render_card([gate], say))
    return gate if is_complete else replace(gate, whole_in=0)


def _mark_incomplete(tx: Tx, gate: Gate) -> Gate:
    """Mark a gate that was complete on its card and no longer fits, as there is more text."""
    if gate.state is GateState.OPEN and gate.whole_in == 1:
        gates.mark_incomplete(tx, gate.id)
        return replace(gate, whole_in=0)
    return gate


def part_failed(tx: Tx, core: Core, gate: Gate) -> None:
    """A part was refused for good, so the card after it must not allow the gate."""
    gates.mark_incomplete(tx, gate.id)
    redraw(tx, core, replace(gate, whole_in=0))


def drop_empty_card(tx: Tx, card: str | None) -> None:
    """Drop a card that shows no gate any more, and its parts."""
    if card is not None and not gates.on_card(tx, card):
        drop_parts(tx, card)
        deliveries.supersede(tx, card)


def drop_parts(tx: Tx, card: str) -> None:
    """Drop the parts of a card that were not sent yet."""
    for part in part_deliveries(tx, card):
        deliveries.supersede(tx, part.id)


def _copies(tx: Tx, gate: Gate) -> list[Delivery]:
    """All messages that show the gate as open in its conversation."""
    card = deliveries.get(tx, gate.card) if gate.card else None
    repeated = [copy for kind in (REMIND, AGAIN) for copy in deliveries_named(tx, f"{gate.id}:{kind}")]
    here = [copy for copy in repeated if copy.conversation == gate.where]  # those elsewhere already say that it moved
    return [*([card] if card is not None else []), *here, *deliveries_named(tx, f"{gate.id}:{COPY}")]


def in_both_languages(render: Callable[[Say], str]) -> Bilingual:
    return Bilingual(render(in_english), render(bilingual.zh))


def _language_picker(tx: Tx, core: Core, where: Conversation) -> Say:
    """A function that picks the text in the language of the conversation."""
    return bilingual.zh if language_of(tx, core, where) == CHINESE else in_english


def render_card(shown: Sequence[Gate], say: Say = in_english) -> str:
    """The text of a card: open gates in full, settled ones in one line."""
    parts = [_render_open(gate, say) if gate.state is GateState.OPEN else chat_status_line(gate, say) for gate in shown]
    waiting = [gate for gate in shown if gate.state is GateState.OPEN]
    if short := _hint_without_code(waiting):
        parts.append(say(short))
    return "\n\n".join(parts)


def _hint_without_code(waiting: Sequence[Gate]) -> Bilingual | None:
    """The hint about answers without a code, which work only in a conversation of the thread that asks. A conversation
    may change its thread while the card is there, so the hint says so."""
    approvals = [gate for gate in waiting if gate.whole_in and gate.asked.kind is not GateKind.QUESTION]
    if len(waiting) != len(approvals) or not waiting:
        return None
    if len(waiting) == 1:
        return card_messages.SHORT_ANSWER
    return card_messages.SHORT_ANSWER_TO_ALL


def _render_open(gate: Gate, say: Say) -> str:
    """The request, if this card shows it completely; else where it is complete."""
    asked = gate.asked
    kind = asked.shown_as
    head = [
        f"{say(card_messages.HEADS[kind])} ({gate.code})",
        *([say(card_messages.asked_by(render_name(" › ".join(asked.agents))))] if asked.agents else ()),
        *(_render_request(gate, say) if gate.whole_in == 1 else ()),
    ]
    head += [prose(say(asked.asker))] if asked.asker else []
    head += _render_reason(asked, say) if gate.whole_in == 1 else [_where_complete(gate, say)]
    head += [f"⚠ {prose(say(warning))}" for warning in gate_messages.warnings(gate)]
    how = _reply_hints(gate, say) if gate.whole_in else [say(_decline_hint(gate))]
    return "\n".join([*head, *how])


def _render_reason(asked: Asked, say: Say) -> list[str]:
    reason = prose_with_line_count(say(asked.reason), say)
    said = card_messages.it_says(reason) if asked.asker else card_messages.agent_says(reason)
    return [say(said)] if asked.reason else []


def _where_complete(gate: Gate, say: Say) -> str:
    if gate.whole_in:
        return say(gate_messages.shown_before(gate.whole_in - 1))
    return f"{fence(say(title_line(gate)))}\n{say(gate_messages.not_on_card(gate.code))}"


def _decline_hint(gate: Gate) -> Bilingual:
    is_question = gate.asked.kind is GateKind.QUESTION
    return card_messages.how_to_stop(gate.code) if is_question else card_messages.how_to_decline(gate.code)


def _render_request(gate: Gate, say: Say) -> list[str]:
    asked = gate.asked
    detail = [fence(detail_seen(asked, say(asked.detail)))] if has_detail_to_show(asked) else []
    questions = [_render_question(question, say) for question in asked.questions]
    if asked.shown_as is GateKind.QUESTION:
        return [*questions, *detail]
    title = [*line_count(asked, say), fence(title_seen(asked, say(asked.title)))]
    folder = [say(card_messages.in_folder(render_name(where)))] if (where := folder_seen(asked)) else []
    return [*title, *folder, *detail, *questions]


def _reply_hints(gate: Gate, say: Say) -> list[str]:
    """How to reply."""
    code, asked = gate.code, gate.asked
    if asked.kind is not GateKind.QUESTION:
        first = [each for each in choices(gate) if each.number <= AT_FIRST]  # a chat would count a gap away
        how = card_messages.how_to_answer if len(first) == len(choices(gate)) else card_messages.how_to_stop_too
        return ["\n".join(f"{each.number}. {say(each.label)}" for each in first), say(how(code))]
    if len(asked.questions) != 1:
        return [say(card_messages.how_to_answer_each(code))]
    return [_question_hint(asked.questions[0], code, say)]


def _question_hint(question: Question, code: str, say: Say) -> str:
    if question.secret:
        return say(card_messages.secret_on_card(code))
    if not question.options:
        return say(card_messages.how_to_write(code))
    other = say(card_messages.or_own_words(code)) if question.free else ""
    if has_numeric_options(question):
        return say(card_messages.how_to_choose_by_words(code, other))
    return say(card_messages.how_to_choose(code, other))


def _render_question(question: Question, say: Say) -> str:
    options = () if question.secret else question.options
    mark = "#" if has_numeric_options(question) else ""
    numbered = (
        f"{mark}{number}. {prose_with_line_count(say(option), say)}" for number, option in enumerate(options, 1)
    )
    return "\n".join([prose_with_line_count(say(question.text), say).lstrip("\n"), *numbered])


def _pending_card(tx: Tx, turn: Turn, where: Conversation) -> Delivery | None:
    """The card of this turn that was not sent yet."""
    open_now = [gate for gate in gates.unsettled(tx, turn.id) if gate.state is GateState.OPEN and gate.card]
    card = deliveries.get(tx, open_now[-1].card or "") if open_now else None
    if card is None or card.conversation != where:
        return None
    return card if card.state is DeliveryState.PENDING and card.first_sent_at is None else None


def _redraw_unsent(tx: Tx, card: str, shown: Sequence[Gate], text: str, offered: Sequence[Button]) -> None:
    deliveries.supersede_edits(tx, card)  # older edits would overwrite the new text
    is_open = any(gate.state is GateState.OPEN for gate in shown)
    if not is_open:
        drop_parts(tx, card)
    if is_open or any(part.first_sent_at is not None for part in part_deliveries(tx, card)):
        deliveries.replace_text(tx, card, text, offered)  # a person who has read a part learns the outcome
    else:
        deliveries.supersede(tx, card)


def _can_edit(core: Core, where: Conversation) -> bool:
    surface = core.surfaces.get(where.surface)
    return surface is not None and surface.can.edit
