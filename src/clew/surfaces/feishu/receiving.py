"""Receives events from Feishu. An event is answered only after the inbox has committed it. Messages of one conversation
are handled in order. A button press is answered within the platform's three seconds; if it is not committed by then,
the person is told so. An event that cannot be read is logged once and skipped."""

from __future__ import annotations

import asyncio
import hashlib
import logging
import mimetypes
import shutil
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from functools import partial
from pathlib import Path
from typing import TypeVar
from urllib.parse import quote

from msgspec.structs import replace

from clew.model.messages import Accepted, Attachment, Fate, Inbound
from clew.model.surface import Down, Inbox, InDoubt, NotSent
from clew.support.clock import Clock
from clew.support.coded import Text
from clew.support.errors import StoreError
from clew.support.files import LARGEST, safe_names, save
from clew.surfaces.feishu import events
from clew.surfaces.feishu.api import OpenApi, Refusal
from clew.surfaces.feishu.connection import Answer, OnEvent, listen
from clew.surfaces.feishu.content import File
from clew.surfaces.feishu.events import Event, Pressed, Reacted, Recalled, Said, Skipped
from clew.surfaces.feishu.markup import plain
from clew.surfaces.feishu.names import Names
from clew.surfaces.feishu.places import NAME
from clew.texts.bilingual import zh
from clew.texts.catalogue import say

log = logging.getLogger(__name__)

FIRST_WAIT, LONGEST_WAIT = 0.5, 30.0  # seconds between two attempts to connect
STEADY = 60.0  # seconds after which a connection counts as stable
QUICK = 2.0  # seconds after which a person who pressed a button is told that it is not stored yet
TOAST = 200  # characters of the answer to a button press
TRIES = 4  # attempts to fetch a file
MOST_LOGGED = 100  # kinds of skipped events that are logged
TAKEN, FAILED = 200, 500  # answers to the platform

UNSTORED = say("surfaces.press_not_stored")
BROKEN = say("surfaces.press_failed")
_WRONG_APP = frozenset({401, 403, 514, 10003, 10005, 10012, 10014, 1000040344, 1000040345})
_MANY = 1000040350

T = TypeVar("T")


