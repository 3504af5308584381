"""Telegram as a surface. It has no idempotency key and cannot read a chat back, but it can edit: so a send in doubt is
settled by the turn's placeholder."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import msgspec
from msgspec.structs import replace

from clew.config.settings import TelegramConfig
from clew.model.delivery import Button, DeliveryKind
from clew.model.messages import Attachment, Conversation
from clew.model.surface import (
    Backlog,
    Down,
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
from clew.support.errors import BadInput
from clew.support.files import LARGEST, read
from clew.support.text import clean
from clew.surfaces.http_calls import Unread
from clew.surfaces.telegram.api import BotApi, Refusal, Upload
from clew.surfaces.telegram.entities import shown
from clew.surfaces.telegram.menu import offer
from clew.surfaces.telegram.places import NAME, Place, place
from clew.surfaces.telegram.poll_lock import Seat
from clew.surfaces.telegram.receiving import REFUSED, Receiver
from clew.surfaces.telegram.updates import Chat

LONGEST = 4096
LONGEST_DATA = 64  # bytes of what a button says
TITLE = 128
ROW = 24  # characters of labels that fit beside each other on a phone
LARGEST_PHOTO = 10 << 20  # bytes; what is larger goes as a document
NOTHING = "(no text)"  # Telegram takes no empty message

_PHOTOS = frozenset({"image/jpeg", "image/png", "image/webp"})
_LOUD = frozenset({DeliveryKind.FINAL, DeliveryKind.ASK, DeliveryKind.HANDOFF})  # what a phone makes a sound for


class _Sent(msgspec.Struct, frozen=True):
    message_id: int
    chat: Chat


class TelegramSurface:
    name = NAME
    can = SurfaceCan(
        chat=True,
        edit=True,
        edit_every=3.0,  # a group takes twenty messages a minute
        buttons=8,
        threads=True,
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

    @property
    def trouble(self) -> str:
        return self._receiver.trouble

    def resolve(self, address: str) -> Conversation:
        """Bare it is the home of the config."""
        if not address and self._config.home is None:
            raise BadInput("say which chat, as in telegram:123456789, or set `home` in [surfaces.telegram]")
        return place(address or self._config.home or "").conversation

    async def run(self, inbox: Inbox) -> None:
        if not self._token:
            self._receiver.trouble = self._tokenless()
            return
        async with Seat(self._token, self._clock, self._ail), asyncio.TaskGroup() as beside:
            beside.create_task(self._offer())
            await self._receiver.run(inbox)

    async def _offer(self) -> None:
        await self._receiver.reached.wait()
        await offer(self._api)

    async def send(self, outgoing: Outgoing) -> Receipt:
        return await self._send(_place(outgoing.conversation), outgoing)

    async def _send(self, where: Place, outgoing: Outgoing, follow: bool = True) -> Receipt:
        """A group that became a supergroup has another number since then."""
        quiet = outgoing.kind not in _LOUD or None
        try:
            if outgoing.file is not None:
                message = await self._hand_over(where, outgoing, outgoing.file, disable_notification=quiet)
            else:
                message = await self._say("sendMessage", where, outgoing, disable_notification=quiet)
        except Unread as away:
            if outgoing.file is None:
                raise
            raise Never(away.reason) from away  # a filter on the way may let words through
        except Refusal as refusal:
            if refusal.moved_to is None or not follow:
                raise _judged(refusal) from refusal
            return await self._send(Place(refusal.moved_to), outgoing, follow=False)
        return Receipt(where.conversation, self._named(message))

    async def edit(self, receipt: Receipt, outgoing: Outgoing) -> None:
        where, number = _place(receipt.conversation), self._number(receipt.message_id)
        try:
            await self._say("editMessageText", Place(where.chat), outgoing, message_id=number)
        except Refusal as refusal:
            if "message is not modified" not in refusal.words:
                raise _judged(refusal) from refusal

    async def find(self, outgoing: Outgoing) -> Receipt | None:
        return None

    async def open_thread(self, parent: Conversation, title: str) -> Conversation | None:
        """A topic, where the chat has topics and the bot may make one."""
        where = _place(parent)
        name = " ".join(title.split())[:TITLE] or "clew"
        try:
            topic = await self._call("createForumTopic", chat_id=where.chat, name=name)
        except Refusal as refusal:
            if refusal.code == 400:
                return None
            raise _judged(refusal) from refusal
        number = topic.get("message_thread_id") if isinstance(topic, dict) else None
        return Place(where.chat, number).conversation if isinstance(number, int) else None

    async def close(self) -> None:
        await self._api.close()

    async def _say(self, method: str, where: Place, outgoing: Outgoing, **fields: object) -> Any:
        """As Markdown; if Telegram should not like its entities, as plain text."""
        look = shown(clean(outgoing.text) if outgoing.text.strip() else NOTHING, clean(outgoing.note))
        fields |= {"chat_id": where.chat, "message_thread_id": where.topic, "text": look.text}
        fields |= {"link_preview_options": {"is_disabled": True}, "reply_markup": _keyboard(outgoing.buttons)}
        try:
            return await self._call(method, **fields, entities=[each.fields() for each in look.entities] or None)
        except Refusal as refusal:
            if refusal.code != 400 or "entit" not in refusal.words.lower():
                raise
            return await self._call(method, **fields)

    async def _hand_over(self, where: Place, outgoing: Outgoing, file: Attachment, **fields: object) -> Any:
        """A picture as one; if Telegram should not like it, as a document."""
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
            raise Down(self._tokenless())
        return await self._api.call(method, fields, upload=upload)

    def _named(self, message: object) -> str:
        try:
            sent = msgspec.convert(message, _Sent)
        except msgspec.ValidationError as error:
            raise InDoubt("Telegram took it without telling its number") from error
        return sent.chat.named(self._bot, sent.message_id)

    def _number(self, name: str) -> int:
        """Telegram's own, of a message of this bot's. Raises Never: by another's number it would be another message."""
        bot, _, number = name.rpartition(":")
        if not number.isdecimal():
            raise Never(f"{name!r} is no message of Telegram")
        if bot not in ("", str(self._bot)):
            raise Never("another bot has sent this message, which was set in [surfaces.telegram] before")
        return int(number)

    def _tokenless(self) -> str:
        return f"the environment variable {self._config.token_env} of [surfaces.telegram] is not set where clew runs"

    def _ail(self, words: str) -> None:
        self._receiver.trouble = words


