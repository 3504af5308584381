"""Chooses the app-server for a thread. One main server serves all threads. Beside it there may be former servers, kept
from an earlier daemon with another Codex or other settings: their threads stay with them until they are idle, and then
they end. A thread never has two servers: Codex lets only one process write it.
"""

from __future__ import annotations

import asyncio
import logging
from functools import cached_property
from typing import TYPE_CHECKING

from msgspec import Struct

from clew.process import kept_programs
from clew.process.kept_programs import KeptProgram
from clew.process.scan import Marks
from clew.runtimes.codex.server import binary
from clew.runtimes.codex.settings import CodexConfig
from clew.runtimes.server import OnLost, Server
from clew.support.clock import Clock
from clew.support.errors import RuntimeTrouble
from clew.support.home import Home

if TYPE_CHECKING:  # loaded by the first connection: a daemon that has no thread of Codex starts faster without them
    from clew.runtimes.codex.server.connection import Connection
    from clew.runtimes.codex.server.kept_server import Keeping

log = logging.getLogger(__name__)

FORMER_IDLE_STOP = 1.0  # seconds for which a former server must be idle before it is ended


class _Former(Struct):
    kept: KeptProgram
    server: Server[Connection]
    threads: frozenset[str] = frozenset()  # that it has loaded


class Servers:
    """The app-servers of one daemon. `keeps` is the home in which kept ones are recorded; None: no server outlives the
    daemon."""

    def __init__(self, config: CodexConfig, clock: Clock, marks: Marks, keeps: Home | None) -> None:
        self._config = config
        self._clock = clock
        self._marks = marks
        self._keeps = keeps
        self.main = self.new(keep=config.transport == "socket")
        self._kept: KeptProgram | None = None  # to which `main` was last connected
        self._former: list[_Former] = []
        self._attaching: asyncio.Task[None] | None = None

    @cached_property
    def _keeping(self) -> Keeping:
        from clew.runtimes.codex.server.kept_server import Keeping

        assert self._keeps is not None
        return Keeping(self._keeps, self._config, self._clock, self._marks)

    def new(self, *, keep: bool = False) -> Server[Connection]:
        start = self._connect_kept if keep and self._keeps is not None else self._connect
        return Server("Codex", start, self._clock, self._config.idle_stop)

    def come_back(self) -> None:
        """Attach to the servers that an earlier daemon left. `of` waits until that is done."""
        if self._keeps is not None and (living := _living(self._keeps)):
            self._attaching = asyncio.get_running_loop().create_task(self._attach(living))

    async def of(self, thread: str | None) -> Server[Connection]:
        if self._attaching is not None:
            await asyncio.wait([self._attaching])
        for former in self._former:
            if thread in former.threads and former.kept.find() is not None:
                return former.server
        return self.main

    async def leave(self) -> None:
        """Disconnect: busy servers go on, idle ones end, so that the next daemon starts with new settings. Waits for
        servers that are being attached to, to know whether they are busy."""
        if self._attaching is not None:
            await asyncio.wait([self._attaching])
        await asyncio.gather(*(server.leave() for server in self._all()))

    async def close(self) -> None:
        if self._attaching is not None:
            self._attaching.cancel()
            await asyncio.wait([self._attaching])
        await asyncio.gather(*(server.close() for server in self._all()))

    def _all(self) -> list[Server[Connection]]:
        return [self.main, *(former.server for former in self._former)]

    async def _attach(self, living: list[KeptProgram]) -> None:
        from clew.runtimes.jsonrpc import RpcError

        ours = await self._wanted_name()
        for kept in living:
            try:
                if kept.name == ours:
                    await (await self.main.connect()).loaded_threads()
                else:
                    await self._take_over(kept)
            except (RuntimeTrouble, RpcError) as trouble:
                log.warning("cannot attach to the kept Codex, pid %d: %s", kept.program.pid, trouble.message)

    async def _wanted_name(self) -> str | None:
        """Return the name of the kept server that we want; None: none, or unknown."""
        if self._keeps is None or self._config.transport != "socket":
            return None
        try:
            return self._keeping.name(await binary.find(self._config, self._clock, self._marks))
        except RuntimeTrouble:
            return None

    async def _take_over(self, kept: KeptProgram) -> None:
        keeping = self._keeping
        server: Server[Connection] = Server(
            "The former Codex", lambda on_lost: keeping.attach(kept, on_lost), self._clock, FORMER_IDLE_STOP
        )
        former = _Former(kept, server)
        self._former.append(former)
        server.mark_busy(kept)  # until its threads are known
        try:
            connection = await server.connect()
            former.threads = frozenset(thread.id for thread in await connection.loaded_threads())
        finally:
            server.mark_idle(kept, succeeded=False)
        log.info("the former Codex %s, pid %d, will end after its turns", kept.version, kept.program.pid)

    async def _connect(self, on_lost: OnLost) -> Connection:
        from clew.runtimes.codex.server.connection import connect

        found = await binary.find(self._config, self._clock, self._marks)
        return await connect(self._config, self._clock, self._marks, found, on_lost)

    async def _connect_kept(self, on_lost: OnLost) -> Connection:
        """Connect to the kept server we had, if it still runs: it has our turns, even if Codex was updated
        meanwhile."""
        if self._kept is not None and self._kept.find() is not None:
            connection = await self._keeping.rejoin(self._kept, on_lost)
            if connection is not None:
                return connection
        found = await binary.find(self._config, self._clock, self._marks)
        self._kept, connection = await self._keeping.connect(found, on_lost)
        return connection


def _living(home: Home) -> list[KeptProgram]:
    return [kept for kept in kept_programs.running(home) if kept.name.startswith("codex-")]
