"""The connection to an ACP agent: sends requests, and passes what arrives to its session."""

from __future__ import annotations

import itertools
import logging
from typing import Protocol, TypeVar

import msgspec

from clew.process.scan import Mark, Marks
from clew.runtimes.acp import problems, wire
from clew.runtimes.acp.agents.known import Entry
from clew.runtimes.acp.agents.settings import AcpConfig
from clew.runtimes.connection import AnyConnection, AnyRoute
from clew.runtimes.jsonrpc import INVALID_REQUEST, METHOD_NOT_FOUND, RequestId, RpcError, RpcTimeout
from clew.runtimes.process import spawn
from clew.support.clock import Clock
from clew.support.errors import RuntimeLost, RuntimeTrouble
from clew.support.version import __version__
from clew.texts.catalogue import say

log = logging.getLogger(__name__)

T = TypeVar("T")

CAN = {"fs": {"readTextFile": True, "writeTextFile": True}, "terminal": True}


class Route(AnyRoute, Protocol):
    def updated(self, update: msgspec.Raw) -> None: ...

    def on_request(self, id: RequestId, method: str, params: msgspec.Raw) -> bool:
        """False: this kind of request is unknown."""


class Connection(AnyConnection[Route]):
    """Made by `connect`."""

    def __init__(self, entry: Entry, config: AcpConfig, clock: Clock, marks: Marks) -> None:
        super().__init__(entry.title, clock, with_version=True)
        self.entry = entry
        self.agent = wire.Initialized()
        self.unusable: set[str] = set()  # sessions that accept no more prompts
        self.token = clock.token()[:12]
        self._config = config
        self._clock = clock
        self._marks = marks
        self._numbers = itertools.count(1)  # for the agent's requests
        self._unanswered: dict[RequestId, str] = {}  # the agent's open requests, with our reference of each

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
        raw = await self._peer.request("initialize", params, time_limit=self._config.start_timeout)
        self.agent = wire.read(raw, wire.Initialized) or wire.Initialized()
        if self.agent.protocol_version != wire.VERSION:
            raise problems.wrong_version(self.entry, self.agent.protocol_version)
        if self._config.auth is not None:
            given = {"methodId": self._config.auth}
            await self._peer.request("authenticate", given, time_limit=self._config.start_timeout)

    async def start_error(self) -> RuntimeTrouble:
        """Return the error for an agent that did not start."""
        assert self._transport is not None
        await self._transport.wait_exited()
        return problems.exits(self.entry, self._transport.exit_reason(), self._transport.stderr_tail)

    async def ask(self, method: str, params: object, kind: type[T]) -> T:
        """Send a request. Raises RpcError if the agent refuses, RuntimeLost if it does not answer in time; then it is
        killed."""
        try:
            raw = await self._peer.request(method, params, time_limit=self._config.request_timeout)
        except RpcTimeout:
            log.warning("%s does not answer %s; ending it", self.entry.title, method)
            await self.kill()
            raise
        return wire.read(raw, kind) or kind()

    async def prompt(self, params: object) -> wire.Prompted:
        """Send a prompt and wait for the end of the turn, without a time limit."""
        raw = await self._peer.request("session/prompt", params, time_limit=None)
        return wire.read(raw, wire.Prompted) or wire.Prompted()

    def notify(self, method: str, params: object) -> None:
        self._peer.notify(method, params)

    def reference(self, id: RequestId) -> str:
        """Return our own reference of an open request. It is unique even if the agent uses an id again."""
        return self._unanswered[id]

    def answer(self, id: RequestId, result: object) -> None:
        self._unanswered.pop(id, None)
        self._peer.answer(id, result)

    def refuse(self, id: RequestId, code: int, message: str) -> None:
        self._unanswered.pop(id, None)
        self._peer.refuse(id, code, message)

    def forget_request(self, id: RequestId, reference: str) -> None:
        """Drop a request that will not be answered."""
        if self._unanswered.get(id) == reference:
            del self._unanswered[id]

    def on_notification(self, method: str, params: msgspec.Raw) -> None:
        address = wire.read(params, wire.Address) if method == "session/update" else None
        route = self._routes.get(address.session_id) if address else None
        if address is None or route is None:
            log.debug("dropped %s: no session for it", method)
        else:
            route.updated(address.update)

    def on_request(self, id: RequestId, method: str, params: msgspec.Raw) -> None:
        """Refuse a second request with the id of an open one: each could get the other's answer."""
        if id in self._unanswered:
            log.warning("%s sent %s with the id of a request that is still open", self.entry.title, method)
            self._peer.refuse(id, INVALID_REQUEST, f"the id {id!r} is that of a request that is not answered yet")
            return
        self._unanswered[id] = f"{self.token}:{next(self._numbers)}"
        self._dispatch(id, method, params)

    def _dispatch(self, id: RequestId, method: str, params: msgspec.Raw) -> None:
        address = wire.read(params, wire.Address) or wire.Address()
        route = self._routes.get(address.session_id)
        if route is None or not route.on_request(id, method, params):
            log.warning("%s sent %s, which clew does not know", self.entry.title, method)
            self.refuse(id, METHOD_NOT_FOUND, f"clew does not know {method}, or not for this session")


async def connect(entry: Entry, config: AcpConfig, clock: Clock, marks: Marks) -> Connection:
    """Start the agent and initialize it. On failure it raises RuntimeTrouble and leaves no process."""
    connection = Connection(entry, config, clock, marks)
    try:
        await connection.start()
        await connection.initialize()
    except RpcTimeout:
        await connection.close()
        raise problems.silent(entry, config.start_timeout) from None
    except RuntimeLost:
        why = await connection.start_error()
        await connection.close()
        raise why from None
    except OSError as error:
        said = error.strerror or str(error)
        where = say("acp.at_path", path=str(error.filename), error=said) if error.filename else said
        raise problems.missing(entry, where) from error
    except RpcError as error:
        await connection.close()
        raise problems.refuses(entry, say("acp.do_start"), error.code, error.message) from error
    except BaseException:
        await connection.close()
        raise
    return connection
