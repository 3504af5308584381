"""Rows that cannot be read: which there are, and how they are set aside, so that everything else works."""

from __future__ import annotations

import logging
from collections.abc import Callable
from functools import partial

from clew.model.views import DamagedRow
from clew.store import BadRow, Store, Tx
from clew.store.damage import Page, check, pages, set_aside, stays, still_bad
from clew.support.clock import Clock
from clew.support.errors import ClewError

_log = logging.getLogger(__name__)


class RepairService:
    def __init__(
        self,
        store: Store,
        clock: Clock,
        tell: Callable[[Tx, BadRow], bool] = lambda tx, bad: False,
        wake: Callable[[list[BadRow]], None] = lambda done: None,
    ) -> None:
        """`tell` enqueues a notice for whoever sent a lost message, if that is possible; `wake` is called with what was
        set aside: others may go on now."""
        self._store = store
        self._clock = clock
        self._tell = tell
        self._wake = wake

    async def look(self) -> None:
        """Note the rows that cannot be read and that work may wait for: once, at the start."""
        try:
            await self._find(live=True)
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
        return [_view(bad) for bad in await self._find(live=False)]

    async def apply(self) -> list[DamagedRow]:
        """Set them aside, with what belongs to them, and tell whose messages do not run. Returns what was set aside."""
        found, now = await self._find(live=False), self._clock.now()

        def body(tx: Tx) -> list[tuple[BadRow, bool]]:
            done = set_aside(tx, found, now)  # first: a notice must not be taken out with a damaged thread
            return [(each, self._tell(tx, each)) for each in done]

        done = await self._store.write(body) if found else []
        for each, _ in done:
            _log.warning("row %s of table %s was set aside: %s", each.key, each.table, each.reason)
        self._wake([each for each, _ in done])
        return [_view(each, is_told) for each, is_told in done]

    async def _find(self, *, live: bool) -> list[BadRow]:
        """In short transactions: a long one would keep the database's log from being shortened."""
        found: list[BadRow] = []
        for first in pages(live=live):
            page: Page | None = first
            while page is not None:
                bad, page = await self._store.read(partial(check, page=page))
                found += bad
        return found


def _view(bad: BadRow, is_told: bool = False) -> DamagedRow:
    why = ("newer" if bad.is_newer else "history") if stays(bad) else None
    if bad.message is None:
        return DamagedRow(bad.table, bad.key, bad.thread, bad.reason, why)
    where = str(bad.message.where) if bad.message.where else None
    return DamagedRow(bad.table, bad.key, bad.thread, bad.reason, why, "told" if is_told else "not_told", where)
