"""Parses what arrives from Feishu. Lenient: only needed fields are read, and an unreadable event becomes `Skipped`."""

from __future__ import annotations

import re
from typing import Any

import msgspec
from msgspec import Struct

from clew.model.messages import Inbound
from clew.surfaces.feishu.content import Content
from clew.surfaces.feishu.content import read as read_content
from clew.surfaces.feishu.places import Place

SAID, PRESSED, REACTED = "im.message.receive_v1", "card.action.trigger", "im.message.reaction.created_v1"
RECALLED = "im.message.recalled_v1"
YES = frozenset({"thumbsup", "ok", "done", "yes", "checkmark", "lgtm", "jiayi"})  # reactions, in lower case
NO = frozenset({"thumbsdown", "no", "crossmark"})


Text = str | None  # an unknown value may be missing, empty or null


class Header(msgspec.Struct, frozen=True):
    event_id: str
    event_type: str
    app_id: Text = None


class _Id(msgspec.Struct, frozen=True):
    open_id: Text = None


class Mention(msgspec.Struct, frozen=True):
    key: str
    id: _Id | None = None
    name: Text = None

    @property
    def person_id(self) -> str:
        return (self.id.open_id if self.id else None) or ""


class _Sender(msgspec.Struct, frozen=True):
    sender_id: _Id | None = None
    sender_type: Text = None


class Message(msgspec.Struct, frozen=True):
    message_id: str
    chat_id: str
    chat_type: Text = None
    message_type: Text = None
    content: Text = None
    create_time: str | int | None = None
    root_id: Text = None
    parent_id: Text = None
    thread_id: Text = None
    mentions: tuple[Mention, ...] | None = None

    @property
    def place(self) -> Place:
        return Place(self.chat_id, self.thread_id or None)

    @property
    def hangs(self) -> bool:
        """Whether it only replies to the first message of its thread, as every message in a thread does."""
        return bool(self.thread_id and self.parent_id and self.parent_id == self.root_id)


class Said(msgspec.Struct, frozen=True):
    message: Message
    sender: _Sender = _Sender()

    @property
    def by(self) -> str:
        """The sender; empty if it was a bot."""
        who = self.sender.sender_id
        return (who.open_id if who and self.sender.sender_type == "user" else None) or ""


class _Action(msgspec.Struct, frozen=True):
    value: Any = None


class _Context(msgspec.Struct, frozen=True):
    open_message_id: Text = None
    open_chat_id: Text = None


class Pressed(msgspec.Struct, frozen=True):
    operator: _Id
    context: _Context
    action: _Action = _Action()


class _Emoji(msgspec.Struct, frozen=True):
    emoji_type: Text = None


class Reacted(msgspec.Struct, frozen=True):
    message_id: str
    reaction_type: _Emoji = _Emoji()
    operator_type: Text = None
    user_id: _Id | None = None

    @property
    def by(self) -> str:
        return (self.user_id.open_id if self.user_id and self.operator_type == "user" else None) or ""

    @property
    def means(self) -> str | None:
        """The answer of a reaction, `y` or `n`, as in a button's text after the code of its gate."""
        kind = (self.reaction_type.emoji_type or "").lower()
        return "y" if kind in YES else "n" if kind in NO else None


class _Event(msgspec.Struct, frozen=True):
    header: Header
    event: msgspec.Raw


class Recalled(Struct, frozen=True):
    """Somebody recalled a message. The event does not name its thread."""

    message_id: str
    chat_id: str = ""


class Skipped(Struct, frozen=True):
    """Not for clew, and why."""

    why: str


class Event(Struct, frozen=True):
    id: str
    what: Said | Pressed | Reacted | Recalled


class Shown(Struct, frozen=True):
    """A message of clew as the platform returns it: its place and the texts of its buttons."""

    place: Place
    says: tuple[str, ...]


def read(payload: bytes, app_id: str) -> Event | Skipped:
    try:
        event = msgspec.json.decode(payload, type=_Event)
        kind = {SAID: Said, PRESSED: Pressed, REACTED: Reacted, RECALLED: Recalled}.get(event.header.event_type)
        if kind is None:
            return Skipped(f"of kind {event.header.event_type[:60]}")
        if event.header.app_id != app_id:
            return Skipped("for another app")
        return Event(event.header.event_id, msgspec.json.decode(event.event, type=kind))
    except (msgspec.DecodeError, UnicodeError, RecursionError) as error:
        return Skipped(f"that do not look as they should: {str(error)[:100]}")


