"""One life of an agent program: the child, its JSON-RPC peer, and who hears about which session.

When it is lost, everything on it fails with RuntimeLost, and a new one is made."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Protocol, TypeVar

import msgspec

from clew import __version__
from clew.clock import Clock
from clew.config import AcpConfig
from clew.errors import RuntimeLost, RuntimeTrouble
from clew.processes import Mark, Marks
from clew.runtimes.acp import trouble, wire
from clew.runtimes.acp.entries import Entry
from clew.runtimes.jsonrpc import METHOD_NOT_FOUND, Peer, RequestId, RpcError, RpcTimeout
from clew.runtimes.process import Child, spawn

log = logging.getLogger(__name__)

T = TypeVar("T")

CAN = {"fs": {"readTextFile": True, "writeTextFile": True}, "terminal": True}
FROZEN_GRACE = 0.2  # seconds for one that does not answer anyway


class Route(Protocol):
    """Who hears about one session. Called by the reader: must not block."""

    def updated(self, update: msgspec.Raw) -> None: ...

    def asked(self, id: RequestId, method: str, params: msgspec.Raw) -> bool:
        """False: nobody here knows such a request."""

    def lost(self, reason: str) -> None: ...


class Connection:
    """Made by `connect`."""

    def __init__(self, entry: Entry, config: AcpConfig, clock: Clock, marks: Marks) -> None:
        self.entry = entry
        self.on_lost: Callable[[str], None] | None = None
        self.is_closing = False
        self.agent = wire.Initialized()
        self.spoilt: set[str] = set()  # sessions that take nothing any more
        self.token = clock.token()[:12]
        self._config = config
        self._clock = clock
        self._marks = marks
        self._peer = Peer(self._send, self, clock, name=entry.title, with_version=True)
        self._child: Child | None = None
        self._routes: dict[str, Route] = {}

    @property
    def is_alive(self) -> bool:
        return self._child is not None and self._child.hears and not self.is_closing

    @property
    def pid(self) -> int | None:
        return self._child.pid if self._child is not None and self.is_alive else None

    @property
    def is_working(self) -> bool:
        return False  # on nothing that we have not asked for

    def mark(self) -> Mark:
        return self._marks.next()

    async def start(self) -> None:
        env = {**self.entry.env, **self._config.env}
        self._child = await spawn(
            self.entry.command,
            self._marks.next(),
            self._clock,
            self._peer.feed,
            name=self.entry.name,
            env=env,
            cwd=self._config.folder,
        )
        self._child.on_lost = self._lost
        if not self._child.is_alive:
            self._lost()

    async def initialize(self) -> None:
        params = {
            "protocolVersion": wire.VERSION,
            "clientCapabilities": CAN,
            "clientInfo": {"name": "clew", "title": "clew", "version": __version__},
        }
        raw = await self._peer.request("initialize", params, within=self._config.start_timeout)
        self.agent = wire.read(raw, wire.Initialized) or wire.Initialized()
        if self.agent.protocol_version != wire.VERSION:
            raise trouble.wrong_version(self.entry, self.agent.protocol_version)
        if self._config.auth is not None:
            given = {"methodId": self._config.auth}
            await self._peer.request("authenticate", given, within=self._config.start_timeout)

    async def why_not(self) -> RuntimeTrouble:
        """What to say when it did not come up."""
        assert self._child is not None
        await self._child.settled()
        return trouble.exits(self.entry, self._child.fate(), self._child.last_words)

    async def ask(self, method: str, params: object, kind: type[T]) -> T:
        """Raises RpcError where it says no, RuntimeLost where it says nothing. An agent that leaves such a request
        unanswered is as good as dead, and is made so."""
        try:
            raw = await self._peer.request(method, params, within=self._config.request_timeout)
        except RpcTimeout:
            log.warning("%s does not answer %s; it is ended", self.entry.title, method)
            await self.bury()
            raise
        return wire.read(raw, kind) or kind()

    async def prompt(self, params: object) -> wire.Prompted:
        """It takes as long as it takes."""
        raw = await self._peer.request("session/prompt", params, within=None)
        return wire.read(raw, wire.Prompted) or wire.Prompted()

    def notify(self, method: str, params: object) -> None:
        self._peer.notify(method, params)

    def answer(self, id: RequestId, result: object) -> None:
        self._peer.answer(id, result)

    def refuse(self, id: RequestId, code: int, message: str) -> None:
        self._peer.refuse(id, code, message)

    def listen(self, session: str, route: Route) -> None:
        self._routes[session] = route

    def forget(self, session: str, route: Route) -> None:
        if self._routes.get(session) is route:
            del self._routes[session]

    async def bury(self) -> None:
        if self._child is not None:
            await self._child.end(grace=FROZEN_GRACE)

    async def close(self) -> None:
        """The child and all its descendants are gone afterwards, and what was open has failed."""
        self.is_closing = True
        if self._child is not None:
            await self._child.end()

    async def leave(self) -> None:
        """It does not live without us."""
        await self.close()

    def notified(self, method: str, params: msgspec.Raw) -> None:
        address = wire.read(params, wire.Address) if method == "session/update" else None
        route = self._routes.get(address.session_id) if address else None
        if address is None or route is None:
            log.debug("dropped %s: no session for it", method)
        else:
            route.updated(address.update)

    def asked(self, id: RequestId, method: str, params: msgspec.Raw) -> None:
        address = wire.read(params, wire.Address) or wire.Address()
        route = self._routes.get(address.session_id)
        if route is None or not route.asked(id, method, params):
            log.warning("%s asked for %s, which clew does not know", self.entry.title, method)
            self.refuse(id, METHOD_NOT_FOUND, f"clew does not know {method}, or not for this session")

    def _send(self, line: bytes) -> None:
        assert self._child is not None
        self._child.write(line)

    def _lost(self) -> None:
        assert self._child is not None
        how = "was stopped" if self.is_closing else f"is gone ({self._child.fate()})"
        reason = f"{self.entry.title} {how}"
        self._peer.lost(reason)
        routes, self._routes = self._routes, {}
        for route in routes.values():
            route.lost(reason)
        if self.on_lost is not None:
            self.on_lost(reason)


async def connect(entry: Entry, config: AcpConfig, clock: Clock, marks: Marks) -> Connection:
    """The child is there and initialised. Raises RuntimeTrouble with what is wrong, and leaves no process then."""
    connection = Connection(entry, config, clock, marks)
    try:
        await connection.start()
        await connection.initialize()
    except RpcTimeout:
        await connection.close()
        raise trouble.silent(entry, config.start_timeout) from None
    except RuntimeLost:
        why = await connection.why_not()
        await connection.close()
        raise why from None
    except OSError as error:
        where = f"{error.filename}: " if error.filename else ""
        raise trouble.missing(entry, f"{where}{error.strerror}") from error
    except RpcError as error:
        await connection.close()
        raise trouble.refuses(entry, "initialise", error.code, error.message) from error
    except BaseException:
        await connection.close()
        raise
    return connection
