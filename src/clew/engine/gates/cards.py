"""How gates are shown in conversations: one card for those that are opened together, redrawn at each change where the
surface can edit, and one more line where it cannot. It never decides and never answers."""

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
from clew.engine.gates import buttons
from clew.engine.gates.choices import choices, has_numbers
from clew.engine.gates.visibility import Room, Say, counted, counted_words, explains, fence, parts, parts_of, room_at
from clew.model.delivery import Button, Delivery, DeliveryKind, DeliveryState
from clew.model.gates import Decision, Gate, GateKind, GateState, Question
from clew.model.messages import Conversation
from clew.model.threads import Thread
from clew.model.turns import Turn
from clew.store import Tx
from clew.store.tables import deliveries, gates, turns
from clew.support.display_code import PLAIN_LINE, as_code, as_prose, detail_shown, plain_or_code, title_shown
from clew.texts import bilingual, gate_messages, handoff_messages, stored
from clew.texts.bilingual import Bilingual

GATHER = 150  # milliseconds in which gates that are opened together come onto one card
TITLE = 160  # characters of what is asked in a line
LOOKED_AT = 1000  # characters of a title that such a line is made from
REMIND, AGAIN = "remind", "again"  # how the deliveries are called that say it once more


def show(tx: Tx, core: Core, thread: Thread, turn: Turn, gate: Gate) -> None:
    """Owed in the transaction that stores the gate."""
    where = answer_target(tx, core, thread, turn)
    if where is not None:
        show_at(tx, core, turn, gate, where)


def show_at(tx: Tx, core: Core, turn: Turn, gate: Gate, where: Conversation, note: str = "") -> None:
    """On the card that is about to leave if there is room for the whole of it, else on a card of its own; if it is too
    long even for that, in parts before its card."""
    if _joins(tx, core, turn, gate, where):
        return
    card, say = next_free_id(tx, f"{gate.id}:{DeliveryKind.ASK}"), _sayer(tx, core, where)
    before = _before(gate, room_at(core, where, note), say)
    whole_in = len(before) + 1 if before is not None else 0
    gates.set_card(tx, gate.id, card, where, whole_in)
    for number, text in enumerate(before or (), 1):
        enqueue_delivery(tx, core, turn, DeliveryKind.NOTICE, where, text, id=part_name(card, number))
    shown = [replace(gate, whole_in=whole_in)]
    text, pressed = drawn(shown, say), buttons.of_card(shown)
    enqueue_delivery(tx, core, turn, DeliveryKind.ASK, where, text, note=note, id=card, after=GATHER, buttons=pressed)


def _joins(tx: Tx, core: Core, turn: Turn, gate: Gate, where: Conversation) -> bool:
    card = _gathering(tx, turn, where)
    if card is None:
        return False
    shown, room = [*gates.on_card(tx, card.id), replace(gate, whole_in=1)], room_at(core, where, card.note)
    if any(each.whole_in != 1 or room.is_hopeless(each.asked) for each in shown):
        return False
    text, pressed = drawn(shown, _sayer(tx, core, where)), buttons.of_card(shown)
    if not room.holds(text) or not deliveries.replace_text(tx, card.id, text, shown_buttons(tx, core, where, pressed)):
        return False
    gates.set_card(tx, gate.id, card.id, where, 1)
    return True


def _before(gate: Gate, room: Room, say: Say) -> list[str] | None:
    """The messages that come before its card so that it is shown whole: none if the card itself does. None: it cannot
    be shown whole there."""
    if room.is_hopeless(gate.asked):
        return None
    if room.holds(drawn([replace(gate, whole_in=1)], say)):
        return []
    found = parts(gate, room, say) if room.limit is not None else []
    fits = room.holds(drawn([replace(gate, whole_in=len(found) + 1)], say))
    return found if found and fits else None


