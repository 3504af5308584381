"""One running app-server: what is said to it, and which thread hears what it says.

When it is lost, a new one is made: to a new app-server where that was our child, to the same one where it is kept.
"""

from __future__ import annotations

import logging
from pathlib import Path
from typing import Protocol, TypeVar

import msgspec

from clew.config.settings import CodexConfig
from clew.process.scan import Marks
from clew.runtimes.codex import problems, wire
from clew.runtimes.codex.approvals import answers
from clew.runtimes.codex.approvals.pending import Gates, Pending
from clew.runtimes.codex.server.binary import Binary
from clew.runtimes.connection import AnyConnection, AnyRoute
from clew.runtimes.jsonrpc import INVALID_REQUEST, METHOD_NOT_FOUND, RequestId, RpcError, RpcTimeout
from clew.runtimes.process import spawn
from clew.support.clock import Clock
from clew.support.errors import BadInput, RuntimeLost, RuntimeTrouble
from clew.support.version import __version__

log = logging.getLogger(__name__)

T = TypeVar("T")

DRAINING = "Server is draining"  # what an app-server says that was told to end when its turns have ended
NOISE = ["account/rateLimits/updated", "thread/readState/changed", "remoteControl/status/changed", "turn/diff/updated"]


class Route(AnyRoute, Protocol):
    def notified(self, method: str, params: msgspec.Raw) -> None: ...

    def asked(self, pending: Pending) -> bool:
        """False: nobody here can be asked, and so it is declined."""

    def resolved(self, pending: Pending) -> None:
        """Codex wants no answer any more."""


