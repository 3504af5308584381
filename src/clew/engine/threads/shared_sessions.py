"""Shares adopted sessions with other programs: opens one only if nobody else has it open, imports the turns run there
meanwhile, and closes it some time after the last turn. It never takes a session away from another program."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence
from typing import cast

from clew.engine.core import Core
from clew.engine.threads.import_turns import finished, import_turns
from clew.engine.turns.sessions import Sessions
from clew.model.runtime import HealthState, Runtime, Seat, Session
from clew.model.shared_sessions import PastTurn, SharesSessions
from clew.model.threads import Continuity, SessionKey, Thread, ThreadStatus
from clew.store import Tx
from clew.store.tables import adoptions, continuity, threads, turns
from clew.store.tables.adoptions import Adoption
from clew.support.errors import RuntimeHeld, RuntimeTrouble
from clew.texts.catalogue import say

RELEASE_TIMEOUT = 10.0  # seconds for an ended turn to release its session
_log = logging.getLogger(__name__)


class SharedSessions:
    def __init__(self, core: Core, sessions: Sessions) -> None:
        self._core = core
        self._sessions = sessions
        self._runtimes: dict[str, str] = {}  # of the shared session of each thread that has one
        self._tried: set[str] = set()  # threads whose preparation was tried: their next turn may be claimed
        self._locks: dict[str, asyncio.Lock] = {}
        self._used: asyncio.Queue[str] = asyncio.Queue()
        self._uses: dict[str, int] = {}
        sessions.shared = self

    async def load(self) -> None:
        self._runtimes |= await self._core.read_with_retry(adoptions.runtimes)

    def add(self, thread: str, runtime: str) -> None:
        self._runtimes[thread] = runtime

    def has(self, key: SessionKey) -> bool:
        return self._key(key.thread) == key

    def free(self, key: SessionKey) -> None:
        if self.has(key):
            self._used.put_nowait(key.thread)

    def _key(self, thread: str) -> SessionKey | None:
        """The shared session of a thread, if it has one."""
        return SessionKey(thread, self._runtimes[thread]) if thread in self._runtimes else None

    def _is_open(self, thread: str) -> bool:
        key = self._key(thread)
        return key is not None and self._sessions.is_open(key)

    async def run(self) -> None:
        """Close each session some time after it was last used."""
        async with asyncio.TaskGroup() as group:
            while True:
                thread = await self._used.get()
                use = self._uses[thread] = self._uses.get(thread, 0) + 1
                group.create_task(self._close_later(thread, use))

    async def _close_later(self, thread: str, use: int) -> None:
        await self._core.clock.sleep(self._core.config.threads.release_after)
        queued = await self._core.read_with_retry(lambda tx: _with_waiting_turn(tx, thread))
        if self._uses[thread] == use and queued is None:
            await self.close_if_idle(thread)

    async def close_if_idle(self, thread: str) -> bool:
        """Close the session, so that other programs can use it. False: a turn uses it."""
        key, was_open = self._key(thread), self._is_open(thread)
        if key is not None and not await self._sessions.close_if_idle(key):
            return False
        if was_open:
            now = self._core.clock.now()
            await self._core.write_with_retry(lambda tx: tx.log(thread, None, "thread.released", now))
        return True

    async def close_when_idle(self, thread: str) -> bool:
        """Wait briefly for an ended turn to release the session, then close it."""
        try:
            async with asyncio.timeout(RELEASE_TIMEOUT):
                if (key := self._key(thread)) is not None:
                    await self._sessions.wait_idle(key)
        except TimeoutError:
            return False
        return await self.close_if_idle(thread)

    # Before a turn: import first what was done outside, so that history keeps the order

    def needs_preparation(self, thread: str) -> bool:
        """Whether `prepare` must be tried before the thread's next turn is claimed."""
        was_tried = thread in self._tried
        self._tried.discard(thread)
        return thread in self._runtimes and not was_tried and not self._is_open(thread)

    async def prepare(self, thread: str) -> None:
        """Open the session if a turn waits for it. If that fails, the turn reports the error."""
        self._tried.add(thread)
        row = await self._core.read_with_retry(lambda tx: _with_waiting_turn(tx, thread))
        key = self._key(thread)
        if row is None or key is None:
            return
        try:
            await self._sessions.open(row, key)
        except RuntimeTrouble as trouble:
            _log.info("the session of thread %s cannot be opened: %s", thread, trouble.message)
            return
        await self._sessions.release(key)

    async def enter(self, thread: Thread, seat: Seat, runtime: Runtime) -> Session:
        assert seat.continuity is not None, thread.id
        runtime_sessions = cast("SharesSessions", runtime)
        await self._check_not_held(thread, seat.continuity, runtime_sessions)
        session = await runtime.open(seat)
        try:
            await self._catch_up(thread.id, runtime_sessions, held=True)
        except BaseException:
            await session.close()
            raise
        return session

    async def _check_not_held(self, thread: Thread, session: Continuity, runtime_sessions: SharesSessions) -> None:
        who = (await runtime_sessions.holders([session])).get(session)
        if who is not None:
            raise RuntimeHeld(say("threads.held_elsewhere", runtime=thread.runtime, who=who, thread=thread.id))

    # What was done outside

    async def refresh(self, thread: str) -> None:
        """Import the turns run outside, but only if the runtime is up: starting it would take too long."""
        key = self._key(thread)
        if key is None or self._sessions.is_open(key):
            return
        runtime = self._core.runtimes.get(key.runtime)
        if runtime is None or (await runtime.health()).state is not HealthState.HEALTHY:
            return
        try:
            await self._catch_up(thread, cast("SharesSessions", runtime), held=False)
        except RuntimeTrouble as trouble:
            _log.info("the turns run outside in thread %s cannot be read now: %s", thread, trouble.message)

    async def _catch_up(self, thread: str, runtime_sessions: SharesSessions, *, held: bool) -> None:
        """Import new turns. Unless we hold the session, leave out those that may still run in another program."""
        async with self._locks.setdefault(thread, asyncio.Lock()):
            adoption, session = await self._core.read_with_retry(lambda tx: _adoption(tx, thread))
            past = await runtime_sessions.past(session, adoption.last_turn)
            ended = past if held else finished(past)
            if ended:
                await self._core.write_with_retry(lambda tx: self._import(tx, thread, ended))

    def _import(self, tx: Tx, thread: str, past: Sequence[PastTurn]) -> None:
        row = threads.get(tx, thread)
        assert row is not None, thread
        new = import_turns(tx, self._core, row, past)
        adoptions.set_last_turn(tx, thread, past[-1].runtime_turn)
        if new:
            tx.log(thread, None, "thread.taken_in", self._core.clock.now(), turns=new)


def _with_waiting_turn(tx: Tx, thread: str) -> Thread | None:
    """The thread, if a queued turn of it could start now."""
    row = threads.get(tx, thread)
    if row is None or row.status is not ThreadStatus.IDLE or turns.live(tx, thread):
        return None
    return row if turns.count_queued(tx, thread) else None


def _adoption(tx: Tx, thread: str) -> tuple[Adoption, Continuity]:
    adoption = adoptions.get(tx, thread)
    assert adoption is not None, thread
    session, _ = continuity.get(tx, SessionKey(thread, adoption.runtime))
    assert session is not None, thread
    return adoption, session
