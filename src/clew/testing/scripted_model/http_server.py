"""A minimal HTTP/1.1 server: one request per connection, and a response that may stream."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from http import HTTPStatus
from types import MappingProxyType

import msgspec
from msgspec import Struct

NONE: Mapping[str, str] = MappingProxyType({})


class Call(Struct, frozen=True):
    method: str
    path: str
    body: bytes
    headers: Mapping[str, str]  # names in lower case


async def read_call(reader: asyncio.StreamReader) -> Call | None:
    """Read a request; None: the client left before it was complete."""
    try:
        head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
        line, *fields = head.split("\r\n")
        method, path, _ = line.split(" ", 2)
        pairs = (field.partition(":") for field in fields if field)
        headers = {name.lower(): value.strip() for name, _, value in pairs}
        body = await reader.readexactly(int(headers.get("content-length", 0)))
        return Call(method, path.partition("?")[0], body, headers)
    except (asyncio.IncompleteReadError, ConnectionError):
        return None


class Reply:
    """One response. The first write sends the status, so it can be chosen until then."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self._writer = writer
        self.is_started = False
        self._is_stream = False

    async def json(self, status: int, value: object, headers: Mapping[str, str] = NONE) -> None:
        body = msgspec.json.encode(value)
        self._head(status, "application/json", len(body), headers)
        self._writer.write(body)
        await self._writer.drain()

    async def event(self, kind: str, value: dict[str, object]) -> None:
        await self.raw(f"event: {kind}\ndata: ".encode() + msgspec.json.encode({"type": kind, **value}) + b"\n\n")

    async def data(self, value: dict[str, object]) -> None:
        """Send an event without a name."""
        await self.raw(b"data: " + msgspec.json.encode(value) + b"\n\n")

    async def raw(self, text: bytes) -> None:
        if not self.is_started:
            self._head(200, "text/event-stream", None)
        self._writer.write(b"%x\r\n%b\r\n" % (len(text), text))
        await self._writer.drain()

    async def end(self) -> None:
        """End the stream properly; without this it counts as cut off."""
        if self._is_stream:
            self._writer.write(b"0\r\n\r\n")
            await self._writer.drain()

    async def wait_unless_disconnected(self, event: asyncio.Event) -> bool:
        """Wait for an event; False if the client disconnects first."""
        waiting = asyncio.ensure_future(event.wait())
        leaving = asyncio.ensure_future(self._reader.read())
        try:
            await asyncio.wait({waiting, leaving}, return_when=asyncio.FIRST_COMPLETED)
            return event.is_set()
        finally:
            waiting.cancel()
            leaving.cancel()
            await asyncio.gather(waiting, leaving, return_exceptions=True)

    def cut(self) -> None:
        self._writer.transport.abort()

    def _head(self, status: int, kind: str, length: int | None, more: Mapping[str, str] = NONE) -> None:
        self.is_started, self._is_stream = True, length is None
        size = "transfer-encoding: chunked\r\n" if length is None else f"content-length: {length}\r\n"
        phrase = _phrase(status)
        others = "".join(f"{name}: {value}\r\n" for name, value in more.items())
        head = f"HTTP/1.1 {status} {phrase}\r\ncontent-type: {kind}\r\n{size}{others}connection: close\r\n\r\n"
        self._writer.write(head.encode("latin-1"))


def _phrase(status: int) -> str:
    try:
        return HTTPStatus(status).phrase
    except ValueError:  # such as 529
        return "Unknown"
