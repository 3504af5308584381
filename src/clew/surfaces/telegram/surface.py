"""The Telegram surface. Telegram has no idempotency key and cannot read a chat back, but it can edit: so a send in
doubt is resolved by editing the turn's placeholder."""

from __future__ import annotations

import asyncio
import zlib
from collections import OrderedDict
from pathlib import Path
from typing import Any

import msgspec
from msgspec.structs import replace

from clew.model.delivery import Button, DeliveryKind
from clew.model.messages import Attachment, Conversation
from clew.model.surface import (
    Backlog,
    Down,
    Gone,
    Inbox,
    InDoubt,
    Never,
    NotSent,
    Outgoing,
    Receipt,
    SurfaceCan,
    TryAgain,
    Units,
)
from clew.support.clock import Clock
from clew.support.errors import BadInput, StoreError
from clew.support.files import LARGEST, read
from clew.support.text import clean
from clew.surfaces.http_calls import BUSY, Unread
from clew.surfaces.telegram.api import BotApi, Refusal, Upload
from clew.surfaces.telegram.entities import shown, units
from clew.surfaces.telegram.menu import set_menu
from clew.surfaces.telegram.places import NAME, Place, place
from clew.surfaces.telegram.poll_lock import PollLock
from clew.surfaces.telegram.receiving import Receiver
from clew.surfaces.telegram.settings import TelegramConfig
from clew.surfaces.telegram.updates import Chat
from clew.texts.catalogue import say

LONGEST = 4096
LONGEST_DATA = 64  # bytes of a button's data
TITLE = 128
PACE = 3.0  # seconds: a group accepts twenty messages and edits a minute
MOST_KEPT = 500  # groups
ROW = 24  # characters of labels that fit in one row on a phone
LARGEST_PHOTO = 10 << 20  # bytes; a larger picture is sent as a document
HEARD = "👀"
NOTHING = "…"  # Telegram takes no empty message

_GONE = ("chat not found", "message thread not found", "topic_deleted", "topic_closed")  # parts of its refusals
_PHOTOS = frozenset({"image/jpeg", "image/png", "image/webp"})
_LOUD = frozenset({DeliveryKind.FINAL, DeliveryKind.ASK, DeliveryKind.HANDOFF})  # sent with a notification sound


class _Sent(msgspec.Struct, frozen=True):
    message_id: int
    chat: Chat


