"""Parses what arrives from Telegram. Lenient: only needed fields are read, and an unreadable update becomes
`Skipped`."""

from __future__ import annotations

from typing import Any

import msgspec
from msgspec import Struct

from clew.model.messages import Inbound
from clew.surfaces.telegram.places import Place
from clew.texts.bilingual import zh

UNKNOWN = 0  # no message has this number
SHARED = frozenset({"supergroup", "channel"})  # chats in which a message has the same number for every bot
NOT_SAID = frozenset({"strikethrough", "blockquote", "expandable_blockquote"})  # struck out, or a quote
KINDS = ("message", "edited_message", "callback_query")  # requested kinds of updates


class User(msgspec.Struct, frozen=True):
    id: int
    is_bot: bool = False
    first_name: str = ""
    last_name: str = ""
    username: str = ""
    language_code: str = ""  # of their Telegram, such as `zh-hans`

    def in_language(self, text: str) -> str:
        """The text in the language that they read Telegram in."""
        return zh(text) if self.language_code.startswith("zh") else text

    @property
    def display_name(self) -> str:
        return f"{self.first_name} {self.last_name}".strip() or self.username or str(self.id)


class Chat(msgspec.Struct, frozen=True):
    id: int
    type: str = ""

    @property
    def is_group(self) -> bool:
        return self.type != "private"

    def message_id_in_clew(self, bot: int, message: int) -> str:
        """Return clew's id of a message. In private chats and small groups each bot counts from 1, so the id includes
        the bot: otherwise a message to a new bot would look like a duplicate of one to the old bot.
        """
        return str(message) if self.type in SHARED else f"{bot}:{message}"


class Entity(msgspec.Struct, frozen=True):
    type: str
    offset: int
    length: int
    user: User | None = None


class File(msgspec.Struct, frozen=True):
    file_id: str
    file_size: int = 0
    file_name: str = ""
    mime_type: str = ""


class _Origin(msgspec.Struct, frozen=True):
    sender_user: User | None = None


class ExternalReply(msgspec.Struct, frozen=True):
    """A replied-to message of another chat or topic."""

    chat: Chat | None = None
    message_id: int | None = None
    origin: _Origin = _Origin()


class Quote(Struct, frozen=True):
    id: int
    place: Place
    by: User | None


class Message(msgspec.Struct, frozen=True, rename={"sender": "from"}):
    message_id: int
    chat: Chat
    date: int = 0
    sender: User | None = None
    message_thread_id: int | None = None
    is_topic_message: bool = False
    is_automatic_forward: bool = False  # a channel post that Telegram copied into its group
    media_group_id: str = ""  # of an album: each of its pictures is a message
    reply_to_message: Message | None = None
    external_reply: ExternalReply | None = None
    reply_to_story: Any = None
    forward_origin: Any = None
    text: str = ""
    caption: str = ""
    entities: tuple[Entity, ...] = ()
    caption_entities: tuple[Entity, ...] = ()
    photo: tuple[File, ...] = ()  # one picture in several sizes, largest last
    document: File | None = None
    audio: File | None = None
    voice: File | None = None
    video: File | None = None
    video_note: File | None = None
    forum_topic_created: Any = None
    migrate_to_chat_id: int | None = None  # the group became a supergroup, with another number
    migrate_from_chat_id: int | None = None
    sticker: Any = None
    location: Any = None
    contact: Any = None
    poll: Any = None
    dice: Any = None

    @property
    def place(self) -> Place:
        return Place(self.chat.id, self.message_thread_id if self.is_topic_message else None)

    @property
    def moved(self) -> tuple[Place, Place] | None:
        """The old and the new number of a group that became a supergroup. Each gets such a message."""
        if self.migrate_to_chat_id is not None:
            return Place(self.chat.id), Place(self.migrate_to_chat_id)
        return (
            (Place(self.migrate_from_chat_id), Place(self.chat.id)) if self.migrate_from_chat_id is not None else None
        )

    @property
    def files(self) -> tuple[File, ...]:
        attached = (*self.photo[-1:], self.document, self.audio, self.voice, self.video, self.video_note)
        return tuple(file for file in attached if file is not None)

    @property
    def has_content(self) -> bool:
        """Whether it has content, and is not a service message such as a new member or title."""
        odd = (self.sticker, self.location, self.contact, self.poll, self.dice)
        return bool(self.text or self.caption or self.files or any(each is not None for each in odd))

    @property
    def quoted(self) -> Quote | None:
        """The message that this one replies to. In a topic every message replies to the topic's first one; that is no
        quote. For a message of another topic Telegram gives only the chat. A reply to another chat or a story has the
        number UNKNOWN, because it cannot be a message of clew."""
        reply, far = self.reply_to_message, self.external_reply
        if far is not None and far.message_id is not None and far.chat is not None and far.chat.id == self.chat.id:
            return Quote(far.message_id, Place(self.chat.id), far.origin.sender_user)
        if far is not None or self.reply_to_story is not None:
            return Quote(UNKNOWN, self.place, None)
        if reply is None or reply.forum_topic_created is not None:
            return None
        return Quote(reply.message_id, reply.place, reply.sender)


class Query(msgspec.Struct, frozen=True, rename={"sender": "from"}):
    """A button was pressed."""

    id: str
    sender: User
    data: str = ""
    message: Message | None = None


