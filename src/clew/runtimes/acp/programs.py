"""The processes of one agent: which thread works in which process, and where each is started."""

from __future__ import annotations

import asyncio
import shutil
import tempfile
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import TYPE_CHECKING

from clew.model.runtime import Health, HealthState, Seat
from clew.runtimes.acp.agents.settings import Program
from clew.runtimes.server import OnLost, Server
from clew.support.clock import Clock
from clew.support.errors import RuntimeTrouble
from clew.texts.catalogue import say

if TYPE_CHECKING:  # loaded by the first session: a daemon that has no ACP thread starts faster without it
    from clew.runtimes.acp.connection import Connection

Connect = Callable[[str, OnLost], Awaitable["Connection"]]
_BEST_FIRST = (HealthState.HEALTHY, HealthState.DEGRADED, HealthState.STOPPED)


class Programs:
    def __init__(self, title: str, program: Program, clock: Clock, idle_stop: float, connect: Connect) -> None:
        """`connect` starts the agent in a folder."""
        self._title = title
        self.program = program
        self._clock = clock
        self._idle_stop = idle_stop
        self._connect = connect
        self._servers: dict[str, Server[Connection]] = {}
        self._made: set[Connection] = set()  # some are no longer handed out, and end with their last turn
        self._empty: str | None = None
        self._is_closed = False

    def server(self, seat: Seat) -> Server[Connection]:
        """The process that a thread works in. Raises RuntimeTrouble."""
        if self._is_closed:
            raise RuntimeTrouble(say("runtimes.closed", name=self._title))
        if (key := self._key(seat)) not in self._servers:
            self._servers[key] = self._new_server(seat)
        return self._servers[key]

    async def leave(self, seat: Seat) -> None:
        """A thread's session was closed: end its process if it has one of its own."""
        if self.program is Program.THREAD and (server := self._servers.pop(self._key(seat), None)) is not None:
            await server.close()

    async def start_anew(self, program: Program) -> None:
        """End all processes. `program`: which threads share one from now on."""
        servers, self._servers, self.program = self._servers, {}, program
        await asyncio.gather(*(server.close() for server in servers.values()))

    def health(self) -> Health:
        found = [server.health() for server in self._servers.values()]
        found.sort(key=lambda each: _BEST_FIRST.index(each.state))
        return found[0] if found else Health(HealthState.STOPPED, say("runtimes.idle"))

    async def close(self) -> None:
        self._is_closed = True
        await asyncio.gather(*(server.close() for server in self._servers.values()))
        await asyncio.gather(*(connection.close() for connection in self._made))
        if self._empty is not None:
            await asyncio.to_thread(shutil.rmtree, self._empty, ignore_errors=True)

    def _key(self, seat: Seat) -> str:
        match self.program:
            case Program.SHARED:
                return ""
            case Program.FOLDER:
                return str(Path(seat.workspace).resolve())
            case Program.THREAD:
                return f"{seat.thread}\n{seat.role}"

    def _new_server(self, seat: Seat) -> Server[Connection]:
        async def start(on_lost: OnLost) -> Connection:
            self._made = {each for each in self._made if not each.is_closing}
            connection = await self._connect(self._folder(seat), on_lost)
            self._made.add(connection)
            return connection

        return Server(self._title, start, self._clock, self._idle_stop)

    def _folder(self, seat: Seat) -> str:
        """Where a process is started: some agents run commands there. A shared one gets an empty folder."""
        if self.program is not Program.SHARED:
            return seat.workspace
        if self._empty is None or not Path(self._empty).is_dir():
            self._empty = tempfile.mkdtemp(prefix="clew-agent-")
        return self._empty