class TelegramSurface:
    name = NAME
    can = SurfaceCan(
        chat=True,
        edit=True,
        edit_every=PACE,
        stream=True,
        typing=5.0,
        buttons=8,
        threads=True,
        replies=True,
        reactions=True,
        max_length=LONGEST,
        units=Units.UTF16,
        files=LARGEST,
        backlog=Backlog.PLATFORM,
    )

    def __init__(self, config: TelegramConfig, token: str, clock: Clock, files: Path) -> None:
        self._config = config
        self._token = token
        self._bot = _bot_of(token)
        self._clock = clock
        self._api = BotApi(token, config.base_url)
        self._receiver = Receiver(self._api, clock, files)
        self._without_drafts: set[int] = set()  # chats in which Telegram refused one
        self._free_at: OrderedDict[int, float] = OrderedDict()  # by group: when a placeholder may be edited next
        self._inbox: Inbox | None = None

    @property
    def trouble(self) -> str:
        return self._receiver.trouble

    def resolve(self, address: str) -> Conversation:
        """Parse an address; an empty one means the `home` of the config."""
        if not address and self._config.home is None:
            raise BadInput(say("surfaces.telegram_which_chat"))
        return place(address or self._config.home or "").conversation

    async def run(self, inbox: Inbox) -> None:
        if not self._token:
            self._receiver.trouble = self._no_token()
            return
        self._inbox = inbox
        async with PollLock(self._token, self._clock, self._set_trouble), asyncio.TaskGroup() as beside:
            beside.create_task(self._set_menu())
            await self._receiver.run(inbox)

    async def _set_menu(self) -> None:
        await self._receiver.reached.wait()
        await set_menu(self._api)

    async def send(self, outgoing: Outgoing) -> Receipt:
        return await self._send(_place(outgoing.conversation), outgoing)

    async def _send(self, where: Place, outgoing: Outgoing, follow: bool = True) -> Receipt:
        """Send a delivery. If the group became a supergroup, follow it to its new number."""
        quiet = outgoing.silent or outgoing.kind not in _LOUD or None
        self._book(where.chat)
        try:
            if outgoing.file is not None:
                message = await self._send_file(where, outgoing, outgoing.file, disable_notification=quiet)
            else:
                replies = self._reply_parameters(outgoing.reply_to)
                more = {"disable_notification": quiet, "reply_parameters": replies}
                message = await self._send_text("sendMessage", where, outgoing, **more)
        except Unread as away:
            if outgoing.file is None:
                raise
            raise Never(away.reason) from away  # a proxy blocked the file; text may still pass
        except Refusal as refusal:
            new = await self._moved(where, refusal)
            if new is None or not follow:
                raise _to_not_sent(refusal) from refusal
            return await self._send(new, outgoing, follow=False)
        return Receipt(where.conversation, self._message_id(message))

    async def _moved(self, old: Place, refusal: Refusal) -> Place | None:
        """Return the new place of a group that became a supergroup, and tell the engine. Raises TryAgain if that cannot
        be stored."""
        if refusal.moved_to is None:
            return None
        new = Place(refusal.moved_to)
        if self._inbox is not None:
            try:
                await self._inbox.moved(old.conversation, new.conversation)
            except StoreError as error:
                raise TryAgain(say("surfaces.not_stored", why=error.words)) from error
        return new

    async def edit(self, receipt: Receipt, outgoing: Outgoing) -> None:
        where, number = _place(receipt.conversation), self._number(receipt.message_id)
        wait = self._book(where.chat)
        if outgoing.kind is DeliveryKind.PLACEHOLDER and wait > 0:
            await self._clock.sleep(wait)
        try:
            if outgoing.live.strip() and not await self._draft(where, outgoing):
                outgoing = _with_live(outgoing)
            await self._send_text("editMessageText", Place(where.chat), outgoing, message_id=number)
        except Refusal as refusal:
            await self._moved(where, refusal)  # the message itself did not move
            if "message is not modified" not in refusal.words:
                raise _to_not_sent(refusal) from refusal

    def _book(self, chat: int) -> float:
        """Take the next place among the messages of a group, and return in how many seconds that is. Only edits of a
        placeholder wait for theirs, so that those of all threads together leave room for answers."""
        if chat >= 0:
            return 0.0
        now = self._clock.monotonic()
        at = max(now, self._free_at.get(chat, 0.0))
        self._free_at[chat] = at + PACE
        self._free_at.move_to_end(chat)
        while len(self._free_at) > MOST_KEPT:
            self._free_at.popitem(last=False)
        return at - now

    async def _draft(self, where: Place, outgoing: Outgoing) -> bool:
        """Show what is being written as a draft, which Telegram replaces by the answer. Only in private chats."""
        if where.chat < 0 or where.chat in self._without_drafts:
            return False
        look = shown(clean(_tail(outgoing.live, LONGEST)))
        fields = {"chat_id": where.chat, "message_thread_id": where.topic, "draft_id": _draft_id(outgoing.id)}
        try:
            entities = [each.fields() for each in look.entities] or None
            await self._call("sendMessageDraft", **fields, text=look.text, entities=entities)
        except Refusal as refusal:
            if refusal.code == BUSY or refusal.code >= 500:
                raise
            self._without_drafts.add(where.chat)
            return False
        return True

    async def typing(self, where: Conversation) -> None:
        chat = _place(where)
        try:
            await self._call("sendChatAction", chat_id=chat.chat, message_thread_id=chat.topic, action="typing")
        except Refusal as refusal:
            raise _to_not_sent(refusal) from refusal

    async def react(self, where: Conversation, message: str) -> None:
        heard = [{"type": "emoji", "emoji": HEARD}]
        number = self._number(message)
        await self._call("setMessageReaction", chat_id=_place(where).chat, message_id=number, reaction=heard)

    def _reply_parameters(self, message: str | None) -> dict[str, object] | None:
        """A message that another bot got has another number here, so it cannot be replied to."""
        if message is None:
            return None
        try:
            number = self._number(message)
        except Never:
            return None
        return {"message_id": number, "allow_sending_without_reply": True}

    async def find(self, outgoing: Outgoing) -> Receipt | None:
        return None

    async def open_thread(self, parent: Conversation, title: str) -> Conversation | None:
        """Create a topic, if the chat has topics and the bot may create one."""
        where = _place(parent)
        name = " ".join(title.split())[:TITLE] or "clew"
        try:
            topic = await self._call("createForumTopic", chat_id=where.chat, name=name)
        except Refusal as refusal:
            if (new := await self._moved(where, refusal)) is not None:
                return await self.open_thread(new.conversation, title)
            if refusal.code == 400:
                return None
            raise _to_not_sent(refusal) from refusal
        number = topic.get("message_thread_id") if isinstance(topic, dict) else None
        return Place(where.chat, number).conversation if isinstance(number, int) else None

    def parent(self, conversation: Conversation) -> Conversation | None:
        where = place(conversation.address)
        return Place(where.chat).conversation if where.topic is not None else None

    async def close(self) -> None:
        await self._api.close()

    async def _send_text(self, method: str, where: Place, outgoing: Outgoing, **fields: object) -> Any:
        """Send formatted text; if Telegram refuses the entities, plain text."""
        look = shown(clean(outgoing.text) if outgoing.text.strip() else NOTHING, clean(outgoing.note))
        fields |= {"chat_id": where.chat, "message_thread_id": where.topic, "text": look.text}
        fields |= {"link_preview_options": {"is_disabled": True}, "reply_markup": _keyboard(outgoing.buttons)}
        try:
            return await self._call(method, **fields, entities=[each.fields() for each in look.entities] or None)
        except Refusal as refusal:
            if refusal.code != 400 or "entit" not in refusal.words.lower():
                raise
            return await self._call(method, **fields)

    async def _send_file(self, where: Place, outgoing: Outgoing, file: Attachment, **fields: object) -> Any:
        """Send a picture as a photo; if Telegram refuses it, and for any other file, as a document."""
        upload = Upload("photo", file.name, await asyncio.to_thread(read, Path(file.path)), file.media_type)
        fields |= {"chat_id": where.chat, "message_thread_id": where.topic, "caption": clean(outgoing.note) or None}
        if file.media_type in _PHOTOS and len(upload.data) <= LARGEST_PHOTO:
            try:
                return await self._call("sendPhoto", upload, **fields)
            except Refusal as refusal:
                if refusal.code != 400 or refusal.moved_to is not None:
                    raise
        return await self._call("sendDocument", replace(upload, field="document"), **fields)

    async def _call(self, method: str, upload: Upload | None = None, /, **fields: object) -> Any:
        if not self._token:
            raise Down(self._no_token())
        return await self._api.call(method, fields, upload=upload)

    def _message_id(self, message: object) -> str:
        try:
            sent = msgspec.convert(message, _Sent)
        except msgspec.ValidationError as error:
            raise InDoubt(say("surfaces.telegram_no_number")) from error
        return sent.chat.message_id_in_clew(self._bot, sent.message_id)

    def _number(self, name: str) -> int:
        """Return Telegram's number of a message. Raises Never if another bot sent it: its number means another message
        here."""
        bot, _, number = name.rpartition(":")
        if not number.isdecimal():
            raise Never(say("surfaces.telegram_no_message", name=repr(name)))
        if bot not in ("", str(self._bot)):
            raise Never(say("surfaces.telegram_other_bot"))
        return int(number)

    def _no_token(self) -> str:
        return say("surfaces.telegram_no_token", name=str(self._config.token_env))

    def _set_trouble(self, words: str) -> None:
        self._receiver.trouble = words


