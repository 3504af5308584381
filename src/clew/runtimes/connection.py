"""Base class of the connection to an agent program: its transport, its JSON-RPC peer, and the listener of each thread.

A connection is not reused. When it is lost, everything on it fails with RuntimeLost, and a new one is made. Each
runtime has a subclass that knows the messages.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable
from typing import Generic, Protocol, TypeVar

import msgspec

from clew.runtimes.jsonrpc import Peer, RequestId
from clew.runtimes.server import OnLost, ignore
from clew.support.clock import Clock
from clew.texts.catalogue import say

KILL_GRACE = 0.2  # seconds for a program that does not answer anyway


class Transport(Protocol):
    """The transport to a program: our child, or a kept program. It is made with `feed` and `lost` of a connection."""

    @property
    def pid(self) -> int: ...

    @property
    def is_alive(self) -> bool: ...

    @property
    def is_writable(self) -> bool: ...

    @property
    def survives_disconnect(self) -> bool:
        """Whether the program goes on running if this transport is closed."""

    @property
    def stderr_tail(self) -> Iterable[str]: ...

    def write(self, data: bytes) -> None:
        """Raises RuntimeLost."""

    def exit_reason(self) -> str: ...

    async def wait_exited(self) -> None: ...

    async def end(self, grace: float = ...) -> None:
        """End the program and all its descendants."""

    async def leave(self) -> None:
        """Disconnect; the program goes on if it can."""


class AnyRoute(Protocol):
    """Receives what concerns one thread. Called by the reader: must not block."""

    def lost(self, reason: str) -> None: ...


R = TypeVar("R", bound=AnyRoute)


class AnyConnection(ABC, Generic[R]):
    def __init__(self, title: str, clock: Clock, *, with_version: bool = False, on_lost: OnLost = ignore) -> None:
        self._on_lost = on_lost
        self.is_closing = False
        self._title = title
        self._peer = Peer(self._send, self, clock, name=title, with_version=with_version)
        self._transport: Transport | None = None
        self._routes: dict[str, R] = {}

    @property
    def is_alive(self) -> bool:
        return self._transport is not None and self._transport.is_writable and not self.is_closing

    @property
    def pid(self) -> int | None:
        return self._transport.pid if self._transport is not None and self.is_alive else None

    @property
    def is_working(self) -> bool:
        """Whether the program works on something, even if no session here knows of it."""
        return False

    @property
    def feed(self) -> Callable[[bytes], None]:
        """The callback that the transport calls with each line."""
        return self._peer.feed

    def use(self, transport: Transport) -> None:
        self._transport = transport
        if not transport.is_alive:
            self.lost()

    def listen(self, thread: str, route: R) -> None:
        self._routes[thread] = route

    def forget(self, thread: str, route: R) -> bool:
        """False: another route listens to this thread by now."""
        if self._routes.get(thread) is not route:
            return False
        del self._routes[thread]
        return True

    async def kill(self) -> None:
        """End a program that does not answer, with a short grace time."""
        if self._transport is not None:
            await self._transport.end(grace=KILL_GRACE)

    async def close(self) -> None:
        """End the program and all its descendants. All open requests fail."""
        self.is_closing = True
        if self._transport is not None:
            await self._transport.end()

    async def leave(self) -> None:
        """Disconnect: all open requests fail here, and the program goes on if it can live without us."""
        self.is_closing = True
        if self._transport is not None:
            await self._transport.leave()

    @abstractmethod
    def on_notification(self, method: str, params: msgspec.Raw) -> None: ...

    @abstractmethod
    def on_request(self, id: RequestId, method: str, params: msgspec.Raw) -> None: ...

    def _send(self, line: bytes) -> None:
        assert self._transport is not None
        self._transport.write(line)

    def lost(self) -> None:
        """The callback for the loss of the transport. One that is lost before it is used, `use` notices."""
        if self._transport is None:
            return
        if self.is_closing:
            reason = say("runtimes.program_stopped", name=self._title)
        else:
            reason = say("runtimes.program_gone", name=self._title, fate=self._transport.exit_reason())
        self._peer.fail_all(reason)
        routes, self._routes = self._routes, {}
        for route in routes.values():
            route.lost(reason)
        self._on_lost(reason)
