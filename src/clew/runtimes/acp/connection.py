"""One life of an ACP agent: what is said to the child, and which session hears what it says."""

from __future__ import annotations

import itertools
import logging
from typing import Protocol, TypeVar

import msgspec

from clew.config.settings import AcpConfig
from clew.process.scan import Mark, Marks
from clew.runtimes.acp import problems, wire
from clew.runtimes.acp.known_agents import Entry
from clew.runtimes.connection import AnyConnection, AnyRoute
from clew.runtimes.jsonrpc import INVALID_REQUEST, METHOD_NOT_FOUND, RequestId, RpcError, RpcTimeout
from clew.runtimes.process import spawn
from clew.support.clock import Clock
from clew.support.errors import RuntimeLost, RuntimeTrouble
from clew.support.version import __version__

log = logging.getLogger(__name__)

T = TypeVar("T")

CAN = {"fs": {"readTextFile": True, "writeTextFile": True}, "terminal": True}


class Route(AnyRoute, Protocol):
    def updated(self, update: msgspec.Raw) -> None: ...

    def asked(self, id: RequestId, method: str, params: msgspec.Raw) -> bool:
        """False: nobody here knows such a request."""


class Connection(AnyConnection[Route]):
    """Made by `connect`."""

    def __init__(self, entry: Entry, config: AcpConfig, clock: Clock, marks: Marks) -> None:
        super().__init__(entry.title, clock, with_version=True)
        self.entry = entry
        self.agent = wire.Initialized()
        self.spoilt: set[str] = set()  # sessions that take nothing any more
        self.token = clock.token()[:12]
        self._config = config
        self._clock = clock
        self._marks = marks
        self._numbers = itertools.count(1)  # of the agent's requests
        self._unanswered: dict[RequestId, str] = {}  # its requests, with our reference of each

    def mark(self) -> Mark:
        return self._marks.next()

    async def start(self) -> None:
        env = {**self.entry.env, **self._config.env}
        child = await spawn(
            self.entry.command,
            self._marks.next(),
            self._clock,
            self.feed,
            name=self.entry.name,
            env=env,
            cwd=self._config.folder,
        )
        self.use(child)

    async def initialize(self) -> None:
        params = {
            "protocolVersion": wire.VERSION,
            "clientCapabilities": CAN,
            "clientInfo": {"name": "clew", "title": "clew", "version": __version__},
        }
        raw = await self._peer.request("initialize", params, within=self._config.start_timeout)
        self.agent = wire.read(raw, wire.Initialized) or wire.Initialized()
        if self.agent.protocol_version != wire.VERSION:
            raise problems.wrong_version(self.entry, self.agent.protocol_version)
        if self._config.auth is not None:
            given = {"methodId": self._config.auth}
            await self._peer.request("authenticate", given, within=self._config.start_timeout)

    async def why_not(self) -> RuntimeTrouble:
        """What to say when it did not come up."""
        assert self._transport is not None
        await self._transport.settled()
        return problems.exits(self.entry, self._transport.fate(), self._transport.last_words)

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

    def reference(self, id: RequestId) -> str:
        """Our own name for a request that waits for its answer. No other request ever has it, whatever id the agent
        gives to that one."""
        return self._unanswered[id]

    def answer(self, id: RequestId, result: object) -> None:
        self._unanswered.pop(id, None)
        self._peer.answer(id, result)

    def refuse(self, id: RequestId, code: int, message: str) -> None:
        self._unanswered.pop(id, None)
        self._peer.refuse(id, code, message)

    def give_up(self, id: RequestId, reference: str) -> None:
        """It will not be answered any more, if it was not."""
        if self._unanswered.get(id) == reference:
            del self._unanswered[id]

    def notified(self, method: str, params: msgspec.Raw) -> None:
        address = wire.read(params, wire.Address) if method == "session/update" else None
        route = self._routes.get(address.session_id) if address else None
        if address is None or route is None:
            log.debug("dropped %s: no session for it", method)
        else:
            route.updated(address.update)

    def asked(self, id: RequestId, method: str, params: msgspec.Raw) -> None:
        """Two requests under one id could get each other's answers, so the second is refused and never served."""
        if id in self._unanswered:
            log.warning("%s asked for %s under the id of a request that is not answered yet", self.entry.title, method)
            self._peer.refuse(id, INVALID_REQUEST, f"the id {id!r} is that of a request that is not answered yet")
            return
        self._unanswered[id] = f"{self.token}:{next(self._numbers)}"
        self._hand_over(id, method, params)

    def _hand_over(self, id: RequestId, method: str, params: msgspec.Raw) -> None:
        address = wire.read(params, wire.Address) or wire.Address()
        route = self._routes.get(address.session_id)
        if route is None or not route.asked(id, method, params):
            log.warning("%s asked for %s, which clew does not know", self.entry.title, method)
            self.refuse(id, METHOD_NOT_FOUND, f"clew does not know {method}, or not for this session")


async def connect(entry: Entry, config: AcpConfig, clock: Clock, marks: Marks) -> Connection:
    """The child is there and initialised. Raises RuntimeTrouble with what is wrong, and leaves no process then."""
    connection = Connection(entry, config, clock, marks)
    try:
        await connection.start()
        await connection.initialize()
    except RpcTimeout:
        await connection.close()
        raise problems.silent(entry, config.start_timeout) from None
    except RuntimeLost:
        why = await connection.why_not()
        await connection.close()
        raise why from None
    except OSError as error:
        where = f"{error.filename}: " if error.filename else ""
        raise problems.missing(entry, f"{where}{error.strerror}") from error
    except RpcError as error:
        await connection.close()
        raise problems.refuses(entry, "initialise", error.code, error.message) from error
    except BaseException:
        await connection.close()
        raise
    return connection
