"""A minimal HTTP server for a fake platform: requests with a body, connections that stay open, and a connection that
can be cut at any moment."""

from __future__ import annotations

import asyncio
import json
import socket
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from email.message import Message
from email.parser import BytesParser
from email.policy import HTTP
from typing import Any
from urllib.parse import parse_qsl, unquote, urlsplit


class Cut(Exception):
    """Raised to end the connection without a response."""


@dataclass(frozen=True, slots=True)
class Upload:
    name: str
    data: bytes


@dataclass(frozen=True, slots=True)
class Request:
    method: str
    path: str
    query: Mapping[str, str]
    headers: Mapping[str, str]  # names in lower case
    body: bytes

    def fields(self) -> dict[str, Any]:
        """Return the fields of a JSON, form or multipart body. A text that is JSON is decoded."""
        kind = self.headers.get("content-type", "")
        given: dict[str, Any] = dict(self.query)
        if kind.startswith("application/json"):
            return given | (json.loads(self.body) if self.body else {})
        if kind.startswith("multipart/form-data"):
            return given | _parts(kind, self.body)
        return given | {
            name: _meant(name, text) for name, text in parse_qsl(self.body.decode(), keep_blank_values=True)
        }


@dataclass(frozen=True, slots=True)
class Answer:
    value: object = None
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)

    @property
    def body(self) -> bytes:
        return self.value if isinstance(self.value, bytes) else json.dumps(self.value).encode()


Handler = Callable[[Request], Awaitable[Answer]]


class Server:
    """A server on its own port, which stays the same when it stops and starts again."""

    def __init__(self, handler: Handler) -> None:
        self._handler = handler
        self._place = _bound(0)
        self.port: int = self._place.getsockname()[1]
        self._server: asyncio.Server | None = None
        self._open: set[asyncio.StreamWriter] = set()

    async def start(self) -> None:
        if self._server is None:  # on a second socket: the first one stays bound, to keep the port
            listening = _bound(self.port)
            self._server = await asyncio.start_server(self._serve, sock=listening)

    async def stop(self) -> None:
        """Stop listening, and cut every connection."""
        if self._server is not None:
            self._server.close()
            self._server = None
        for writer in list(self._open):
            writer.transport.abort()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._open.add(writer)
        try:
            while (request := await _read(reader)) is not None:
                answer = await self._unless_left(request, reader)
                writer.write(_head(answer) + answer.body)
                await writer.drain()
        except (Cut, ConnectionError, asyncio.IncompleteReadError):
            writer.transport.abort()
        finally:
            self._open.discard(writer)
            writer.close()

    async def _unless_left(self, request: Request, reader: asyncio.StreamReader) -> Answer:
        """Run the handler; cancel it if the client disconnects."""
        working = asyncio.ensure_future(self._handler(request))
        leaving = asyncio.ensure_future(reader.read(1))  # clients send nothing before the response
        try:
            await asyncio.wait({working, leaving}, return_when=asyncio.FIRST_COMPLETED)
            if not working.done():
                raise Cut
            return working.result()
        finally:
            working.cancel()
            leaving.cancel()
            await asyncio.gather(working, leaving, return_exceptions=True)


def _bound(port: int) -> socket.socket:
    place = socket.socket()
    place.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    place.bind(("127.0.0.1", port))
    return place


async def _read(reader: asyncio.StreamReader) -> Request | None:
    """Read a request; None: the client has left."""
    try:
        head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
    except asyncio.IncompleteReadError:
        return None
    method, target, _ = head[0].split(" ")
    pairs = (line.partition(":") for line in head[1:] if line)
    headers = {name.strip().lower(): value.strip() for name, _, value in pairs}
    body = await reader.readexactly(int(headers.get("content-length", 0)))
    parts = urlsplit(target)
    return Request(method, unquote(parts.path), dict(parse_qsl(parts.query)), headers, body)


def _head(answer: Answer) -> bytes:
    kind = "application/octet-stream" if isinstance(answer.value, bytes) else "application/json"
    headers = {"Content-Length": str(len(answer.body)), "Content-Type": kind, **answer.headers}
    lines = [f"HTTP/1.1 {answer.status} -", *(f"{name}: {value}" for name, value in headers.items()), "", ""]
    return "\r\n".join(lines).encode("latin-1")


def _parts(kind: str, body: bytes) -> dict[str, Any]:
    parsed = BytesParser(policy=HTTP).parsebytes(b"Content-Type: " + kind.encode() + b"\r\n\r\n" + body)
    return dict(_part(part) for part in parsed.get_payload() if isinstance(part, Message))


def _part(part: Message) -> tuple[str, object]:
    name, data = str(part.get_param("name", header="content-disposition")), part.get_payload(decode=True)
    assert isinstance(data, bytes)
    file = part.get_filename()
    is_file = file or name in ("image", "file")  # Feishu's own library does not name them
    return name, Upload(file or "", data) if is_file else _meant(name, data.decode())


def _meant(name: str, text: str) -> Any:
    """Decode lists and objects, which are JSON there; leave texts alone."""
    if name in ("text", "caption") or not text.startswith(("{", "[")):
        return text
    try:
        return json.loads(text)
    except ValueError:
        return text
