"""The wire of Telegram's Bot API: one POST of JSON per method. It knows what came back, and not what that means for a
delivery.

Plain httpx and not python-telegram-bot: what is needed are nine methods of JSON, the polling must be ours (the
library's own confirms before anything is stored), and a delivery has to know whether a call never left, was refused, or
lost its answer, which the library's exceptions do not tell apart.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

import msgspec
from msgspec import Struct

from clew.surfaces.base import Down, InDoubt
from clew.surfaces.local import one_line

if TYPE_CHECKING:
    import httpx

CONNECT = 10.0  # seconds to reach it
ANSWER = 30.0  # seconds for an answer
UPLOAD = 300.0  # and where a file has to get there first


class Upload(Struct, frozen=True):
    """A file that a call brings along."""

    field: str
    name: str
    data: bytes
    media_type: str


class Refusal(Exception):
    """Telegram answered, and said no."""

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
        self._client: httpx.AsyncClient | None = None

    async def call(
        self, method: str, fields: Mapping[str, object], patience: float = ANSWER, upload: Upload | None = None
    ) -> Any:
        """What it answered. Raises Refusal; Down where the call never left; InDoubt where its answer was lost."""
        body = {name: value for name, value in fields.items() if value is not None}
        url = f"{self._base}/bot{self._token}/{method}"
        given = _as_json(body) if upload is None else _as_form(body, upload)
        status, data = await self._exchange("POST", url, given, patience if upload is None else UPLOAD, None)
        try:
            answer = msgspec.json.decode(data, type=_Answer)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            raise self._unreadable(method, status) from None
        if answer.ok:
            return answer.result
        more = answer.parameters or _Parameters()
        words = self._safe(answer.description) or f"HTTP {status}"
        raise Refusal(answer.error_code or status, words, more.retry_after, more.migrate_to_chat_id)

    async def poll(self, offset: int | None, kinds: tuple[str, ...], seconds: int) -> list[Any]:
        """What is new, or nothing after so long. An offset confirms all before it."""
        wanted = {"offset": offset, "timeout": seconds, "allowed_updates": kinds}
        updates = await self.call("getUpdates", wanted, seconds + CONNECT)
        if not isinstance(updates, list):
            raise InDoubt("Telegram's updates are no list")
        return updates

    async def download(self, path: str, largest: int) -> bytes:
        """A file whose path `getFile` told. Raises as `call` does; Refusal 413 where it is too large."""
        url = f"{self._base}/file/bot{self._token}/{quote(path)}"
        status, data = await self._exchange("GET", url, {}, ANSWER, largest)
        if status != 200:
            raise Refusal(status, f"HTTP {status}")
        if len(data) > largest:
            raise Refusal(413, "the file is larger than it was said to be")
        return data

    async def close(self) -> None:
        client, self._client = self._client, None
        if client is not None:
            await client.aclose()

    async def _exchange(
        self, method: str, url: str, given: Mapping[str, Any], patience: float, largest: int | None
    ) -> tuple[int, bytes]:
        import httpx

        limits = httpx.Timeout(patience, connect=CONNECT)
        sending = self._open().stream(method, url, timeout=limits, **given)
        try:
            async with asyncio.timeout(CONNECT + 2 * patience), sending as response:
                return response.status_code, await _read(response, largest)
        except (httpx.ConnectError, httpx.ConnectTimeout, httpx.PoolTimeout, httpx.ProxyError) as error:
            raise Down(f"Telegram is out of reach: {self._safe(str(error)) or type(error).__name__}") from error
        except (httpx.HTTPError, TimeoutError) as error:
            raise InDoubt(f"Telegram gave no answer: {self._safe(str(error)) or type(error).__name__}") from error
        except (httpx.InvalidURL, UnicodeError) as error:
            raise Down("the base_url or the token of [surfaces.telegram] cannot be used in an address") from error

    def _open(self) -> httpx.AsyncClient:
        if self._client is None:
            import httpx

            # At INFO httpx logs whole addresses, and the token is in each of them.
            logging.getLogger("httpx").setLevel(logging.WARNING)
            self._client = httpx.AsyncClient(follow_redirects=False)
        return self._client

    def _unreadable(self, method: str, status: int) -> Exception:
        """A gateway in between answered, or half an answer came."""
        if 200 <= status < 300 or status >= 500:
            return InDoubt(f"Telegram's answer to {method} cannot be read (HTTP {status})")
        return Refusal(status, f"HTTP {status}")

    def _safe(self, words: str) -> str:
        return one_line(words.replace(self._token, "[secret]") if self._token else words)


def _as_json(body: Mapping[str, object]) -> dict[str, Any]:
    return {"content": msgspec.json.encode(body), "headers": {"Content-Type": "application/json"}}


def _as_form(body: Mapping[str, object], upload: Upload) -> dict[str, Any]:
    """With a file in it. What is not text is JSON there."""
    texts = {name: value if isinstance(value, str) else msgspec.json.encode(value) for name, value in body.items()}
    return {"data": texts, "files": {upload.field: (upload.name, upload.data, upload.media_type)}}


async def _read(response: httpx.Response, largest: int | None) -> bytes:
    """All of it; of what is larger than it may be, just enough to see that."""
    data = bytearray()
    async for piece in response.aiter_bytes():
        data += piece
        if largest is not None and len(data) > largest:
            break
    return bytes(data)
