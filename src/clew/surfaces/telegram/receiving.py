"""Receives updates from Telegram. The offset confirms an update only after the inbox has committed it and all before
it; conversations do not wait for each other. An update that cannot be read is logged once and skipped."""

from __future__ import annotations

import asyncio
import logging
import mimetypes
import shutil
from functools import partial
from pathlib import Path

import msgspec
from msgspec.structs import replace

from clew.model.messages import Attachment, Fate, Inbound
from clew.model.surface import Inbox, InDoubt, NotSent
from clew.support.clock import Clock
from clew.support.errors import StoreError
from clew.support.files import LARGEST, safe_names, save
from clew.surfaces.telegram.api import BotApi, Refusal
from clew.surfaces.telegram.lanes import Lanes
from clew.surfaces.telegram.updates import (
    KINDS,
    File,
    Message,
    Query,
    Skipped,
    Update,
    User,
    number,
    press_to_inbound,
    read,
    to_inbound,
)
from clew.texts.catalogue import say

log = logging.getLogger(__name__)

POLL = 30  # seconds that one call waits for updates
PAGE = 100  # updates that one call returns at most, the unconfirmed ones first
PACE, SLOW_PACE = 0.25, 1.0  # seconds between two calls while an update is being handled: they return it at once
STUCK, STUCK_PACE = 60.0, 10.0  # seconds after which an update counts as stuck, and then between two calls
DOWNLOADS = 8  # at the same time
FIRST_WAIT, LONGEST_WAIT = 0.5, 30.0  # seconds between two attempts
TOAST = 200  # characters of the answer to a button press
TRIES = 5  # attempts to fetch a file
MOST_LOGGED = 100  # kinds of skipped updates that are logged


