"""Limits of TCP connections: number, timeouts, and which one is closed for another. On real sockets."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress

import pytest
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response, StreamingResponse
from starlette.routing import Route

from clew.process import descriptors
from clew.server.listen import binding, connections
from clew.server.listen.connections import ConnectionLimit

TIMEOUT = 60.0  # seconds for any step of a test
FOR_EVER = 3600.0
AT_ONCE = 0.05

GET = b"GET /hello HTTP/1.1\r\nhost: x\r\n\r\n"
SHORT = b"POST /length HTTP/1.1\r\nhost: x\r\ncontent-length: 6\r\n\r\n"


class Peer:
    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.reader = reader
        self._writer = writer

    async def say(self, data: bytes) -> None:
        self._writer.write(data)
        await self._writer.drain()

    async def read_until(self, end: bytes) -> bytes:
        return await asyncio.wait_for(self.reader.readuntil(end), TIMEOUT)

    async def is_closed(self) -> bool:
        """Wait until the server has closed the connection."""
        with suppress(ConnectionResetError):
            await asyncio.wait_for(self.reader.read(), TIMEOUT)
        return self.reader.at_eof() or self.reader.exception() is not None

    def close(self) -> None:
        self._writer.close()


class Site:
    """A server with a few routes; `connect` opens a connection to it."""

    def __init__(self, port: int, released: asyncio.Event) -> None:
        self._port = port
        self._peers: list[Peer] = []
        self.released = released

    async def connect(self) -> Peer:
        peer = Peer(*await asyncio.open_connection("127.0.0.1", self._port))
        self._peers.append(peer)
        return peer

    async def get(self) -> bytes:
        """Send a request on a new connection, and return its response."""
        peer = await self.connect()
        await peer.say(GET)
        return await peer.read_until(b"hello")

    async def stream(self) -> Peer:
        peer = await self.connect()
        await peer.say(b"GET /stream HTTP/1.1\r\nhost: x\r\n\r\n")
        await peer.read_until(b"first")
        return peer

    def close(self) -> None:
        for peer in self._peers:
            peer.close()


def app(released: asyncio.Event) -> Starlette:
    async def hello(request: Request) -> Response:
        return PlainTextResponse("hello")

    async def length(request: Request) -> Response:
        return PlainTextResponse(f"{len(await request.body())} bytes")

    async def chunks() -> AsyncIterator[bytes]:
        yield b"first"
        await released.wait()
        yield b"second"

    async def stream(request: Request) -> Response:
        return StreamingResponse(chunks())

    async def flood(request: Request) -> Response:
        return PlainTextResponse(b"x" * (32 << 20))

    return Starlette(
        routes=[
            Route("/hello", hello),
            Route("/length", length, methods=["POST"]),
            Route("/refused", hello, methods=["POST"]),
            Route("/stream", stream),
            Route("/flood", flood),
        ]
    )


@asynccontextmanager
async def site(limit: ConnectionLimit) -> AsyncIterator[Site]:
    released = asyncio.Event()
    with socket.create_server(("127.0.0.1", 0)) as listener:
        server = binding.Server(app(released), listener, limit)
        async with asyncio.TaskGroup() as group:
            group.create_task(server.run())
            await server.listening.wait()
            opened = Site(listener.getsockname()[1], released)
            try:
                yield opened
            finally:
                opened.close()
                released.set()
                server.end()


Act = Callable[[Peer], Awaitable[None]]


async def nothing(peer: Peer) -> None:
    pass


async def half_a_head(peer: Peer) -> None:
    await peer.say(b"GET / HTTP/1.1\r\nhost")


async def half_a_second_head(peer: Peer) -> None:
    await peer.say(GET)
    await peer.read_until(b"hello")
    await peer.say(b"GET / HTTP/1.1\r\nhost")


async def half_a_body(peer: Peer) -> None:
    await peer.say(SHORT + b"abc")


async def the_rest_of_a_refused_body(peer: Peer) -> None:
    await peer.say(SHORT.replace(b"/length", b"/refused") + b"abc")
    await peer.read_until(b"hello")


async def nothing_more_and_never_reads(peer: Peer) -> None:
    await peer.say(b"GET /flood HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n")
    await peer.read_until(b"\r\n\r\n")


SILENT: dict[str, Act] = {act.__name__: act for act in (nothing, half_a_head, half_a_second_head, half_a_body)}
SILENT |= {act.__name__: act for act in (the_rest_of_a_refused_body, nothing_more_and_never_reads)}


@pytest.mark.parametrize("act", SILENT.values(), ids=SILENT.keys())
async def test_an_incomplete_request_is_closed_after_the_timeout(act: Act) -> None:
    async with site(ConnectionLimit(10, AT_ONCE)) as server:
        peer = await server.connect()
        await act(peer)
        assert await peer.is_closed()


@pytest.mark.parametrize("act", SILENT.values(), ids=SILENT.keys())
async def test_at_the_limit_a_silent_connection_is_closed_for_a_new_one(act: Act) -> None:
    async with site(ConnectionLimit(3, FOR_EVER)) as server:
        silent = [await server.connect() for _ in range(3)]
        for peer in silent:
            await act(peer)
        for _ in range(10):
            assert b"200 OK" in await server.get()
        assert await silent[0].is_closed()


async def test_a_stream_outlives_the_deadline_and_is_never_closed_for_others() -> None:
    async with site(ConnectionLimit(3, AT_ONCE)) as server:
        streams = [await server.stream() for _ in range(2)]
        for _ in range(20):
            await server.get()
        late = await server.connect()
        assert await late.is_closed()  # so the deadline has passed for the streams, too
        server.released.set()
        for peer in streams:
            assert b"second" in await peer.read_until(b"second")


async def test_at_the_limit_with_only_streams_a_new_connection_is_closed() -> None:
    async with site(ConnectionLimit(2, FOR_EVER)) as server:
        streams = [await server.stream() for _ in range(2)]
        assert await (await server.connect()).is_closed()
        streams[0].close()
        server.released.set()
        await streams[1].read_until(b"second")


async def test_a_slow_body_is_accepted_while_it_makes_progress() -> None:
    async with site(ConnectionLimit(10, FOR_EVER)) as server:
        peer = await server.connect()
        await peer.say(SHORT)
        for byte in (b"a", b"b", b"c", b"d", b"e", b"f"):
            await peer.say(byte)
        assert b"200 OK" in await peer.read_until(b"6 bytes")
        await peer.say(GET)  # and the connection can be used again
        await peer.read_until(b"hello")


async def test_each_chunk_of_a_body_restarts_the_timeout(monkeypatch: pytest.MonkeyPatch) -> None:
    deadlines: asyncio.Queue[asyncio.TimerHandle | None] = asyncio.Queue()
    set_deadline = connections.Connection._set_deadline

    def record(connection: connections.Connection) -> None:
        set_deadline(connection)
        deadlines.put_nowait(connection._deadline)

    monkeypatch.setattr(connections.Connection, "_set_deadline", record)
    async with site(ConnectionLimit(10, FOR_EVER)) as server:
        peer = await server.connect()
        await peer.say(SHORT)
        head, body = await deadlines.get(), await deadlines.get()
        await peer.say(b"abc")
        again = await deadlines.get()
        assert head and body and again
        assert (head.cancelled(), body.cancelled(), again.cancelled()) == (True, True, False)
        await peer.say(b"def")
        await peer.read_until(b"6 bytes")
        assert again.cancelled() and deadlines.empty()  # nothing is expected any more


@pytest.mark.parametrize(("limit", "most"), [(256, 64), (1024, 200), (10_240, 200), (3, 1)])
def test_few_descriptors_mean_fewer_connections(monkeypatch: pytest.MonkeyPatch, limit: int, most: int) -> None:
    monkeypatch.setattr(descriptors, "limit", lambda: limit)
    assert connections.max_connections() == most