def _place(conversation: Conversation) -> Place:
    try:
        return place(conversation.address)
    except BadInput as error:
        raise Gone(error.words) from error


def _with_live(outgoing: Outgoing) -> Outgoing:
    """A placeholder with the end of what is being written below its text."""
    space = LONGEST - units(outgoing.text) - 2
    return replace(outgoing, text=f"{outgoing.text}\n\n{_tail(outgoing.live, max(space, 0))}", live="")


def _tail(text: str, most: int) -> str:
    """The end of a text, in UTF-16 units."""
    data = text.encode("utf-16-le", "surrogatepass")[-2 * most :] if most else b""
    return data.decode("utf-16-le", "ignore")


def _draft_id(name: str) -> int:
    """A number for a draft, the same for each update of it; not zero."""
    return zlib.crc32(name.encode()) >> 1 | 1


def _bot_of(token: str) -> int:
    """Return the bot's id, which is the part of the token before the colon."""
    number = token.partition(":")[0]
    return int(number) if number.isdecimal() else 0


def _keyboard(buttons: tuple[Button, ...]) -> dict[str, object] | None:
    """Build the buttons; short labels share a row."""
    rows: list[list[dict[str, str]]] = []
    for button in buttons:
        if not 1 <= len(button.says.encode()) <= LONGEST_DATA:
            continue  # the text says how to answer without the button
        key = {"text": button.label, "callback_data": button.says}
        if rows and sum(len(each["text"]) for each in rows[-1]) + len(button.label) <= ROW:
            rows[-1].append(key)
        else:
            rows.append([key])
    return {"inline_keyboard": rows} if rows else None


def _to_not_sent(refusal: Refusal) -> NotSent:
    """Convert a refusal to the delivery's error."""
    words = say("surfaces.refuses", platform="Telegram", reply=refusal.words)
    if refusal.code == 429:
        return TryAgain(words, refusal.retry_after)
    if refusal.code in (401, 404):
        return Down(say("surfaces.telegram_refused"))
    if refusal.code >= 500:
        return InDoubt(words, refusal.retry_after)  # it may have failed after the message was taken
    is_gone = refusal.code == 403 or any(each in refusal.words.lower() for each in _GONE)
    return Gone(words) if is_gone else Never(words)
