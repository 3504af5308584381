"""Codex as a runtime: one `codex app-server` serves all threads, as our child or as a kept program that outlives the
daemon. A thread that other programs use too gets an app-server of its own, always a child: only its end surely frees
the thread."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Collection, Mapping, Sequence
from typing import TYPE_CHECKING

from clew.model.events import LimitWindow
from clew.model.runtime import Health, ModelInfo, ProgramInfo, RuntimeCan, Seat
from clew.model.shared_sessions import OutsideSession, PastTurn
from clew.model.threads import Continuity
from clew.process.scan import Marks
from clew.runtimes.codex import problems
from clew.runtimes.codex.server import binary, environment
from clew.runtimes.codex.server.pool import Servers
from clew.runtimes.codex.settings import CodexConfig
from clew.runtimes.server import Server
from clew.support.clock import Clock
from clew.support.errors import RuntimeTrouble
from clew.support.home import Home
from clew.texts.catalogue import say

if TYPE_CHECKING:  # loaded by the first session: a daemon that has no thread of Codex starts faster without them
    from clew.runtimes.codex.server.connection import Connection
    from clew.runtimes.codex.session import CodexSession
    from clew.runtimes.probe import PingStep


class CodexRuntime:
    """`keeps` is the home in which a kept app-server is recorded; None: no app-server outlives the daemon."""

    kind = "codex"  # the same for all its accounts

    def __init__(
        self, config: CodexConfig, clock: Clock, marks: Marks, keeps: Home | None = None, name: str = "codex"
    ) -> None:
        self.name = name
        self._config = config
        self._clock = clock
        self._marks = marks
        self._servers = Servers(config, clock, marks, keeps)
        self._dedicated: set[Server[Connection]] = set()
        self.can = RuntimeCan(
            steer=True,
            record=True,
            images=True,
            sandbox=True,
            adopt=True,
            outlives=keeps is not None and config.transport == "socket",
        )

    def come_back(self) -> None:
        self._servers.come_back()

    async def open(self, seat: Seat) -> CodexSession:
        from clew.runtimes.codex.session import CodexSession

        if seat.lent:
            return await self._open_shared(seat)
        session = CodexSession(self._servers.of, self._config, seat)
        await session.enter()
        return session

    async def health(self) -> Health:
        return self._servers.main.health()

    def is_there(self) -> bool:
        try:
            return bool(binary.locate(self._config))
        except RuntimeTrouble:
            return False

    async def look(self) -> ProgramInfo:
        from clew.runtimes.codex.server.connection import connect

        found = await binary.find(self._config, self._clock, self._marks)
        connection = await connect(self._config, self._clock, self._marks, found)
        await connection.close()
        return ProgramInfo(found.version, found.path, True)

    async def try_sandbox(self) -> None:
        from clew.runtimes.codex.server.sandbox import try_sandbox

        await try_sandbox(self._config, self._clock, self._marks)

    async def limits(self) -> tuple[LimitWindow, ...]:
        """What Codex says if it is asked. Without a login there is nothing to say; clew reads no credentials."""
        from clew.runtimes.codex import wire
        from clew.runtimes.codex.server import limits
        from clew.runtimes.jsonrpc import RpcError

        connection = await self._servers.main.connect()
        try:
            answer = await connection.ask("account/rateLimits/read", None, wire.AllLimits)
        except RpcError as error:
            raise problems.refuses(say("codex.do_tell_limits"), error.message) from error
        return limits.all_windows(answer)

    async def models(self) -> tuple[ModelInfo, ...]:
        from clew.runtimes.codex import wire
        from clew.runtimes.jsonrpc import RpcError

        connection = await self._servers.main.connect()
        try:
            page = await connection.ask("model/list", {}, wire.ModelPage)
        except RpcError as error:
            raise problems.refuses(say("codex.do_list_models"), error.message) from error
        return tuple(
            ModelInfo(
                each.model,
                each.display_name,
                tuple(effort.reasoning_effort for effort in each.supported_reasoning_efforts),
                each.is_default,
            )
            for each in page.data
        )

    def ping_steps(self, time_limit: float) -> AsyncIterator[PingStep]:
        from clew.runtimes.codex.ping import ping

        return ping(self._config, self._clock, self._marks, time_limit)

    def environment_marks(self) -> dict[str, str]:
        return environment.marks(self._config)

    async def leave(self) -> None:
        await asyncio.gather(self._servers.leave(), *(server.close() for server in self._dedicated))

    async def close(self) -> None:
        await asyncio.gather(self._servers.close(), *(server.close() for server in self._dedicated))

    # Threads that people also use without clew

    async def outside(self, folders: Sequence[str] = ()) -> AsyncIterator[OutsideSession]:
        from clew.runtimes.codex import external_sessions

        connection = await self._servers.main.connect()
        async for each in external_sessions.list_all(connection, folders):
            yield each

    async def past(self, continuity: Continuity, after: str | None = None) -> list[PastTurn]:
        from clew.runtimes.codex import external_sessions

        return await external_sessions.past(await self._servers.main.connect(), _thread_id(continuity), after)

    async def holders(self, sessions: Collection[Continuity]) -> Mapping[Continuity, str]:
        from clew.runtimes.codex import external_sessions

        names = {_thread_id(each): each for each in sessions}
        found = await asyncio.to_thread(external_sessions.holders, names)
        return {names[name]: who for name, who in found.items()}

    def way_back(self, continuity: Continuity) -> str:
        program = "clew codex" if self._config.home or self._config.command else "codex"
        return f"{program} resume {_thread_id(continuity)}"

    async def _open_shared(self, seat: Seat) -> CodexSession:
        from clew.runtimes.codex.session import CodexSession

        server = self._servers.new()
        self._dedicated.add(server)

        async def find_server(thread: str | None) -> Server[Connection]:
            return server

        async def close_server() -> None:
            await server.close()
            self._dedicated.discard(server)

        session = CodexSession(find_server, self._config, seat, close_server)
        try:
            await session.enter()
        except BaseException:
            await close_server()
            raise
        return session


def _thread_id(continuity: Continuity) -> str:
    from clew.runtimes.codex.threads import Position

    if (position := Position.read(continuity)) is None:
        raise RuntimeTrouble(say("codex.position_unreadable", data=repr(continuity.data)))
    return position.thread
