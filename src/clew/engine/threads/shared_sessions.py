"""Living with other programs on adopted sessions: one is opened only where nobody else has it, what was done there
meanwhile is taken in first, and a while after a turn it is let go. It never takes a session away from anybody."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence
from typing import cast

from clew.engine.core import Core
from clew.engine.threads.import_turns import finished, import_turns
from clew.engine.turns.sessions import Sessions
from clew.model.runtime import Continuity, HealthState, Runtime, Seat, Session
from clew.model.shared_sessions import PastTurn, SharesSessions
from clew.model.threads import Thread, ThreadStatus
from clew.store import Tx
from clew.store.tables import adoptions, bindings, threads, turns
from clew.store.tables.adoptions import Adoption
from clew.support.errors import RuntimeHeld, RuntimeTrouble

LEAVING = 10.0  # seconds that a turn may take to leave its session once it has ended
_log = logging.getLogger(__name__)


class SharedSessions:
    def __init__(self, core: Core, sessions: Sessions) -> None:
        self._core = core
        self._sessions = sessions
        self._threads: set[str] = set()
        self._tried: set[str] = set()  # made ready, as far as that can be: its turn may be claimed
        self._locks: dict[str, asyncio.Lock] = {}
        self._used: asyncio.Queue[str] = asyncio.Queue()
        self._uses: dict[str, int] = {}
        sessions.lent = self

    async def load(self) -> None:
        self._threads |= await self._core.read_with_retry(adoptions.threads)

    def add(self, thread: str) -> None:
        self._threads.add(thread)

    def has(self, thread: str) -> bool:
        return thread in self._threads

    def free(self, thread: str) -> None:
        if self.has(thread):
            self._used.put_nowait(thread)

    async def run(self) -> None:
        """Let each session go some time after it was last used."""
        async with asyncio.TaskGroup() as group:
            while True:
                thread = await self._used.get()
                use = self._uses[thread] = self._uses.get(thread, 0) + 1
                group.create_task(self._let_go_later(thread, use))

    async def _let_go_later(self, thread: str, use: int) -> None:
        await self._core.clock.sleep(self._core.config.threads.release_after)
        waiting = await self._core.read_with_retry(lambda tx: _waiting(tx, thread))
        if self._uses[thread] == use and waiting is None:
            await self.let_go(thread)

    async def let_go(self, thread: str) -> bool:
        """Free its session for other programs. False: a turn is on it."""
        was_open = self._sessions.is_open(thread)
        if not await self._sessions.let_go(thread):
            return False
        if was_open:
            now = self._core.clock.now()
            await self._core.write_with_retry(lambda tx: tx.log(thread, None, "thread.released", now))
        return True

    async def let_go_soon(self, thread: str) -> bool:
        """The same, for a turn that has ended and may not have left it yet."""
        try:
            async with asyncio.timeout(LEAVING):
                await self._sessions.is_free(thread)
        except TimeoutError:
            return False
        return await self.let_go(thread)

    # Before a turn: what was done outside stands in history before what is asked now

    def unready(self, thread: str) -> bool:
        was_tried = thread in self._tried
        self._tried.discard(thread)
        return self.has(thread) and not was_tried and not self._sessions.is_open(thread)

    async def prepare(self, thread: str) -> None:
        """Open its session, if a turn waits for it. What is wrong with it is told by that turn."""
        self._tried.add(thread)
        row = await self._core.read_with_retry(lambda tx: _waiting(tx, thread))
        if row is None:
            return
        try:
            await self._sessions.open(row)
        except RuntimeTrouble as trouble:
            _log.info("the session of thread %s cannot be opened: %s", thread, trouble.message)
            return
        await self._sessions.release(thread)

    async def enter(self, thread: Thread, seat: Seat, runtime: Runtime) -> Session:
        assert seat.continuity is not None, thread.id
        lender = cast("SharesSessions", runtime)
        await self._let_others(thread, seat.continuity, lender)
        session = await runtime.open(seat)
        try:
            await self._catch_up(thread.id, lender, held=True)
        except BaseException:
            await session.close()
            raise
        return session

    async def _let_others(self, thread: Thread, session: Continuity, lender: SharesSessions) -> None:
        who = (await lender.holders([session])).get(session)
        if who is not None:
            raise RuntimeHeld(
                f"The {thread.runtime} session of this thread is open in another program ({who}). Close it there, then"
                f" send it again; or go on in a copy: `clew fork {thread.id}`."
            )

    # What was done outside

    async def look(self, thread: str) -> None:
        """Take in what was done outside, where that is cheap: nobody waits for a program that would have to start."""
        if not self.has(thread) or self._sessions.is_open(thread):
            return
        row = await self._core.store.read(lambda tx: threads.get(tx, thread))
        runtime = self._core.runtimes.get(row.runtime) if row else None
        if runtime is None or (await runtime.health()).state is not HealthState.HEALTHY:
            return
        try:
            await self._catch_up(thread, cast("SharesSessions", runtime), held=False)
        except RuntimeTrouble as trouble:
            _log.info("what was done outside in thread %s is not known now: %s", thread, trouble.message)

    async def _catch_up(self, thread: str, lender: SharesSessions, *, held: bool) -> None:
        """What another program may still be working on is left for later, unless nobody can: we hold the session."""
        async with self._locks.setdefault(thread, asyncio.Lock()):
            adoption, session = await self._core.read_with_retry(lambda tx: _adoption(tx, thread))
            past = await lender.past(session, adoption.last_turn)
            ended = past if held else finished(past)
            if ended:
                await self._core.write_with_retry(lambda tx: self._take_in(tx, thread, ended))

    def _take_in(self, tx: Tx, thread: str, past: Sequence[PastTurn]) -> None:
        row = threads.get(tx, thread)
        assert row is not None, thread
        new = import_turns(tx, self._core, row, past)
        adoptions.set_last_turn(tx, thread, past[-1].runtime_turn)
        if new:
            tx.log(thread, None, "thread.taken_in", self._core.clock.now(), turns=new)


def _waiting(tx: Tx, thread: str) -> Thread | None:
    """The thread, if a turn of it could begin now."""
    row = threads.get(tx, thread)
    if row is None or row.status is not ThreadStatus.IDLE or turns.live(tx, thread):
        return None
    return row if turns.count_queued(tx, thread) else None


def _adoption(tx: Tx, thread: str) -> tuple[Adoption, Continuity]:
    adoption = adoptions.get(tx, thread)
    assert adoption is not None, thread
    continuity, _ = bindings.continuity(tx, thread, adoption.runtime)
    assert continuity is not None, thread
    return adoption, continuity
