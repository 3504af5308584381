"""Claude Code as a runtime: each session has a `claude` process of its own, as our child. It ends when it was idle for
long, and the next turn resumes the session in a new one."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Collection, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING

from clew.model.runtime import Health, HealthState, ModelInfo, ProgramInfo, RuntimeCan, Seat
from clew.model.shared_sessions import OutsideSession, PastTurn
from clew.model.threads import Continuity
from clew.process.scan import Marks
from clew.runtimes.claude.settings import ClaudeConfig
from clew.support.clock import Clock
from clew.support.errors import RuntimeTrouble
from clew.texts.catalogue import say

if TYPE_CHECKING:  # loaded by the first session: a daemon that has no thread of Claude starts faster without them
    from clew.runtimes.claude.record.orphans import Orphans
    from clew.runtimes.claude.session import ClaudeSession
    from clew.runtimes.probe import PingStep


class ClaudeRuntime:
    name = "claude"
    can = RuntimeCan(steer=True, record=True, images=True, adopt=True)

    def __init__(self, config: ClaudeConfig, clock: Clock, marks: Marks) -> None:
        self._config = config
        self._clock = clock
        self._marks = marks
        self._sessions: set[ClaudeSession] = set()
        self._trouble = ""  # why the last session could not be opened
        self._is_closed = False

    @cached_property
    def _orphans(self) -> Orphans:
        from clew.runtimes.claude.record.orphans import Orphans

        return Orphans(self._config, self._clock)

    async def open(self, seat: Seat) -> ClaudeSession:
        from clew.runtimes.claude.session import ClaudeSession

        if self._is_closed:
            raise RuntimeTrouble(say("runtimes.closed", name=self.name))
        session = ClaudeSession(self._config, self._clock, self._marks, seat, self._orphans, self._sessions.discard)
        self._sessions.add(session)
        try:
            await session.enter()
        except BaseException as error:
            self._trouble = error.words if isinstance(error, RuntimeTrouble) else ""
            await session.close()
            raise
        self._trouble = ""
        return session

    async def health(self) -> Health:
        """Healthy while the process of a session runs."""
        for session in self._sessions:
            if (health := session.health()).state is HealthState.HEALTHY:
                return health
        if self._trouble:
            return Health(HealthState.DEGRADED, self._trouble)
        return Health(HealthState.STOPPED, say("runtimes.idle"))

    def is_there(self) -> bool:
        from clew.runtimes.claude.program import binary

        try:
            return bool(binary.locate(self._config))
        except RuntimeTrouble:
            return False

    async def look(self) -> ProgramInfo:
        from clew.runtimes.claude import problems
        from clew.runtimes.claude.program import binary

        found = await binary.find(self._config, self._clock, self._marks)
        if await binary.is_logged_in(found, self._config, self._clock, self._marks) is False:
            raise problems.not_logged_in()
        return ProgramInfo(found.version, found.path, True)

    async def models(self) -> tuple[ModelInfo, ...]:
        """What Claude said when a session began; none before."""
        offered = [session.models for session in self._sessions if session.models]
        return offered[0] if offered else ()

    def ping_steps(self, time_limit: float) -> AsyncIterator[PingStep]:
        from clew.runtimes.claude.ping import ping

        return ping(self._config, self._clock, self._marks, time_limit)

    async def close(self) -> None:
        self._is_closed = True
        await asyncio.gather(self._orphans.close(), *(session.close() for session in list(self._sessions)))

    async def take_over(self, left: Mapping[int, str]) -> frozenset[int]:
        return await self._orphans.take_over(left)

    # Sessions that people also use without clew

    async def outside(self, folders: Sequence[str] = ()) -> AsyncIterator[OutsideSession]:
        from clew.runtimes.claude.record import external_sessions

        found = external_sessions.list_all(self._config, folders)
        while (each := await asyncio.to_thread(next, found, None)) is not None:
            yield each

    async def past(self, continuity: Continuity, after: str | None = None) -> list[PastTurn]:
        from clew.runtimes.claude.record import external_sessions

        return await asyncio.to_thread(external_sessions.past, self._config, _session_id(continuity), after)

    async def holders(self, sessions: Collection[Continuity]) -> Mapping[Continuity, str]:
        from clew.runtimes.claude.record import open_sessions

        names = {_session_id(each): each for each in sessions}
        store = self._marks.store
        found = await asyncio.to_thread(open_sessions.holders, self._config, names, store)
        return {names[name]: who for name, who in found.items()}

    def way_back(self, continuity: Continuity) -> str:
        program = self._config.command or "claude"
        home = f"CLAUDE_CONFIG_DIR={self._config.home} " if self._config.home else ""
        return f"{home}{program} --resume {_session_id(continuity)}"


def _session_id(continuity: Continuity) -> str:
    from clew.runtimes.claude.record.position import Position

    if (position := Position.read(continuity)) is None:
        raise RuntimeTrouble(say("claude.position_unreadable", data=repr(continuity.data)))
    return position.session
