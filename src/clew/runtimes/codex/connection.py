"""One running app-server: the child, its JSON-RPC peer, and who hears about which thread.

A connection lives once. When it is lost, everything on it fails with RuntimeLost, and a new one is made.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from pathlib import Path
from typing import Protocol, TypeVar

import msgspec

from clew import __version__
from clew.clock import Clock
from clew.config import CodexConfig
from clew.errors import RuntimeLost, RuntimeTrouble
from clew.processes import Marks
from clew.runtimes.codex import answers, trouble, wire
from clew.runtimes.codex.binary import Binary
from clew.runtimes.codex.gates import Gates, Pending
from clew.runtimes.jsonrpc import METHOD_NOT_FOUND, Peer, RequestId, RpcError, RpcTimeout
from clew.runtimes.process import Child, spawn

log = logging.getLogger(__name__)

T = TypeVar("T")

FROZEN_GRACE = 0.2  # seconds for one that does not answer anyway
NOISE = ["account/rateLimits/updated", "thread/readState/changed", "remoteControl/status/changed", "turn/diff/updated"]


class Route(Protocol):
    """Who hears about one thread. Called by the reader: must not block."""

    def notified(self, method: str, params: msgspec.Raw) -> None: ...

    def asked(self, pending: Pending) -> bool:
        """False: nobody here can be asked, and so it is declined."""

    def resolved(self, pending: Pending) -> None:
        """Codex wants no answer any more."""

    def lost(self, reason: str) -> None: ...


class Connection:
    """Made by `connect`."""

    def __init__(self, config: CodexConfig, clock: Clock, binary: Binary) -> None:
        self.binary = binary
        self.on_lost: Callable[[str], None] | None = None
        self.is_closing = False
        self._config = config
        self._peer = Peer(self._send, self, clock, name="Codex")
        self.gates = Gates(clock.token(), self._peer.answer)
        self._child: Child | None = None
        self._routes: dict[str, Route] = {}

    @property
    def is_alive(self) -> bool:
        return self._child is not None and self._child.hears and not self.is_closing

    @property
    def pid(self) -> int | None:
        return self._child.pid if self._child is not None and self.is_alive else None

    async def start(self, clock: Clock, marks: Marks) -> None:
        argv = [self.binary.path, "app-server", "--listen", "stdio://"]
        env = _environment(self._config)
        self._child = await spawn(argv, marks.next(), clock, self._peer.feed, name="codex", env=env)
        self._child.on_lost = self._lost
        if not self._child.is_alive:
            self._lost()

    async def initialize(self) -> None:
        capabilities = {"experimentalApi": True, "optOutNotificationMethods": NOISE}
        params = {"clientInfo": {"name": "clew", "title": "clew", "version": __version__}, "capabilities": capabilities}
        await self._peer.request("initialize", params, within=self._config.start_timeout)
        self._peer.notify("initialized")
        account = await self.ask("account/read", {}, wire.Account)
        if account.requires_openai_auth and account.account is None:
            raise trouble.not_logged_in()

    async def why_not(self) -> RuntimeTrouble:
        """What to say when it did not come up."""
        assert self._child is not None
        await self._child.settled()
        return trouble.exits(self.binary.path, self._child.fate(), self._child.last_words)

    async def ask(self, method: str, params: object, kind: type[T], within: float | None = None) -> T:
        """Raises RpcError where Codex says no, RuntimeLost where it says nothing."""
        try:
            raw = await self._peer.request(method, params, within=within or self._config.request_timeout)
        except RpcTimeout:
            await self._bury_if_frozen()
            raise
        if (answer := wire.read(raw, kind)) is None:
            raise trouble.refuses(method, "it answered in a shape that clew does not know; is it much newer than clew?")
        return answer

    async def _bury_if_frozen(self) -> None:
        """Some requests are never answered. A child that answers nothing at all is as good as dead, and is made so: its
        record can be read only then, and the next turn gets a new one."""
        try:
            await self._peer.request("account/read", {}, within=self._config.interrupt_timeout)
        except RpcTimeout:
            log.warning("Codex does not answer at all; it is ended")
            if self._child is not None:
                await self._child.end(grace=FROZEN_GRACE)
        except (RpcError, RuntimeLost):
            return  # it answers, or is gone already

    def listen(self, thread: str, route: Route) -> None:
        self._routes[thread] = route

    def forget(self, thread: str, route: Route) -> bool:
        """False: somebody else listens there by now."""
        if self._routes.get(thread) is not route:
            return False
        del self._routes[thread]
        return True

    async def close(self) -> None:
        """The child and all its descendants are gone afterwards, and what was open has failed."""
        self.is_closing = True
        if self._child is not None:
            await self._child.end()

    def notified(self, method: str, params: msgspec.Raw) -> None:
        if method == "serverRequest/resolved":
            self._resolved(params)
            return
        address = wire.read(params, wire.Address)
        route = self._routes.get(address.thread_id) if address and address.thread_id else None
        if route is not None:
            route.notified(method, params)
        elif method == "configWarning":
            log.info("Codex warns: %s", (wire.read(params, wire.WarningNote) or wire.WarningNote()).summary)
        else:
            log.debug("dropped %s: no session for it", method)

    def asked(self, id: RequestId, method: str, params: msgspec.Raw) -> None:
        if (pending := self.gates.take_in(id, method, params)) is None:
            log.warning("Codex asked for %s, which clew does not know", method)
            self._peer.refuse(id, METHOD_NOT_FOUND, f"clew does not know {method}")
            return
        route = self._routes.get(pending.thread)
        if route is None or not route.asked(pending):
            pending.answer(answers.NO)

    def _resolved(self, params: msgspec.Raw) -> None:
        note = wire.read(params, wire.ResolvedNote)
        pending = self.gates.resolved(note.request_id) if note else None
        if pending is not None and (route := self._routes.get(pending.thread)) is not None:
            route.resolved(pending)

    def _send(self, line: bytes) -> None:
        assert self._child is not None
        self._child.write(line)

    def _lost(self) -> None:
        assert self._child is not None
        reason = "Codex was stopped" if self.is_closing else f"Codex is gone ({self._child.fate()})"
        self._peer.lost(reason)
        routes, self._routes = self._routes, {}
        for route in routes.values():
            route.lost(reason)
        if self.on_lost is not None:
            self.on_lost(reason)


def _environment(config: CodexConfig) -> dict[str, str]:
    return {"CODEX_HOME": str(Path(config.home).expanduser())} if config.home else {}


async def connect(config: CodexConfig, clock: Clock, marks: Marks, binary: Binary) -> Connection:
    """The child is there and initialised. Raises RuntimeTrouble with what is wrong, and leaves no process then."""
    connection = Connection(config, clock, binary)
    try:
        await connection.start(clock, marks)
        await connection.initialize()
    except RpcTimeout:
        await connection.close()
        silence = f"no answer within {config.start_timeout:g} s"
        raise trouble.exits(binary.path, silence) from None
    except RuntimeLost:
        why = await connection.why_not()
        await connection.close()
        raise why from None
    except OSError as error:
        raise trouble.missing(f"{binary.path}: {error.strerror}") from error
    except RpcError as error:
        await connection.close()
        raise trouble.refuses("initialise", error.message) from error
    except BaseException:
        await connection.close()
        raise
    return connection
