"""Deliveries for callers: send pending ones now, list a thread's with their receipts and what has not arrived, measure
how long sending takes."""

from __future__ import annotations

from clew.engine.core import Core
from clew.engine.delivery.notify import notify
from clew.engine.delivery.outbox import Outbox
from clew.model.delivery import Delivery, DeliveryState
from clew.model.views import Notified, OwedView, WhereRow
from clew.store import Tx
from clew.store.tables import deliveries, turns
from clew.support.coded import with_texts
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
        return await undelivered(self._core, limit)

    @property
    def latency(self) -> Histogram:
        """Seconds from enqueueing a delivery to sending it, since this daemon started."""
        return self._outbox.latency


async def where(core: Core, name: str) -> list[WhereRow]:
    """The deliveries of a thread with their receipts."""
    rows, agents = await core.store.read(lambda tx: _receipts(tx, name))
    return [
        with_texts(
            WhereRow(
                row.id,
                row.kind,
                str(row.conversation) if row.conversation else None,
                row.state,
                row.attempts,
                row.message_id,
                row.sent_at,
                row.error,
                row.turn,
                agents.get(row.turn or ""),
            )
        )
        for row in rows
    ]


def _receipts(tx: Tx, name: str) -> tuple[list[Delivery], dict[str, str]]:
    """The deliveries, and the agents of their turns."""
    rows = deliveries.of_thread(tx, name)
    sessions = turns.sessions(tx, [row.turn for row in rows if row.turn is not None])
    return rows, {turn: session.runtime for turn, session in sessions.items()}


async def undelivered(core: Core, limit: int) -> list[OwedView]:
    """Deliveries that have not arrived, newest first."""
    rows = await core.store.read(lambda tx: deliveries.outstanding(tx, limit))
    return [
        with_texts(
            OwedView(
                row.id,
                row.kind,
                row.thread,
                row.turn,
                str(row.conversation) if row.conversation else None,
                row.state,
                row.attempts,
                row.error,
                row.created_at,
                row.due_at if row.state is DeliveryState.PENDING else None,
            )
        )
        for row in rows
    ]
