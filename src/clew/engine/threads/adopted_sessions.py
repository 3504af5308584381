"""Adopted sessions, which other programs use too: which ones there are, how one is opened without taking it away from
another program, and how the turns that were run there are imported."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import cast

from clew.engine.core import Core
from clew.engine.threads.import_turns import finished, import_turns
from clew.model.events.logged import TurnsImported
from clew.model.runtime import Runtime, Seat, Session
from clew.model.shared_sessions import PastTurn, SharesSessions
from clew.model.threads import Continuity, SessionKey, Thread
from clew.store import Tx
from clew.store.tables import adoptions, continuity, threads
from clew.store.tables.adoptions import Adoption
from clew.support.errors import RuntimeHeld
from clew.texts.catalogue import say


class AdoptedSessions:
    def __init__(self, core: Core) -> None:
        self._core = core
        self._runtimes: dict[str, str] = {}  # of the adopted session of each thread that has one
        self._locks: dict[str, asyncio.Lock] = {}
        self.used: asyncio.Queue[str] = asyncio.Queue()  # threads whose session a turn has just left

    async def load(self) -> None:
        self._runtimes |= await self._core.read_with_retry(adoptions.runtimes)

    def add(self, thread: str, runtime: str) -> None:
        self._runtimes[thread] = runtime

    def key(self, thread: str) -> SessionKey | None:
        """The adopted session of a thread, if it has one."""
        return SessionKey(thread, self._runtimes[thread]) if thread in self._runtimes else None

    def has(self, key: SessionKey) -> bool:
        return self.key(key.thread) == key

    def free(self, key: SessionKey) -> None:
        if self.has(key):
            self.used.put_nowait(key.thread)

    async def enter(self, thread: Thread, seat: Seat, runtime: Runtime) -> Session:
        assert seat.continuity is not None, thread.id
        runtime_sessions = cast("SharesSessions", runtime)
        await self._check_not_held(thread, seat.continuity, runtime_sessions)
        session = await runtime.open(seat)
        try:
            await self.catch_up(thread.id, runtime_sessions, held=True)
        except BaseException:
            await session.close()
            raise
        return session

    async def _check_not_held(self, thread: Thread, session: Continuity, runtime_sessions: SharesSessions) -> None:
        who = (await runtime_sessions.holders([session])).get(session)
        if who is not None:
            raise RuntimeHeld(say("threads.held_elsewhere", runtime=thread.runtime, who=who, thread=thread.id))

    async def catch_up(self, thread: str, runtime_sessions: SharesSessions, *, held: bool) -> None:
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
            tx.log(thread, None, self._core.clock.now(), TurnsImported(new))


def _adoption(tx: Tx, thread: str) -> tuple[Adoption, Continuity]:
    adoption = adoptions.get(tx, thread)
    assert adoption is not None, thread
    session, _ = continuity.get(tx, SessionKey(thread, adoption.runtime))
    assert session is not None, thread
    return adoption, session
