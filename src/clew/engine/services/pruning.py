"""Prunes the event log by age and size. It never touches history. Woken by writes, so that an idle daemon does nothing;
works in small batches, so that it blocks nobody."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from functools import partial

from clew.engine.budgets.limits import day_of
from clew.engine.core import Core
from clew.store import Entry, Tx
from clew.store.tables import log, usage

EVERY = 1_000  # new entries between two runs
BATCH = 200  # entries per transaction
DAY = 24 * 3600 * 1000  # milliseconds
ANY = 1 << 62


class Pruning:
    def __init__(self, core: Core) -> None:
        self._core = core
        self._wake = asyncio.Event()
        self._new = 0

    def committed(self, entries: Sequence[Entry]) -> None:
        """The store's listener."""
        self._new += len(entries)
        if self._new >= EVERY:
            self._new = 0
            self._wake.set()

    async def run(self) -> None:
        """Prune at the start, then after every EVERY new entries."""
        while True:
            while gone := await self._core.read_with_retry(self._too_old):
                await self._core.write_with_retry(partial(self._prune, last=gone[-1]))
            await self._wake.wait()
            self._wake.clear()

    def _prune(self, tx: Tx, last: int) -> None:
        """The usage of old days goes with the log."""
        log.prune(tx, last)
        keep = self._core.config.events.keep_days
        if keep:
            before = self._core.clock.now() - int(keep * DAY)
            usage.prune(tx, day_of(before), before)

    def _too_old(self, tx: Tx) -> list[int]:
        keep = self._core.config.events
        before = self._core.clock.now() - int(keep.keep_days * DAY) if keep.keep_days else 0
        return log.too_old(tx, before, keep.keep_rows or ANY, BATCH)
