"""Runs any agent of the Agent Client Protocol (stdio) as a runtime: one program serves all threads of a config
entry."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec.structs import replace

from clew.config import plugins
from clew.config.settings import AcpConfig
from clew.model.runtime import Health, HealthState, ProgramInfo, RuntimeCan, Seat
from clew.process.scan import Marks
from clew.runtimes.acp import problems
from clew.runtimes.acp.known_agents import KNOWN, Entry
from clew.runtimes.server import Server
from clew.support.clock import Clock
from clew.support.errors import ConfigError

if TYPE_CHECKING:  # loaded by the first session: a daemon that has no ACP thread starts faster without them
    from clew.runtimes.acp.connection import Connection
    from clew.runtimes.acp.session import AcpSession

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
        from clew.runtimes.acp.session import AcpSession

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

    async def close(self) -> None:
        await self._server.close()

    async def _connect(self) -> Connection:
        from clew.runtimes.acp.connection import connect

        program = locate(self._entry)
        entry = replace(self._entry, command=(program, *self._entry.command[1:]))
        return await connect(entry, self._config, self._clock, self._marks)


def locate(entry: Entry) -> str:
    """Return the path of the program. Raises AgentMissing."""
    wanted = str(Path(entry.command[0]).expanduser())
    if found := shutil.which(wanted):
        return found
    if Path(wanted).exists():
        raise problems.missing(entry, f"{wanted} cannot be run")
    raise problems.missing(entry, f"there is no {wanted}" if "/" in wanted else f"no {wanted} on the PATH")


def entries(config: Mapping[str, AcpConfig]) -> dict[str, tuple[Entry, AcpConfig]]:
    """Return the known agents and those of the config. Raises ConfigError if one has no command."""
    found = {name: (entry, AcpConfig()) for name, entry in KNOWN.items()}
    for name, settings in config.items():
        if name in plugins.BUILT_IN[plugins.RUNTIMES]:
            raise ConfigError(f"runtimes.acp.{name}: {name} is a built-in runtime. Choose another name")
        if name not in KNOWN and not settings.command:
            known = ", ".join(KNOWN)
            raise ConfigError(f'runtimes.acp.{name} needs `command`, such as ["{name}", "acp"]; known agents: {known}')
        entry = KNOWN.get(name) or Entry(name, name, settings.command)
        found[name] = replace(entry, command=settings.command or entry.command), settings
    return found


def names(config: Mapping[str, AcpConfig]) -> list[str]:
    """Return the names of all runtimes with these settings."""
    return sorted({*plugins.names(plugins.RUNTIMES), *KNOWN, *config} - {"acp"})


def make(config: Mapping[str, AcpConfig], clock: Clock, marks: Marks) -> dict[str, AcpRuntime]:
    return {name: AcpRuntime(entry, own, clock, marks) for name, (entry, own) in entries(config).items()}
