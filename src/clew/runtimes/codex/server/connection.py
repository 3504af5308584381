"""The connection to one app-server: sends requests, and passes what arrives to the session of its thread.

If it is lost, a new connection is made: to a new app-server if the old one was our child, to the same one if it is
kept.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable
from pathlib import Path
from typing import Protocol, TypeVar

import msgspec

from clew.process.scan import Marks
from clew.runtimes.codex import problems, wire
from clew.runtimes.codex.approvals import answers
from clew.runtimes.codex.approvals.pending import Gates, Pending
from clew.runtimes.codex.server.binary import Binary
from clew.runtimes.codex.settings import CodexConfig
from clew.runtimes.connection import AnyConnection, AnyRoute
from clew.runtimes.jsonrpc import INVALID_REQUEST, METHOD_NOT_FOUND, RequestId, RpcError, RpcTimeout
from clew.runtimes.process import spawn
from clew.runtimes.server import OnLost, ignore
from clew.support.clock import Clock
from clew.support.errors import BadInput, RuntimeLost, RuntimeTrouble
from clew.support.version import __version__
from clew.texts.catalogue import say

log = logging.getLogger(__name__)

T = TypeVar("T")

DRAINING = "Server is draining"  # the error of an app-server that will end after its turns
ACCOUNT_LIMITS = "account/rateLimits/updated"
NOISE = ["thread/readState/changed", "remoteControl/status/changed", "turn/diff/updated"]


class Route(AnyRoute, Protocol):
    def on_notification(self, method: str, params: msgspec.Raw) -> None: ...

    def on_request(self, pending: Pending) -> bool:
        """False: nobody can be asked, so the request is declined."""

    def resolved(self, pending: Pending) -> None:
        """Codex needs no answer to this request any more."""

    def for_sub_agent(self, thread: str, root_turn: str) -> Route | None:
        """A route for the thread of a sub-agent; None: this turn is not ours."""


class Connection(AnyConnection[Route]):
    """Made by `connect` or by `Keeping`. `process` is a unique, lasting name of the app-server's process."""

    def __init__(
        self,
        config: CodexConfig,
        clock: Clock,
        binary: Binary,
        process: str | None = None,
        on_lost: OnLost = ignore,
    ) -> None:
        super().__init__("Codex", clock, on_lost=on_lost)
        self.binary = binary
        self.pause = clock.sleep
        self.gates = Gates(process or clock.token(), self._peer.answer)
        self.working: set[str] = set()  # threads with a running turn, ours or another program's
        self._notified: set[str] = set()  # threads whose status arrived as a notification, as it does at every change
        self._config = config

    @property
    def is_working(self) -> bool:
        return bool(self.working)

    async def initialize(self) -> None:
        capabilities = {"experimentalApi": True, "optOutNotificationMethods": NOISE}
        params = {"clientInfo": {"name": "clew", "title": "clew", "version": __version__}, "capabilities": capabilities}
        await self._peer.request("initialize", params, time_limit=self._config.start_timeout)
        self._peer.notify("initialized")
        await self._check_login()

    async def _check_login(self) -> None:
        """Raises RuntimeTrouble if Codex says that nobody is logged in. If it cannot say that now, a turn will show
        it."""
        try:
            account = await self.ask("account/read", {}, wire.Account)
        except RpcError as error:
            log.warning("Codex does not tell whether it is logged in: %s", error.message)
            return
        if account.requires_openai_auth and account.account is None:
            raise problems.not_logged_in()

    async def loaded_threads(self) -> list[wire.Thread]:
        """Return the threads that the app-server has in memory, with their status."""
        threads: list[wire.Thread] = []
        page = wire.LoadedPage(next_cursor="")
        while page.next_cursor is not None:
            params = {"cursor": page.next_cursor} if page.next_cursor else {}
            page = await self.ask("thread/loaded/list", params, wire.LoadedPage)
            threads += [thread for id in page.data if (thread := await self._thread(id)) is not None]
        for thread in threads:
            self.note_status(thread)
        return threads

    def note_status(self, thread: wire.Thread) -> None:
        """Store the status of a thread from a response. A status from a notification is never older, so it wins."""
        if thread.status.is_active and thread.id not in self._notified:
            self.working.add(thread.id)

    async def _thread(self, id: str) -> wire.Thread | None:
        try:
            return (await self.ask("thread/read", {"threadId": id}, wire.ThreadAnswer)).thread
        except RpcError:
            return None  # just unloaded

    async def start_error(self) -> RuntimeTrouble:
        """Return the error for an app-server that did not start."""
        assert self._transport is not None
        await self._transport.wait_exited()
        return problems.exits(self.binary.path, self._transport.exit_reason(), self._transport.stderr_tail)

    async def ask(self, method: str, params: object, kind: type[T], time_limit: float | None = None) -> T:
        """Send a request. Raises RpcError if Codex refuses, RuntimeLost if it does not answer."""
        try:
            raw = await self._peer.request(method, params, time_limit=time_limit or self._config.request_timeout)
        except RpcTimeout:
            await self._kill_if_frozen()
            raise
        except RpcError as error:
            if error.message.startswith(DRAINING):
                await self.kill()
                raise RuntimeLost(say("codex.about_to_end")) from error
            raise
        if (answer := wire.read(raw, kind)) is None:
            raise problems.refuses(say("codex.do_method", method=method), say("codex.odd_answer"))
        return answer

    async def _kill_if_frozen(self) -> None:
        """Kill the app-server if it answers nothing at all; some requests alone are never answered. Only then can its
        record be read, and the next turn gets a new app-server."""
        try:
            await self._peer.request("account/read", {}, time_limit=self._config.interrupt_timeout)
        except RpcTimeout:
            log.warning("Codex does not answer at all; it is ended")
            await self.kill()
        except (RpcError, RuntimeLost):
            return  # it answers, or has ended

    async def close(self) -> None:
        """End the app-server and all its descendants; open requests fail. If only the connection was lost and the
        program runs on, leave it for the next connection."""
        was_lost, self.is_closing = self._peer.is_lost, True
        if self._transport is None:
            return
        if was_lost and self._transport.survives_disconnect:
            await self._transport.leave()
            return
        if self._transport.survives_disconnect:
            self.gates.cancel_all()  # otherwise it waits for their answers before it ends
        await self._transport.end()

    async def close_if_idle(self) -> None:
        """Give up an app-server that cannot be used. End it if it is idle, so that the next one starts with new
        settings."""
        assert self._transport is not None
        try:
            idle = not self._transport.survives_disconnect or not any(
                each.status.is_active for each in await self.loaded_threads()
            )
        except (RuntimeTrouble, RpcError):
            idle = False
        await (self.close() if idle else self.leave())

    def on_notification(self, method: str, params: msgspec.Raw) -> None:
        if method == "serverRequest/resolved":
            self._resolved(params)
            return
        address = wire.read(params, wire.Address)
        if method == "thread/status/changed" and (status := wire.read(params, wire.StatusNote)) is not None:
            self._on_status(address.thread_id if address else None, status.status.is_active)
        route = self._routes.get(address.thread_id) if address and address.thread_id else None
        if route is None and method == "turn/started" and address and address.thread_id:
            route = self._route_to_sub_agent(address.thread_id, params)
        if method == ACCOUNT_LIMITS:
            for each in dict.fromkeys(self._routes.values()):  # of the account, not of one thread
                each.on_notification(method, params)
        elif route is not None:
            route.on_notification(method, params)
        elif method == "configWarning":
            log.info("Codex warns: %s", (wire.read(params, wire.WarningNote) or wire.WarningNote()).summary)
        else:
            log.debug("dropped %s: no session for it", method)

    def on_request(self, id: RequestId, method: str, params: msgspec.Raw) -> None:
        try:
            pending = self.gates.add(id, method, params)
        except BadInput as bad:
            self._refuse(id, INVALID_REQUEST, bad.message)
            return
        if pending is None:
            self._refuse(id, METHOD_NOT_FOUND, f"clew does not know {method}")
            return
        route = self._routes.get(pending.thread)
        if route is None or not route.on_request(pending):
            pending.answer(answers.NO)

    def _route_to_sub_agent(self, thread: str, params: msgspec.Raw) -> Route | None:
        """Find the route of the turn in which a sub-agent began to work, and let it listen to that one too."""
        note = wire.read(params, wire.TurnNote)
        root = note.turn.root_turn_id if note else None
        found = (each.for_sub_agent(thread, root) for each in list(self._routes.values())) if root else ()
        route = next((each for each in found if each is not None), None)
        if route is not None:
            self.listen(thread, route)
        return route

    def hears(self, thread: str) -> bool:
        return thread in self._routes

    def forget_sub_agents(self, threads: Iterable[str]) -> None:
        for thread in threads:
            self._routes.pop(thread, None)

    def _refuse(self, id: RequestId, code: int, message: str) -> None:
        log.warning("refused a request of Codex: %s", message)
        self._peer.refuse(id, code, message)

    def _on_status(self, thread: str | None, is_active: bool) -> None:
        if thread is not None:
            self._notified.add(thread)
            (self.working.add if is_active else self.working.discard)(thread)

    def _resolved(self, params: msgspec.Raw) -> None:
        note = wire.read(params, wire.ResolvedNote)
        pending = self.gates.resolved(note.request_id) if note else None
        if pending is not None and (route := self._routes.get(pending.thread)) is not None:
            route.resolved(pending)


