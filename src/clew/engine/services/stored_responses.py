"""Responses of the HTTP API, stored for a day: a repeated request with the same key gets the same one."""

from __future__ import annotations

from clew.store import Store
from clew.store.tables import idempotency
from clew.store.tables.idempotency import StoredResponse
from clew.support.clock import Clock

__all__ = ["DAY", "StoredResponse", "StoredResponses"]

DAY = 24 * 3600 * 1000  # milliseconds


class StoredResponses:
    def __init__(self, store: Store, clock: Clock) -> None:
        self._store = store
        self._clock = clock

    async def find(self, key: str) -> StoredResponse | None:
        oldest = self._clock.now() - DAY
        return await self._store.read(lambda tx: idempotency.find(tx, key, oldest))

    async def save(self, response: StoredResponse) -> None:
        now = self._clock.now()
        await self._store.write(lambda tx: idempotency.save(tx, response, now, now - DAY))