def message_to_inbound(said: Said, me: str) -> tuple[Inbound, Content] | Skipped:
    """Convert a message to an Inbound, without its files and its sender's name."""
    message = said.message
    if not said.by:
        return Skipped("by a bot or an app")
    content = read_content(message.message_type or "", message.content or "")
    mentions = message.mentions or ()
    is_alone = message.chat_type == "p2p"
    inbound = Inbound(
        message.place.conversation,
        message.message_id,
        said.by,
        _replace_mentions(content.text, mentions, me).strip(),
        sent_at=_millis(message.create_time),
        sender_id=said.by,
        direct=is_alone or any(mention.person_id == me for mention in mentions),
        in_group=not is_alone,
        in_thread=bool(message.thread_id),
        quoted=message.parent_id or None,
        quoted_in=Place(message.chat_id).conversation if message.hangs else None,
        hangs=message.hangs,
        relayed=content.struck,
    )
    return inbound, content


def _millis(text: str | int | None) -> int | None:
    return int(text) if text is not None and re.fullmatch(r"[0-9]{10,16}", str(text)) else None


def press_to_inbound(id: str, press: Pressed) -> Inbound | Skipped:
    """Convert a button press to an Inbound with the button's text."""
    value = press.action.value if isinstance(press.action.value, dict) else {}
    says, thread = value.get("says"), value.get("thread")
    if not isinstance(says, str) or not press.operator.open_id or not press.context.open_chat_id:
        return Skipped("of buttons that are not clew's")
    where = Place(press.context.open_chat_id, thread if isinstance(thread, str) and thread else None)
    return Inbound(
        where.conversation,
        f"press-{id}",
        press.operator.open_id,
        says,
        sender_id=press.operator.open_id,
        in_thread=where.thread is not None,
        quoted=press.context.open_message_id or None,
        pressed=True,
    )


def shown(data: object, app_id: str) -> Shown | None:
    """Parse a message of clew; None: it is not one."""
    try:
        item = msgspec.convert(data, _Got).items[0]
        card = msgspec.json.decode(item.body.content)
    except (msgspec.DecodeError, UnicodeError, RecursionError, IndexError):
        return None
    if item.sender.id != app_id or not item.chat_id:
        return None
    return Shown(Place(item.chat_id, item.thread_id or None), tuple(_button_texts(card)))


def reaction_to_inbound(id: str, reaction: Reacted, on: Shown) -> Inbound | Skipped:
    """Convert a reaction to the yes or no of a button on the same card. The engine finds the gate. It counts as said in
    a group, because others may read along."""
    if reaction.means is None or not any(says.split()[-1:] == [reaction.means] for says in on.says):
        return Skipped("by reactions on what asks nothing")
    return Inbound(
        on.place.conversation,
        f"react-{id}",
        reaction.by,
        reaction.means,
        sender_id=reaction.by,
        in_group=True,
        in_thread=on.place.thread is not None,
        quoted=reaction.message_id,
        pressed=True,
    )


class _Body(msgspec.Struct, frozen=True):
    content: str = ""


class _Author(msgspec.Struct, frozen=True):
    id: Text = None


class _Item(msgspec.Struct, frozen=True):
    chat_id: Text = None
    thread_id: Text = None
    body: _Body = _Body()
    sender: _Author = _Author()


class _Got(msgspec.Struct, frozen=True):
    items: tuple[_Item, ...] = ()


def _replace_mentions(text: str, mentions: tuple[Mention, ...], me: str) -> str:
    """Replace mention keys such as `@_user_1`: remove the bot's own, and put in the names of the others."""
    names = {
        mention.key: "" if mention.person_id == me else f"@{mention.name or ''}" for mention in mentions if mention.key
    }
    if not names:
        return text
    longest_first = sorted(names, key=len, reverse=True)  # @_user_1 is a prefix of @_user_10
    found = re.compile("|".join(f"{re.escape(key)}(?![0-9])[ ]?" for key in longest_first))
    return found.sub(lambda hit: _with_space(names[hit[0].rstrip(" ")], hit[0]), text)


def _with_space(name: str, hit: str) -> str:
    return f"{name} " if name and hit.endswith(" ") else name


def _button_texts(card: object) -> list[str]:
    """Return every `says` in a card, in order, at any depth."""
    if isinstance(card, list):
        return [says for each in card for says in _button_texts(each)]
    if not isinstance(card, dict):
        return []
    own = [card["says"]] if isinstance(card.get("says"), str) else []
    return own + [says for each in card.values() for says in _button_texts(each)]
