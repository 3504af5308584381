"""The typed client of the daemon's API: sends requests, repeats those that may be repeated, and decodes responses.

It does no I/O itself: a `Transport` does, with asyncio (`asyncio_transport`) or blocking (`sync`). So there is one
client, and no command has to import asyncio.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator, Callable
from contextlib import aclosing, asynccontextmanager
from typing import TypeVar

import msgspec
from msgspec import Struct

from clew.client.requests import Request
from clew.client.wire import Lost, Response, Transport, api_path, encode_body, problem_of
from clew.support.coded import Coded, with_code
from clew.support.errors import ClewError, OutOfReach, error_of
from clew.texts.catalogue import say

T = TypeVar("T")

TIMEOUT = 120.0  # seconds to wait for a response
TRIES = 5  # of a request that may be repeated


class AsyncClient:
    """`say` is called with a line whenever the client waits."""

    def __init__(self, transport: Transport, say: Callable[[str], None] = lambda line: None) -> None:
        self.transport = transport
        self._say = say
        self._is_lost = False

    async def ask(self, request: Request[T], max_wait: float | None = TIMEOUT) -> T:
        """Send a request and return its response. Raises the error that the daemon reports."""
        tries = TRIES if request.is_repeatable else 1
        while True:
            tries -= 1
            try:
                async with self.open(request, max_wait) as response:
                    return _decode(await response.read(), request.gives)
            except Lost as error:
                if not tries:
                    raise OutOfReach(say("process.went_away_see_logs")) from error
            except TimeoutError as error:
                raise OutOfReach(say("process.no_answer_within", seconds=f"{max_wait:g}")) from error
            self.report_lost(say("process.lost_retrying"))

    async def lines(self, request: Request[T], max_wait: float | None = TIMEOUT) -> AsyncGenerator[T]:
        """Send a request whose response is lines of JSON."""
        rest = b""
        try:
            async with self.open(request, max_wait) as response, aclosing(response.chunks()) as chunks:
                async for chunk in chunks:
                    *lines, rest = (rest + chunk).split(b"\n")
                    for line in lines:
                        yield _decode_line(line, request.gives)
        except (Lost, TimeoutError) as error:
            raise OutOfReach(say("process.response_incomplete")) from error

    @asynccontextmanager
    async def open(self, request: Request[T], max_wait: float | None) -> AsyncIterator[Response]:
        path = api_path(*request.path, **request.query)
        body = None if request.body is None else encode_body(request.body)
        response = await self.transport.open(request.method, path, body, max_wait)
        try:
            if response.status >= 400:
                raise problem_of(response.status, await response.read())
            yield response
        finally:
            await response.close()

    def report_lost(self, words: str) -> None:
        """Say it once per loss: requests and streams notice the same loss, and retries may fail several times."""
        if not self._is_lost:
            self._say(words)
        self._is_lost = True

    def is_back(self) -> None:
        self._is_lost = False


class _LineError(Struct, frozen=True):
    code: str
    message: str
    texts: dict[str, Coded] = {}


class _ErrorLine(Struct, frozen=True):
    """An error that occurred after the status was sent."""

    error: _LineError


def _decode_line(line: bytes, gives: type[T]) -> T:
    try:
        error = msgspec.json.decode(line, type=_ErrorLine).error
    except msgspec.ValidationError:
        return _decode(line, gives)
    raise error_of(error.code, with_code(error.message, error.texts.get("message")))


def _decode(body: bytes, gives: type[T]) -> T:
    try:
        return msgspec.json.decode(body, type=gives)
    except msgspec.DecodeError as error:
        raise ClewError(say("process.response_unreadable", error=str(error))) from error
