"""JSON-RPC messages as WebSocket text frames on a Unix socket. The `websockets` library does the framing. We do the
reading, so that each message is passed on at once and in order, without a queue.

This is the transport below the JSON-RPC peer if the program is not our child.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import cast

from websockets.client import ClientProtocol
from websockets.frames import Frame, Opcode
from websockets.protocol import State
from websockets.uri import parse_uri

from clew.runtimes.process import within
from clew.support.errors import RuntimeLost
from clew.texts.catalogue import say

_URI = parse_uri("ws://localhost/")  # the handshake needs a URI; the address is the socket


class WebSocket(asyncio.Protocol):
    """Made by `open_unix`."""

    def __init__(self, on_message: Callable[[bytes], None], on_lost: Callable[[], None]) -> None:
        self._on_lost = on_lost
        self._on_message = on_message
        self._protocol = ClientProtocol(_URI, max_size=None)
        self._transport: asyncio.Transport | None = None
        self._pieces: list[bytes] = []
        self._open: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._closed = asyncio.Event()

    @property
    def is_open(self) -> bool:
        return not self._closed.is_set() and self._protocol.state is State.OPEN

    def write(self, message: bytes) -> None:
        """Raises RuntimeLost if the connection is closed."""
        if not self.is_open:
            raise RuntimeLost(say("runtimes.connection_closed"))
        self._protocol.send_text(message)
        self._flush()

    async def close(self, time_limit: float = 1.0) -> None:
        if self._transport is None or self._closed.is_set():
            return
        if self._protocol.state is State.OPEN:
            self._protocol.send_close()
            self._flush()
        if not await within(time_limit, self._closed):
            self.abort()
            await self._closed.wait()

    def abort(self) -> None:
        if self._transport is not None:
            self._transport.abort()

    async def handshake(self) -> None:
        """Raises OSError if the other end is not a WebSocket server."""
        self._protocol.send_request(self._protocol.connect())
        self._flush()
        await self._open

    # Callbacks of asyncio

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)

    def data_received(self, data: bytes) -> None:
        self._protocol.receive_data(data)
        self._read_events()

    def eof_received(self) -> None:
        self._protocol.receive_eof()
        self._read_events()

    def connection_lost(self, exc: Exception | None) -> None:
        self._closed.set()
        if not self._open.done():
            self._open.set_exception(ConnectionResetError(say("runtimes.closed_by_peer")))
        else:
            self._on_lost()

    def _read_events(self) -> None:
        for event in self._protocol.events_received():
            if isinstance(event, Frame):
                self._frame(event)
            elif self._protocol.handshake_exc is None and not self._open.done():
                self._open.set_result(None)
        self._flush()

    def _frame(self, frame: Frame) -> None:
        if frame.opcode not in (Opcode.TEXT, Opcode.CONT):
            return
        self._pieces.append(bytes(frame.data))
        if frame.fin:
            message, self._pieces = b"".join(self._pieces), []
            self._on_message(message)

    def _flush(self) -> None:
        assert self._transport is not None
        for data in self._protocol.data_to_send():
            if data:
                self._transport.write(data)
            elif not self._transport.is_closing():  # empty data means: close
                self._transport.close()
        if self._protocol.close_expected() and self._protocol.state is State.CLOSED:
            self._transport.close()


async def open_unix(
    path: Path, on_message: Callable[[bytes], None], on_lost: Callable[[], None], time_limit: float
) -> WebSocket:
    """Connect to a Unix socket. Raises OSError if no WebSocket server answers there in time. `on_lost` is called once,
    when no more messages can come."""
    loop = asyncio.get_running_loop()
    try:
        async with asyncio.timeout(time_limit):
            _, socket = await loop.create_unix_connection(lambda: WebSocket(on_message, on_lost), str(path))
            try:
                await socket.handshake()
            except BaseException:
                socket.abort()
                raise
    except TimeoutError as error:
        raise ConnectionRefusedError(say("runtimes.silent_for", seconds=f"{time_limit:g}")) from error
    return socket
