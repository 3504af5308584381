"""Keeps one open runtime session per thread, up to a limit. What a runtime needs to resume a session is stored before
the first turn is sent to it, so that a turn can always be looked up."""

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

MAX_OPEN = 64  # sessions
_log = logging.getLogger(__name__)


class SharedWith(Protocol):
    """Knows which threads' sessions other programs use too, and opens those."""

    def has(self, thread: str) -> bool: ...

    def free(self, thread: str) -> None:
        """Called when a turn of the thread has ended."""

    async def enter(self, thread: Thread, seat: Seat, runtime: Runtime) -> Session:
        """Raises RuntimeTrouble."""


class Sessions:
    def __init__(self, core: Core) -> None:
        self._core = core
        self._open: OrderedDict[str, Session] = OrderedDict()
        self._stored: dict[str, Continuity | None] = {}
        self._locks: dict[str, asyncio.Lock] = {}
        self._busy: set[str] = set()
        self._freed = asyncio.Event()  # set and replaced whenever a turn is over
        self._attach_modes: dict[str, str] = {}  # by thread
        self.shared: SharedWith | None = None

    async def open(self, thread: Thread) -> Session:
        """Return the thread's session, opening it if necessary, and mark it busy. Raises RuntimeTrouble."""
        async with self._locks.setdefault(thread.id, asyncio.Lock()):
            session = self._open.get(thread.id)
            if thread.id not in self._busy:
                self._attach_modes[thread.id] = "warm"
            if session is None:
                session = await self._open_new(thread)
            self._open[thread.id] = session
            self._open.move_to_end(thread.id)
            self._busy.add(thread.id)
            await self.save_continuity(thread, session)
        return session

    async def save_continuity(self, thread: Thread, session: Session) -> None:
        """Store what the runtime needs to resume the session, if it changed."""
        now = session.continuity()
        if now is None or now == self._stored.get(thread.id):
            return
        crash.point("session.opened-not-kept")
        await self._core.write_with_retry(lambda tx: bindings.save_continuity(tx, thread.id, thread.runtime, now))
        self._stored[thread.id] = now

    async def release(self, thread: str) -> None:
        """Mark a session idle after a turn, and close the oldest idle ones above the limit."""
        self._busy.discard(thread)
        freed, self._freed = self._freed, asyncio.Event()
        freed.set()
        if self.shared is not None:
            self.shared.free(thread)
        while len(self._open) > MAX_OPEN and (oldest := self._oldest_idle()) is not None:
            await self.close_if_idle(oldest)

    async def wait_idle(self, thread: str) -> None:
        """Wait until no turn uses the session."""
        while thread in self._busy:
            await self._freed.wait()

    async def close_if_idle(self, thread: str) -> bool:
        """Close the session, so that other programs can use it. False: a turn uses it."""
        async with self._locks.setdefault(thread, asyncio.Lock()):
            if thread in self._busy:
                return False
            await self.drop(thread)
        return True

    def is_open(self, thread: str) -> bool:
        return thread in self._open

    def is_shared(self, thread: str) -> bool:
        """Whether other programs use the thread's session too."""
        return self.shared is not None and self.shared.has(thread)

    def attach_mode(self, thread: str, is_known: bool) -> str:
        """How the runtime gets at the thread: `warm` (open session), `resumed`, or `cold` (knows nothing of it)."""
        if thread in self._busy:
            return self._attach_modes[thread]
        return "warm" if thread in self._open else "resumed" if is_known else "cold"

    async def drop(self, thread: str) -> None:
        """Close the session, busy or not."""
        session = self._open.pop(thread, None)
        self._attach_modes.pop(thread, None)
        self._stored.pop(thread, None)
        self._busy.discard(thread)
        if session is not None:
            await session.close()

    def _oldest_idle(self) -> str | None:
        return next((thread for thread in self._open if thread not in self._busy), None)

    async def _open_new(self, thread: Thread) -> Session:
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

        lent = self.is_shared(thread.id)
        seat = await self._core.read_with_retry(read)
        self._attach_modes[thread.id] = "cold" if (seat.continuity, seat.fork) == (None, None) else "resumed"
        self._stored[thread.id] = seat.continuity
        if self.shared is None or not lent:
            return await runtime.open(seat)
        return await self.shared.enter(thread, seat, runtime)
