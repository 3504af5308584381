"""Runs any agent of the Agent Client Protocol (stdio) as a runtime."""

from __future__ import annotations

import asyncio
import shutil
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec.structs import replace

from clew.model.runtime import Health, HealthState, ModelInfo, ProgramInfo, RuntimeCan, Seat
from clew.process.scan import Marks
from clew.runtimes.acp import problems
from clew.runtimes.acp.agents.known import Entry, starts_alike
from clew.runtimes.acp.agents.settings import AcpConfig, Program
from clew.runtimes.acp.programs import Programs
from clew.runtimes.process import within
from clew.runtimes.server import OnLost, ignore
from clew.support.clock import Clock
from clew.texts.catalogue import say

if TYPE_CHECKING:  # loaded by the first session: a daemon that has no ACP thread starts faster without them
    from clew.runtimes.acp.connection import Connection
    from clew.runtimes.acp.session import AcpSession

LOGIN_TOLD = 5.0  # seconds for an agent that said that it will report its login


class AcpRuntime:
    def __init__(self, entry: Entry, config: AcpConfig, clock: Clock, marks: Marks) -> None:
        self.name = entry.name
        self._entry = entry
        self._config = config
        self._clock = clock
        self._marks = marks
        self._models: tuple[ModelInfo, ...] = ()
        self._takes_images = True  # until the agent says otherwise
        self._takes_steers = False  # until the agent says so
        self._programs = Programs(entry.title, self._program, clock, config.idle_stop, self._connect)
        self._learning = asyncio.Lock()
        self._is_known = False  # the agent has said what it is

    @property
    def can(self) -> RuntimeCan:
        return RuntimeCan(steer=self._takes_steers, images=self._takes_images)

    async def open(self, seat: Seat) -> AcpSession:
        from clew.runtimes.acp.session import AcpSession

        await self._learn(seat)
        server = self._programs.server(seat)
        session = AcpSession(server, self._config, self._clock, seat, self._remember_models, self._programs.leave)
        await session.enter()
        return session

    @property
    def _program(self) -> Program:
        return Program(self._config.program or self._entry.quirks.program)

    async def _learn(self, seat: Seat) -> None:
        """Start the program for the first time. If the agent then says that it is another than its command seemed to
        say, and that one is started in another way, start it anew."""
        from clew.runtimes.acp.client.files import is_folder

        async with self._learning:
            if self._is_known or not is_folder(seat.workspace):
                return
            before = self._entry.quirks
            await self._programs.server(seat).connect()
            is_alike = starts_alike(before, self._entry.quirks) and self._programs.program is self._program
            if not is_alike:
                await self._programs.start_anew(self._program)
            self._is_known = True

    async def health(self) -> Health:
        try:
            locate(self._entry)
        except problems.AgentMissing as missing:
            return Health(HealthState.STOPPED, missing.words, is_there=False)
        return self._programs.health()

    def is_there(self) -> bool:
        try:
            return bool(locate(self._entry))
        except problems.AgentMissing:
            return False

    async def look(self) -> ProgramInfo:
        """Start a session, because only that shows whether the agent is not logged in. Many begin one in any case, so
        a login is reported only if the agent says so, or is known to check it."""
        from clew.runtimes.acp.opening.sessions import start
        from clew.runtimes.jsonrpc import RpcTimeout

        with tempfile.TemporaryDirectory(prefix="clew-look-") as folder:
            connection = await self._connect(folder, ignore)
            try:
                await start(connection, Seat("look", folder))
                if connection.agent.agent_capabilities.tells_login:
                    await within(LOGIN_TOLD, connection.told_login)
            except RpcTimeout:
                raise problems.silent(self._entry, self._config.request_timeout) from None
            finally:
                await connection.close()
        if connection.logged_in is False:
            raise problems.not_logged_in(self._entry)
        about, is_known = connection.agent.agent_info, connection.logged_in or connection.entry.quirks.checks_login
        return ProgramInfo(about.version if about else "", locate(self._entry), True if is_known else None)

    async def models(self) -> tuple[ModelInfo, ...]:
        """Those that the agent named at its last session: there is no other way to ask it."""
        return self._models

    def _remember_models(self, names: tuple[str, ...]) -> None:
        self._models = tuple(map(ModelInfo, names))

    async def close(self) -> None:
        await self._programs.close()

    async def _connect(self, folder: str, on_lost: OnLost) -> Connection:
        from clew.runtimes.acp.connection import connect

        program = locate(self._entry)
        entry = replace(self._entry, command=(program, *self._entry.command[1:]))
        connection = await connect(entry, self._config, self._clock, self._marks, folder, on_lost)
        self._entry = replace(self._entry, quirks=connection.entry.quirks)
        self._takes_images = connection.agent.agent_capabilities.prompt_capabilities.image
        self._takes_steers = connection.agent.takes_steers
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