class Receiver:
    """Keeps a connection open and handles its events. `trouble` says why nothing comes in."""

    def __init__(self, api: OpenApi, clock: Clock, files: Path, seen: Callable[[str, str], None]) -> None:
        self.trouble = ""
        self._api = api
        self._clock = clock
        self._files = files
        self._seen = seen  # called with a message of a thread, to which the next one there replies
        self._names = Names(api)
        self._me = ""
        self._logged: set[str] = set()
        self._chats: dict[tuple[str, str], tuple[asyncio.Lock, int]] = {}  # by chat and thread

    async def run(self, inbox: Inbox) -> None:
        """Connect again and again. Handling of an event goes on if its connection ends."""
        async with asyncio.TaskGroup() as work:

            def on_event(payload: bytes, answer: Answer) -> None:
                work.create_task(self._take(inbox, work, payload, answer))

            wait = FIRST_WAIT
            while True:
                began = self._clock.monotonic()
                error = await self._listen_once(on_event)
                self._set_trouble(_describe(error))
                wait = FIRST_WAIT if self._clock.monotonic() - began >= STEADY else wait
                await self._clock.sleep(error.retry_after or wait * (0.5 + self._clock.random() / 2))
                wait = min(2 * wait, LONGEST_WAIT)

    async def _listen_once(self, on_event: OnEvent) -> NotSent | Refusal:
        """Listen on one connection, and return why it ended."""
        try:
            self._me = self._me or await self._get_bot_id()
            await listen(self._api, self._clock, self._recover, on_event)
        except (NotSent, Refusal) as error:
            return error
        return Down(say("surfaces.feishu_ended"))

    async def _get_bot_id(self) -> str:
        """Return the bot's id, by which people mention it."""
        bot = (await self._api.call("GET", "/open-apis/bot/v3/info")).get("bot")
        name = bot.get("open_id") if isinstance(bot, dict) else None
        if not isinstance(name, str) or not name:
            raise InDoubt(say("surfaces.feishu_no_bot"))
        return name

    async def _take(self, inbox: Inbox, work: asyncio.TaskGroup, payload: bytes, answer: Answer) -> None:
        """Handle an event and always answer it. After a failure the platform sends it again."""
        event = events.read(payload, self._api.app_id)
        try:
            data = None
            if isinstance(event, Skipped):
                self._skip(event)
            elif isinstance(event.what, Said):
                await self._take_message(inbox, event.what)
            elif isinstance(event.what, Pressed):
                data = await self._take_press(inbox, work, event.id, event.what)
            elif isinstance(event.what, Recalled):
                await self._take_recall(inbox, event.what)
            else:
                await self._take_reaction(inbox, event, event.what)
            await answer(TAKEN, data)
        except Exception as error:  # one event must not stop the others
            if isinstance(error, NotSent | Refusal):
                log.warning("could not handle an event of Feishu yet: %s", error)
            else:
                log.exception("could not handle an event of Feishu")
            await answer(FAILED, None)

    async def _take_message(self, inbox: Inbox, said: Said) -> None:
        async with self._in_order((said.message.chat_id, said.message.thread_id or "")):
            self._names.learn(said.message.mentions or ())
            heard = events.message_to_inbound(said, self._me)
            if isinstance(heard, Skipped):
                self._skip(heard)
                return
            inbound, content = heard
            if said.message.thread_id:
                self._seen(said.message.thread_id, said.message.root_id or said.message.message_id)
            if inbound.direct or inbound.in_thread:
                await self._accept(inbox, await self._with_name(inbound), content.files)
            else:
                await self._accept(inbox, inbound, ())

    async def _with_name(self, inbound: Inbound) -> Inbound:
        return replace(inbound, sender=await self._names.of(inbound.sender_id))

    async def _accept(self, inbox: Inbox, inbound: Inbound, files: tuple[File, ...]) -> None:
        folder = self._files / f"feishu-{next(safe_names([inbound.message_id]))}"
        may_speak = bool(files) and await self._retry_until_stored(partial(inbox.welcomes, inbound))
        files = files if may_speak else ()
        accepted = await self._commit(inbox, await self._with_files(inbound, files, folder))
        if files and accepted.fate is Fate.REFUSED:
            await asyncio.to_thread(shutil.rmtree, folder, ignore_errors=True)

    async def _commit(self, inbox: Inbox, inbound: Inbound) -> Accepted:
        return await self._retry_until_stored(partial(inbox.accept, inbound))

    async def _retry_until_stored(self, ask: Callable[[], Awaitable[T]]) -> T:
        """Retry until the store works: the platform would send the event again only a few times, and out of order."""
        wait = FIRST_WAIT
        while True:
            try:
                done = await ask()
            except StoreError as error:
                self._set_trouble(say("surfaces.not_stored", why=error.words))
                await self._clock.sleep(wait)
                wait = min(2 * wait, LONGEST_WAIT)
            else:
                if wait > FIRST_WAIT:
                    self._recover()
                return done

    @asynccontextmanager
    async def _in_order(self, chat: tuple[str, str]) -> AsyncIterator[None]:
        """Handle the messages of one chat or thread in order; others do not wait."""
        lock, waiting = self._chats.get(chat, (asyncio.Lock(), 0))
        self._chats[chat] = (lock, waiting + 1)
        try:
            async with lock:
                yield
        finally:
            lock, waiting = self._chats.pop(chat)
            if waiting > 1:
                self._chats[chat] = (lock, waiting - 1)

    async def _take_recall(self, inbox: Inbox, recalled: Recalled) -> None:
        """Behind the message itself. The event does not name its thread, so it waits for all of the chat."""
        async with AsyncExitStack() as before:
            for chat in [each for each in self._chats if each[0] == recalled.chat_id]:
                await before.enter_async_context(self._in_order(chat))
            await self._retry_until_stored(partial(inbox.deleted, NAME, recalled.message_id))

    async def _take_press(self, inbox: Inbox, work: asyncio.TaskGroup, id: str, press: Pressed) -> object:
        inbound = events.press_to_inbound(id, press)
        if isinstance(inbound, Skipped):
            self._skip(inbound)
            return None
        accepting = work.create_task(self._press(inbox, inbound))
        await asyncio.wait({accepting}, timeout=QUICK)
        return accepting.result() if accepting.done() else _toast(UNSTORED, "warning")

    async def _press(self, inbox: Inbox, inbound: Inbound) -> object:
        try:
            accepted = await self._commit(inbox, await self._with_name(inbound))
        except Exception:  # the person who pressed must be told
            log.exception("could not handle a button press on Feishu")
            return _toast(BROKEN, "error")
        return _toast(accepted.words, "warning" if accepted.fate is Fate.REFUSED else "info")

    async def _take_reaction(self, inbox: Inbox, event: Event, reaction: Reacted) -> None:
        if reaction.means is None or not reaction.by:
            self._skip(Skipped("by reactions that mean nothing to clew"))
            return
        on = await self._fetch_message(reaction.message_id)
        inbound = (
            events.reaction_to_inbound(event.id, reaction, on) if on else Skipped("by reactions on what asks nothing")
        )
        if isinstance(inbound, Skipped):
            self._skip(inbound)
            return
        accepted = await self._commit(inbox, await self._with_name(inbound))
        await self._reply_if_refused(reaction.message_id, inbound, accepted)

    async def _fetch_message(self, message: str) -> events.Shown | None:
        """Fetch the message of a reaction, because the event does not say where it is."""
        query = {"card_msg_content_type": "user_card_content", "user_id_type": "open_id"}
        try:
            found = await self._api.call("GET", f"/open-apis/im/v1/messages/{quote(message, safe='')}", query=query)
        except Refusal as refusal:
            log.info("skipped a reaction whose message cannot be read: %s", refusal)
            return None
        return events.shown(found, self._api.app_id)

    async def _reply_if_refused(self, message: str, inbound: Inbound, accepted: Accepted) -> None:
        """Reply if a reaction was refused: it has no toast. If it counted, the card shows it."""
        if accepted.fate is not Fate.REFUSED or not accepted.words or accepted.repeated:
            return
        uuid = hashlib.sha256(inbound.message_id.encode()).hexdigest()[:40]
        body = {"msg_type": "text", "content": plain(accepted.words), "uuid": uuid}
        try:
            await self._api.call("POST", f"/open-apis/im/v1/messages/{quote(message, safe='')}/reply", body)
        except (NotSent, Refusal) as error:
            log.info("cannot reply to a reaction: %s", error)

    async def _with_files(self, inbound: Inbound, files: tuple[File, ...], folder: Path) -> Inbound:
        got: list[Attachment] = []
        missing: list[str] = []
        names = [_name(file, place) for place, file in enumerate(files)]
        for file, name, safe in zip(files, names, safe_names(names), strict=True):
            try:
                await self._fetch(inbound.message_id, file, folder / safe)
            except Refusal as refusal:
                missing.append(say("surfaces.file_missing", name=name, why=refusal.words))
            except OSError as error:
                why = say("surfaces.file_not_kept", error=error.strerror or "")
                missing.append(say("surfaces.file_missing", name=name, why=why))
            else:
                got.append(Attachment(name, str(folder / safe), _media_type(name)))
        return replace(inbound, attachments=tuple(got), missing=tuple(missing))

    async def _fetch(self, message: str, file: File, target: Path) -> None:
        """Download a file. Raises Refusal if that fails, and OSError; other errors are retried a few times."""
        if await asyncio.to_thread(target.exists):
            return
        path = f"/open-apis/im/v1/messages/{quote(message, safe='')}/resources/{quote(file.key, safe='')}"
        for left in reversed(range(TRIES)):
            try:
                data = await self._api.download(path, {"type": file.kind}, LARGEST)
            except NotSent as error:
                if not left:
                    raise Refusal(0, say("surfaces.file_withheld", platform=say("surfaces.feishu"))) from error
                await self._clock.sleep(FIRST_WAIT)
            else:
                await asyncio.to_thread(save, data, target)
                return

    def _skip(self, skipped: Skipped) -> None:
        """Log each kind once, so that nobody can fill the log from outside."""
        if skipped.why not in self._logged and len(self._logged) < MOST_LOGGED:
            self._logged.add(skipped.why)
            log.info("events %s are skipped", skipped.why)

    def _recover(self) -> None:
        if self.trouble:
            log.info("messages come in again")
        self.trouble = ""

    def _set_trouble(self, words: str) -> None:
        if words != self.trouble:
            log.warning("%s", words)
        self.trouble = words


def _describe(error: NotSent | Refusal) -> str:
    if isinstance(error, NotSent):
        return error.reason
    if error.code in _WRONG_APP:
        return say("surfaces.feishu_refused_says", reply=error.words)
    if error.code == _MANY:
        return say("surfaces.feishu_too_many", reply=error.words)
    return say("surfaces.refuses", platform=say("surfaces.feishu"), reply=error.words)


def _toast(words: str, kind: str = "info") -> object:
    """In a sentence of clew in each of its languages, of which the platform shows that of the person."""
    if not words:
        return {}
    both = {"en_us": _fitted(words), "zh_cn": _fitted(zh(words))} if isinstance(words, Text) else None
    return {"toast": {"type": kind, "content": _fitted(words), **({"i18n": both} if both else {})}}


def _fitted(words: str) -> str:
    return words if len(words) <= TOAST else f"{words[: TOAST - 1]}…"


def _name(file: File, place: int) -> str:
    """Return the sender's file name, or make one: pictures have none."""
    return file.name or (f"image-{place + 1}.png" if file.kind == "image" else f"file-{place + 1}")


def _media_type(name: str) -> str:
    return mimetypes.guess_type(name)[0] or "application/octet-stream"
