"""Shares adopted sessions with other programs: opens one before its next turn, and closes it some time after the last
one."""

from __future__ import annotations

import asyncio
import logging
from typing import cast

from clew.engine.core import Core
from clew.engine.threads.adopted_sessions import AdoptedSessions
from clew.engine.turns.sessions import Sessions
from clew.model.events.logged import SessionReleased
from clew.model.runtime import HealthState
from clew.model.shared_sessions import SharesSessions
from clew.model.threads import Thread, ThreadStatus
from clew.store import Tx
from clew.store.tables import threads, turns
from clew.support.errors import RuntimeTrouble, UnreadableRow

RELEASE_TIMEOUT = 10.0  # seconds for an ended turn to release its session
_log = logging.getLogger(__name__)


class SharedSessions:
    def __init__(self, core: Core, sessions: Sessions, adopted: AdoptedSessions) -> None:
        self._core = core
        self._sessions = sessions
        self._adopted = adopted
        self._tried: set[str] = set()  # threads whose preparation was tried: their next turn may be claimed
        self._uses: dict[str, int] = {}

    def _is_open(self, thread: str) -> bool:
        key = self._adopted.key(thread)
        return key is not None and self._sessions.is_open(key)

    async def run(self) -> None:
        """Close each session some time after it was last used; import what agents did by themselves."""
        async with asyncio.TaskGroup() as group:
            group.create_task(self._import_unasked())
            while True:
                thread = await self._adopted.used.get()
                use = self._uses[thread] = self._uses.get(thread, 0) + 1
                group.create_task(self._close_later(thread, use))

    async def _import_unasked(self) -> None:
        while True:
            key, turn = await self._adopted.made.get()
            try:
                await self._adopted.import_unasked(key, turn)
            except Exception:  # it must not cost the others; an adopted session is read again before its next turn
                _log.exception("a turn that the agent of thread %s made by itself is not imported", key.thread)

    async def _close_later(self, thread: str, use: int) -> None:
        await self._core.clock.sleep(self._core.config.threads.release_after)
        try:
            queued = await self._core.read_with_retry(lambda tx: _with_waiting_turn(tx, thread))
        except UnreadableRow:
            queued = None
        if self._uses[thread] == use and queued is None:
            await self.close_if_idle(thread)

    async def close_if_idle(self, thread: str) -> bool:
        """Close the session, so that other programs can use it. False: a turn uses it."""
        key, was_open = self._adopted.key(thread), self._is_open(thread)
        if key is not None and not await self._sessions.close_if_idle(key):
            return False
        if was_open:
            now = self._core.clock.now()
            await self._core.write_with_retry(lambda tx: tx.log(thread, None, now, SessionReleased()))
        return True

    async def close_when_idle(self, thread: str) -> bool:
        """Wait briefly for an ended turn to release the session, then close it."""
        try:
            async with asyncio.timeout(RELEASE_TIMEOUT):
                if (key := self._adopted.key(thread)) is not None:
                    await self._sessions.wait_idle(key)
        except TimeoutError:
            return False
        return await self.close_if_idle(thread)

    # Before a turn: import first what was done outside, so that history keeps the order

    def needs_preparation(self, thread: str) -> bool:
        """Whether `prepare` must be tried before the thread's next turn is claimed."""
        was_tried = thread in self._tried
        self._tried.discard(thread)
        return self._adopted.key(thread) is not None and not was_tried and not self._is_open(thread)

    async def prepare(self, thread: str) -> None:
        """Open the session if a turn waits for it. If that fails, the turn reports the error."""
        self._tried.add(thread)
        row = await self._core.read_with_retry(lambda tx: _with_waiting_turn(tx, thread))
        key = self._adopted.key(thread)
        if row is None or key is None:
            return
        try:
            await self._sessions.open(row, key)
        except RuntimeTrouble as trouble:
            _log.info("the session of thread %s cannot be opened: %s", thread, trouble.message)
            return
        await self._sessions.release(key)

    # What was done outside

    async def refresh(self, thread: str) -> None:
        """Import the turns run outside, but only if the runtime is up: starting it would take too long."""
        key = self._adopted.key(thread)
        if key is None or self._sessions.is_open(key):
            return
        runtime = self._core.runtimes.get(key.runtime)
        if runtime is None or (await runtime.health()).state is not HealthState.HEALTHY:
            return
        try:
            await self._adopted.catch_up(thread, cast("SharesSessions", runtime), held=False)
        except RuntimeTrouble as trouble:
            _log.info("the turns run outside in thread %s cannot be read now: %s", thread, trouble.message)


def _with_waiting_turn(tx: Tx, thread: str) -> Thread | None:
    """The thread, if a queued turn of it could start now."""
    row = threads.get(tx, thread)
    if row is None or row.status is not ThreadStatus.IDLE or turns.live(tx, thread):
        return None
    return row if turns.count_queued(tx, thread) else None
