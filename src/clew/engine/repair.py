"""Rows that cannot be read: which there are, and how they are set aside, so that everything else works."""

from __future__ import annotations

import logging
from collections.abc import Callable
from functools import partial

from clew.model.views import DamagedRow
from clew.store import BadRow, Store
from clew.store.damage import find, set_aside, still_bad
from clew.support.clock import Clock
from clew.support.errors import ClewError

_log = logging.getLogger(__name__)


class RepairService:
    def __init__(self, store: Store, clock: Clock, wake: Callable[[list[BadRow]], None] = lambda done: None) -> None:
        """`wake` is called with what was set aside: others may go on now."""
        self._store = store
        self._clock = clock
        self._wake = wake

    async def look(self) -> None:
        """Note the rows that cannot be read and that work may wait for: once, at the start."""
        try:
            await self._store.read(partial(find, live=True))
        except ClewError as error:
            _log.warning("the rows cannot be checked now: %s", error.message)

    async def known(self) -> list[DamagedRow]:
        """The rows that the daemon has met and could not read."""
        found = list(self._store.bad_rows.values())
        left = await self._store.read(lambda tx: still_bad(tx, found)) if found else []
        for each in found:
            if (each.table, each.key) not in {(bad.table, bad.key) for bad in left}:
                self._store.bad_rows.pop((each.table, each.key), None)
        return [_view(each) for each in left]

    async def find(self) -> list[DamagedRow]:
        """All rows that cannot be read. Reads the whole store."""
        return [_view(bad) for bad in await self._store.read(find)]

    async def apply(self) -> list[DamagedRow]:
        """Set all of them aside, with what belongs to them."""
        found, now = await self._store.read(find), self._clock.now()
        done = await self._store.write(lambda tx: set_aside(tx, found, now)) if found else []
        for each in done:
            _log.warning("row %s of table %s was set aside: %s", each.key, each.table, each.reason)
        self._wake(done)
        return [_view(each) for each in done]


def _view(bad: BadRow) -> DamagedRow:
    return DamagedRow(bad.table, bad.key, bad.thread, bad.reason)
