"""Receiving from Telegram: an update counts as received, by the offset, only after the inbox has committed it and all
before it. Whatever cannot be an update is told once in the log and passed over; nothing else stops."""

from __future__ import annotations

import asyncio
import logging
import mimetypes
import shutil
from pathlib import Path

import msgspec
from msgspec.structs import replace

from clew.model.messages import Attachment, Fate, Inbound
from clew.model.surface import Inbox, InDoubt, NotSent
from clew.support.clock import Clock
from clew.support.errors import StoreError
from clew.support.files import LARGEST, safe_names, save
from clew.surfaces.telegram.api import BotApi, Refusal
from clew.surfaces.telegram.updates import KINDS, File, Message, Query, Skipped, User, heard, number, pressed, read

log = logging.getLogger(__name__)

POLL = 30  # seconds that one call may wait for something new
FIRST_WAIT, LONGEST_WAIT = 0.5, 30.0  # seconds between two tries to reach it
TOAST = 200  # characters that whoever pressed a button can be told
TRIES = 5  # to fetch a file
KINDS_TOLD = 100  # of what was passed over, for the log

REFUSED = "Telegram refuses the token: get a new one from @BotFather, put it into [surfaces.telegram], `clew restart`"
TAKEN = (
    "another program receives the messages of this bot: end it, or make a bot of its own for clew with @BotFather."
    " Until then each of them gets only some of the messages"
)
HOOKED = "a webhook is set for this bot, so messages go there: remove it (the Bot API's deleteWebhook)"


