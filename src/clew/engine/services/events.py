"""The stored event log for callers that follow it, such as the stream of server-sent events."""

from __future__ import annotations

from functools import partial

from clew.store import Entry, Store, Tx
from clew.store.tables import log

PAGE = 500  # log entries per read


class EventService:
    def __init__(self, store: Store) -> None:
        self._store = store

    async def newest(self) -> int:
        """The number of the newest entry."""
        return (await self._store.read(log.newest))[0]

    async def page(self, seen: int, thread: str | None) -> tuple[bool, list[Entry]]:
        """Whether entries after `seen` have been pruned, and the next page of entries after it."""
        return await self._store.read(partial(_page, seen=seen, thread=thread))


def _page(tx: Tx, seen: int, thread: str | None) -> tuple[bool, list[Entry]]:
    return log.is_lost(tx, seen, thread), log.after(tx, seen, thread, PAGE)
