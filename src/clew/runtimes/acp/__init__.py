"""Any agent that speaks the Agent Client Protocol over stdio, as a runtime: one program for all threads of an entry."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Mapping
from pathlib import Path

from msgspec.structs import replace

from clew.config import plugins
from clew.config.settings import AcpConfig
from clew.model.runtime import Health, HealthState, ProgramInfo, RuntimeCan, Seat
from clew.process.scan import Marks
from clew.runtimes.acp import problems
from clew.runtimes.acp.connection import Connection, connect
from clew.runtimes.acp.known_agents import READY, Entry
from clew.runtimes.acp.open_session import begin
from clew.runtimes.acp.session import AcpSession
from clew.runtimes.jsonrpc import RpcTimeout
from clew.runtimes.server import Server
from clew.support.clock import Clock
from clew.support.errors import ConfigError

__all__ = ["AcpRuntime", "make"]


class AcpRuntime:
    can = RuntimeCan(interrupt=True, images=True)

    def __init__(self, entry: Entry, config: AcpConfig, clock: Clock, marks: Marks) -> None:
        self.name = entry.name
        self._entry = entry
        self._config = config
        self._clock = clock
        self._marks = marks
        self._server: Server[Connection] = Server(entry.title, self._connect, clock, config.idle_stop)

    async def open(self, seat: Seat) -> AcpSession:
        session = AcpSession(self._server, self._config, self._clock, seat)
        await session.enter()
        return session

    async def health(self) -> Health:
        try:
            locate(self._entry)
        except problems.AgentMissing as missing:
            return Health(HealthState.STOPPED, missing.message, is_there=False)
        return self._server.health()

    async def look(self) -> ProgramInfo:
        """Whether it is logged in shows only when it is to begin a session."""
        connection = await self._connect()
        try:
            with tempfile.TemporaryDirectory(prefix="clew-look-") as folder:
                await begin(connection, Seat("look", folder))
        except RpcTimeout:
            raise problems.silent(self._entry, self._config.request_timeout) from None
        finally:
            await connection.close()
        about = connection.agent.agent_info
        return ProgramInfo(about.version if about else "", locate(self._entry), True)

    async def close(self) -> None:
        await self._server.close()

    async def _connect(self) -> Connection:
        program = locate(self._entry)
        entry = replace(self._entry, command=(program, *self._entry.command[1:]))
        return await connect(entry, self._config, self._clock, self._marks)


def locate(entry: Entry) -> str:
    """Where the program is. Raises AgentMissing."""
    wanted = str(Path(entry.command[0]).expanduser())
    if found := shutil.which(wanted):
        return found
    if Path(wanted).exists():
        raise problems.missing(entry, f"{wanted} cannot be run")
    raise problems.missing(entry, f"there is no {wanted}" if "/" in wanted else f"no {wanted} on the PATH")


def entries(config: Mapping[str, AcpConfig]) -> dict[str, tuple[Entry, AcpConfig]]:
    """The ready ones and those of the config. Raises ConfigError where one has no command."""
    found = {name: (entry, AcpConfig()) for name, entry in READY.items()}
    for name, settings in config.items():
        if name in plugins.BUILT_IN[plugins.RUNTIMES]:
            raise ConfigError(f"runtimes.acp.{name}: {name} is a runtime of its own; call this one otherwise")
        if name not in READY and not settings.command:
            known = ", ".join(READY)
            raise ConfigError(f'runtimes.acp.{name} needs `command`, such as ["{name}", "acp"]; ready are {known}')
        entry = READY.get(name) or Entry(name, name, settings.command)
        found[name] = replace(entry, command=settings.command or entry.command), settings
    return found


def names(config: Mapping[str, AcpConfig]) -> list[str]:
    """Of every runtime that there is by these settings."""
    return sorted({*plugins.names(plugins.RUNTIMES), *READY, *config} - {"acp"})


def make(config: Mapping[str, AcpConfig], clock: Clock, marks: Marks) -> dict[str, AcpRuntime]:
    return {name: AcpRuntime(entry, own, clock, marks) for name, (entry, own) in entries(config).items()}