class Receiver:
    """`trouble` says why nothing comes in."""

    def __init__(self, api: BotApi, clock: Clock, files: Path) -> None:
        self.trouble = ""
        self.reached = asyncio.Event()  # Telegram has answered
        self._api = api
        self._clock = clock
        self._files = files
        self._me: User | None = None
        self._offset: int | None = None
        self._told: set[str] = set()
        self._tried = (0, 0)  # an update whose file does not come, and how often that was

    async def run(self, inbox: Inbox) -> None:
        wait = FIRST_WAIT
        while True:
            try:
                await self._round(inbox)
            except (NotSent, Refusal, StoreError) as error:
                self._ail(_words(error))
                await self._clock.sleep(_told_to_wait(error) or wait)
                wait = min(2 * wait, LONGEST_WAIT)
            else:
                wait = FIRST_WAIT

    async def _round(self, inbox: Inbox) -> None:
        me = self._me = self._me or await self._who()
        self.reached.set()
        seconds = 0 if self.trouble else POLL  # so that it is known at once when all is well again
        for raw in await self._api.poll(self._offset, KINDS, seconds):
            await self._take(inbox, me, raw)
            if (at := number(raw)) is not None:
                self._offset = at + 1
        self._recover()

    async def _who(self) -> User:
        try:
            return msgspec.convert(await self._api.call("getMe", {}), User)
        except msgspec.ValidationError as error:
            raise InDoubt(f"Telegram's answer to getMe does not look as it should: {error}") from error

    async def _take(self, inbox: Inbox, me: User, raw: object) -> None:
        """Raises only what makes it worth to try the same update again."""
        update = read(raw)
        try:
            if isinstance(update, Skipped):
                self._skip(update)
            elif update.callback_query is not None:
                await self._take_press(inbox, me, update.callback_query)
            elif update.message is not None:
                await self._take_message(inbox, me, update.message, update.update_id)
        except (NotSent, Refusal, StoreError):
            raise
        except Exception:  # one update must not stop the others
            log.exception("an update of Telegram cannot be taken, and is passed over")

    async def _take_message(self, inbox: Inbox, me: User, message: Message, update: int) -> None:
        inbound = heard(message, me)
        if isinstance(inbound, Skipped):
            self._skip(inbound)
            return
        folder = self._files / f"telegram-{message.chat.id}-{next(safe_names([inbound.message_id]))}"
        meant = message.files if message.files and await inbox.welcomes(inbound) else ()
        accepted = await inbox.accept(await self._with_files(inbound, meant, folder, update))
        if meant and accepted.fate is Fate.REFUSED:
            await asyncio.to_thread(shutil.rmtree, folder, ignore_errors=True)

    async def _take_press(self, inbox: Inbox, me: User, query: Query) -> None:
        """However it ends, whoever pressed is answered; else the button seems to work for ever."""
        inbound = pressed(query, me)
        if isinstance(inbound, Skipped):
            self._skip(inbound)
            await self._toast(query, "This is too old to be pressed; answer in words. 按钮已过期，请用文字回复。")
            return
        try:
            accepted = await inbox.accept(inbound)
        except Exception:
            await self._toast(query, "clew cannot store this just now; it tries again. 暂时无法保存，稍后重试。")
            raise
        await self._toast(query, accepted.words)

    async def _toast(self, query: Query, words: str) -> None:
        text = words if len(words) <= TOAST else f"{words[: TOAST - 1]}…"
        try:
            await self._api.call("answerCallbackQuery", {"callback_query_id": query.id, "text": text or None})
        except (NotSent, Refusal) as error:  # it was pressed all the same
            log.info("whoever pressed a button cannot be told: %s", error)

    async def _with_files(self, inbound: Inbound, files: tuple[File, ...], folder: Path, update: int) -> Inbound:
        got: list[Attachment] = []
        missing: list[str] = []
        names = [_name(file, place) for place, file in enumerate(files)]
        for file, name, safe in zip(files, names, safe_names(names), strict=True):
            try:
                await self._fetch(file, folder / safe, update)
            except Refusal as refusal:
                missing.append(f"[{name} did not come along: {refusal.words}]")
            except OSError as error:
                missing.append(f"[{name} did not come along: it cannot be kept here: {error.strerror}]")
            else:
                got.append(Attachment(name, str(folder / safe), file.mime_type or _media_type(name)))
        text = "\n".join([*([inbound.text] if inbound.text else []), *missing])
        return replace(inbound, text=text, attachments=tuple(got))

    async def _fetch(self, file: File, target: Path, update: int) -> None:
        """Raises Refusal where it will never come, and OSError; what else goes wrong is tried again, a few times."""
        if await asyncio.to_thread(target.exists):
            return
        if file.file_size > LARGEST:
            raise Refusal(413, f"it is larger than {LARGEST >> 20} MiB")
        try:
            found = await self._api.call("getFile", {"file_id": file.file_id})
            path = found.get("file_path") if isinstance(found, dict) else None
            data = await self._api.download(str(path or ""), LARGEST)
        except (NotSent, Refusal) as error:
            if isinstance(error, Refusal) and error.code in (400, 404, 413):
                raise
            self._tried = (update, self._tried[1] + 1 if self._tried[0] == update else 1)
            if self._tried[1] >= TRIES:
                raise Refusal(0, "Telegram does not give it out") from error
            raise
        await asyncio.to_thread(save, data, target)

    def _skip(self, skipped: Skipped) -> None:
        """Each kind once: nobody can fill the log from outside."""
        if skipped.why not in self._told and len(self._told) < KINDS_TOLD:
            self._told.add(skipped.why)
            log.info("updates %s are passed over", skipped.why)

    def _ail(self, words: str) -> None:
        if words != self.trouble:
            log.warning("%s", words)
        self.trouble = words

    def _recover(self) -> None:
        if self.trouble:
            log.info("messages come in again")
        self.trouble = ""


def _words(error: NotSent | Refusal | StoreError) -> str:
    if isinstance(error, StoreError):
        return f"what arrives cannot be stored: {error.message}"
    if isinstance(error, NotSent):
        return error.reason
    if error.code in (401, 404):
        return REFUSED
    if error.code == 409:
        return HOOKED if "webhook" in error.words.lower() else TAKEN
    return f"Telegram refuses: {error.words}"


def _told_to_wait(error: Exception) -> float | None:
    return error.retry_after if isinstance(error, NotSent | Refusal) else None


def _name(file: File, place: int) -> str:
    """As its sender called it; pictures and voices have no name."""
    kind = file.mime_type or "image/jpeg"
    return file.file_name or f"{kind.partition('/')[0]}-{place + 1}{mimetypes.guess_extension(kind) or ''}"


def _media_type(name: str) -> str:
    return mimetypes.guess_type(name)[0] or "application/octet-stream"
