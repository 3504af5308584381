"""A real HTTP server on loopback that receives deliveries, counts them, and responds as the test says.

It runs in a thread of its own with a loop of its own, so that a test that drives the daemon as a process can use it as
well as an `async` one. It records a delivery before it answers it.

    with Receiver(Answer(500), Hang.UNTIL_RELEASED) as receiver:   # in this order, then 200 for ever
        ...
        first, second = receiver.wait_for(2)
        assert receiver.keys == ["01K…:final"] and first.body == second.body
"""

from __future__ import annotations

import asyncio
import json
import threading
import time
import urllib.request
from collections import deque
from collections.abc import Mapping
from concurrent.futures import Future
from dataclasses import dataclass, field
from enum import Enum, auto
from types import TracebackType
from typing import Any

from clew.surfaces.signing import BadSignature, sign, verify
from tests.helpers.ports import held_port, number_of

TIMEOUT = 60.0  # seconds that anything may take at most


@dataclass(frozen=True, slots=True)
class Answer:
    status: int = 200
    body: bytes = b""
    headers: Mapping[str, str] = field(default_factory=dict)


class Hang(Enum):
    """What a receiver may do with a delivery instead of responding at once."""

    UP = auto()  # close the connection without an answer
    UNTIL_RELEASED = auto()  # answer 200 after `release()`


Behaviour = Answer | Hang


@dataclass(frozen=True, slots=True)
class Received:
    method: str
    path: str
    headers: Mapping[str, str]  # names in lower case
    body: bytes

    @property
    def id(self) -> str:
        return self.headers.get("idempotency-key", "")

    @property
    def json(self) -> Any:
        return json.loads(self.body)

    def signed_with(self, secret: str) -> bool:
        """Whether its signature is valid, whatever its age."""
        stamp = self.headers.get("x-clew-timestamp", "")
        try:
            verify(secret, stamp, self.headers.get("x-clew-signature"), self.body, int(stamp or 0))
        except BadSignature:
            return False
        return True


class Receiver:
    """Responds with `answers` in order, one to each delivery; after them with `otherwise`."""

    def __init__(self, *answers: Behaviour, otherwise: Behaviour | None = None) -> None:
        self._place = held_port()  # over close() and start() too, as if a machine had been away
        self.port = number_of(self._place)
        self.connections = 0
        self.otherwise: Behaviour = otherwise or Answer()
        self._answers = deque(answers)
        self._deliveries: list[Received] = []
        self._changed = threading.Condition()
        self._thread: threading.Thread | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._released: asyncio.Event | None = None
        self._stopped: asyncio.Event | None = None

    def __enter__(self) -> Receiver:
        self.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()
        self._place.close()

    def start(self) -> None:
        started: Future[None] = Future()
        self._thread = threading.Thread(target=self._run, args=(started,), name="receiver", daemon=True)
        self._thread.start()
        started.result(TIMEOUT)

    def close(self) -> None:
        """Stop listening and drop every connection. The received deliveries stay."""
        thread, self._thread = self._thread, None
        if thread is not None and self._loop is not None and self._stopped is not None:
            self._loop.call_soon_threadsafe(self._stopped.set)
            thread.join(TIMEOUT)
            assert not thread.is_alive(), "the receiver did not stop"

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/hook"

    @property
    def deliveries(self) -> list[Received]:
        with self._changed:
            return list(self._deliveries)

    @property
    def keys(self) -> list[str]:
        """The distinct idempotency keys, in order: the deliveries that a receiver with idempotency would accept."""
        return list(dict.fromkeys(delivery.id for delivery in self.deliveries))

    def then(self, *answers: Behaviour) -> None:
        """Append responses for the next deliveries."""
        with self._changed:
            self._answers.extend(answers)

    def release(self) -> None:
        """Respond to the deliveries that hang, now and later."""
        assert self._loop is not None and self._released is not None, "it was not started"
        self._loop.call_soon_threadsafe(self._released.set)

    def wait_for(self, count: int, timeout: float = TIMEOUT) -> list[Received]:
        """The deliveries, once there are at least `count`. In an `async` test: `await asyncio.to_thread(…)`."""
        with self._changed:
            if self._changed.wait_for(lambda: len(self._deliveries) >= count, timeout):
                return list(self._deliveries)
            ids = [delivery.id for delivery in self._deliveries]
        raise AssertionError(f"expected {count} deliveries within {timeout:g} s, got {len(ids)}: {ids}")

    def _run(self, started: Future[None]) -> None:
        try:
            asyncio.run(self._serve(started))
        except BaseException as error:
            if started.done():
                raise
            started.set_exception(error)

    async def _serve(self, started: Future[None]) -> None:
        self._loop = asyncio.get_running_loop()
        self._released, self._stopped = asyncio.Event(), asyncio.Event()
        server = await asyncio.start_server(self._connected, "127.0.0.1", self.port)
        started.set_result(None)
        await self._stopped.wait()
        server.close()  # the end of the loop cancels the connections

    async def _connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        try:
            while (behaviour := self._take(await _request(reader))) is not Hang.UP:
                writer.write(await self._settle(behaviour))
                await writer.drain()
        except (asyncio.IncompleteReadError, ConnectionError):
            pass  # the other side has gone
        finally:
            writer.close()

    def _take(self, received: Received) -> Behaviour:
        with self._changed:
            self._deliveries.append(received)
            self._changed.notify_all()
            return self._answers.popleft() if self._answers else self.otherwise

    async def _settle(self, behaviour: Behaviour) -> bytes:
        if isinstance(behaviour, Answer):
            return _response(behaviour)
        assert self._released is not None
        await self._released.wait()
        return _response(Answer())


async def _request(reader: asyncio.StreamReader) -> Received:
    head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
    method, path, _ = head[0].split(" ")
    pairs = (line.partition(":") for line in head[1:] if line)
    headers = {name.strip().lower(): value.strip() for name, _, value in pairs}
    body = await reader.readexactly(int(headers.get("content-length", 0)))
    return Received(method, path, headers, body)


def _response(answer: Answer) -> bytes:
    headers = {"Content-Length": str(len(answer.body)), **answer.headers}
    lines = [f"HTTP/1.1 {answer.status} -", *(f"{name}: {value}" for name, value in headers.items()), "", ""]
    return "\r\n".join(lines).encode("latin-1") + answer.body


def post_signed(base: str, name: str, secret: str, body: bytes) -> Any:
    """Send a signed message to clew's inbound webhook, as another program would; returns the response."""
    now = int(time.time())
    headers = {"X-Clew-Timestamp": str(now), "X-Clew-Signature": sign(secret, now, body)}
    request = urllib.request.Request(f"{base}/surfaces/webhook/{name}", body, headers, method="POST")
    with urllib.request.urlopen(request, timeout=30) as answer:
        return json.loads(answer.read())
