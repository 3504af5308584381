"""The surface for Feishu and Lark. The platform knows the key of a message for an hour, so a send in doubt is simply
sent again."""

from __future__ import annotations

import hashlib
from collections import OrderedDict
from collections.abc import Mapping
from pathlib import Path
from typing import Any, TypeVar
from urllib.parse import quote

from clew.model.delivery import DeliveryKind
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
from clew.support.errors import BadInput
from clew.support.files import LARGEST
from clew.surfaces.feishu import markup, streaming
from clew.surfaces.feishu.api import NOT_ALLOWED, STALE, OpenApi, Refusal
from clew.surfaces.feishu.files import upload_file
from clew.surfaces.feishu.places import NAME, Place, place
from clew.surfaces.feishu.receiving import Receiver
from clew.surfaces.feishu.settings import FeishuConfig
from clew.surfaces.feishu.streaming import Streaming
from clew.texts.catalogue import say

LONGEST = 20_000  # bytes of text; the platform takes 30 KB of JSON, in which a newline or quote is two or three
PACE = 0.2  # seconds between two messages to one chat: the platform accepts five a second
TITLE = 100
HEARD = "OnIt"  # the platform's name of the reaction
MOST_KEPT = 2000  # cached chats and threads

OPENED = say("surfaces.reply_in_thread")

_CARDS = frozenset({DeliveryKind.PLACEHOLDER, DeliveryKind.ASK, DeliveryKind.REDRAW})  # edited later
_CONTENT = frozenset({230001, 230025, 230099, 11310})  # the platform refused the format, not the message
_GONE = frozenset({230011, 230110})  # the message was recalled or deleted
_NO_TOPIC = 230019  # the topic does not exist
_NO_CHAT = frozenset({230002, 232009})  # clew is not in the chat any more, or the chat was dissolved
_NO_PERSON = frozenset({230013, 230029, 230053})  # they cannot use clew any more, left the company, or stopped clew
_CLOSED = _NO_CHAT | _NO_PERSON | {_NO_TOPIC}
_NOT_REPLIED = _GONE | {230001, 230071, _NO_TOPIC}  # or it cannot be replied to
_ON_ITS_WAY = 230049  # a message with the same key is being sent now

T = TypeVar("T")
MESSAGES = "/open-apis/im/v1/messages"


