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
        self.made: asyncio.Queue[tuple[SessionKey, PastTurn]] = asyncio.Queue()  # turns that an agent made by itself

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

    def unasked(self, key: SessionKey, turn: PastTurn) -> None:
        self.made.put_nowait((key, turn))

    async def import_unasked(self, key: SessionKey, turn: PastTurn) -> None:
        """Import a turn that the agent made by itself, in an adopted session or in one of ours."""
        async with self._locks.setdefault(key.thread, asyncio.Lock()):
            await self._core.write_with_retry(lambda tx: self._import(tx, key, [turn]))

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
            raise RuntimeHeld(say("threads.held_elsewhere", runtime=thread.runtime, who=who, thread=thread.name))

    async def catch_up(self, thread: str, runtime_sessions: SharesSessions, *, held: bool) -> None:
        """Import new turns. Unless we hold the session, leave out those that may still run in another program."""
        async with self._locks.setdefault(thread, asyncio.Lock()):
            adoption, session = await self._core.read_with_retry(lambda tx: _adoption(tx, thread))
            past = await runtime_sessions.past(session, adoption.last_turn)
            ended = past if held else finished(past)
            if ended:
                key = SessionKey(thread, adoption.runtime)
                await self._core.write_with_retry(lambda tx: self._import(tx, key, ended))

    def _import(self, tx: Tx, key: SessionKey, past: Sequence[PastTurn]) -> None:
        row = threads.get(tx, key.thread)
        assert row is not None, key.thread
        if row.runtime != key.runtime or key.role:
            return  # history has a place only for what the thread's own agent does by itself
        new = import_turns(tx, self._core, row, past)
        if self.has(key):
            adoptions.set_last_turn(tx, key.thread, past[-1].runtime_turn)
        if new:
            tx.log(key.thread, None, self._core.clock.now(), TurnsImported(new))


def _adoption(tx: Tx, thread: str) -> tuple[Adoption, Continuity]:
    adoption = adoptions.get(tx, thread)
    assert adoption is not None, thread
    session, _ = continuity.get(tx, SessionKey(thread, adoption.runtime))
    assert session is not None, thread
    return adoption, session
