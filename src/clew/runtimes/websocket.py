"""JSON-RPC messages as WebSocket text frames on a Unix socket. The framing is the `websockets` library's; reading is
ours, so that what comes is handed over as it comes, in order, and nothing waits behind a queue.

The transport under the JSON-RPC peer where the program at the other end is not our child.
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

_NOWHERE = parse_uri("ws://localhost/")  # the handshake wants a name; the socket is the address


class WebSocket(asyncio.Protocol):
    """Made by `open_unix`. `on_lost` is called once, when no further message can come."""

    def __init__(self, on_message: Callable[[bytes], None]) -> None:
        self.on_lost: Callable[[], None] | None = None
        self._on_message = on_message
        self._protocol = ClientProtocol(_NOWHERE, max_size=None)
        self._transport: asyncio.Transport | None = None
        self._pieces: list[bytes] = []
        self._open: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._closed = asyncio.Event()

    @property
    def is_open(self) -> bool:
        return not self._closed.is_set() and self._protocol.state is State.OPEN

    def write(self, message: bytes) -> None:
        """Raises RuntimeLost where nobody hears it."""
        if not self.is_open:
            raise RuntimeLost("the connection is closed")
        self._protocol.send_text(message)
        self._flush()

    async def close(self, patience: float = 1.0) -> None:
        if self._transport is None or self._closed.is_set():
            return
        if self._protocol.state is State.OPEN:
            self._protocol.send_close()
            self._flush()
        if not await within(patience, self._closed):
            self.abort()
            await self._closed.wait()

    def abort(self) -> None:
        if self._transport is not None:
            self._transport.abort()

    async def shake_hands(self) -> None:
        """Raises OSError where the other end is no WebSocket server."""
        self._protocol.send_request(self._protocol.connect())
        self._flush()
        await self._open

    # What asyncio tells us

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)

    def data_received(self, data: bytes) -> None:
        self._protocol.receive_data(data)
        self._take_in()

    def eof_received(self) -> None:
        self._protocol.receive_eof()
        self._take_in()

    def connection_lost(self, exc: Exception | None) -> None:
        self._closed.set()
        if not self._open.done():
            self._open.set_exception(ConnectionResetError("it closed the connection"))
        elif self.on_lost is not None:
            self.on_lost()

    def _take_in(self) -> None:
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
            elif not self._transport.is_closing():  # the library's word for the end
                self._transport.close()
        if self._protocol.close_expected() and self._protocol.state is State.CLOSED:
            self._transport.close()


async def open_unix(path: Path, on_message: Callable[[bytes], None], patience: float) -> WebSocket:
    """Raises OSError where nobody is there who speaks it."""
    loop = asyncio.get_running_loop()
    try:
        async with asyncio.timeout(patience):
            _, it = await loop.create_unix_connection(lambda: WebSocket(on_message), str(path))
            try:
                await it.shake_hands()
            except BaseException:
                it.abort()
                raise
    except TimeoutError as error:
        raise ConnectionRefusedError(f"no answer within {patience:g} s") from error
    return it