class Connection(AnyConnection[Route]):
    """Made by `connect`, or by `Keeping`. `process` names the app-server's process for good."""

    def __init__(self, config: CodexConfig, clock: Clock, binary: Binary, process: str | None = None) -> None:
        super().__init__("Codex", clock)
        self.binary = binary
        self.pause = clock.sleep
        self.gates = Gates(process or clock.token(), self._peer.answer)
        self.working: set[str] = set()  # threads that it works on, whoever asked for it
        self._told: set[str] = set()  # threads of which it has told us by itself, as it does at every change
        self._config = config

    @property
    def is_working(self) -> bool:
        return bool(self.working)

    async def initialize(self) -> None:
        capabilities = {"experimentalApi": True, "optOutNotificationMethods": NOISE}
        params = {"clientInfo": {"name": "clew", "title": "clew", "version": __version__}, "capabilities": capabilities}
        await self._peer.request("initialize", params, within=self._config.start_timeout)
        self._peer.notify("initialized")
        account = await self.ask("account/read", {}, wire.Account)
        if account.requires_openai_auth and account.account is None:
            raise problems.not_logged_in()

    async def loaded(self) -> list[wire.Thread]:
        """The threads that it has in memory, with what each is doing."""
        threads: list[wire.Thread] = []
        page = wire.LoadedPage(next_cursor="")
        while page.next_cursor is not None:
            params = {"cursor": page.next_cursor} if page.next_cursor else {}
            page = await self.ask("thread/loaded/list", params, wire.LoadedPage)
            threads += [thread for id in page.data if (thread := await self._thread(id)) is not None]
        for thread in threads:
            self.answered(thread)
        return threads

    def answered(self, thread: wire.Thread) -> None:
        """What an answer says of a thread. What Codex has told by itself is not older, whichever of the two comes
        first."""
        if thread.status.is_active and thread.id not in self._told:
            self.working.add(thread.id)

    async def _thread(self, id: str) -> wire.Thread | None:
        try:
            return (await self.ask("thread/read", {"threadId": id}, wire.ThreadAnswer)).thread
        except RpcError:
            return None  # it has just let go of it

    async def why_not(self) -> RuntimeTrouble:
        """What to say when it did not come up."""
        assert self._transport is not None
        await self._transport.settled()
        return problems.exits(self.binary.path, self._transport.fate(), self._transport.last_words)

    async def ask(self, method: str, params: object, kind: type[T], within: float | None = None) -> T:
        """Raises RpcError where Codex says no, RuntimeLost where it says nothing."""
        try:
            raw = await self._peer.request(method, params, within=within or self._config.request_timeout)
        except RpcTimeout:
            await self._bury_if_frozen()
            raise
        except RpcError as error:
            if error.message.startswith(DRAINING):
                await self.bury()
                raise RuntimeLost("Codex was about to end.") from error
            raise
        if (answer := wire.read(raw, kind)) is None:
            raise problems.refuses(
                method, "it answered in a shape that clew does not know; is it much newer than clew?"
            )
        return answer

    async def _bury_if_frozen(self) -> None:
        """Some requests are never answered. A child that answers nothing at all is as good as dead, and is made so: its
        record can be read only then, and the next turn gets a new one."""
        try:
            await self._peer.request("account/read", {}, within=self._config.interrupt_timeout)
        except RpcTimeout:
            log.warning("Codex does not answer at all; it is ended")
            await self.bury()
        except (RpcError, RuntimeLost):
            return  # it answers, or is gone already

    async def close(self) -> None:
        """The app-server and all its descendants are gone afterwards, and what was open has failed. One that lives on
        after it was lost stays: whoever comes next finds it."""
        was_lost, self.is_closing = self._peer.is_lost, True
        if self._transport is None:
            return
        if was_lost and self._transport.lives_on:
            await self._transport.leave()
            return
        if self._transport.lives_on:
            self.gates.cancel_all()  # it would wait for their answers before it ends
        await self._transport.end()

    async def part(self) -> None:
        """We cannot use it as it is. Where it has nothing to do it ends, so that the next one begins with what is set
        then."""
        assert self._transport is not None
        try:
            idle = not self._transport.lives_on or not any(each.status.is_active for each in await self.loaded())
        except (RuntimeTrouble, RpcError):
            idle = False
        await (self.close() if idle else self.leave())

    def notified(self, method: str, params: msgspec.Raw) -> None:
        if method == "serverRequest/resolved":
            self._resolved(params)
            return
        address = wire.read(params, wire.Address)
        if method == "thread/status/changed" and (status := wire.read(params, wire.StatusNote)) is not None:
            self._note_status(address.thread_id if address else None, status.status.is_active)
        route = self._routes.get(address.thread_id) if address and address.thread_id else None
        if route is not None:
            route.notified(method, params)
        elif method == "configWarning":
            log.info("Codex warns: %s", (wire.read(params, wire.WarningNote) or wire.WarningNote()).summary)
        else:
            log.debug("dropped %s: no session for it", method)

    def asked(self, id: RequestId, method: str, params: msgspec.Raw) -> None:
        try:
            pending = self.gates.take_in(id, method, params)
        except BadInput as bad:
            self._refuse(id, INVALID_REQUEST, bad.message)
            return
        if pending is None:
            self._refuse(id, METHOD_NOT_FOUND, f"clew does not know {method}")
            return
        route = self._routes.get(pending.thread)
        if route is None or not route.asked(pending):
            pending.answer(answers.NO)

    def _refuse(self, id: RequestId, code: int, message: str) -> None:
        log.warning("refused a request of Codex: %s", message)
        self._peer.refuse(id, code, message)

    def _note_status(self, thread: str | None, is_active: bool) -> None:
        if thread is not None:
            self._told.add(thread)
            (self.working.add if is_active else self.working.discard)(thread)

    def _resolved(self, params: msgspec.Raw) -> None:
        note = wire.read(params, wire.ResolvedNote)
        pending = self.gates.resolved(note.request_id) if note else None
        if pending is not None and (route := self._routes.get(pending.thread)) is not None:
            route.resolved(pending)


def environment(config: CodexConfig) -> dict[str, str]:
    return {"CODEX_HOME": str(Path(config.home).expanduser())} if config.home else {}


async def connect(config: CodexConfig, clock: Clock, marks: Marks, binary: Binary) -> Connection:
    """To a child of ours. Raises RuntimeTrouble with what is wrong, and leaves no process then."""
    connection = Connection(config, clock, binary)
    argv = [binary.path, "app-server", "--listen", "stdio://"]
    try:
        child = await spawn(argv, marks.next(), clock, connection.feed, name="codex", env=environment(config))
    except OSError as error:
        raise problems.missing(f"{binary.path}: {error.strerror}") from error
    connection.use(child)
    await handshake(connection, config.start_timeout)
    return connection


async def handshake(connection: Connection, patience: float) -> None:
    """Raises RuntimeTrouble with what is wrong. A child is gone then; one that is kept only where it does not answer or
    has nothing to do."""
    path = connection.binary.path
    try:
        await connection.initialize()
    except RpcTimeout:
        await connection.close()
        raise problems.exits(path, f"no answer within {patience:g} s") from None
    except RuntimeLost:
        why = await connection.why_not()
        await connection.close()
        raise why from None
    except RpcError as error:
        await connection.leave()
        raise problems.refuses("initialise", error.message) from error
    except RuntimeTrouble:
        await connection.part()
        raise
    except BaseException:
        await connection.leave()
        raise
