"""The asyncio version of `clew.client.sync`: the same requests, errors and reconnects.

It uses httpx, which is a dependency anyway and handles chunks, timeouts and cancellation. Connections are not reused:
one that a restarted daemon left behind would fail a request that must not be retried.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator, AsyncIterator, Callable
from contextlib import asynccontextmanager
from types import TracebackType
from typing import Any

import httpx

from clew.client.sync import SILENCE, TIMEOUT, TRIES, Event, Json, api_path, parse_sse
from clew.support.errors import BadInput, ClewError, OutOfReach, Stopped, error_of
from clew.support.home import Home

MAX_PAUSE = 2.0  # seconds between two reconnects


class AsyncClient:
    """`say` is called with a line whenever the client waits. With `start`, a missing daemon is started; else it is an
    error."""

    def __init__(self, home: Home, *, start: bool = True, say: Callable[[str], None] = lambda line: None) -> None:
        self._home = home
        self._start = start
        self._say = say
        self._http: httpx.AsyncClient | None = None
        self._supervised = not start

    async def __aenter__(self) -> AsyncClient:
        limits = httpx.Limits(max_keepalive_connections=0)
        transport = httpx.AsyncHTTPTransport(uds=str(self._home.socket), limits=limits)
        self._http = httpx.AsyncClient(transport=transport, base_url="http://clew", timeout=TIMEOUT)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, tb: TracebackType | None
    ) -> None:
        if self._http is not None:
            await self._http.aclose()
            self._http = None

    async def get(self, *path: str, **query: object) -> bytes:
        return await self._request("GET", api_path(*path, **query), None, TRIES)

    async def post(self, *path: str, body: Json = None, max_wait: float | None = TIMEOUT) -> bytes:
        """A request with a message id is retried after a lost connection: the daemon accepts each id once."""
        body = {} if body is None else body
        return await self._request("POST", api_path(*path), body, TRIES if "message_id" in body else 1, max_wait)

    async def events(self, thread: str | None, after: int | None = None) -> AsyncGenerator[Event]:
        """Stream events without gaps or repeats, also across restarts of the daemon. Raises Stopped when it stops."""
        pause = 0.0
        while True:
            try:
                async for event in self._stream(thread, after):
                    pause = 0.0
                    after = after if event.seq is None else event.seq
                    yield event
                    if event.kind == "bye" and event.data["reason"] != "restarting":
                        raise Stopped("the daemon was stopped; `clew up` starts it again, and open work continues")
            except httpx.TransportError:
                pass
            self._say("connection lost; reconnecting…")
            await asyncio.sleep(pause)
            pause = min(MAX_PAUSE, pause * 2 + 0.1)

    async def _stream(self, thread: str | None, after: int | None) -> AsyncGenerator[Event]:
        path = ("threads", thread, "events") if thread else ("events",)
        async with self._open("GET", api_path(*path, after=after), None, SILENCE) as response:
            rest = b""
            async for chunk in response.aiter_bytes():
                complete, separator, rest = (rest + chunk).rpartition(b"\n\n")
                for event in parse_sse(iter([complete + separator])):
                    yield event

    async def _request(self, method: str, path: str, body: Json, tries: int, max_wait: float | None = TIMEOUT) -> bytes:
        while True:
            tries -= 1
            try:
                async with self._open(method, path, body, max_wait) as response:
                    return await response.aread()
            except httpx.TimeoutException as error:
                raise OutOfReach(f"the daemon did not answer within {max_wait:g} s; `clew logs` tells more") from error
            except httpx.TransportError as error:
                if not tries:
                    raise OutOfReach("the daemon went away before it answered; `clew logs` tells more") from error
            self._say("connection lost; retrying…")

    @asynccontextmanager
    async def _open(self, method: str, path: str, body: Json, max_wait: float | None) -> AsyncIterator[httpx.Response]:
        response = await self._send(method, path, body, max_wait)
        try:
            if response.status_code >= 400:
                raise _problem(response.status_code, await response.aread())
            yield response
        finally:
            await response.aclose()

    async def _send(self, method: str, path: str, body: Json, max_wait: float | None) -> httpx.Response:
        """Send a request. If the daemon is missing, start it: nothing was sent yet."""
        if self._http is None:
            raise ClewError("this client is not open: use it as `async with Clew() as clew:`")
        try:
            request = self._http.build_request(method, path, json=body, timeout=max_wait)
        except (TypeError, ValueError) as error:
            raise BadInput(f"arguments must be text, numbers or lists of these: {error}") from error
        for left in reversed(range(TRIES)):
            try:
                await self._ensure_supervisor()
                return await self._http.send(request, stream=True)
            except httpx.ConnectError as error:
                if not self._start or not left:
                    raise OutOfReach("the daemon does not run; `clew up` starts it") from error
            from clew.process.start import ensure_daemon

            await asyncio.to_thread(ensure_daemon, self._home, self._say)
        raise AssertionError("unreachable")

    async def _ensure_supervisor(self) -> None:
        """Once per client: give the daemon a supervisor, so that it is restarted after a crash."""
        if not self._supervised:
            from clew.process.start import ensure_supervisor

            self._supervised = True
            await asyncio.to_thread(ensure_supervisor, self._home)


def _problem(status: int, body: bytes) -> ClewError:
    try:
        problem: dict[str, Any] = json.loads(body)
        return error_of(problem["code"], problem["detail"])
    except (ValueError, KeyError, TypeError):
        return ClewError(f"the daemon answered with HTTP status {status}; `clew logs` tells more")
