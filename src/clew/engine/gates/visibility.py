"""Whether a gate is shown whole where it is asked: on its card, else in parts before the card, else not at all. A
person allows in a conversation only what was shown whole there (`answering`). Pure, but for the look at a card's row.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence

from msgspec import Struct

from clew.engine.core import Core
from clew.engine.delivery.enqueue import PART, part_name, reserved_length
from clew.engine.delivery.split import size, split
from clew.model.delivery import Delivery, DeliveryState
from clew.model.gates import Asked, Gate, GateKind
from clew.model.messages import Conversation
from clew.model.surface import Units
from clew.store import Tx
from clew.store.tables import deliveries, gates
from clew.support.display_code import as_code, as_prose, detail_shown, many_in, many_lines, title_shown

PARTS = 5  # messages before a card, at most
MOST = 200_000  # characters that are shown where a message may be of any length
HEADER = 80  # characters above each part
LEAST = 100  # characters of a part, below which it is not worth it
QUICK = 600  # milliseconds in which nobody has read a message and answered it

Say = Callable[[str, str], str]  # of the English and the Chinese, one


class Room(Struct, frozen=True):
    """How long a message may be in a conversation."""

    limit: int | None
    units: Units = Units.CHARACTERS

    def holds(self, text: str) -> bool:
        return self.limit is None or size(text, self.units) <= self.limit

    def is_hopeless(self, asked: Asked) -> bool:
        """It is longer than all parts together: nothing has to be drawn to know that."""
        most = MOST if self.limit is None else self.limit * PARTS
        texts = (asked.title, asked.detail, asked.reason, asked.folder or "", *(each.text for each in asked.questions))
        return sum(map(len, texts)) > most


def room_at(core: Core, where: Conversation, note: str = "") -> Room:
    """For a text with this note beside it."""
    surface = core.surfaces.get(where.surface)
    if surface is None or surface.can.max_length is None:
        return Room(None)
    units = surface.can.units
    return Room(surface.can.max_length - reserved_length(units) - size(note, units), units)


def parts(gate: Gate, room: Room, say: Say) -> list[str]:
    """All that a yes is about, as messages that fit; none where it would take too many."""
    pieces = [piece for label, shown in _blocks(gate.asked, say) for piece in _pieces(label, shown, room, say)]
    bodies = _packed(pieces, room)
    if not bodies or len(bodies) > PARTS:
        return []
    count = len(bodies)
    whole = [f"{_header(gate, number, count, say)}\n{body}" for number, body in enumerate(bodies, 1)]
    return whole if all(map(room.holds, whole)) else []


def fence(shown: str) -> str:
    """With a fence that nothing in it can end."""
    longest = max((len(run) for run in re.findall("`+", shown)), default=0)
    ticks = "`" * max(3, longest + 1)
    return f"{ticks}\n{shown}\n{ticks}"


def shown_at(tx: Tx, gate: Gate, where: Conversation, *, pressed: bool) -> int | None:
    """From when on a message in this conversation can mean it. None: its card, or a part before it, has no receipt
    there. Whoever pressed a button of the card has it, though the receipt may not be stored yet."""
    card = deliveries.get(tx, gate.card) if gate.card else None
    if card is None or card.conversation != where or not (_is_sent(card) or (pressed and _is_leaving(card))):
        return None
    before = list(parts_of(tx, card.id))
    if len(before) < gate.whole_in - 1 or not all(map(_is_sent, before)):
        return None
    return left_at(card)


def left_at(message: Delivery) -> int | None:
    """When it left, at the earliest: it may have been tried more than once."""
    return message.first_sent_at if message.generation == 1 or message.sent_at is None else message.sent_at


def is_reply(sent: int, left: int) -> bool:
    """Whether what was said then can answer what left then: there was time to read it. Platforms that tell whole
    seconds round down, and so are never taken for later than they are."""
    return sent >= left + QUICK


def asked_in(tx: Tx, thread: str, where: Conversation) -> int | None:
    """When the question of a suspended thread left for this conversation. None: it is not known to have arrived."""
    asked = deliveries.newest_ask(tx, thread)
    is_here = asked is not None and asked.conversation == where and _is_sent(asked)
    return left_at(asked) if asked is not None and is_here else None


def _is_sent(delivery: Delivery) -> bool:
    return delivery.state is DeliveryState.SENT


def _is_leaving(delivery: Delivery) -> bool:
    """An attempt was made: it may have arrived."""
    return delivery.first_sent_at is not None and delivery.state in (DeliveryState.PENDING, DeliveryState.SENDING)


def parts_of(tx: Tx, card: str) -> Iterator[Delivery]:
    """The rows of the parts before a card, in order."""
    for number in range(1, PARTS + 1):
        found = deliveries.get(tx, part_name(card, number))
        if found is None:
            return
        yield found


def gates_on(tx: Tx, message: Delivery) -> list[Gate]:
    """What a message asks about: a card, a part before it, a change of it, or a reminder (`<gate>:remind`)."""
    card = (message.edits or message.id).partition(PART)[0]
    own = gates.get(tx, card.partition(":")[0])
    return gates.on_card(tx, card) or ([own] if own is not None else [])


def _blocks(asked: Asked, say: Say) -> Iterator[tuple[str, str]]:
    """What has to be shown, as it is shown, each under a name of its own, so that none can pass for another."""
    if asked.kind is GateKind.QUESTION:
        for question in asked.questions:
            yield _label(question.text, say("Question:", "问题："), say), as_prose(question.text)
            for number, option in enumerate(question.options, 1):
                yield _label(option, say(f"Option {number}:", f"选项 {number}："), say), as_prose(option)
    else:
        label = " ".join([*counted(asked, say), say(*_TITLES[asked.kind])])
        yield label, title_shown(asked.kind, asked.title)
        yield say("Folder:", "目录："), as_code(asked.folder or "")
    yield say("In full:", "详细内容："), detail_shown(asked.kind, asked.detail) if explains(asked) else ""
    yield _label(asked.reason, say("Why:", "原因："), say), as_prose(asked.reason)


def _label(text: str, name: str, say: Say) -> str:
    return " ".join([*counted_words(text, say), name])


def counted(asked: Asked, say: Say) -> list[str]:
    """How many lines a long command has, for whoever sees only its end."""
    return _told(many_lines(asked.kind, asked.title), say)


def counted_words(text: str, say: Say) -> list[str]:
    """The same of an agent's words."""
    return _told(many_in(text), say)


