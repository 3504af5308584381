"""Codex as a runtime: `codex app-server` as our child, one for all threads."""

from __future__ import annotations

from clew.clock import Clock
from clew.config import CodexConfig
from clew.processes import Marks
from clew.runtimes.base import Health, RuntimeCan, Seat
from clew.runtimes.codex import binary
from clew.runtimes.codex.connection import Connection, connect
from clew.runtimes.codex.session import CodexSession
from clew.runtimes.server import Server

__all__ = ["CodexRuntime"]


class CodexRuntime:
    name = "codex"
    can = RuntimeCan(steer=True, interrupt=True, record=True, fork=True, images=True, questions=True)

    def __init__(self, config: CodexConfig, clock: Clock, marks: Marks) -> None:
        self._config = config
        self._clock = clock
        self._marks = marks
        self._server: Server[Connection] = Server("Codex", self._connect, clock, config.idle_stop)

    async def open(self, seat: Seat) -> CodexSession:
        session = CodexSession(self._server, self._config, seat)
        await session.enter()
        return session

    async def health(self) -> Health:
        return self._server.health()

    async def close(self) -> None:
        await self._server.close()

    async def _connect(self) -> Connection:
        found = await binary.find(self._config, self._clock, self._marks)
        return await connect(self._config, self._clock, self._marks, found)
