"""The blocking version of `clew.client.aio`, over the daemon's Unix socket; the command line uses it.

Its transport blocks instead of waiting, so the coroutines of the client never suspend, and are run without an event
loop: every command pays for what is imported.
"""

from __future__ import annotations

import time
from collections.abc import AsyncGenerator, Callable, Coroutine, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Protocol, TypeVar

from clew.client.aio import TIMEOUT, TRIES, AsyncClient
from clew.client.requests import Request
from clew.client.wire import Frame, Lost
from clew.process.connection import Connection, Response
from clew.support.errors import ClewError, NotAnswering, OutOfReach
from clew.support.home import Home
from clew.support.sockets import connect, readable
from clew.texts.catalogue import say

if TYPE_CHECKING:
    from clew.client.events import Event
    from clew.client.follower import Follower

T = TypeVar("T")

UNASKED = 1.0  # seconds without a response, after which the daemon is pinged
NO_SIGN = 1.0  # seconds without a pong, after which the person is told that the command waits
SURE = 1.7  # the same if `looks` is set: then the client gives up


class Closed(ClewError):
    """The client was closed on purpose, by another Python thread."""


class Asks(Protocol):
    """The part of a client that sends requests."""

    def ask(self, request: Request[T]) -> T: ...


class Client:
    """`say` is called with a line whenever the client waits. With `start`, a missing daemon is started, but not for a
    mere look if somebody stopped it since the client was connected; else it is an error. With `looks`, a daemon that
    gives no sign of life within 3 seconds is an error: for commands that report its state."""

    def __init__(
        self,
        home: Home,
        *,
        start: bool = True,
        say: Callable[[str], None] = lambda line: None,
        timeout: float | None = TIMEOUT,
        looks: bool = False,
    ) -> None:
        self._transport = BlockingTransport(home, start=start, say=say, looks=looks)
        self._client = AsyncClient(self._transport, say)
        self._timeout = timeout

    def ask(self, request: Request[T]) -> T:
        """Send a request and return its response. Raises the error that the daemon reports."""
        return _run(self._client.ask(request, self._timeout))

    def lines(self, request: Request[T]) -> Iterator[T]:
        """Send a request whose response is lines of JSON."""
        return _iterate(self._client.lines(request, self._timeout))

    def events(self, thread: str | None, after: int | None = None) -> Iterator[Event]:
        """Follow the events of one thread, or of all; see `Follower`."""
        return _iterate(self._follower(thread, after).events())

    def frames(self, thread: str | None, after: int | None = None) -> Iterator[Frame]:
        """The same, as the daemon sends them."""
        return _iterate(self._follower(thread, after).frames())

    def _follower(self, thread: str | None, after: int | None) -> Follower:
        from clew.client.follower import Follower  # most commands do not follow anything

        return Follower(self._client, thread, after)

    def close(self) -> None:
        """End a stream that another Python thread reads: it raises Closed there."""
        self._transport.close()


def _run(coroutine: Coroutine[object, None, T]) -> T:
    """Run a coroutine that never suspends."""
    try:
        coroutine.send(None)
    except StopIteration as done:
        result: T = done.value
        return result
    raise AssertionError("a blocking transport never suspends")


def _iterate(generator: AsyncGenerator[T]) -> Iterator[T]:
    try:
        while True:
            try:
                item = _run(generator.__anext__())
            except StopAsyncIteration:
                return
            yield item
    finally:
        _run(generator.aclose())


class BlockingTransport:
    def __init__(self, home: Home, *, start: bool, say: Callable[[str], None], looks: bool) -> None:
        self._home = home
        self._start = start
        self._say = say
        self._looks = looks
        self._supervised = False
        self._was_connected = False
        self._connection: Connection | None = None  # the newest
        self._closed = False

    async def open(self, method: str, path: str, body: bytes | None, max_wait: float | None) -> BlockingResponse:
        self._check_closed()
        with _translated():
            connection = self._connect(max_wait, follows=self._was_connected and method == "GET")
        headers = {"Content-Type": "application/json"} if body is not None else {}
        try:
            with _translated():
                connection.request(method, path, body, headers)
                self._wait(connection, max_wait)
                response = connection.getresponse()
            self._connection = connection
            self._check_closed()
        except BaseException:
            connection.close()
            raise
        return BlockingResponse(connection, response)

    async def sleep(self, seconds: float) -> None:
        time.sleep(seconds)  # noqa: ASYNC251 (no event loop runs here)

    def close(self) -> None:
        self._closed = True
        if self._connection is not None:
            self._connection.shut()

    def _check_closed(self) -> None:
        if self._closed:
            raise Closed(say("process.client_was_closed"))

    def _wait(self, connection: Connection, max_wait: float | None) -> None:
        """Wait for the response. A slow response is fine if the daemon answers a ping; if not, it hangs."""
        if max_wait is not None and max_wait < UNASKED + NO_SIGN:
            return
        if readable([connection.sock], UNASKED) or self._is_alive(connection):
            return
        from clew.process import hung

        words = hung.describe(self._home)
        if self._looks:
            raise NotAnswering(words)
        self._say(say("process.waiting_for", why=words))

    def _is_alive(self, connection: Connection) -> bool:
        """Whether the daemon answers the request, or at least a ping."""
        from clew.process.heartbeat import QUESTION

        timeout = SURE if self._looks else NO_SIGN
        try:
            with connect(self._home.socket, timeout) as ping:
                ping.sendall(QUESTION)
                return readable([ping, connection.sock], timeout)
        except TimeoutError:
            return False
        except OSError:
            return True  # the daemon is just stopping; the request itself reports that better

    def _connect(self, max_wait: float | None, *, follows: bool) -> Connection:
        """Connect; nothing is sent yet, so a missing daemon can be started safely, several times if need be. Who only
        follows starts none that somebody stopped."""
        connection = Connection(self._home, max_wait, UNASKED + SURE if self._looks else None)
        for _ in range(TRIES):
            try:
                connection.connect()
                self._ensure_supervisor()
                self._was_connected = True
                return connection
            except NotAnswering:
                raise
            except OutOfReach as error:
                from clew.process.start import describe_lost_socket, ensure_daemon, reopen_socket

                if reopen_socket(self._home):
                    continue
                if not self._start:
                    raise OutOfReach(describe_lost_socket(self._home) or error.words) from error

            ensure_daemon(self._home, self._say, unless_stopped=follows)
        connection.connect()
        return connection

    def _ensure_supervisor(self) -> None:
        """Once per client: give the daemon a supervisor, so that it is restarted after a crash."""
        if self._start and not self._supervised:
            from clew.process.start import ensure_supervisor

            self._supervised = True
            ensure_supervisor(self._home)


class BlockingResponse:
    def __init__(self, connection: Connection, response: Response) -> None:
        self._connection = connection
        self._response = response
        self.status = response.status

    async def read(self) -> bytes:
        with _translated():
            return self._response.read()

    async def chunks(self) -> AsyncGenerator[bytes]:
        with _translated():
            while chunk := self._response.read1(1 << 16):
                yield chunk

    async def close(self) -> None:
        self._connection.close()


@contextmanager
def _translated() -> Iterator[None]:
    """Errors of a connection as `Transport` has them."""
    try:
        yield
    except ConnectionError as error:
        raise Lost from error