def environment(config: CodexConfig) -> dict[str, str]:
    return {"CODEX_HOME": str(Path(config.home).expanduser())} if config.home else {}


async def connect(
    config: CodexConfig, clock: Clock, marks: Marks, binary: Binary, on_lost: OnLost = ignore
) -> Connection:
    """Start an app-server as our child and connect to it. On failure it raises RuntimeTrouble and leaves no process."""
    connection = Connection(config, clock, binary, on_lost=on_lost)
    argv = [binary.path, "app-server", "--listen", "stdio://"]
    try:
        mark, env = marks.next(), environment(config)
        child = await spawn(argv, mark, clock, connection.feed, name="codex", env=env, on_lost=connection.lost)
    except OSError as error:
        raise problems.cannot_start(binary.path, error) from error
    connection.use(child)
    await handshake(connection, config.start_timeout)
    return connection


async def handshake(connection: Connection, time_limit: float) -> None:
    """Initialize the connection. On failure it raises RuntimeTrouble and ends a child; a kept program is ended only if
    it does not answer or is idle."""
    path = connection.binary.path
    try:
        await connection.initialize()
    except RpcTimeout:
        await connection.close()
        raise problems.exits(path, say("runtimes.silent_for", seconds=f"{time_limit:g}"), died=False) from None
    except RuntimeLost:
        why = await connection.start_error()
        await connection.close()
        raise why from None
    except RpcError as error:
        await connection.leave()
        raise problems.refuses(say("codex.do_start"), error.message) from error
    except RuntimeTrouble:
        await connection.close_if_idle()
        raise
    except BaseException:
        await connection.leave()
        raise