def show_again(tx: Tx, core: Core, thread: Thread, turn: Turn, gate: Gate) -> None:
    """It is open once more. A card that is only rewritten would call nobody; one that never left shows nothing."""
    card = deliveries.get(tx, gate.card) if gate.card else None
    if card is None or gate.where is None:
        show(tx, core, thread, turn, gate)
        return
    if card.state is DeliveryState.SUPERSEDED:
        show_at(tx, core, turn, gate, gate.where)
        return
    redraw(tx, core, gate)
    _say_again(tx, core, gate, Bilingual("Asked again:", "再次询问："), AGAIN)


def move(tx: Tx, core: Core, thread: Thread, to: Conversation, asked: Sequence[Gate]) -> None:
    """What is open is asked there, also where its turn is over, and every copy elsewhere says where it went."""
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


def _withdraw(tx: Tx, core: Core, copy: Delivery, told: str) -> None:
    """What else stands on it stays there."""
    turn, left = turns.get(tx, copy.turn or ""), gates.on_card(tx, copy.id)
    text = drawn(left) if left else told
    deliveries.supersede_edits(tx, copy.id)
    drop_parts(tx, copy.id)
    if copy.state is DeliveryState.PENDING and copy.first_sent_at is None:
        _redraw_unsent(tx, copy.id, left, text, ())
    elif turn is not None and copy.conversation is not None and _can_edit(core, copy.conversation):
        change = next_free_id(tx, f"{copy.id}:moved")
        enqueue_delivery(tx, core, turn, DeliveryKind.REDRAW, copy.conversation, text, id=change, edits=copy.id)


def redraw(tx: Tx, core: Core, gate: Gate) -> None:
    """Every copy says how it stands."""
    for copy in _copies(tx, gate):
        if copy.conversation is not None:
            _redraw(tx, core, gate, copy, copy.conversation)


def _redraw(tx: Tx, core: Core, gate: Gate, copy: Delivery, where: Conversation) -> None:
    turn = turns.get(tx, gate.turn)
    assert turn is not None
    room, say = room_at(core, where, copy.note), _sayer(tx, core, where)
    shown = gates.on_card(tx, copy.id) or [_on_a_copy(gate, room, say)]
    if not room.holds(drawn(shown, say)):
        shown = [_not_whole(tx, each) for each in shown]
    pressed = buttons.of_card(shown)
    text = shortened_to_fit(core, where, drawn(shown, say))
    if copy.state is DeliveryState.PENDING and copy.first_sent_at is None:
        _redraw_unsent(tx, copy.id, shown, text, shown_buttons(tx, core, where, pressed))
    elif _can_edit(core, where):
        deliveries.supersede_edits(tx, copy.id)
        change = next_free_id(tx, f"{copy.id}:{gate.code}:{gate.state}")
        enqueue_delivery(tx, core, turn, DeliveryKind.REDRAW, where, text, id=change, edits=copy.id, buttons=pressed)
    elif copy.id == gate.card and gate.state in (GateState.TAKEN, GateState.VOID, GateState.EXPIRED):
        enqueue_delivery(
            tx,
            core,
            turn,
            DeliveryKind.NOTICE,
            where,
            both(lambda say: chat_line(gate, say)),
            id=f"{gate.id}:{gate.state}",
        )


def remind(tx: Tx, core: Core, gate: Gate) -> None:
    _say_again(tx, core, gate, Bilingual("Still waiting for you:", "还在等你答复："), REMIND)


def _say_again(tx: Tx, core: Core, gate: Gate, head: str, name: str) -> None:
    turn = turns.get(tx, gate.turn)
    if turn is None or gate.where is None:
        return
    say = _sayer(tx, core, gate.where)
    shown = _on_a_copy(gate, room_at(core, gate.where, f"{head}\n{bilingual.zh(head)}"), say)
    text = f"{say(head, bilingual.zh(head))}\n{drawn([shown], say)}"
    pressed = buttons.of_card([shown])
    enqueue_delivery(
        tx, core, turn, DeliveryKind.ASK, gate.where, text, id=next_free_id(tx, f"{gate.id}:{name}"), buttons=pressed
    )