class Receiver:
    """The polling loop. `trouble` says why nothing comes in."""

    def __init__(self, api: BotApi, clock: Clock, files: Path) -> None:
        self.trouble = ""
        self.reached = asyncio.Event()  # Telegram has answered
        self._api = api
        self._clock = clock
        self._files = files
        self._me: User | None = None
        self._logged: set[str] = set()
        self._stuck: set[int] = set()  # updates that are tried again and again
        self._why = ""  # they are
        self._is_full = False  # a call returns only updates that are being handled
        self._pace = PACE
        self._unmoved = 0.0  # seconds that it has waited since something was confirmed
        self._tries: dict[int, int] = {}  # by update: how often its file could not be fetched
        self._downloads = asyncio.Semaphore(DOWNLOADS)

    async def run(self, inbox: Inbox) -> None:
        wait = FIRST_WAIT
        async with asyncio.TaskGroup() as group:
            lanes = Lanes(group, partial(self._take, inbox))
            while True:
                try:
                    await self._poll_once(lanes)
                except (NotSent, Refusal) as error:
                    self._set_trouble(_describe(error))
                    await self._clock.sleep(_retry_after(error) or wait)
                    wait = min(2 * wait, LONGEST_WAIT)
                else:
                    wait = FIRST_WAIT

    async def _poll_once(self, lanes: Lanes[Update]) -> None:
        self._me = self._me or await self._get_me()
        self.reached.set()
        seconds = 0 if self.trouble or lanes.is_busy else POLL  # to notice a recovery at once
        known, since = lanes.unconfirmed, lanes.confirmed  # before the call: one may be handled meanwhile
        fresh = [raw for raw in await self._api.poll(lanes.offset, KINDS, seconds) if number(raw) not in known]
        for raw in fresh:
            self._add(lanes, raw)
        self._is_full = len(lanes.unconfirmed) >= PAGE
        self._update_trouble()
        if lanes.is_busy:
            await self._wait_to_advance(lanes, since, has_news=any(number(raw) is not None for raw in fresh))

    async def _wait_to_advance(self, lanes: Lanes[Update], since: int | None, *, has_news: bool) -> None:
        """Wait until more can be confirmed; longer while nothing moves, since each call returns the same. Others do
        not wait long for that: a large file may take a while."""
        if has_news:
            self._pace = PACE
        await lanes.advance(since, self._clock.sleep(self._pace))
        if lanes.confirmed != since:
            self._pace, self._unmoved = PACE, 0.0
            return
        self._unmoved += self._pace
        self._pace = min(2 * self._pace, SLOW_PACE if self._unmoved < STUCK else STUCK_PACE)

    def _add(self, lanes: Lanes[Update], raw: object) -> None:
        update, at = read(raw), number(raw)
        if isinstance(update, Skipped):
            self._skip(update)
            update = Update(at or 0)
        if at is not None:
            lanes.add(at, update.place, update)

    async def _get_me(self) -> User:
        try:
            return msgspec.convert(await self._api.call("getMe", {}), User)
        except msgspec.ValidationError as error:
            raise InDoubt(say("surfaces.telegram_odd_bot", error=str(error))) from error

    async def _take(self, inbox: Inbox, update: Update) -> None:
        """Handle an update, and try again as long as that can help."""
        wait = FIRST_WAIT
        while True:
            try:
                await self._take_once(inbox, update)
                break
            except (NotSent, Refusal, StoreError) as error:
                self._stuck.add(update.update_id)
                self._why = _describe(error)
                self._update_trouble()
                await self._clock.sleep(_retry_after(error) or wait)
                wait = min(2 * wait, LONGEST_WAIT)
            except Exception:  # one update must not stop the others
                log.exception("could not handle an update of Telegram; skipped")
                break
        self._tries.pop(update.update_id, None)
        if update.update_id in self._stuck:
            self._stuck.discard(update.update_id)
            self._update_trouble()

    async def _take_once(self, inbox: Inbox, update: Update) -> None:
        assert self._me is not None
        if update.callback_query is not None:
            await self._take_press(inbox, self._me, update.callback_query)
        elif update.message is not None:
            await self._take_message(inbox, self._me, update.message, update.update_id)
        elif update.edited_message is not None:
            await self._take_edit(inbox, self._me, update.edited_message)

    async def _take_message(self, inbox: Inbox, me: User, message: Message, update: int) -> None:
        if message.moved is not None:
            old, new = message.moved
            await inbox.moved(old.conversation, new.conversation)
            return
        inbound = to_inbound(message, me)
        if isinstance(inbound, Skipped):
            self._skip(inbound)
            return
        folder = self._files / f"telegram-{message.chat.id}-{next(safe_names([inbound.message_id]))}"
        meant = message.files if message.files and await inbox.welcomes(inbound) else ()
        accepted = await inbox.accept(await self._with_files(inbound, meant, folder, update))
        if meant and accepted.fate is Fate.REFUSED:
            await asyncio.to_thread(shutil.rmtree, folder, ignore_errors=True)

    async def _take_edit(self, inbox: Inbox, me: User, message: Message) -> None:
        inbound = to_inbound(message, me)
        if isinstance(inbound, Skipped):
            self._skip(inbound)
        else:
            await inbox.edited(inbound)

    async def _take_press(self, inbox: Inbox, me: User, query: Query) -> None:
        """Handle a button press. Always answer it; otherwise the button spins for ever."""
        inbound = press_to_inbound(query, me)
        if isinstance(inbound, Skipped):
            self._skip(inbound)
            await self._toast(query, query.sender.in_language(say("surfaces.button_too_old")))
            return
        try:
            accepted = await inbox.accept(inbound)
        except Exception:
            await self._toast(query, query.sender.in_language(say("surfaces.press_retried")))
            raise
        await self._toast(query, accepted.words)

    async def _toast(self, query: Query, words: str) -> None:
        text = words if len(words) <= TOAST else f"{words[: TOAST - 1]}…"
        try:
            await self._api.call("answerCallbackQuery", {"callback_query_id": query.id, "text": text or None})
        except (NotSent, Refusal) as error:  # the press counts all the same
            log.info("cannot answer a button press: %s", error)

    async def _with_files(self, inbound: Inbound, files: tuple[File, ...], folder: Path, update: int) -> Inbound:
        got: list[Attachment] = []
        missing: list[str] = []
        names = [_name(file, place) for place, file in enumerate(files)]
        for file, name, safe in zip(files, names, safe_names(names), strict=True):
            try:
                await self._fetch(file, folder / safe, update)
            except Refusal as refusal:
                missing.append(say("surfaces.file_missing", name=name, why=refusal.words))
            except OSError as error:
                why = say("surfaces.file_not_kept", error=error.strerror or "")
                missing.append(say("surfaces.file_missing", name=name, why=why))
            else:
                got.append(Attachment(name, str(folder / safe), file.mime_type or _media_type(name)))
        return replace(inbound, attachments=tuple(got), missing=tuple(missing))

    async def _fetch(self, file: File, target: Path, update: int) -> None:
        """Download a file. Raises Refusal if that will never work, and OSError; other errors are retried a few
        times."""
        if await asyncio.to_thread(target.exists):
            return
        if file.file_size > LARGEST:
            raise Refusal(413, say("surfaces.file_too_large", most=LARGEST >> 20))
        try:
            async with self._downloads:
                found = await self._api.call("getFile", {"file_id": file.file_id})
                path = found.get("file_path") if isinstance(found, dict) else None
                data = await self._api.download(str(path or ""), LARGEST)
        except (NotSent, Refusal) as error:
            if isinstance(error, Refusal) and error.code in (400, 404, 413):
                raise
            self._tries[update] = self._tries.get(update, 0) + 1
            if self._tries[update] >= TRIES:
                raise Refusal(0, say("surfaces.file_withheld", platform="Telegram")) from error
            raise
        await asyncio.to_thread(save, data, target)

    def _skip(self, skipped: Skipped) -> None:
        """Log each kind once, so that nobody can fill the log from outside."""
        if skipped.why not in self._logged and len(self._logged) < MOST_LOGGED:
            self._logged.add(skipped.why)
            log.info("updates %s are skipped", skipped.why)

    def _set_trouble(self, words: str) -> None:
        if words != self.trouble:
            log.warning("%s", words)
        self.trouble = words

    def _update_trouble(self) -> None:
        """Say what holds up the updates; nothing, if they come in."""
        why = self._why if self._stuck else ""
        if self._is_full:
            why = say("surfaces.telegram_full", count=str(PAGE), why=why or say("surfaces.telegram_slow"))
        if why:
            self._set_trouble(why)
            return
        if self.trouble:
            log.info("messages come in again")
        self.trouble = ""


def _describe(error: NotSent | Refusal | StoreError) -> str:
    if isinstance(error, StoreError):
        return say("surfaces.not_stored", why=error.words)
    if isinstance(error, NotSent):
        return error.reason
    if error.code in (401, 404):
        return say("surfaces.telegram_refused")
    if error.code == 409:
        return say("surfaces.telegram_hooked" if "webhook" in error.words.lower() else "surfaces.telegram_taken")
    return say("surfaces.refuses", platform="Telegram", reply=error.words)


def _retry_after(error: Exception) -> float | None:
    return error.retry_after if isinstance(error, NotSent | Refusal) else None


def _name(file: File, place: int) -> str:
    """Return the sender's file name, or make one: pictures and voice messages have none."""
    kind = file.mime_type or "image/jpeg"
    return file.file_name or f"{kind.partition('/')[0]}-{place + 1}{mimetypes.guess_extension(kind) or ''}"


def _media_type(name: str) -> str:
    return mimetypes.guess_type(name)[0] or "application/octet-stream"
