"""Calls to a chat platform over HTTP. A delivery has to know whether a call never left or lost its answer, and no words
about it may hold the secret that it carries."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from clew.model.surface import Down, InDoubt, NotSent
from clew.support.addresses import without_secrets
from clew.surfaces.local import one_line

if TYPE_CHECKING:
    import httpx

CONNECT = 10.0  # seconds to reach it
ANSWER = 30.0  # seconds for an answer
UPLOAD = 300.0  # and where a file has to get there first
TIMED_OUT = 408
BUSY = 429
TOO_LARGE = 413
PLAIN = frozenset({BUSY, TOO_LARGE})  # means what it says, whoever answers: a body that is too large stays so


class Unread(Down):
    """Something on the way answered in the platform's place, so the call never got there."""


class Caller:
    """`unusable` is said where the settings make no address; `base` is the one in the settings."""

    def __init__(self, platform: str, secret: str, unusable: str, base: str = "") -> None:
        self._platform = platform
        self._secret = secret
        self._unusable = unusable
        self._base = base
        self._client: httpx.AsyncClient | None = None

    async def exchange(
        self, method: str, url: str, given: Mapping[str, Any], patience: float, largest: int | None = None
    ) -> tuple[int, Mapping[str, str], bytes]:
        """Status, headers and body. Raises Down where the call never left; InDoubt where its answer was lost."""
        import httpx

        limits = httpx.Timeout(patience, connect=CONNECT)
        sending = self._open().stream(method, url, timeout=limits, **given)
        try:
            async with asyncio.timeout(CONNECT + 2 * patience), sending as response:
                return response.status_code, response.headers, await _read(response, largest)
        except (httpx.ConnectError, httpx.ConnectTimeout, httpx.PoolTimeout, httpx.ProxyError) as error:
            raise Down(f"{self._platform} is out of reach: {self._words(error)}") from error
        except (httpx.HTTPError, TimeoutError) as error:
            raise InDoubt(f"{self._platform} gave no answer: {self._words(error)}") from error
        except (httpx.InvalidURL, UnicodeError) as error:
            raise Down(self._unusable) from error

    def unread(self, what: str, status: int, retry_after: float | None = None) -> NotSent:
        """An answer that is not the platform's own, such as a page of a proxy, is not the platform's no. One that went
        well, or that something broke at or waited too long for, may have been lost behind it."""
        if 200 <= status < 300 or status >= 500 or status == TIMED_OUT:
            return InDoubt(f"{self._platform}'s answer to {what} cannot be read (HTTP {status})", retry_after)
        return Unread(
            f"HTTP {status} to {what}, and not from {self._platform}: check base_url of [surfaces."
            f"{self._platform.lower()}] and what stands on the way there (a proxy, a firewall, a page to log in)",
            retry_after,
        )

    def safe(self, words: str) -> str:
        return one_line(without_secrets(words.replace(self._secret, "[secret]") if self._secret else words, self._base))

    async def close(self) -> None:
        client, self._client = self._client, None
        if client is not None:
            await client.aclose()

    def _words(self, error: Exception) -> str:
        return self.safe(str(error)) or type(error).__name__

    def _open(self) -> httpx.AsyncClient:
        if self._client is None:
            import httpx

            # At INFO httpx logs whole addresses, and a token may be in each of them.
            logging.getLogger("httpx").setLevel(logging.WARNING)
            self._client = httpx.AsyncClient(follow_redirects=False)
        return self._client


async def _read(response: httpx.Response, largest: int | None) -> bytes:
    """All of it; of what is larger than it may be, just enough to see that."""
    data = bytearray()
    async for piece in response.aiter_bytes():
        data += piece
        if largest is not None and len(data) > largest:
            break
    return bytes(data)
