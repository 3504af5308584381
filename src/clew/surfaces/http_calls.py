"""HTTP calls to a chat platform. They report whether a request was never sent or its response was lost, and keep
secrets out of every error text."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Mapping
from functools import cache
from typing import TYPE_CHECKING, Any

from clew.model.surface import Down, InDoubt, NotSent
from clew.support.addresses import without_secrets
from clew.surfaces.local import one_line
from clew.texts.catalogue import say

if TYPE_CHECKING:
    import ssl

    import httpx

CONNECT = 10.0  # seconds to connect
ANSWER = 30.0  # seconds for a response
UPLOAD = 300.0  # seconds for a response to an upload
TIMED_OUT = 408
BUSY = 429
TOO_LARGE = 413
PLAIN = frozenset({BUSY, TOO_LARGE})  # clear statuses, even if a proxy sent them


class Unread(Down):
    """A proxy or firewall answered in place of the platform, so the request never arrived."""


class Caller:
    """Sends requests. `table`: the name of its settings; `unusable`: the error text if the settings give no valid URL;
    `base`: the base URL of the settings."""

    def __init__(self, platform: str, table: str, secret: str, unusable: str, base: str = "") -> None:
        self._platform = platform
        self._table = table
        self._secret = secret
        self._unusable = unusable
        self._base = base
        self._client: httpx.AsyncClient | None = None

    async def exchange(
        self, method: str, url: str, given: Mapping[str, Any], time_limit: float, largest: int | None = None
    ) -> tuple[int, Mapping[str, str], bytes]:
        """Return status, headers and body. Raises Down if the request was not sent, InDoubt if the response was
        lost."""
        import httpx

        limits = httpx.Timeout(time_limit, connect=CONNECT)
        sending = self._open().stream(method, url, timeout=limits, **given)
        try:
            async with asyncio.timeout(CONNECT + 2 * time_limit), sending as response:
                return response.status_code, response.headers, await _read(response, largest)
        except (httpx.ConnectError, httpx.ConnectTimeout, httpx.PoolTimeout, httpx.ProxyError) as error:
            raise Down(say("surfaces.out_of_reach", platform=self._platform, error=self._describe(error))) from error
        except (httpx.HTTPError, TimeoutError) as error:
            raise InDoubt(say("surfaces.no_answer", platform=self._platform, error=self._describe(error))) from error
        except (httpx.InvalidURL, UnicodeError) as error:
            raise Down(self._unusable) from error

    def unreadable_response(self, what: str, status: int, retry_after: float | None = None) -> NotSent:
        """Return the error for a response that is not the platform's own, such as a proxy's page: InDoubt after a
        success, a server error or a timeout, because the platform may have got the request; otherwise Unread."""
        if 200 <= status < 300 or status >= 500 or status == TIMED_OUT:
            words = say("surfaces.unreadable", platform=self._platform, what=what, status=status)
            return InDoubt(words, retry_after)
        words = say("surfaces.not_the_platform", platform=self._platform, what=what, status=status, table=self._table)
        return Unread(words, retry_after)

    def redact(self, words: str) -> str:
        return one_line(without_secrets(words.replace(self._secret, "[secret]") if self._secret else words, self._base))

    async def close(self) -> None:
        client, self._client = self._client, None
        if client is not None:
            await client.aclose()

    def _describe(self, error: Exception) -> str:
        return self.redact(str(error)) or type(error).__name__

    def _open(self) -> httpx.AsyncClient:
        if self._client is None:
            import httpx

            # At INFO httpx logs complete URLs, which may contain a token.
            logging.getLogger("httpx").setLevel(logging.WARNING)
            self._client = httpx.AsyncClient(follow_redirects=False, verify=certificates())
        return self._client


@cache
def certificates() -> ssl.SSLContext:
    """The authorities that this machine trusts. All clients share them: reading them takes 20 ms."""
    import httpx

    return httpx.create_ssl_context()


async def _read(response: httpx.Response, largest: int | None) -> bytes:
    """Read the body. Stops soon after `largest` bytes."""
    data = bytearray()
    async for piece in response.aiter_bytes():
        data += piece
        if largest is not None and len(data) > largest:
            break
    return bytes(data)
