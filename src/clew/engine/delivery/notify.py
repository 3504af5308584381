"""`clew notify`: sends the undelivered answers of ended turns now, in one pass, without back-off. Retries failed ones
only on request. The notifier is injected."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from functools import partial

from clew.engine.core import Core
from clew.model.delivery import Delivery, DeliveryKind
from clew.model.views import Notified
from clew.store.tables import deliveries
from clew.support.coded import with_texts

Notifier = Callable[[Delivery], Awaitable[None]]
"""Sends one claimed delivery and records the result."""

PAGE = 100


async def notify(
    core: Core, notifier: Notifier, *, dry_run: bool = False, retry_failed: bool = False, alone: bool = False
) -> list[Notified]:
    """`alone`: no daemon runs, so a delivery in the state `sending` has no sender, and would be sent."""
    left = await core.store.read(deliveries.sending_finals) if alone and dry_run else []
    done = {delivery.id: _result(delivery, "would send") for delivery in left}
    after: Delivery | None = None
    while True:
        page = await core.store.read(
            partial(deliveries.undelivered_finals, failed=retry_failed, after=after, limit=PAGE)
        )
        for delivery in page:
            before = await core.store.read(partial(deliveries.queued_before, delivery=delivery))
            if alone and any(each.kind is not DeliveryKind.FINAL for each in before):
                done[delivery.id] = _result(delivery, delivery.state)  # behind a question: nobody would hear its answer
                continue
            for each in [*before, delivery]:  # keep the order within a conversation
                if each.id not in done:
                    done[each.id] = _result(each, "would send") if dry_run else await _send(core, notifier, each)
        if len(page) < PAGE:
            return list(done.values())
        after = page[-1]


async def _send(core: Core, notifier: Notifier, delivery: Delivery) -> Notified:
    claimed = await core.store.write(partial(deliveries.claim, delivery=delivery, owner=core.incarnation))
    if claimed is not None:
        await notifier(claimed)
    row = await core.store.read(lambda tx: deliveries.get(tx, delivery.id))
    assert row is not None, delivery.id
    return _result(row, row.state)


def _result(delivery: Delivery, state: str) -> Notified:
    return with_texts(Notified(delivery.id, delivery.thread, str(delivery.conversation), state, delivery.error))
