"""Runs any agent of the Agent Client Protocol (stdio) as a runtime."""

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
        program = Program(config.program or entry.quirks.program)
        self._programs = Programs(entry.title, program, clock, config.idle_stop, self._connect)

    @property
    def can(self) -> RuntimeCan:
        return RuntimeCan(steer=self._takes_steers, images=self._takes_images)

    async def open(self, seat: Seat) -> AcpSession:
        from clew.runtimes.acp.session import AcpSession

        server = self._programs.server(seat)
        session = AcpSession(server, self._config, self._clock, seat, self._remember_models, self._programs.leave)
        await session.enter()
        return session

    async def health(self) -> Health:
        try:
            locate(self._entry)
        except problems.AgentMissing as missing:
            return Health(HealthState.STOPPED, missing.words, is_there=False)
        return self._programs.health()

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