class FeishuSurface:
    name = NAME
    can = SurfaceCan(
        chat=True,
        edit=True,
        edit_every=1.0,
        stream=True,
        buttons=12,
        threads=True,
        replies=True,
        reactions=True,
        max_length=LONGEST,
        units=Units.BYTES,
        files=LARGEST,
        idempotency_window=3600,
        backlog=Backlog.PLATFORM,
    )

    def __init__(self, config: FeishuConfig, secret: str, clock: Clock, files: Path) -> None:
        self._config = config
        self._clock = clock
        self._api = OpenApi(config.app_id or "", secret, config.base_url, clock)
        self._streaming = Streaming(self._api, clock)
        self._receiver = Receiver(self._api, clock, files, self._anchor)
        self._anchors: OrderedDict[str, str] = OrderedDict()  # by thread: a message in it to reply to
        self._free_at: OrderedDict[str, float] = OrderedDict()  # by chat: when the next message may be sent

    @property
    def trouble(self) -> str:
        return self._receiver.trouble

    def resolve(self, address: str) -> Conversation:
        """Parse an address; an empty one means the `home` of the config."""
        if not address and self._config.home is None:
            raise BadInput(say("surfaces.feishu_which_chat"))
        return place(address or self._config.home or "").conversation

    async def run(self, inbox: Inbox) -> None:
        await self._receiver.run(inbox)

    async def send(self, outgoing: Outgoing) -> Receipt:
        """Send a delivery formatted; if the platform refuses the format, as plain text."""
        where = _place(outgoing.conversation)
        try:
            if outgoing.file is not None:
                return await self._send_file(where, outgoing, outgoing.file)
            sent = await self._send_streaming(where, outgoing) or await self._send_formatted(where, outgoing)
        except Refusal as refusal:
            raise _to_not_sent(refusal) from refusal
        return Receipt(where.conversation, _message_id(sent))

    async def _send_streaming(self, where: Place, outgoing: Outgoing) -> dict[str, Any] | None:
        """Send a placeholder as a streaming card. Not if it may have been sent before: that would be another card with
        the same key."""
        streams = outgoing.kind is DeliveryKind.PLACEHOLDER and not outgoing.again
        card = await self._streaming.begin(outgoing, where.thread) if streams else None
        if card is None:
            return None
        try:
            sent = await self._send_message(where, {**streaming.message(card), "uuid": _key(outgoing.id)})
        except Refusal as refusal:
            if refusal.code not in _CONTENT:
                raise
            return None
        self._streaming.sent(_message_id(sent), card)
        return sent

    async def _send_formatted(self, where: Place, outgoing: Outgoing) -> dict[str, Any]:
        uuid = _key(outgoing.id)
        try:
            return await self._send_message(where, {**_look(outgoing, where), "uuid": uuid}, outgoing.reply_to)
        except Refusal as refusal:
            if refusal.code not in _CONTENT:
                raise
            text = {"msg_type": "text", "content": markup.plain(outgoing.text, outgoing.note)}
            return await self._send_message(where, {**text, "uuid": uuid}, outgoing.reply_to)

    async def _send_file(self, where: Place, outgoing: Outgoing, file: Attachment) -> Receipt:
        """Upload a file, then send its message. A note is sent as a separate message."""
        look = await upload_file(self._api, file)
        sent = await self._send_message(where, {**look, "uuid": _key(outgoing.id)})
        if outgoing.note:
            note = {"msg_type": "text", "content": markup.plain(outgoing.note)}
            await self._send_message(where, {**note, "uuid": _key(f"{outgoing.id}:note")})
        return Receipt(where.conversation, _message_id(sent))

    async def edit(self, receipt: Receipt, outgoing: Outgoing) -> None:
        """Edit a message: usually a card, sometimes a post."""
        where, message = _place(receipt.conversation), receipt.message_id
        try:
            if not await self._streaming.rewrite(message, outgoing, where.thread):
                await self._rewrite(message, outgoing, where.thread)
        except Refusal as refusal:
            raise _to_not_sent(refusal) from refusal

    async def _rewrite(self, message: str, outgoing: Outgoing, thread: str | None) -> None:
        """Edit a message as a plain card, otherwise as an earlier daemon's streaming card, otherwise as a post."""
        path, text = f"{MESSAGES}/{quote(message, safe='')}", "\n\n".join(filter(None, (outgoing.text, outgoing.live)))
        try:
            look = markup.card(text, outgoing.note, outgoing.buttons, thread)
            await self._api.call("PATCH", path, {"content": look})
        except Refusal as refusal:
            if refusal.code not in _CONTENT:
                raise
            if await self._streaming.find(message) and await self._streaming.rewrite(message, outgoing, thread):
                return
            try:
                await self._api.call("PUT", path, {"msg_type": "post", "content": markup.post(text, outgoing.note)})
            except Refusal:
                raise refusal from None

    async def find(self, outgoing: Outgoing) -> Receipt | None:
        return None

    async def open_thread(self, parent: Conversation, title: str) -> Conversation | None:
        """Send a message with the title, and a first reply, which creates the thread."""
        where = Place(_place(parent).chat)
        name = " ".join(title.split())[:TITLE] or "clew"
        try:
            root = await self._send_message(where, {"msg_type": "post", "content": markup.post(f"**{name}**")})
            if not isinstance(root.get("thread_id"), str):  # in a topic group the message already has a thread
                root |= await self._reply(
                    _message_id(root), {"msg_type": "post", "content": markup.localized_post(OPENED)}
                )
        except Refusal as refusal:
            error = _to_not_sent(refusal)
            if isinstance(error, Never):
                return None
            raise error from refusal
        thread = root.get("thread_id")
        if not isinstance(thread, str) or not thread:
            return None
        self._anchor(thread, _message_id(root))
        return Place(where.chat, thread).conversation

    def parent(self, conversation: Conversation) -> Conversation | None:
        where = place(conversation.address)
        return Place(where.chat).conversation if where.thread is not None else None

    async def close(self) -> None:
        await self._api.close()

    async def _send_message(
        self, where: Place, body: Mapping[str, object], reply_to: str | None = None
    ) -> dict[str, Any]:
        """Send a message. If the message that it replies to was recalled, send it without that."""
        await self._pace(where.chat)
        if reply_to is not None:
            try:
                return await self._reply(reply_to, body, in_thread=where.thread is not None)
            except Refusal as refusal:
                if refusal.code not in _NOT_REPLIED:
                    raise
        if where.thread is None:
            chat = {"receive_id": where.chat, **body}
            return await self._api.call("POST", MESSAGES, chat, {"receive_id_type": "chat_id"})
        known = self._anchors.get(where.thread)
        try:
            return await self._reply(known or await self._find_message_in(where.thread), body)
        except Refusal as refusal:
            if known is None or refusal.code not in _GONE:
                raise
            return await self._reply(await self._find_message_in(where.thread), body)

    async def _reply(self, message: str, body: Mapping[str, object], *, in_thread: bool = True) -> dict[str, Any]:
        path = f"{MESSAGES}/{quote(message, safe='')}/reply"
        return await self._api.call("POST", path, {**body, "reply_in_thread": in_thread})

    async def react(self, where: Conversation, message: str) -> None:
        path = f"{MESSAGES}/{quote(message, safe='')}/reactions"
        await self._api.call("POST", path, {"reaction_type": {"emoji_type": HEARD}})

    async def _find_message_in(self, thread: str) -> str:
        """Return the id of any message in the thread."""
        query = {"container_id_type": "thread", "container_id": thread, "page_size": "10"}
        items = (await self._api.call("GET", MESSAGES, query=query)).get("items")
        found = [item for item in items if isinstance(item, dict)] if isinstance(items, list) else []
        names = [item.get("message_id") for item in found if not item.get("deleted")]
        name = next((name for name in names if isinstance(name, str)), None)
        if name is None:
            raise Gone(say("surfaces.feishu_thread_gone"))
        self._anchor(thread, name)
        return name

    def _anchor(self, thread: str, message: str) -> None:
        _remember(self._anchors, thread, message)

    async def _pace(self, chat: str) -> None:
        now = self._clock.monotonic()
        at = max(now, self._free_at.get(chat, 0.0))
        _remember(self._free_at, chat, at + PACE)
        if at > now:
            await self._clock.sleep(at - now)


