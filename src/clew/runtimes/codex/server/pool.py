"""Which app-server works on which thread. One serves all; beside it there may be former ones, kept from an earlier
daemon and of another Codex than this one would begin: their threads stay with them until they have nothing to do, and
then they are ended. Nothing else gets two servers: Codex lets only one process write a thread.
"""

from __future__ import annotations

import asyncio
import logging
from dataclasses import dataclass, field

from clew.config.settings import CodexConfig
from clew.process.kept_programs import KeptProgram
from clew.process.scan import Marks
from clew.runtimes.codex.server import binary
from clew.runtimes.codex.server.connection import Connection, connect
from clew.runtimes.codex.server.kept_server import Keeping
from clew.runtimes.jsonrpc import RpcError
from clew.runtimes.server import Server
from clew.support.clock import Clock
from clew.support.errors import RuntimeTrouble

log = logging.getLogger(__name__)

RETIRE = 1.0  # seconds for which a former one must have had nothing to do


@dataclass(slots=True)
class _Former:
    kept: KeptProgram
    server: Server[Connection]
    threads: frozenset[str] = field(default_factory=frozenset)  # those that it has loaded


class Servers:
    """Without `keeping` nothing may outlive us."""

    def __init__(self, config: CodexConfig, clock: Clock, marks: Marks, keeping: Keeping | None) -> None:
        self._config = config
        self._clock = clock
        self._marks = marks
        self._keeping = keeping
        self.main = self.new(keep=config.transport == "socket")
        self._kept: KeptProgram | None = None  # the one that `main` was last connected to
        self._former: list[_Former] = []
        self._coming: asyncio.Task[None] | None = None

    def new(self, *, keep: bool = False) -> Server[Connection]:
        start = self._connect_kept if keep and self._keeping is not None else self._connect
        return Server("Codex", start, self._clock, self._config.idle_stop)

    def come_back(self) -> None:
        """A daemon begins: what an earlier one let live is attached to. Whoever needs a server waits for that."""
        if self._keeping is not None and (living := self._keeping.living()):
            self._coming = asyncio.get_running_loop().create_task(self._attach(living))

    async def of(self, thread: str | None) -> Server[Connection]:
        if self._coming is not None:
            await asyncio.wait([self._coming])
        for former in self._former:
            if thread in former.threads and former.kept.find() is not None:
                return former.server
        return self.main

    async def leave(self) -> None:
        """What works goes on without us; what is idle ends, so that the next one begins with what is set then. What was
        only just attached to is asked first which of the two it is."""
        if self._coming is not None:
            await asyncio.wait([self._coming])
        await asyncio.gather(*(server.leave() for server in self._all()))

    async def close(self) -> None:
        if self._coming is not None:
            self._coming.cancel()
            await asyncio.wait([self._coming])
        await asyncio.gather(*(server.close() for server in self._all()))

    def _all(self) -> list[Server[Connection]]:
        return [self.main, *(former.server for former in self._former)]

    async def _attach(self, living: list[KeptProgram]) -> None:
        ours = await self._name()
        for kept in living:
            try:
                if kept.name == ours:
                    await (await self.main.connect()).loaded()
                else:
                    await self._take_over(kept)
            except (RuntimeTrouble, RpcError) as trouble:
                log.warning("Codex was kept, pid %d, and cannot be attached to: %s", kept.program.pid, trouble.message)

    async def _name(self) -> str | None:
        """Of the kept server that we want; None: none, or we do not know."""
        if self._keeping is None or self._config.transport != "socket":
            return None
        try:
            return self._keeping.name(await binary.find(self._config, self._clock, self._marks))
        except RuntimeTrouble:
            return None

    async def _take_over(self, kept: KeptProgram) -> None:
        keeping = self._keeping
        assert keeping is not None
        server: Server[Connection] = Server("The former Codex", lambda: keeping.attach(kept), self._clock, RETIRE)
        former = _Former(kept, server)
        self._former.append(former)
        server.begin(kept)  # until it is known what it works on
        try:
            connection = await server.connect()
            former.threads = frozenset(thread.id for thread in await connection.loaded())
        finally:
            server.done(kept, well=False)
        log.info("the former Codex %s, pid %d, ends when its turns have", kept.version, kept.program.pid)

    async def _connect(self) -> Connection:
        found = await binary.find(self._config, self._clock, self._marks)
        return await connect(self._config, self._clock, self._marks, found)

    async def _connect_kept(self) -> Connection:
        """To the one that we had, while it lives: its turns are ours, though Codex was replaced by a newer one."""
        assert self._keeping is not None
        if self._kept is not None and self._kept.find() is not None:
            connection = await self._keeping.rejoin(self._kept)
            if connection is not None:
                return connection
        found = await binary.find(self._config, self._clock, self._marks)
        self._kept, connection = await self._keeping.connect(found)
        return connection
