"""Whether a gate is shown completely in a conversation: on its card, else in parts before the card, else not at all. A
person can allow in a conversation only what was shown completely there (see `answers`). It only reads rows.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence

from msgspec import Struct

from clew.engine.core import Core
from clew.engine.delivery.enqueue import part_name, reserved_length
from clew.engine.delivery.split import size, split
from clew.model.delivery import Delivery, DeliveryState
from clew.model.gates import Asked, Gate, GateKind
from clew.model.messages import Conversation
from clew.model.surface import Units
from clew.store import Tx
from clew.store.tables import deliveries, gates
from clew.support.display.as_code import (
    PLAIN_LINE,
    as_code,
    as_prose,
    detail_shown,
    long_line,
    many_in,
    many_lines,
    title_shown,
)
from clew.support.display.relative import relative, relative_diff, relative_title
from clew.texts import card_messages

MAX_PARTS = 5  # messages before a card
MAX_CHARACTERS = 200_000  # if a message may have any length
HEADER_LENGTH = 80  # characters, above each part
MIN_PART_LENGTH = 100  # characters
READING_TIME = 600  # milliseconds in which nobody can read a message and answer it

Say = Callable[[str], str]  # picks the language of a text


class MessageLimit(Struct, frozen=True):
    """The maximum length of a message in a conversation."""

    length: int | None
    units: Units = Units.CHARACTERS

    def fits(self, text: str) -> bool:
        return self.length is None or size(text, self.units) <= self.length

    def is_exceeded_by(self, asked: Asked) -> bool:
        """Whether a request is longer than all parts together; a quick check before rendering."""
        max_length = MAX_CHARACTERS if self.length is None else self.length * MAX_PARTS
        texts = (asked.title, asked.detail, asked.reason, asked.folder or "", *(each.text for each in asked.questions))
        return sum(map(len, texts)) > max_length


def message_limit(core: Core, where: Conversation, note: str = "") -> MessageLimit:
    """The limit for a text that is sent with this note."""
    surface = core.surfaces.get(where.surface)
    if surface is None or surface.can.max_length is None:
        return MessageLimit(None)
    units = surface.can.units
    return MessageLimit(surface.can.max_length - reserved_length(units) - size(note, units), units)


def split_request(gate: Gate, limit: MessageLimit, say: Say) -> list[str]:
    """The complete request as messages that fit; empty if it would take too many."""
    pieces = [piece for label, shown in _blocks(gate.asked, say) for piece in _split_block(label, shown, limit, say)]
    bodies = _pack(pieces, limit)
    if not bodies or len(bodies) > MAX_PARTS:
        return []
    count = len(bodies)
    messages = [f"{say(card_messages.part(gate.code, number, count))}\n{body}" for number, body in enumerate(bodies, 1)]
    return messages if all(map(limit.fits, messages)) else []


def title_seen(asked: Asked, title: str) -> str:
    """The title as a person must see it. Paths of a change are relative to the workspace."""
    is_change = asked.shown_as is GateKind.CHANGE
    return title_shown(asked.shown_as, relative_title(title, asked.paths, asked.workspace) if is_change else title)


def detail_seen(asked: Asked, detail: str) -> str:
    """The same of the details, such as a diff."""
    is_change = asked.shown_as is GateKind.CHANGE
    return detail_shown(asked.shown_as, relative_diff(detail, asked.workspace) if is_change else detail)


def folder_seen(asked: Asked) -> str:
    """Where it would run; empty if that is the workspace of its thread, whose handle is known."""
    return "" if asked.folder in (None, asked.workspace) else relative(asked.folder or "", asked.workspace)


def fence(shown: str) -> str:
    """The text in a code fence that nothing in the text can end."""
    longest = max((len(run) for run in re.findall("`+", shown)), default=0)
    ticks = "`" * max(3, longest + 1)
    return f"{ticks}\n{shown}\n{ticks}"


def shown_at(tx: Tx, gate: Gate, where: Conversation, *, pressed: bool) -> int | None:
    """The time from which a message in this conversation can answer the gate. None: its card, or a part before it, has
    no receipt there. A person who pressed a button of the card has it, even if the receipt is not stored yet."""
    card = deliveries.get(tx, gate.card) if gate.card else None
    if card is None or card.conversation != where or not (_is_sent(card) or (pressed and _may_have_arrived(card))):
        return None
    before = list(part_deliveries(tx, card.id))
    if len(before) < gate.whole_in - 1 or not all(map(_is_sent, before)):
        return None
    return sent_time(card)


def sent_time(message: Delivery) -> int | None:
    """The earliest time at which it was sent: there may have been several attempts."""
    return message.first_sent_at if message.generation == 1 or message.sent_at is None else message.sent_at


def had_time_to_read(sent: int, left: int) -> bool:
    """Whether a message sent at `sent` can answer one that was sent at `left`: there was time to read it. Platforms
    that give only seconds round down, so a message never seems later than it was."""
    return sent >= left + READING_TIME


def prompt_sent_at(tx: Tx, thread: str, where: Conversation) -> int | None:
    """When the question of a suspended thread was sent to this conversation. None: it may not have arrived."""
    asked = deliveries.newest_ask(tx, thread)
    is_here = asked is not None and asked.conversation == where and _is_sent(asked)
    return sent_time(asked) if asked is not None and is_here else None


def _is_sent(delivery: Delivery) -> bool:
    return delivery.state is DeliveryState.SENT


def _may_have_arrived(delivery: Delivery) -> bool:
    """Whether an attempt to send it was made."""
    return delivery.first_sent_at is not None and delivery.state in (DeliveryState.PENDING, DeliveryState.SENDING)


def part_deliveries(tx: Tx, card: str) -> Iterator[Delivery]:
    """The deliveries of the parts before a card, in order."""
    for number in range(1, MAX_PARTS + 1):
        found = deliveries.get(tx, part_name(card, number))
        if found is None:
            return
        yield found


def gates_on(tx: Tx, message: Delivery) -> list[Gate]:
    """The gates of a message: a card, a part before it, an edit of it, or a reminder (`<gate>:remind`)."""
    own = gates.get(tx, message.gate) if message.gate is not None else None
    return gates.on_card(tx, message.edits or message.card or message.id) or ([own] if own is not None else [])


def _blocks(asked: Asked, say: Say) -> Iterator[tuple[str, str]]:
    """The texts that must be shown, each under its own label, so that none can pass for another."""
    if asked.shown_as is not GateKind.QUESTION:
        label = " ".join([*line_count(asked, say), say(card_messages.TITLES[asked.shown_as])])
        yield label, title_seen(asked, say(asked.title))
        yield say(card_messages.FOLDER), as_code(folder_seen(asked))
    for question in asked.questions:
        yield _label(question.text, say(card_messages.QUESTION), say), as_prose(say(question.text))
        for number, option in enumerate(question.options, 1):
            yield _label(option, say(card_messages.option(number)), say), as_prose(say(option))
    detail = detail_seen(asked, say(asked.detail)) if has_detail_to_show(asked) else ""
    yield say(card_messages.IN_FULL), detail
    speaks = card_messages.IT_SAYS if asked.asker else card_messages.AGENT_SAYS
    yield _label(asked.reason, say(speaks), say), as_prose(say(asked.reason))


def _label(text: str, name: str, say: Say) -> str:
    return " ".join([*line_count_of_text(text, say), name])


def line_count(asked: Asked, say: Say) -> list[str]:
    """The number of lines of a long command and the length of a long line, for a person who sees only its end."""
    length = long_line(asked.shown_as, asked.title)
    told = [say(card_messages.long_line(length))] if length else []
    return [*_line_count_label(many_lines(asked.shown_as, asked.title), say), *told]


def line_count_of_text(text: str, say: Say) -> list[str]:
    """The same for an agent's text."""
    return _line_count_label(many_in(text), say)


