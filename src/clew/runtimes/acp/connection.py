"""The connection to an ACP agent: sends requests, and passes what arrives to its session."""

from __future__ import annotations

import asyncio
import itertools
import logging
from typing import Protocol, TypeVar

import msgspec

from clew.process.scan import Mark, Marks
from clew.runtimes.acp import problems, wire
from clew.runtimes.acp.agents.known import Entry, recognised
from clew.runtimes.acp.agents.settings import AcpConfig
from clew.runtimes.connection import AnyConnection, AnyRoute
from clew.runtimes.jsonrpc import INVALID_REQUEST, METHOD_NOT_FOUND, RequestId, RpcError, RpcTimeout
from clew.runtimes.process import spawn
from clew.runtimes.server import OnLost
from clew.support.clock import Clock
from clew.support.errors import RuntimeLost, RuntimeTrouble
from clew.support.version import __version__
from clew.texts.catalogue import say

log = logging.getLogger(__name__)

T = TypeVar("T")

STEER = "_session/steering"
LOGGED_IN = {"none": False, "account": True, "api_key": True, "gateway": True, "external": True}


class Route(AnyRoute, Protocol):
    def updated(self, update: msgspec.Raw) -> None: ...

    def on_request(self, id: RequestId, method: str, params: msgspec.Raw) -> bool:
        """False: this kind of request is unknown."""


class Connection(AnyConnection[Route]):
    """Made by `connect`."""

    def __init__(
        self, entry: Entry, config: AcpConfig, clock: Clock, marks: Marks, folder: str, on_lost: OnLost
    ) -> None:
        """`folder`: where the program is started, if the config does not say."""
        super().__init__(entry.title, clock, with_version=True, on_lost=on_lost)
        self.entry = entry
        self.turns: set[object] = set()  # that run on it
        self.logged_in: bool | None = None  # None: the agent did not say
        self.told_login = asyncio.Event()
        self._folder = folder
        self._is_retired = False
        self._closing: asyncio.Task[None] | None = None
        self.agent = wire.Initialized()
        self.unusable: set[str] = set()  # sessions that accept no more prompts
        self.token = clock.token()[:12]
        self._config = config
        self._clock = clock
        self._marks = marks
        self._numbers = itertools.count(1)  # for the agent's requests
        self._unanswered: dict[RequestId, str] = {}  # the agent's open requests, with our reference of each

    @property
    def is_alive(self) -> bool:
        """Whether it takes new turns."""
        return super().is_alive and not self._is_retired

    def retire(self) -> None:
        """Take no more turns, and end when the last one is over."""
        self._is_retired = True

    def end_turn(self, turn: object) -> None:
        self.turns.discard(turn)
        if self._is_retired and not self.turns and self._closing is None:
            self._routes.clear()  # their next turns are on another connection, which this loss does not concern
            self._closing = asyncio.get_running_loop().create_task(self.close())

    def mark(self) -> Mark:
        return self._marks.next()

    async def start(self) -> None:
        env = {**self.entry.env, **self._config.env, **self.entry.quirks.asking.env}
        child = await spawn(
            self.entry.command,
            self._marks.next(),
            self._clock,
            self.feed,
            name=self.entry.name,
            env=env,
            cwd=self._config.folder or self._folder,
            on_lost=self.lost,
        )
        self.use(child)

    async def initialize(self) -> None:
        params = {
            "protocolVersion": wire.VERSION,
            "clientCapabilities": {
                "fs": {"readTextFile": True, "writeTextFile": True},
                "terminal": self._takes_terminals,
            },
            "clientInfo": {"name": "clew", "title": "clew", "version": __version__},
        }
        raw = await self._peer.request("initialize", params, time_limit=self._config.start_timeout)
        self.agent = wire.read(raw, wire.Initialized) or wire.Initialized()
        if self.agent.protocol_version != wire.VERSION:
            raise problems.wrong_version(self.entry, self.agent.protocol_version)
        if (about := self.agent.agent_info) is not None:
            self.entry = recognised(self.entry, about.name)
        if self._config.auth is not None:
            given = {"methodId": self._config.auth}
            await self._peer.request("authenticate", given, time_limit=self._config.start_timeout)

    @property
    def _takes_terminals(self) -> bool:
        own = self._config.terminals
        return self.entry.quirks.takes_terminals if own is None else own

    async def start_error(self) -> RuntimeTrouble:
        """Return the error for an agent that did not start."""
        assert self._transport is not None
        await self._transport.wait_exited()
        return problems.exits(self.entry, self._transport.exit_reason(), self._transport.stderr_tail)

    async def ask(self, method: str, params: object, kind: type[T]) -> T:
        """Send a request. Raises RpcError if the agent refuses, RuntimeLost if it does not answer in time; then it is
        killed, or, if turns of others run on it, ended after them."""
        try:
            raw = await self._peer.request(method, params, time_limit=self._config.request_timeout)
        except RpcTimeout:
            log.warning("%s does not answer %s; ending it", self.entry.title, method)
            if self.turns:
                self.retire()
            else:
                await self.kill()
            raise
        return wire.read(raw, kind) or kind()

    async def prompt(self, params: object) -> wire.Prompted:
        """Send a prompt and wait for the end of the turn, without a time limit."""
        raw = await self._peer.request("session/prompt", params, time_limit=None)
        return wire.read(raw, wire.Prompted) or wire.Prompted()

    async def steer(self, session: str, prompt: object) -> bool:
        """Send a message into the running turn. False: the agent did not take it. Raises RuntimeLost."""
        meta = {"steering": {"idleBehavior": "promptRequired"}}
        params = {"sessionId": session, "prompt": prompt, "_meta": meta}
        try:
            raw = await self._peer.request(STEER, params, time_limit=self._config.request_timeout)
        except RpcError as error:
            log.info("%s did not take a steer: %s", self.entry.title, problems.reply(error))
            return False
        return (wire.read(raw, wire.Steered) or wire.Steered()).outcome in ("injected", "startedNewTurn")

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
        if method == "_auth/status_update":
            self._hear_login(wire.read(params, wire.AuthUpdate) or wire.AuthUpdate())
            return
        address = wire.read(params, wire.Address) if method == "session/update" else None
        route = self._routes.get(address.session_id) if address else None
        if address is None or route is None:
            log.debug("dropped %s: no session for it", method)
        else:
            route.updated(address.update)

    def _hear_login(self, update: wire.AuthUpdate) -> None:
        self.logged_in = LOGGED_IN.get(update.auth_status.kind, self.logged_in)
        self.told_login.set()

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


async def connect(
    entry: Entry, config: AcpConfig, clock: Clock, marks: Marks, folder: str, on_lost: OnLost
) -> Connection:
    """Start the agent in a folder and initialize it. On failure it raises RuntimeTrouble and leaves no process."""
    connection = Connection(entry, config, clock, marks, folder, on_lost)
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
        raise problems.refuses(entry, say("acp.do_start"), error) from error
    except BaseException:
        await connection.close()
        raise
    return connection
