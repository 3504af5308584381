"""Runs any agent of the Agent Client Protocol (stdio) as a runtime: one program serves all threads of a config
entry."""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec.structs import replace

from clew.model.runtime import Health, HealthState, ModelInfo, ProgramInfo, RuntimeCan, Seat
from clew.process.scan import Marks
from clew.runtimes.acp import problems
from clew.runtimes.acp.agents.known import Entry
from clew.runtimes.acp.agents.settings import AcpConfig
from clew.runtimes.server import Server
from clew.support.clock import Clock
from clew.texts.catalogue import say

if TYPE_CHECKING:  # loaded by the first session: a daemon that has no ACP thread starts faster without them
    from clew.runtimes.acp.connection import Connection
    from clew.runtimes.acp.session import AcpSession


class AcpRuntime:
    def __init__(self, entry: Entry, config: AcpConfig, clock: Clock, marks: Marks) -> None:
        self.name = entry.name
        self._entry = entry
        self._config = config
        self._clock = clock
        self._marks = marks
        self._models: tuple[ModelInfo, ...] = ()
        self._takes_images = True  # until the agent says otherwise
        self._server: Server[Connection] = Server(entry.title, self._connect, clock, config.idle_stop)

    @property
    def can(self) -> RuntimeCan:
        return RuntimeCan(images=self._takes_images)

    async def open(self, seat: Seat) -> AcpSession:
        from clew.runtimes.acp.session import AcpSession

        session = AcpSession(self._server, self._config, self._clock, seat, self._remember_models)
        await session.enter()
        return session

    async def health(self) -> Health:
        try:
            locate(self._entry)
        except problems.AgentMissing as missing:
            return Health(HealthState.STOPPED, missing.words, is_there=False)
        return self._server.health()

    async def look(self) -> ProgramInfo:
        """Start a session, because only that shows whether the agent is logged in."""
        from clew.runtimes.acp.open_session import start
        from clew.runtimes.jsonrpc import RpcTimeout

        connection = await self._connect()
        try:
            with tempfile.TemporaryDirectory(prefix="clew-look-") as folder:
                await start(connection, Seat("look", folder))
        except RpcTimeout:
            raise problems.silent(self._entry, self._config.request_timeout) from None
        finally:
            await connection.close()
        about = connection.agent.agent_info
        return ProgramInfo(about.version if about else "", locate(self._entry), True)

    async def models(self) -> tuple[ModelInfo, ...]:
        """Those that the agent named at its last session: there is no other way to ask it."""
        return self._models

    def _remember_models(self, names: tuple[str, ...]) -> None:
        self._models = tuple(map(ModelInfo, names))

    async def close(self) -> None:
        await self._server.close()

    async def _connect(self) -> Connection:
        from clew.runtimes.acp.connection import connect

        program = locate(self._entry)
        entry = replace(self._entry, command=(program, *self._entry.command[1:]))
        connection = await connect(entry, self._config, self._clock, self._marks)
        self._takes_images = connection.agent.agent_capabilities.prompt_capabilities.image
        return connection


def locate(entry: Entry) -> str:
    """Return the path of the program. Raises AgentMissing."""
    wanted = str(Path(entry.command[0]).expanduser())
    if found := shutil.which(wanted):
        return found
    if Path(wanted).exists():
        raise problems.missing(entry, say("acp.not_runnable", path=wanted))
    why = say("acp.no_file", path=wanted) if "/" in wanted else say("acp.not_on_path", name=wanted)
    raise problems.missing(entry, why)