def _told(count: int | None, say: Say) -> list[str]:
    return [say(f"{count:,} lines:", f"共 {count:,} 行：")] if count else []


def explains(asked: Asked) -> bool:
    """Whether there is a detail to show. What explains the options of a secret is not for a chat, as they are not:
    whoever answers it does so at the desk, and sees it there."""
    return asked.detail != "" and not any(question.secret for question in asked.questions)


def _pieces(label: str, shown: str, room: Room, say: Say) -> Iterator[str]:
    """A text in fences, each of which fits into a message."""
    if not shown:
        return
    assert room.limit is not None
    longest = max((len(run) for run in re.findall("`+", shown)), default=0)
    goes_on = f"{label} {say('(it goes on)', '（续）')}"
    around = size(f"{goes_on}\n{'`' * max(3, longest + 1)}\n\n{'`' * max(3, longest + 1)}", room.units)
    free = max(room.limit - HEADER - around, LEAST)
    for number, part in enumerate(split(shown, free, room.units)):
        yield f"{goes_on if number else label}\n{fence(part.body)}"


def _packed(pieces: Sequence[str], room: Room) -> list[str]:
    """As few messages as they need, in their order."""
    assert room.limit is not None
    messages: list[str] = []
    for piece in pieces:
        together = f"{messages[-1]}\n{piece}" if messages else piece
        if messages and size(together, room.units) <= room.limit - HEADER:
            messages[-1] = together
        else:
            messages.append(piece)
    return messages


def _header(gate: Gate, number: int, count: int, say: Say) -> str:
    english = f"{gate.code}: part {number} of {count} of what the agent asks"
    return say(english, f"{gate.code}：代理请求的内容，第 {number}/{count} 部分")


_TITLES = {
    GateKind.COMMAND: ("Command:", "命令："),
    GateKind.CHANGE: ("Files:", "文件："),
    GateKind.PERMISSION: ("Permission:", "权限："),
}