def alone(core: Core, gate: Gate, where: Conversation) -> Bilingual:
    """How a gate stands, and what it asks if it is open, for whoever wants to know. It allows no more than its card."""
    here = replace(gate, whole_in=gate.whole_in if gate.where == where else 0)
    shown = replace(gate, whole_in=1) if where == Conversation(core.local_surface, "") else here
    return both(lambda say: drawn([_on_a_copy(shown, room_at(core, where), say)], say))


def _on_a_copy(gate: Gate, room: Room, say: Say) -> Gate:
    """As a message shows it that is not its card: whole on this very message, or with nothing that allows it."""
    is_whole = gate.whole_in == 1 and room.holds(drawn([gate], say))
    return gate if is_whole else replace(gate, whole_in=0)


def _not_whole(tx: Tx, gate: Gate) -> Gate:
    """It was whole on its card, and is not any more, as there is more to say."""
    if gate.state is GateState.OPEN and gate.whole_in == 1:
        gates.mark_incomplete(tx, gate.id)
        return replace(gate, whole_in=0)
    return gate


def part_failed(tx: Tx, core: Core, gate: Gate) -> None:
    """A part was refused for good, so what comes behind it must not allow the gate."""
    gates.mark_incomplete(tx, gate.id)
    redraw(tx, core, replace(gate, whole_in=0))


def drop(tx: Tx, card: str | None) -> None:
    """A card that shows nothing any more does not leave, and what comes before it neither."""
    if card is not None and not gates.on_card(tx, card):
        drop_parts(tx, card)
        deliveries.supersede(tx, card)


def drop_parts(tx: Tx, card: str) -> None:
    """Nobody needs those that have not left."""
    for part in parts_of(tx, card):
        deliveries.supersede(tx, part.id)


def _copies(tx: Tx, gate: Gate) -> list[Delivery]:
    """All that was ever said about it where it still stands as open."""
    card = deliveries.get(tx, gate.card) if gate.card else None
    said = [copy for kind in (REMIND, AGAIN) for copy in deliveries_named(tx, f"{gate.id}:{kind}")]
    here = [copy for copy in said if copy.conversation == gate.where]  # those elsewhere have said that it moved
    return [*([card] if card is not None else []), *here]


def in_english(text: str, chinese: str) -> str:
    return text


def both(told: Callable[[Say], str]) -> Bilingual:
    return Bilingual(told(in_english), told(lambda text, chinese: chinese))


def _sayer(tx: Tx, core: Core, where: Conversation) -> Say:
    """In the language of the conversation."""
    is_chinese = language_of(tx, core, where) == CHINESE
    return lambda text, chinese: chinese if is_chinese else text


def drawn(shown: Sequence[Gate], say: Say = in_english) -> str:
    """A card: what is still open in full, what is settled in a line."""
    parts = [_open(gate, say) if gate.state is GateState.OPEN else chat_line(gate, say) for gate in shown]
    waiting = [gate for gate in shown if gate.state is GateState.OPEN]
    if short := _without_code(waiting):
        parts.append(say(*short))
    return "\n\n".join(parts)


def _without_code(waiting: Sequence[Gate]) -> tuple[str, str] | None:
    """What works only where a chat talks to the thread that asks. Which thread that is may change while the card
    stands, so it says so."""
    approvals = [gate for gate in waiting if gate.whole_in and gate.asked.kind is not GateKind.QUESTION]
    if len(waiting) != len(approvals) or not waiting:
        return None
    if len(waiting) == 1:
        return (
            "While this chat talks to this thread and nothing else is open, `y`, `n` or the number alone will do.",
            "这里正在与本会话对话且没有别的待答事项时，只回复「同意」、「拒绝」或编号即可。",
        )
    return (
        "While this chat talks to this thread, `yes all` allows all of them.",
        "这里正在与本会话对话时，回复「全部同意」即可全部允许。",
    )


def line(gate: Gate, say: Say = in_english) -> str:
    """How a gate stands, in one line. "Allowed" only when the agent took it."""
    return _line(gate, say, one_line(gate), gate.answered_by or "")


def chat_line(gate: Gate, say: Say = in_english) -> str:
    """The same where a chat reads Markdown."""
    return _line(gate, say, plain_or_code(one_line(gate)), plain_or_code(gate.answered_by or ""))


