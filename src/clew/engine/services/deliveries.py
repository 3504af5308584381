"""Deliveries for callers: send pending ones now, list undelivered ones, measure how long sending takes."""

from __future__ import annotations

from clew.engine.core import Core
from clew.engine.delivery.notify import notify
from clew.engine.delivery.outbox import Outbox
from clew.engine.services import thread_views
from clew.model.delivery import Delivery
from clew.model.views import Notified, OwedView
from clew.store.tables import deliveries
from clew.support.histogram import Histogram
from clew.texts.catalogue import say


class DeliveryService:
    def __init__(self, core: Core, outbox: Outbox) -> None:
        self._core = core
        self._outbox = outbox

    async def notify(self, *, dry_run: bool = False, retry_failed: bool = False, alone: bool = False) -> list[Notified]:
        """Send what is pending now. `alone`: no daemon runs, so what is marked as being sent was left by a dead one."""
        if alone and not dry_run:
            now = self._core.clock.now()
            await self._core.store.write(lambda tx: deliveries.release_sending(tx, now, self._core.incarnation))
        return await notify(self._core, self._send_now, dry_run=dry_run, retry_failed=retry_failed, alone=alone)

    async def _send_now(self, delivery: Delivery) -> None:
        name = delivery.conversation.surface if delivery.conversation else ""
        surface = self._core.surfaces.get(name)
        if surface is None:
            reason = say("deliveries.no_surface", surface=repr(name))
            await self._core.store.write(lambda tx: deliveries.record_failed(tx, delivery, reason))
            return
        await self._outbox.deliver(delivery, surface)
        self._outbox.wake(name)  # it may be due for another attempt

    async def undelivered(self, limit: int) -> list[OwedView]:
        return await thread_views.undelivered(self._core, limit)

    @property
    def latency(self) -> Histogram:
        """Seconds from enqueueing a delivery to sending it, since this daemon started."""
        return self._outbox.latency
