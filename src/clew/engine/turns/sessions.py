"""Open sessions, one per thread, kept while they are of use. What a runtime needs to come back is stored at once,
before anything is asked of it, so that a turn can always be looked up."""

from __future__ import annotations

import asyncio
import logging
from collections import OrderedDict
from typing import Protocol

from clew.engine.core import Core
from clew.engine.turns.replay import earlier_messages
from clew.model.runtime import Continuity, PastMessage, Runtime, Seat, Session
from clew.model.threads import Thread
from clew.store import Tx
from clew.store.tables import bindings
from clew.support import crash
from clew.support.errors import RuntimeTrouble

KEPT = 64
_log = logging.getLogger(__name__)


class Lent(Protocol):
    """Who knows which threads' sessions other programs use too, and how to come back to one."""

    def has(self, thread: str) -> bool: ...

    def free(self, thread: str) -> None:
        """No turn is on it any more."""

    async def enter(self, thread: Thread, seat: Seat, runtime: Runtime) -> Session:
        """Raises RuntimeTrouble."""


class Sessions:
    def __init__(self, core: Core) -> None:
        self._core = core
        self._open: OrderedDict[str, Session] = OrderedDict()
        self._stored: dict[str, Continuity | None] = {}
        self._locks: dict[str, asyncio.Lock] = {}
        self._busy: set[str] = set()
        self._freed = asyncio.Event()  # replaced whenever a turn is over
        self._came: dict[str, str] = {}  # how the runtime came to a thread that it works on
        self.lent: Lent | None = None

    async def open(self, thread: Thread) -> Session:
        """The thread's session on its runtime. Raises RuntimeTrouble."""
        async with self._locks.setdefault(thread.id, asyncio.Lock()):
            session = self._open.get(thread.id)
            if thread.id not in self._busy:
                self._came[thread.id] = "warm"
            if session is None:
                session = await self._fresh(thread)
            self._open[thread.id] = session
            self._open.move_to_end(thread.id)
            self._busy.add(thread.id)
            await self.keep(thread, session)
        return session

    async def keep(self, thread: Thread, session: Session) -> None:
        """Store what the runtime needs to come back, if it changed."""
        now = session.continuity()
        if now is None or now == self._stored.get(thread.id):
            return
        crash.point("session.opened-not-kept")
        await self._core.write_with_retry(lambda tx: bindings.save_continuity(tx, thread.id, thread.runtime, now))
        self._stored[thread.id] = now

    async def release(self, thread: str) -> None:
        """Its turn is over; the session stays for the next one, unless there are too many."""
        self._busy.discard(thread)
        freed, self._freed = self._freed, asyncio.Event()
        freed.set()
        if self.lent is not None:
            self.lent.free(thread)
        while len(self._open) > KEPT and (oldest := self._oldest_idle()) is not None:
            await self.let_go(oldest)

    async def is_free(self, thread: str) -> None:
        """Wait until no turn is on it."""
        while thread in self._busy:
            await self._freed.wait()

    async def let_go(self, thread: str) -> bool:
        """Close its session, so that other programs can use it. False: a turn is on it."""
        async with self._locks.setdefault(thread, asyncio.Lock()):
            if thread in self._busy:
                return False
            await self.drop(thread)
        return True

    def is_open(self, thread: str) -> bool:
        return thread in self._open

    def is_lent(self, thread: str) -> bool:
        """Other programs use its session too."""
        return self.lent is not None and self.lent.has(thread)

    def came(self, thread: str, is_known: bool) -> str:
        """How the runtime came, or will come, to a thread: `warm`, `resumed` or `cold`."""
        if thread in self._busy:
            return self._came[thread]
        return "warm" if thread in self._open else "resumed" if is_known else "cold"

    async def drop(self, thread: str) -> None:
        session = self._open.pop(thread, None)
        self._came.pop(thread, None)
        self._stored.pop(thread, None)
        self._busy.discard(thread)
        if session is not None:
            await session.close()

    def _oldest_idle(self) -> str | None:
        return next((thread for thread in self._open if thread not in self._busy), None)

    async def _fresh(self, thread: Thread) -> Session:
        runtime = self._core.runtimes.get(thread.runtime)
        if runtime is None:
            known = ", ".join(sorted(self._core.runtimes)) or "none"
            raise RuntimeTrouble(f"there is no runtime named {thread.runtime!r}; known here: {known}")

        async def history() -> tuple[PastMessage, ...]:
            return await self._core.read_with_retry(lambda tx: earlier_messages(tx, thread.id))

        def read(tx: Tx) -> Seat:
            continuity, fork = bindings.continuity(tx, thread.id, thread.runtime)
            chosen = thread.model, thread.effort, thread.policy
            most = self._core.config.turns.longest_text
            return Seat(
                thread.id, thread.workspace, continuity, fork, *chosen, history=history, longest_text=most, lent=lent
            )

        lent = self.is_lent(thread.id)
        seat = await self._core.read_with_retry(read)
        self._came[thread.id] = "cold" if (seat.continuity, seat.fork) == (None, None) else "resumed"
        self._stored[thread.id] = seat.continuity
        if self.lent is None or not lent:
            return await runtime.open(seat)
        return await self.lent.enter(thread, seat, runtime)
