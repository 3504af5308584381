"""Admission by memory: while the agents together use more than the limit, no further turn starts. It looks only if a
turn wants to start, and by a timer only while one waits. With no turn at work one may always start, so that nothing
waits for ever."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Sequence

from clew.engine.core import Core
from clew.engine.delivery.enqueue import enqueue_notice
from clew.model.events.logged import RuntimeNotice
from clew.model.turns import Turn
from clew.store import Tx
from clew.store.tables import turns
from clew.support.coded import Text
from clew.texts.catalogue import say

FRESH = 5.0  # seconds that a look at the processes counts
GIB = 1 << 30
NOTICE = "memory"
_log = logging.getLogger(__name__)


class MemoryAdmission:
    """`used`: how many bytes the agents use now; it may block for a moment. `limit`: 0 means none."""

    def __init__(self, core: Core, used: Callable[[], int], limit: int) -> None:
        self._core = core
        self._used = used
        self._limit = limit
        self._looked: tuple[float, int] | None = None
        self._told: dict[str, str] = {}  # by thread: its turn that was told that it waits

    async def admitted(self, wanted: Sequence[str], working: int) -> list[str]:
        """The threads of these that may be claimed now: all, or those that have no turn to start, and one if no other
        turn works. Those that wait are told once why."""
        if not self._limit or len(wanted) + working <= 1:
            return list(wanted)
        used = await self._look()
        if used <= self._limit:
            return list(wanted)
        words = say("budgets.waits_for_memory", used=_gib(used), limit=_gib(self._limit))
        spared = 0 if working else 1
        waiting = await self._core.write_with_retry(lambda tx: self._tell(tx, wanted, spared, words))
        for turn in waiting:
            self._told[turn.thread] = turn.id
            self._core.held[turn.thread] = words
        held = {turn.thread for turn in waiting}
        return [thread for thread in wanted if thread not in held]

    def started(self, threads: Sequence[str]) -> None:
        """These threads wait for memory no more."""
        for thread in threads:
            self._told.pop(thread, None)
            self._core.held.pop(thread, None)

    async def _look(self) -> int:
        now = self._core.clock.monotonic()
        if self._looked is None or not 0 <= now - self._looked[0] < FRESH:
            try:
                self._looked = now, await asyncio.to_thread(self._used)
            except Exception:  # a machine that cannot be read must not hold up work
                _log.exception("the memory of agents cannot be measured")
                return 0
        return self._looked[1]

    def _tell(self, tx: Tx, threads: Sequence[str], spared: int, words: Text) -> list[Turn]:
        """The turns that wait, without the first `spared` that could start."""
        now = self._core.clock.now()
        able = [turn for thread in threads if (turn := turns.claimable(tx, thread, now)) is not None]
        for turn in able[spared:]:
            if self._told.get(turn.thread) != turn.id:
                tx.log(turn.thread, turn.id, now, RuntimeNotice(words, NOTICE))
                enqueue_notice(tx, self._core, turn.conversation, words, f"{turn.id}:{NOTICE}", turn.thread)
        return able[spared:]


def _gib(count: int) -> str:
    return f"{count / GIB:.1f}"
