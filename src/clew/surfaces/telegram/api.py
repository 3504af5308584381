"""Calls Telegram's Bot API: one JSON POST per method. It does not decide what a response means for a delivery.

It uses httpx and not python-telegram-bot, because clew needs only nine methods; its polling must not confirm an update
before it is stored, as the library does; and it must know whether a call was not sent, was refused, or lost its
response, which the library's exceptions do not distinguish.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from urllib.parse import quote

import msgspec
from msgspec import Struct

from clew.model.surface import InDoubt
from clew.support.coded import plain
from clew.surfaces.http_calls import ANSWER, CONNECT, PLAIN, UPLOAD, Caller
from clew.texts.catalogue import say


class Upload(Struct, frozen=True):
    """A file to upload with a call."""

    field: str
    name: str
    data: bytes
    media_type: str


class Refusal(Exception):
    """Telegram answered with an error."""

    def __init__(self, code: int, words: str, retry_after: float | None = None, moved_to: int | None = None) -> None:
        super().__init__(f"{code} {words}")
        self.code = code
        self.words = words
        self.retry_after = retry_after
        self.moved_to = moved_to


class _Parameters(msgspec.Struct, frozen=True):
    retry_after: float | None = None
    migrate_to_chat_id: int | None = None


class _Answer(msgspec.Struct, frozen=True):
    ok: bool
    result: Any = None
    error_code: int = 0
    description: str = ""
    parameters: _Parameters | None = None


class BotApi:
    def __init__(self, token: str, base_url: str) -> None:
        self._token = token
        self._base = base_url.rstrip("/")
        unusable = say("surfaces.telegram_unusable")
        self._caller = Caller("Telegram", "telegram", token, unusable, base_url)

    async def call(
        self, method: str, fields: Mapping[str, object], time_limit: float = ANSWER, upload: Upload | None = None
    ) -> Any:
        """Return the result. Raises Refusal; Down if the request was not sent; InDoubt if the response was lost."""
        body = {name: value for name, value in fields.items() if value is not None}
        url = f"{self._base}/bot{self._token}/{method}"
        given = _as_json(body) if upload is None else _as_form(body, upload)
        status, _, data = await self._caller.exchange("POST", url, given, time_limit if upload is None else UPLOAD)
        answer = _read(data)
        if answer is not None and answer.ok:
            return answer.result
        raise self._refusal(method, status, answer)

    async def poll(self, offset: int | None, kinds: tuple[str, ...], seconds: int) -> list[Any]:
        """Return new updates, or none after `seconds`. An offset confirms all updates before it."""
        wanted = {"offset": offset, "timeout": seconds, "allowed_updates": kinds}
        updates = await self.call("getUpdates", wanted, seconds + CONNECT)
        if not isinstance(updates, list):
            raise InDoubt(say("surfaces.telegram_not_a_list"))
        return updates

    async def download(self, path: str, largest: int) -> bytes:
        """Download a file by its path from `getFile`. Raises as `call` does; Refusal 413 if it is too large."""
        url = f"{self._base}/file/bot{self._token}/{quote(path)}"
        status, _, data = await self._caller.exchange("GET", url, {}, ANSWER, largest)
        if status != 200:
            raise self._refusal(say("surfaces.a_download"), status, _read(data))
        if len(data) > largest:
            raise Refusal(413, say("surfaces.file_too_large", most=largest >> 20))
        return data

    async def close(self) -> None:
        await self._caller.close()

    def _refusal(self, what: str, status: int, answer: _Answer | None) -> Exception:
        if answer is None:
            return (
                Refusal(status, f"HTTP {status}") if status in PLAIN else self._caller.unreadable_response(what, status)
            )
        more = answer.parameters or _Parameters()
        words = self._caller.redact(answer.description) or f"HTTP {status}"
        return Refusal(answer.error_code or status, words, more.retry_after, more.migrate_to_chat_id)


def _read(data: bytes) -> _Answer | None:
    try:
        return msgspec.json.decode(data, type=_Answer)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None


def _as_json(body: Mapping[str, object]) -> dict[str, Any]:
    return {"content": msgspec.json.encode(body, enc_hook=plain), "headers": {"Content-Type": "application/json"}}


def _as_form(body: Mapping[str, object], upload: Upload) -> dict[str, Any]:
    """Encode a form with a file. Values that are not text are JSON."""
    texts = {name: value if isinstance(value, str) else msgspec.json.encode(value) for name, value in body.items()}
    return {"data": texts, "files": {upload.field: (upload.name, upload.data, upload.media_type)}}
