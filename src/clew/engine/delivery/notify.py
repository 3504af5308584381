"""One pass over the answers of ended turns that have not arrived, for a person who wants it now. It ignores back-off,
and takes what failed for good only when asked to. The notifier is injected."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from functools import partial

from clew.engine.core import Core
from clew.model.delivery import Delivery, DeliveryKind
from clew.model.views import Notified
from clew.store.tables import deliveries

Notifier = Callable[[Delivery], Awaitable[None]]
"""Brings one claimed delivery to its place and records what came of it."""

PAGE = 100


async def notify(
    core: Core, notifier: Notifier, *, dry_run: bool = False, retry_failed: bool = False, alone: bool = False
) -> list[Notified]:
    """`alone`: no daemon runs, so what is on its way is nobody's, and would be sent."""
    left = await core.store.read(deliveries.sending_finals) if alone and dry_run else []
    done = {delivery.id: _told(delivery, "would send") for delivery in left}
    after = ""
    while True:
        page = await core.store.read(
            partial(deliveries.undelivered_finals, failed=retry_failed, after=after, limit=PAGE)
        )
        for delivery in page:
            before = await core.store.read(partial(deliveries.queued_before, delivery=delivery))
            if alone and any(each.kind is not DeliveryKind.FINAL for each in before):
                done[delivery.id] = _told(delivery, delivery.state)  # behind a question: nobody would hear its answer
                continue
            for each in [*before, delivery]:  # of what is owed to a conversation nothing overtakes anything
                if each.id not in done:
                    done[each.id] = _told(each, "would send") if dry_run else await _send(core, notifier, each)
        if len(page) < PAGE:
            return list(done.values())
        after = page[-1].id


async def _send(core: Core, notifier: Notifier, delivery: Delivery) -> Notified:
    claimed = await core.store.write(partial(deliveries.claim, delivery=delivery, owner=core.incarnation))
    if claimed is not None:
        await notifier(claimed)
    row = await core.store.read(lambda tx: deliveries.get(tx, delivery.id))
    assert row is not None, delivery.id
    return _told(row, row.state)


def _told(delivery: Delivery, state: str) -> Notified:
    return Notified(delivery.id, delivery.thread, str(delivery.conversation), state, delivery.error)
