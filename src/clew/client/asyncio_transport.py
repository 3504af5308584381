"""Sends requests with asyncio, by httpx, which is a dependency anyway and handles chunks, timeouts and cancellation.

Connections are not reused: one that a restarted daemon left behind would fail a request that must not be repeated.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable, Iterator
from contextlib import contextmanager
from types import TracebackType

import httpx

from clew.client.aio import TIMEOUT, TRIES
from clew.client.wire import Lost
from clew.support.errors import ClewError, OutOfReach
from clew.support.home import Home
from clew.texts.catalogue import say


class AsyncioTransport:
    """With `start`, a missing daemon is started; else it is an error."""

    def __init__(self, home: Home, *, start: bool, say: Callable[[str], None]) -> None:
        self._home = home
        self._start = start
        self._say = say
        self._http: httpx.AsyncClient | None = None
        self._supervised = not start

    async def __aenter__(self) -> AsyncioTransport:
        limits = httpx.Limits(max_keepalive_connections=0)
        # Without TLS nothing is verified; otherwise httpx would read all certificates, which takes 20 ms.
        transport = httpx.AsyncHTTPTransport(verify=False, uds=str(self._home.socket), limits=limits)
        self._http = httpx.AsyncClient(transport=transport, base_url="http://clew", timeout=TIMEOUT)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, tb: TracebackType | None
    ) -> None:
        if self._http is not None:
            await self._http.aclose()
            self._http = None

    async def open(self, method: str, path: str, body: bytes | None, max_wait: float | None) -> HttpxResponse:
        """Send a request. If the daemon is missing, start it: nothing was sent yet."""
        if self._http is None:
            raise ClewError(say("process.client_not_open"))
        headers = {} if body is None else {"Content-Type": "application/json"}
        request = self._http.build_request(method, path, content=body, headers=headers, timeout=max_wait)
        for left in reversed(range(TRIES)):
            try:
                await self._ensure_supervisor()
                with _translated():
                    return HttpxResponse(await self._http.send(request, stream=True))
            except httpx.ConnectError as error:
                if not self._start or not left:
                    raise OutOfReach(say("process.not_running")) from error
            from clew.process.start import ensure_daemon

            await asyncio.to_thread(ensure_daemon, self._home, self._say)
        raise AssertionError("unreachable")

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(seconds)

    async def _ensure_supervisor(self) -> None:
        """Once per client: give the daemon a supervisor, so that it is restarted after a crash."""
        if not self._supervised:
            from clew.process.start import ensure_supervisor

            self._supervised = True
            await asyncio.to_thread(ensure_supervisor, self._home)


class HttpxResponse:
    def __init__(self, response: httpx.Response) -> None:
        self._response = response
        self.status = response.status_code

    async def read(self) -> bytes:
        with _translated():
            return await self._response.aread()

    async def chunks(self) -> AsyncGenerator[bytes]:
        with _translated():
            async for chunk in self._response.aiter_bytes():
                yield chunk

    async def close(self) -> None:
        await self._response.aclose()


@contextmanager
def _translated() -> Iterator[None]:
    """Errors of httpx as `Transport` has them. One of connecting is handled by `open`."""
    try:
        yield
    except httpx.ConnectError:
        raise
    except httpx.TimeoutException as error:
        raise TimeoutError from error
    except httpx.TransportError as error:
        raise Lost from error