def _place(conversation: Conversation) -> Place:
    try:
        return place(conversation.address)
    except BadInput as error:
        raise Never(error.message) from error


def _bot_of(token: str) -> int:
    """Whose it is: Telegram writes the bot's id before the colon."""
    number = token.partition(":")[0]
    return int(number) if number.isdecimal() else 0


def _keyboard(buttons: tuple[Button, ...]) -> dict[str, object] | None:
    """Short labels share a row."""
    rows: list[list[dict[str, str]]] = []
    for button in buttons:
        if not 1 <= len(button.says.encode()) <= LONGEST_DATA:
            continue  # the text says how to answer without it
        key = {"text": button.label, "callback_data": button.says}
        if rows and sum(len(each["text"]) for each in rows[-1]) + len(button.label) <= ROW:
            rows[-1].append(key)
        else:
            rows.append([key])
    return {"inline_keyboard": rows} if rows else None


def _judged(refusal: Refusal) -> NotSent:
    """What a refusal means for a delivery."""
    words = f"Telegram refuses: {refusal.words}"
    if refusal.code == 429:
        return TryAgain(words, refusal.retry_after)
    if refusal.code in (401, 404):
        return Down(REFUSED)
    if refusal.code >= 500:
        return InDoubt(words, refusal.retry_after)  # what broke there may have broken after it was taken
    return Never(words)
