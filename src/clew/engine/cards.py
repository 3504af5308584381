"""How gates are shown in conversations: one card for those that are opened together, redrawn at each change where the
surface can edit, and one more line where it cannot. It never decides and never answers."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from clew.asking import Decision, Gate, GateKind, GateState, Question
from clew.engine import buttons, words
from clew.engine.choices import choices
from clew.engine.core import Core
from clew.engine.language import spoken
from clew.engine.owing import fitting, nearest, owe, owed_to, pressable, unused, used
from clew.engine.words import Both
from clew.model import Button, Conversation, Delivery, DeliveryKind, DeliveryState, Thread, Turn
from clew.seen import exactly, shortened
from clew.store import Tx, deliveries, gates, threads, turns

GATHER = 150  # milliseconds in which gates that are opened together come onto one card
DETAIL = 3000  # characters of a diff that a card shows; the whole is one command away
TITLE = 160
Say = Callable[[str, str], str]  # of the English and the Chinese, one
REMIND, AGAIN = "remind", "again"  # how the deliveries are called that say it once more


def show(tx: Tx, core: Core, thread: Thread, turn: Turn, gate: Gate) -> None:
    """Owed in the transaction that stores the gate."""
    where = owed_to(tx, core, thread, turn)
    if where is not None:
        show_at(tx, core, thread, turn, gate, where)


def show_at(tx: Tx, core: Core, thread: Thread, turn: Turn, gate: Gate, where: Conversation, note: str = "") -> None:
    card = _gathering(tx, turn, where) or unused(tx, f"{gate.id}:{DeliveryKind.ASK}")
    gates.set_card(tx, gate.id, card, where)
    shown = gates.on_card(tx, card)
    text, pressed = _drawn_for(tx, core, where, shown, thread.workspace), buttons.of_card(shown, thread.workspace)
    if not deliveries.rewrite(tx, card, text, pressable(tx, core, where, pressed)):
        owe(tx, core, turn, DeliveryKind.ASK, where, text, note=note, id=card, after=GATHER, buttons=pressed)


def show_again(tx: Tx, core: Core, thread: Thread, turn: Turn, gate: Gate) -> None:
    """It is open once more. A card that is only rewritten would call nobody."""
    if gate.card is None:
        show(tx, core, thread, turn, gate)
        return
    redraw(tx, core, gate)
    _say_again(tx, core, gate, Both("Asked again:", "再次询问："), AGAIN)


def move(tx: Tx, core: Core, thread: Thread, to: Conversation, asked: Sequence[Gate]) -> None:
    """What is open is asked there, also where its turn is over, and every copy elsewhere says where it went."""
    where = nearest(tx, core, thread, to)
    moving = [gate for gate in asked if gate.where != where]
    copies = {copy.id: copy for gate in moving for copy in _copies(tx, gate)}
    for gate in moving:
        gates.forget_card(tx, gate.id)
    for copy in copies.values():
        _withdraw(tx, core, thread, copy, words.moved(to.surface, core.desk))
    for gate in moving:
        turn = turns.get(tx, gate.turn)
        if turn is not None and where is not None:
            show_at(tx, core, thread, turn, gate, where)


def _withdraw(tx: Tx, core: Core, thread: Thread, copy: Delivery, told: str) -> None:
    """What else stands on it stays there."""
    turn, left = turns.get(tx, copy.turn or ""), gates.on_card(tx, copy.id)
    text = drawn(left, thread.workspace) if left else told
    deliveries.supersede_edits(tx, copy.id)
    if copy.state is DeliveryState.PENDING and copy.first_sent_at is None:
        _redraw_unsent(tx, copy.id, left, text, ())
    elif turn is not None and copy.conversation is not None and _can_edit(core, copy.conversation):
        change = unused(tx, f"{copy.id}:moved")
        owe(tx, core, turn, DeliveryKind.REDRAW, copy.conversation, text, id=change, edits=copy.id)


def redraw(tx: Tx, core: Core, gate: Gate) -> None:
    """Every copy says how it stands."""
    for copy in _copies(tx, gate):
        if copy.conversation is not None:
            _redraw(tx, core, gate, copy, copy.conversation)


def _redraw(tx: Tx, core: Core, gate: Gate, copy: Delivery, where: Conversation) -> None:
    turn, thread = turns.get(tx, gate.turn), threads.get(tx, gate.thread)
    assert turn is not None and thread is not None
    shown = gates.on_card(tx, copy.id) or [gate]
    text, pressed = _drawn_for(tx, core, where, shown, thread.workspace), buttons.of_card(shown, thread.workspace)
    if copy.state is DeliveryState.PENDING and copy.first_sent_at is None:
        _redraw_unsent(tx, copy.id, shown, text, pressable(tx, core, where, pressed))
    elif _can_edit(core, where):
        deliveries.supersede_edits(tx, copy.id)
        change = unused(tx, f"{copy.id}:{gate.code}:{gate.state}")
        owe(tx, core, turn, DeliveryKind.REDRAW, where, text, id=change, edits=copy.id, buttons=pressed)
    elif copy.id == gate.card and gate.state in (GateState.TAKEN, GateState.VOID, GateState.EXPIRED):
        owe(tx, core, turn, DeliveryKind.NOTICE, where, both(lambda say: line(gate, say)), id=f"{gate.id}:{gate.state}")


def remind(tx: Tx, core: Core, gate: Gate) -> None:
    _say_again(tx, core, gate, Both("Still waiting for you:", "还在等你答复："), REMIND)


def _say_again(tx: Tx, core: Core, gate: Gate, head: str, name: str) -> None:
    turn, thread = turns.get(tx, gate.turn), threads.get(tx, gate.thread)
    if turn is None or thread is None or gate.where is None:
        return
    text = words.joined("\n", head, both(lambda say: drawn([gate], thread.workspace, say)))
    pressed = buttons.of_card([gate], thread.workspace)
    owe(tx, core, turn, DeliveryKind.ASK, gate.where, text, id=unused(tx, f"{gate.id}:{name}"), buttons=pressed)


def _copies(tx: Tx, gate: Gate) -> list[Delivery]:
    """All that was ever said about it where it still stands as open."""
    card = deliveries.get(tx, gate.card) if gate.card else None
    said = [copy for kind in (REMIND, AGAIN) for copy in used(tx, f"{gate.id}:{kind}")]
    here = [copy for copy in said if copy.conversation == gate.where]  # those elsewhere have said that it moved
    return [*([card] if card is not None else []), *here]


def in_english(text: str, chinese: str) -> str:
    return text


def both(told: Callable[[Say], str]) -> Both:
    return Both(told(in_english), told(lambda text, chinese: chinese))


def _drawn_for(tx: Tx, core: Core, where: Conversation, shown: Sequence[Gate], workspace: str) -> str:
    return fitting(core, where, spoken(tx, core, where, both(lambda say: drawn(shown, workspace, say))))


def drawn(shown: Sequence[Gate], workspace: str, say: Say = in_english) -> str:
    """A card: what is still open in full, what is settled in a line."""
    parts = [_open(gate, workspace, say) if gate.state is GateState.OPEN else line(gate, say) for gate in shown]
    waiting = [gate for gate in shown if gate.state is GateState.OPEN]
    if len(waiting) > 1 and all(gate.asked.kind is not GateKind.QUESTION for gate in waiting):
        parts.append(say("`yes all` allows all of them.", "回复「全部同意」即可全部允许。"))
    return "\n\n".join(parts)


def line(gate: Gate, say: Say = in_english) -> str:
    """How a gate stands, in one line. "Allowed" only when the agent took it."""
    about, code, by = one_line(gate), gate.code, gate.answered_by
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
            why = words.stored(gate.why)
            return say(f"{code} is void ({why}): {about}", f"{code} 已失效（{words.zh(why)}）：{about}")


def one_line(gate: Gate) -> str:
    first = " ".join(exactly(gate.asked.title).split())
    return first if len(first) <= TITLE else f"{first[: TITLE - 1]}…"


def _open(gate: Gate, workspace: str, say: Say) -> str:
    asked, warning = gate.asked, words.stored(gate.warning)
    parts = [f"{say(*_HEADS[asked.kind])} ({gate.code})", *_body(gate, say)]
    parts += [say(f"Why: {exactly(asked.reason)}", f"原因：{exactly(asked.reason)}")] if asked.reason else []
    parts += [f"⚠ {say(warning, words.zh(warning))}"] if warning else []
    return "\n".join([*parts, *_how(gate, workspace, say)])


def _body(gate: Gate, say: Say) -> list[str]:
    asked = gate.asked
    if asked.kind is GateKind.QUESTION:
        several = asked.questions if len(asked.questions) != 1 else ()
        return [_numbered(question.text, question.options) for question in several]
    title = [_fenced(asked.title)]
    folder = [say(f"in {exactly(asked.folder)}", f"目录：{exactly(asked.folder)}")] if asked.folder else []
    detail = [_fenced(shortened(asked.detail, DETAIL))] if asked.detail else []
    return [*title, *folder, *detail]


def _how(gate: Gate, workspace: str, say: Say) -> list[str]:
    """What to reply."""
    code, asked = gate.code, gate.asked
    if asked.kind is not GateKind.QUESTION:
        labels = [say(each.label, words.zh(each.label)) for each in choices(gate, workspace)]
        numbered = "\n".join(f"{number}. {label}" for number, label in enumerate(labels, 1))
        reply = f"Reply `y` or `n`, or a number; with its code where several are open: `{code} y`."
        return [numbered, say(reply, f"回复「同意」、「拒绝」或编号；有多项待答时带上代码：`{code} y`。")]
    if len(asked.questions) != 1:
        return [say(f"Reply `{code} 1 2 …`: a number for each question.", f"回复 `{code} 1 2 …`：每个问题一个编号。")]
    return _how_to_one(asked.questions[0], code, say)


def _how_to_one(question: Question, code: str, say: Say) -> list[str]:
    if question.secret:
        hidden = words.secret(code)
        told = f"The answer is secret: give it with `clew answer {code}`, not here."
        return [exactly(question.text), say(told, hidden.zh)]
    if not question.options:
        free = f"Reply with your answer, or with `{code} your answer`."
        return [exactly(question.text), say(free, f"直接回复答案，或回复 `{code} 你的答案`。")]
    other = say(f" or `{code} your own words`", f"，或 `{code} 你自己的话`") if question.free else ""
    return [_numbered(question.text, question.options), say(f"Reply with a number{other}.", f"回复编号{other}。")]


def _numbered(text: str, options: Sequence[str]) -> str:
    return "\n".join([exactly(text), *(f"{number}. {exactly(option)}" for number, option in enumerate(options, 1))])


def _fenced(text: str) -> str:
    """With a fence that nothing in it can end."""
    shown = exactly(text)
    longest = max((len(run) for run in re.findall("`+", shown)), default=0)
    fence = "`" * max(3, longest + 1)
    return f"{fence}\n{shown}\n{fence}"


def _gathering(tx: Tx, turn: Turn, where: Conversation) -> str | None:
    """A card of this turn that has not left yet."""
    open_now = [gate for gate in gates.unsettled(tx, turn.id) if gate.state is GateState.OPEN and gate.card]
    card = deliveries.get(tx, open_now[-1].card or "") if open_now else None
    if card is None or card.conversation != where:
        return None
    return card.id if card.state is DeliveryState.PENDING and card.first_sent_at is None else None


def _redraw_unsent(tx: Tx, card: str, shown: Sequence[Gate], text: str, pressed: Sequence[Button]) -> None:
    deliveries.supersede_edits(tx, card)  # from when it was about to leave: they would undo what it says now
    if any(gate.state is GateState.OPEN for gate in shown):
        deliveries.rewrite(tx, card, text, pressed)
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