def _line(gate: Gate, say: Say, about: str, by: str) -> str:
    code = gate.code
    match gate.state:
        case GateState.OPEN:
            return say(f"{code} waits for an answer: {about}", f"{code} 等待答复：{about}")
        case GateState.ANSWERED:
            said = say(*_SAID[gate.answer.decision]) if gate.answer else ""
            english = f"{code}: {said} by {by}, on its way to the agent: {about}"
            return say(english, f"{code}：{by} {said}，正在送往代理：{about}")
        case GateState.TAKEN:
            done = say(*_DONE[gate.answer.decision]) if gate.answer else ""
            return say(f"{code}: {done} by {by}: {about}", f"{code}：{by} {done}：{about}")
        case GateState.EXPIRED:
            return say(f"{code} expired without an answer: {about}", f"{code} 无人答复，已过期：{about}")
        case GateState.VOID:
            why = stored.stored(gate.why)
            return say(f"{code} is void ({why}): {about}", f"{code} 已失效（{bilingual.zh(why)}）：{about}")


def one_line(gate: Gate) -> str:
    title = gate.asked.title
    first = " ".join(title_shown(gate.asked.kind, title[:LOOKED_AT]).split())
    return first if len(first) <= TITLE and len(title) <= LOOKED_AT else f"{first[: TITLE - 1]}…"


def _open(gate: Gate, say: Say) -> str:
    """What is asked, if it is whole here; else where it is whole."""
    asked = gate.asked
    head = [f"{say(*_HEADS[asked.kind])} ({gate.code})", *(_body(gate, say) if gate.whole_in == 1 else ())]
    reason = _counted_prose(asked.reason, say)
    why = [say(f"Why: {reason}", f"原因：{reason}")] if asked.reason else []
    head += why if gate.whole_in == 1 else [_where_whole(gate, say)]
    head += [f"⚠ {_prose(say(warning, bilingual.zh(warning)))}" for warning in stored.warnings(gate)]
    how = _how(gate, say) if gate.whole_in else [say(*_only_no(gate))]
    return "\n".join([*head, *how])


def _where_whole(gate: Gate, say: Say) -> str:
    if gate.whole_in:
        before = gate_messages.shown_before(gate.whole_in - 1)
        return say(before, before.zh)
    beginning, elsewhere = fence(one_line(gate)), gate_messages.not_on_card(gate.code)
    return f"{beginning}\n{say(elsewhere, elsewhere.zh)}"


def _only_no(gate: Gate) -> tuple[str, str]:
    if gate.asked.kind is GateKind.QUESTION:
        return f"Reply `{gate.code} stop` to stop the turn.", f"回复 `{gate.code} stop` 停止本轮。"
    return (
        f"Reply `{gate.code} n` to decline, `{gate.code} stop` to stop the turn too.",
        f"回复 `{gate.code} n` 拒绝，`{gate.code} stop` 拒绝并停止本轮。",
    )


def _body(gate: Gate, say: Say) -> list[str]:
    asked = gate.asked
    detail = [fence(detail_shown(asked.kind, asked.detail))] if explains(asked) else []
    if asked.kind is GateKind.QUESTION:
        return [*(_asked(question, say) for question in asked.questions), *detail]
    title = [*counted(asked, say), fence(title_shown(asked.kind, asked.title))]
    folder = [say(f"in {_coded(asked.folder)}", f"目录：{_coded(asked.folder)}")] if asked.folder else []
    return [*title, *folder, *detail]


def _how(gate: Gate, say: Say) -> list[str]:
    """What to reply."""
    code, asked = gate.code, gate.asked
    if asked.kind is not GateKind.QUESTION:
        labels = [say(each.label, bilingual.zh(each.label)) for each in choices(gate)]
        numbered = "\n".join(f"{number}. {label}" for number, label in enumerate(labels, 1))
        reply = f"Reply `{code} y` or `{code} n`, or `{code}` and a number."
        return [numbered, say(reply, f"回复 `{code} y` 或 `{code} n`，或 `{code}` 加编号。")]
    if len(asked.questions) != 1:
        return [say(f"Reply `{code} 1 2 …`: a number for each question.", f"回复 `{code} 1 2 …`：每个问题一个编号。")]
    return [_how_to_one(asked.questions[0], code, say)]