def _key(id: str) -> str:
    return hashlib.sha256(id.encode()).hexdigest()[:40]


def _remember(kept: OrderedDict[str, T], name: str, value: T) -> None:
    kept[name] = value
    kept.move_to_end(name)
    while len(kept) > MOST_KEPT:
        kept.popitem(last=False)


def _look(outgoing: Outgoing, where: Place) -> dict[str, str]:
    if outgoing.buttons or outgoing.kind in _CARDS or markup.has_table(outgoing.text):
        content = markup.card(outgoing.text, outgoing.note, outgoing.buttons, where.thread)
        return {"msg_type": "interactive", "content": content}
    return {"msg_type": "post", "content": markup.post(outgoing.text, outgoing.note)}


def _place(conversation: Conversation) -> Place:
    try:
        return place(conversation.address)
    except BadInput as error:
        raise Gone(error.words) from error


def _message_id(message: Mapping[str, Any]) -> str:
    name = message.get("message_id")
    if not isinstance(name, str) or not name:
        raise InDoubt(say("surfaces.feishu_no_id"))
    return name


def _to_not_sent(refusal: Refusal) -> NotSent:
    """Convert a refusal to the delivery's error."""
    words = say("surfaces.refuses", platform=say("surfaces.feishu"), reply=refusal.words)
    if refusal.code == 429:
        return TryAgain(words, refusal.retry_after)
    if refusal.code == _ON_ITS_WAY:
        return InDoubt(words, refusal.retry_after or 1.0)
    if refusal.code in STALE:
        return Down(say("surfaces.feishu_refused"))
    if refusal.code in NOT_ALLOWED:
        return Down(say("surfaces.feishu_not_allowed", reply=refusal.words))
    return Gone(words) if refusal.code in _CLOSED else Never(words)
