"""Limits TCP connections, since anybody on this machine may connect: their number, and the time to send a request. It
works before a request is read, so it needs no token.

A request's head must be complete 10 seconds after its first byte, or after the connection was made. Its body may take
longer, as long as it never pauses for 10 seconds. Between two requests uvicorn's own limit applies (5 seconds).

At the limit, a new connection replaces the one that has been silent for longest: one that has not sent a complete
request, has no open request, or does not read its response. So nobody can lock others out by holding connections. A
connection with an open response, such as an event stream, is never closed for another one.
"""

from __future__ import annotations

import asyncio
import logging
from enum import Enum, auto
from typing import Any

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

from clew.process import descriptors

log = logging.getLogger(__name__)

MAX_CONNECTIONS = 200
DESCRIPTOR_SHARE = 4  # at most a fourth of all descriptors: the rest is for the Unix socket, the store and the agents
TIMEOUT = 10.0  # seconds for a head, and for the next chunk of a body
WARN_INTERVAL = 60.0  # seconds between two warnings about the limit


def max_connections() -> int:
    """The limit; lower if the system allows few descriptors."""
    return min(MAX_CONNECTIONS, max(1, descriptors.limit() // DESCRIPTOR_SHARE))


class Expected(Enum):
    """What we wait for from a peer."""

    HEAD = auto()
    BODY = auto()
    REST = auto()  # of a body whose response was sent already
    READING = auto()  # the connection is being closed, and the peer has unread data


class ConnectionLimit:
    """The open connections of one listener, least recently active first."""

    def __init__(self, most: int, timeout: float = TIMEOUT) -> None:
        self.most = most
        self.timeout = timeout
        self._open: dict[Connection, None] = {}
        self._warned = -WARN_INTERVAL

    @property
    def accept_batch(self) -> int:
        """How many connections may be accepted in one iteration of the event loop, before they are counted."""
        return max(4, self.most // 4)

    def protocol(self, **given: Any) -> Connection:
        """The protocol factory for uvicorn."""
        return Connection(self, **given)

    def enter(self, connection: Connection) -> bool:
        """Add a connection; False if the limit is reached and no connection can be replaced."""
        if len(self._open) >= self.most:
            self._warn(connection.loop.time())
            silent = next((each for each in self._open if each.is_silent), None)
            if silent is None:
                return False
            self.leave(silent)
            silent.transport.abort()
        self._open[connection] = None
        return True

    def leave(self, connection: Connection) -> None:
        self._open.pop(connection, None)

    def note_request(self, connection: Connection) -> None:
        """Mark a connection as active: it has sent a complete request."""
        if connection in self._open:
            self._open[connection] = self._open.pop(connection)

    def holds(self, connection: Connection) -> bool:
        return connection in self._open

    def _warn(self, now: float) -> None:
        if now - self._warned >= WARN_INTERVAL:
            self._warned = now
            log.warning("all %d connections on TCP are in use; silent ones are closed for new ones", self.most)


class Connection(H11Protocol):
    """A uvicorn connection with deadlines for its peer."""

    def __init__(self, limit: ConnectionLimit, **given: Any) -> None:
        super().__init__(**given)
        self._limit = limit
        self._expected: Expected | None = None
        self._unread = 0  # bytes in the write buffer when the deadline was set
        self._deadline: asyncio.TimerHandle | None = None

    @property
    def is_silent(self) -> bool:
        """Whether we wait for the peer, and not the peer for us."""
        if self.cycle is None or self.cycle.response_complete or self.transport.is_closing():
            return True
        return self.flow.write_paused or (self.conn.their_state is h11.SEND_BODY and not self.flow.read_paused)

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        if self._limit.enter(self):
            self._expect(self._what_is_expected())
        else:
            transport.abort()

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        expected = self._what_is_expected()
        if expected is None:
            self._limit.note_request(self)
        self._expect(expected, more=True)

    def eof_received(self) -> None:
        super().eof_received()
        self._expect(Expected.READING)

    def on_response_complete(self) -> None:
        super().on_response_complete()
        self._expect(self._what_is_expected())

    def timeout_keep_alive_handler(self) -> None:
        super().timeout_keep_alive_handler()
        self._expect(self._what_is_expected())

    def connection_lost(self, exc: Exception | None) -> None:
        self._limit.leave(self)
        self._cancel_deadline()
        super().connection_lost(exc)

    def _what_is_expected(self) -> Expected | None:
        if self.transport.is_closing():
            return Expected.READING
        if self.conn.their_state is h11.SEND_BODY:
            return Expected.REST if self.cycle.response_complete else Expected.BODY
        is_begun = self.cycle is None or bool(self.conn.trailing_data[0])
        return Expected.HEAD if self.conn.their_state is h11.IDLE and is_begun else None

    def _expect(self, expected: Expected | None, *, more: bool = False) -> None:
        """Set a deadline for what is expected. Only a further chunk of a body restarts it."""
        if expected is self._expected and not (more and expected is Expected.BODY):
            return
        self._expected = expected
        self._cancel_deadline()
        if expected is not None and self._limit.holds(self):
            self._set_deadline()

    def _set_deadline(self) -> None:
        self._unread = self.transport.get_write_buffer_size()
        self._deadline = self.loop.call_later(self._limit.timeout, self._expire)

    def _cancel_deadline(self) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None

    def _expire(self) -> None:
        """Close the connection, unless the peer makes progress or we paused reading."""
        reads = self._expected is Expected.READING and self.transport.get_write_buffer_size() < self._unread
        if reads or (self._expected is Expected.BODY and self.flow.read_paused):
            self._set_deadline()
        else:
            self.transport.abort()