def _how_to_one(question: Question, code: str, say: Say) -> str:
    if question.secret:
        hidden = gate_messages.secret(code)
        return say(f"The answer is secret: give it with `clew answer {code}`, not here.", hidden.zh)
    if not question.options:
        return say(f"Reply with `{code} your answer`.", f"回复 `{code} 你的答案`。")
    other = say(f" or `{code} your own words`", f"，或 `{code} 你自己的话`") if question.free else ""
    if has_numbers(question):
        own = f"Reply with `{code}` and an option's own words, with `{code} #1`{other}."
        return say(own, f"回复 `{code}` 加选项原文，或 `{code} #1`{other}。")
    return say(f"Reply with `{code} 1` or another number{other}.", f"回复 `{code} 1` 或其他编号{other}。")


def _asked(question: Question, say: Say) -> str:
    options = () if question.secret else question.options
    mark = "#" if has_numbers(question) else ""
    numbered = (f"{mark}{number}. {_counted_prose(option, say)}" for number, option in enumerate(options, 1))
    return "\n".join([_counted_prose(question.text, say).lstrip("\n"), *numbered])


def _counted_prose(text: str, say: Say) -> str:
    """With the number of its lines first, if they are many."""
    return "".join([*counted_words(text, say), _prose(text)])


def _prose(text: str) -> str:
    """An agent's words: plain if no chat could take anything in them for markup, which would hide it; else fenced."""
    shown = as_prose(text)
    return shown if PLAIN_LINE.fullmatch(shown) else f"\n{fence(shown)}"


def _coded(text: str) -> str:
    """A name, so that no markup changes how it looks."""
    shown = as_code(text, lines=False)
    return f"`{shown}`" if "`" not in shown and "![" not in shown else f"\n{fence(shown)}"


def _gathering(tx: Tx, turn: Turn, where: Conversation) -> Delivery | None:
    """A card of this turn that has not left yet."""
    open_now = [gate for gate in gates.unsettled(tx, turn.id) if gate.state is GateState.OPEN and gate.card]
    card = deliveries.get(tx, open_now[-1].card or "") if open_now else None
    if card is None or card.conversation != where:
        return None
    return card if card.state is DeliveryState.PENDING and card.first_sent_at is None else None


def _redraw_unsent(tx: Tx, card: str, shown: Sequence[Gate], text: str, pressed: Sequence[Button]) -> None:
    deliveries.supersede_edits(tx, card)  # from when it was about to leave: they would undo what it says now
    is_open = any(gate.state is GateState.OPEN for gate in shown)
    if not is_open:
        drop_parts(tx, card)
    if is_open or any(part.first_sent_at is not None for part in parts_of(tx, card)):
        deliveries.replace_text(tx, card, text, pressed)  # who has read a part hears what became of it
    else:
        deliveries.supersede(tx, card)


def _can_edit(core: Core, where: Conversation) -> bool:
    surface = core.surfaces.get(where.surface)
    return surface is not None and surface.can.edit


_HEADS = {
    GateKind.COMMAND: ("The agent asks to run a command", "代理请求运行命令"),
    GateKind.CHANGE: ("The agent asks to change files", "代理请求修改文件"),
    GateKind.PERMISSION: ("The agent asks for a permission", "代理请求授权"),
    GateKind.QUESTION: ("The agent asks", "代理提问"),
}
_SAID = {
    Decision.ACCEPT: ("yes", "同意"),
    Decision.DECLINE: ("no", "拒绝"),
    Decision.CANCEL: ("stop", "要求停止"),
    Decision.REPLY: ("an answer", "已回答"),
}
_DONE = {
    Decision.ACCEPT: ("allowed", "已允许"),
    Decision.DECLINE: ("declined", "已拒绝"),
    Decision.CANCEL: ("declined and stopped", "已拒绝并停止"),
    Decision.REPLY: ("answered", "已回答"),
}