def _line_count_label(count: int | None, say: Say) -> list[str]:
    return [say(card_messages.lines(count))] if count else []


def has_detail_to_show(asked: Asked) -> bool:
    """Whether there is a detail to show. The details and options of a secret question are not shown in a chat: the
    person answers it in a local client, and sees them there."""
    return asked.detail != "" and not any(question.secret for question in asked.questions)


def _split_block(label: str, shown: str, limit: MessageLimit, say: Say) -> Iterator[str]:
    """Split a text into fenced pieces that each fit into a message."""
    if not shown:
        return
    assert limit.length is not None
    longest = max((len(run) for run in re.findall("`+", shown)), default=0)
    continued = f"{label} {say(card_messages.CONTINUED)}"
    around = size(f"{continued}\n{'`' * max(3, longest + 1)}\n\n{'`' * max(3, longest + 1)}", limit.units)
    free = max(limit.length - HEADER_LENGTH - around, MIN_PART_LENGTH)
    for number, part in enumerate(split(shown, free, limit.units)):
        yield f"{continued if number else label}\n{fence(part.body)}"


def _pack(pieces: Sequence[str], limit: MessageLimit) -> list[str]:
    """Pack the pieces into as few messages as possible, in order."""
    assert limit.length is not None
    messages: list[str] = []
    for piece in pieces:
        together = f"{messages[-1]}\n{piece}" if messages else piece
        if messages and size(together, limit.units) <= limit.length - HEADER_LENGTH:
            messages[-1] = together
        else:
            messages.append(piece)
    return messages


def prose_with_line_count(text: str, say: Say) -> str:
    """The text, with the number of its lines first if there are many."""
    return "".join([*line_count_of_text(text, say), prose(text)])


def prose(text: str) -> str:
    """An agent's text: plain if no chat could take any of it for markup, which would hide it; else fenced."""
    shown = as_prose(text)
    return shown if re.fullmatch(PLAIN_LINE, shown) else f"\n{fence(shown)}"


def render_name(text: str) -> str:
    """A name as code, so that no markup changes how it looks."""
    shown = as_code(text, lines=False)
    return f"`{shown}`" if "`" not in shown and "![" not in shown else f"\n{fence(shown)}"