class Update(msgspec.Struct, frozen=True):
    update_id: int
    message: Message | None = None
    edited_message: Message | None = None
    callback_query: Query | None = None

    @property
    def place(self) -> Place | None:
        pressed = self.callback_query.message if self.callback_query is not None else None
        message = self.message or self.edited_message or pressed  # an edit comes behind its message
        return message.place if message is not None else None


class Skipped(Struct, frozen=True):
    """Not for clew, and why."""

    why: str


def number(raw: object) -> int | None:
    """Return the number of an update, even if the rest is unreadable."""
    found = raw.get("update_id") if isinstance(raw, dict) else None
    return found if type(found) is int else None


def read(raw: object) -> Update | Skipped:
    try:
        update = msgspec.convert(raw, Update)
    except (msgspec.ValidationError, RecursionError) as error:
        return Skipped(f"does not look as it should: {error}")
    if update.message is None and update.edited_message is None and update.callback_query is None:
        kinds = sorted(str(key) for key in raw if key != "update_id") if isinstance(raw, dict) else []
        return Skipped(f"of kind {', '.join(kinds)[:60] or 'none'}")
    return update


def to_inbound(message: Message, me: User) -> Inbound | Skipped:
    """Convert a message to an Inbound, without its files."""
    sender = message.sender
    if sender is None or sender.is_bot or message.is_automatic_forward:
        return Skipped("by a bot or a channel")
    if not message.has_content:
        return Skipped("without anything said")
    text, entities = (message.text, message.entities) if message.text else (message.caption, message.caption_entities)
    if _is_for_another(text, entities, me):
        return Skipped("that are commands to other bots")
    addressed = _addressed(text, entities, me)
    quoted = message.quoted
    to_me = quoted is not None and quoted.by is not None and quoted.by.id == me.id
    return Inbound(
        message.place.conversation,
        message.chat.message_id_in_clew(me.id, message.message_id),
        sender.display_name,
        text if addressed is None else addressed,
        sent_at=message.date * 1000 if message.date > 0 else None,
        sender_id=str(sender.id),
        direct=not message.chat.is_group or addressed is not None or to_me,
        in_group=message.chat.is_group,
        in_thread=message.place.topic is not None,
        quoted=message.chat.message_id_in_clew(me.id, quoted.id) if quoted is not None else None,
        quoted_in=quoted.place.conversation if quoted is not None and quoted.place != message.place else None,
        album=message.media_group_id,
        relayed=message.forward_origin is not None or _is_not_said(text, entities),
    )


def press_to_inbound(query: Query, me: User) -> Inbound | Skipped:
    """Convert a button press to an Inbound with the button's text. For an old message Telegram may give only its chat
    and id: no date, no topic."""
    message = query.message
    if message is None or query.sender.is_bot:
        return Skipped("on a message that is not there any more")
    return Inbound(
        message.place.conversation,
        f"press-{query.id}",
        query.sender.display_name,
        query.data,
        sender_id=str(query.sender.id),
        in_group=message.chat.is_group,
        in_thread=message.place.topic is not None,
        quoted=message.chat.message_id_in_clew(me.id, message.message_id),
        pressed=True,
    )


def _is_not_said(text: str, entities: tuple[Entity, ...]) -> bool:
    """Whether all text, apart from mentions, is struck out or quoted."""
    units, blank = bytearray(text.encode("utf-16-le", "surrogatepass")), " ".encode("utf-16-le")
    for entity in entities:
        if entity.type in NOT_SAID or entity.type in ("mention", "text_mention"):
            covered = slice(2 * max(entity.offset, 0), 2 * max(entity.offset + entity.length, 0))
            units[covered] = blank * (len(units[covered]) // 2)
    rest = units.decode("utf-16-le", "replace").strip()
    return not rest and any(entity.type in NOT_SAID for entity in entities)


def _is_for_another(text: str, entities: tuple[Entity, ...], me: User) -> bool:
    """Whether it is a command to another bot."""
    units = text.encode("utf-16-le", "surrogatepass")
    commands = [entity for entity in entities if entity.type == "bot_command" and entity.offset == 0]
    message_id_in_clew = [_cut(units, 0, entity.length).partition("@")[2] for entity in commands]
    return any(name and name.lower() != (me.username or "").lower() for name in message_id_in_clew)


def _addressed(text: str, entities: tuple[Entity, ...], me: User) -> str | None:
    """Return the text without this bot's name; None if it does not name this bot."""
    units = text.encode("utf-16-le", "surrogatepass")
    name = f"@{me.username}".lower() if me.username else None
    found = None
    for entity in entities:
        piece = _cut(units, entity.offset, entity.offset + entity.length)
        rest = _cut(units, entity.offset + entity.length, len(units))
        if entity.type == "bot_command" and entity.offset == 0:
            command, at, bot_name = piece.partition("@")
            return None if at and f"@{bot_name}".lower() != name else command + rest
        mine = entity.type == "text_mention" and entity.user is not None and entity.user.id == me.id
        if mine or (entity.type == "mention" and piece.lower() == name):
            found = rest.lstrip(" ,:\n") if entity.offset == 0 else (found or text)
    return found


def _cut(units: bytes, start: int, end: int) -> str:
    """Slice by Telegram's offsets, which count UTF-16 units."""
    return units[2 * max(start, 0) : 2 * max(end, 0)].decode("utf-16-le", "replace")
