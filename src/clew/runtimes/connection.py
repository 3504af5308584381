"""One life of an agent program, whichever it is: the way to it, its JSON-RPC peer, and who hears about which of its
threads.

A connection lives once. When it is lost, everything on it fails with RuntimeLost, and a new one is made. What is said
on it, each runtime's own connection knows.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable
from typing import Generic, Protocol, TypeVar

import msgspec

from clew.runtimes.jsonrpc import Peer, RequestId
from clew.support.clock import Clock

FROZEN_GRACE = 0.2  # seconds for one that does not answer anyway


class Transport(Protocol):
    """The way to a program: a child of ours, or one that is kept."""

    on_lost: Callable[[], None] | None

    @property
    def pid(self) -> int: ...

    @property
    def is_alive(self) -> bool: ...

    @property
    def hears(self) -> bool: ...

    @property
    def lives_on(self) -> bool:
        """The program is there, whatever became of the way to it."""

    @property
    def last_words(self) -> Iterable[str]: ...

    def write(self, data: bytes) -> None:
        """Raises RuntimeLost."""

    def fate(self) -> str: ...

    async def settled(self) -> None: ...

    async def end(self, grace: float = ...) -> None:
        """The program and all its descendants are gone afterwards."""

    async def leave(self) -> None:
        """Only we go."""


class AnyRoute(Protocol):
    """Who hears about one thread. Called by the reader: must not block."""

    def lost(self, reason: str) -> None: ...


R = TypeVar("R", bound=AnyRoute)


class AnyConnection(ABC, Generic[R]):
    def __init__(self, title: str, clock: Clock, *, with_version: bool = False) -> None:
        self.on_lost: Callable[[str], None] | None = None
        self.is_closing = False
        self._title = title
        self._peer = Peer(self._send, self, clock, name=title, with_version=with_version)
        self._transport: Transport | None = None
        self._routes: dict[str, R] = {}

    @property
    def is_alive(self) -> bool:
        return self._transport is not None and self._transport.hears and not self.is_closing

    @property
    def pid(self) -> int | None:
        return self._transport.pid if self._transport is not None and self.is_alive else None

    @property
    def is_working(self) -> bool:
        """On something that nobody here may know of."""
        return False

    @property
    def feed(self) -> Callable[[bytes], None]:
        """What the transport hands over."""
        return self._peer.feed

    def use(self, transport: Transport) -> None:
        self._transport = transport
        transport.on_lost = self._lost
        if not transport.is_alive:
            self._lost()

    def listen(self, thread: str, route: R) -> None:
        self._routes[thread] = route

    def forget(self, thread: str, route: R) -> bool:
        """False: somebody else listens there by now."""
        if self._routes.get(thread) is not route:
            return False
        del self._routes[thread]
        return True

    async def bury(self) -> None:
        """It does not answer, and so is as good as dead."""
        if self._transport is not None:
            await self._transport.end(grace=FROZEN_GRACE)

    async def close(self) -> None:
        """The program and all its descendants are gone afterwards, and what was open has failed."""
        self.is_closing = True
        if self._transport is not None:
            await self._transport.end()

    async def leave(self) -> None:
        """Where the program can live without us it works on, and what was open has failed here."""
        self.is_closing = True
        if self._transport is not None:
            await self._transport.leave()

    @abstractmethod
    def notified(self, method: str, params: msgspec.Raw) -> None: ...

    @abstractmethod
    def asked(self, id: RequestId, method: str, params: msgspec.Raw) -> None: ...

    def _send(self, line: bytes) -> None:
        assert self._transport is not None
        self._transport.write(line)

    def _lost(self) -> None:
        assert self._transport is not None
        reason = (
            f"{self._title} was stopped" if self.is_closing else f"{self._title} is gone ({self._transport.fate()})"
        )
        self._peer.lost(reason)
        routes, self._routes = self._routes, {}
        for route in routes.values():
            route.lost(reason)
        if self.on_lost is not None:
            self.on_lost(reason)
