"""The connections on TCP, where anybody on this machine may connect: how many there may be, and how long one may take
to send its request. It decides before a request is read, so it needs no token for that.

A request's head must be complete 10 seconds after its first byte, or after the connection was made. Its body may take
longer, as long as it never pauses for 10 seconds. Between two requests uvicorn's own limit applies (5 seconds).

If all places are taken, a new connection gets the place of the one that has been silent for longest: one that has not
sent a whole request, has no request open, or does not read what it is sent. So nobody can keep others out by holding
connections. A connection whose request is being answered, such as an event stream, is never closed for another one.
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

MOST = 200  # connections
SHARE = 4  # at most a fourth of all descriptors: the rest is for the Unix socket, the store and the agents
PATIENCE = 10.0  # seconds for a head, and for the next piece of a body
QUIET = 60.0  # seconds between two warnings that there are too many


def most() -> int:
    """How many connections there may be, also where the system allows few descriptors."""
    return min(MOST, max(1, descriptors.limit() // SHARE))


class Owed(Enum):
    """What a peer has not done yet."""

    HEAD = auto()
    BODY = auto()
    REST = auto()  # of a body that is not wanted any more: its answer has been sent
    READING = auto()  # the connection is being closed, and the peer has not read everything


class Room:
    """The open connections of one listener, the one that was active longest ago first."""

    def __init__(self, most: int, patience: float = PATIENCE) -> None:
        self.most = most
        self.patience = patience
        self._inside: dict[Connection, None] = {}
        self._warned = -QUIET

    @property
    def at_once(self) -> int:
        """How many connections may be accepted in one turn of the event loop, before any of them is counted."""
        return max(4, self.most // 4)

    def protocol(self, **given: Any) -> Connection:
        """For uvicorn: what handles one more connection."""
        return Connection(self, **given)

    def enter(self, newcomer: Connection) -> bool:
        """Whether it may stay."""
        if len(self._inside) >= self.most:
            self._warn(newcomer.loop.time())
            silent = next((each for each in self._inside if each.is_silent), None)
            if silent is None:
                return False
            self.leave(silent)
            silent.transport.abort()
        self._inside[newcomer] = None
        return True

    def leave(self, connection: Connection) -> None:
        self._inside.pop(connection, None)

    def note_request(self, connection: Connection) -> None:
        """It has just sent a whole request."""
        if connection in self._inside:
            self._inside[connection] = self._inside.pop(connection)

    def holds(self, connection: Connection) -> bool:
        return connection in self._inside

    def _warn(self, now: float) -> None:
        if now - self._warned >= QUIET:
            self._warned = now
            log.warning("all %d connections on TCP are in use; silent ones are closed for new ones", self.most)


class Connection(H11Protocol):
    """One connection: uvicorn's, with an end to its patience."""

    def __init__(self, room: Room, **given: Any) -> None:
        super().__init__(**given)
        self._room = room
        self._owed: Owed | None = None
        self._unread = 0  # bytes that we could not send yet when we last looked
        self._deadline: asyncio.TimerHandle | None = None

    @property
    def is_silent(self) -> bool:
        """Whether we wait for the peer, and not the peer for us."""
        if self.cycle is None or self.cycle.response_complete or self.transport.is_closing():
            return True
        return self.flow.write_paused or (self.conn.their_state is h11.SEND_BODY and not self.flow.read_paused)

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        if self._room.enter(self):
            self._expect(self._what_is_owed())
        else:
            transport.abort()

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        owed = self._what_is_owed()
        if owed is None:
            self._room.note_request(self)
        self._expect(owed, goes_on=True)

    def eof_received(self) -> None:
        super().eof_received()
        self._expect(Owed.READING)

    def on_response_complete(self) -> None:
        super().on_response_complete()
        self._expect(self._what_is_owed())

    def timeout_keep_alive_handler(self) -> None:
        super().timeout_keep_alive_handler()
        self._expect(self._what_is_owed())

    def connection_lost(self, exc: Exception | None) -> None:
        self._room.leave(self)
        self._forget_deadline()
        super().connection_lost(exc)

    def _what_is_owed(self) -> Owed | None:
        if self.transport.is_closing():
            return Owed.READING
        if self.conn.their_state is h11.SEND_BODY:
            return Owed.REST if self.cycle.response_complete else Owed.BODY
        is_begun = self.cycle is None or bool(self.conn.trailing_data[0])
        return Owed.HEAD if self.conn.their_state is h11.IDLE and is_begun else None

    def _expect(self, owed: Owed | None, *, goes_on: bool = False) -> None:
        """A deadline for what is owed. Only the next piece of a body sets it anew."""
        if owed is self._owed and not (goes_on and owed is Owed.BODY):
            return
        self._owed = owed
        self._forget_deadline()
        if owed is not None and self._room.holds(self):
            self._set_deadline()

    def _set_deadline(self) -> None:
        self._unread = self.transport.get_write_buffer_size()
        self._deadline = self.loop.call_later(self._room.patience, self._expire)

    def _forget_deadline(self) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None

    def _expire(self) -> None:
        """It is too late, unless it is we who have not read, or it still reads."""
        reads = self._owed is Owed.READING and self.transport.get_write_buffer_size() < self._unread
        if reads or (self._owed is Owed.BODY and self.flow.read_paused):
            self._set_deadline()
        else:
            self.transport.abort()
