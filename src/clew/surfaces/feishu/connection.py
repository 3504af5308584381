"""Feishu's long connection: reads frames, sends pings, and passes each event on with a function to answer it. It
answers nothing by itself."""

from __future__ import annotations

import asyncio
import base64
import logging
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING
from urllib.parse import parse_qs, urlsplit

import msgspec
from msgspec.structs import replace

from clew.model.surface import Down
from clew.support.clock import Clock
from clew.support.coded import plain
from clew.surfaces.feishu.api import Endpoint, OpenApi, Refusal
from clew.surfaces.feishu.frames import CONTROL, DATA, LARGEST, Assembler, BadFrame, Frame, decode, encode
from clew.surfaces.local import one_line
from clew.texts.catalogue import say

if TYPE_CHECKING:
    from websockets.asyncio.client import ClientConnection

log = logging.getLogger(__name__)

OPEN = 20.0  # seconds to open it
CLOSE = 1.0  # seconds for a clean close
SHORTEST_PING, LONGEST_PING = 1.0, 3600.0

Answer = Callable[[int, object], Awaitable[None]]
"""Answers an event: 200 with optional data; after any other code the platform sends it again."""

OnEvent = Callable[[bytes, Answer], None]


async def listen(api: OpenApi, clock: Clock, opened: Callable[[], None], on_event: OnEvent) -> None:
    """Connect, and listen until the connection ends. Raises Down, and what `OpenApi.endpoint` raises."""
    endpoint = await api.endpoint()
    async with _connected(endpoint) as socket:
        opened()
        connection = _Connection(socket, endpoint, clock, on_event)
        async with asyncio.TaskGroup() as group:
            pinging = group.create_task(connection.ping())
            try:
                await connection.read()
            finally:
                pinging.cancel()


@asynccontextmanager
async def _connected(endpoint: Endpoint) -> AsyncIterator[ClientConnection]:
    from websockets.asyncio.client import connect
    from websockets.exceptions import InvalidStatus, WebSocketException

    logging.getLogger("websockets").setLevel(logging.WARNING)  # the URL contains a key
    try:
        async with connect(endpoint.URL, open_timeout=OPEN, close_timeout=CLOSE, max_size=LARGEST) as socket:
            yield socket
    except InvalidStatus as error:
        headers = error.response.headers
        code = headers.get("Handshake-Autherrcode") or headers.get("Handshake-Status") or ""
        words = one_line(headers.get("Handshake-Msg", "")) or f"HTTP {error.response.status_code}"
        raise Refusal(int(code) if code.isdecimal() else error.response.status_code, words) from error
    except (OSError, TimeoutError, WebSocketException) as error:
        said = one_line(str(error)) or type(error).__name__
        raise Down(say("surfaces.feishu_cannot_keep", error=said)) from error


class _Connection:
    def __init__(self, socket: ClientConnection, endpoint: Endpoint, clock: Clock, on_event: OnEvent) -> None:
        self._socket = socket
        self._clock = clock
        self._on_event = on_event
        self._every = endpoint.ClientConfig.PingInterval
        service = parse_qs(urlsplit(endpoint.URL).query).get("service_id", ["0"])[0]
        self._service = int(service) if service.isdecimal() else 0
        self._parts = Assembler()
        self._has_warned = False

    async def read(self) -> None:
        """Read until the connection ends."""
        from websockets.exceptions import ConnectionClosed

        while True:
            try:
                data = await self._socket.recv()
            except ConnectionClosed:
                return
            try:
                self._take(decode(data if isinstance(data, bytes) else data.encode()))
            except BadFrame as error:
                self._warn_once(error)

    async def ping(self) -> None:
        """Send pings, as often as the platform asks for."""
        while True:
            await self._send(Frame(CONTROL, self._service, (("type", "ping"),)))
            await self._clock.sleep(min(max(self._every, SHORTEST_PING), LONGEST_PING))

    def _take(self, frame: Frame) -> None:
        if frame.method == DATA:
            payload = self._parts.add(frame)
            if payload is not None:
                self._on_event(payload, self._answer_to(frame, self._clock.monotonic()))
        elif frame.header("type") == "pong" and frame.payload:
            self._read_settings(frame.payload)

    def _warn_once(self, error: BadFrame) -> None:
        """Log once per connection, so that nobody can fill the log from outside."""
        if not self._has_warned:
            log.warning("a frame of Feishu cannot be read; skipped: %s", error)
        self._has_warned = True

    def _read_settings(self, payload: bytes) -> None:
        try:
            self._every = float(msgspec.json.decode(payload).get("PingInterval") or self._every)
        except (msgspec.DecodeError, AttributeError, TypeError, ValueError):
            log.info("a pong of Feishu cannot be read")

    def _answer_to(self, frame: Frame, received_at: float) -> Answer:
        async def answer(code: int, data: object) -> None:
            took = int((self._clock.monotonic() - received_at) * 1000)
            body: dict[str, object] = {"code": code, "headers": {}}
            if data is not None:
                body["data"] = base64.b64encode(msgspec.json.encode(data, enc_hook=plain)).decode()
            headers = (*frame.headers, ("biz_rt", str(took)))
            await self._send(replace(frame, headers=headers, payload=msgspec.json.encode(body)))

        return answer

    async def _send(self, frame: Frame) -> None:
        """Send a frame. Ignored if the connection has ended: then the platform sends the event again on the next
        one."""
        from websockets.exceptions import ConnectionClosed

        try:
            await self._socket.send(encode(frame))
        except ConnectionClosed:
            log.debug("the connection to Feishu had ended before an answer")
