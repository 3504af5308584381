"""Bringing what is owed your own way: the pass of `clew notify`, with a function of yours in place of the surfaces."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path

from clew import lock, processes
from clew.clock import Clock, SystemClock
from clew.config import Config
from clew.engine import Engine
from clew.home import Home
from clew.model import Conversation
from clew.store import Store, deliveries
from clew.store.migrate import open_store
from clew.surfaces.base import Inbox, Never, Outgoing, Receipt, Surface, SurfaceCan
from clew.views import Notified

Notifier = Callable[[Outgoing], Awaitable[str | None]]
"""Brings one answer to its place. What it returns is kept as the receipt's message id. When it raises `TryAgain`,
`Down` or `Never` of `clew.surfaces.base`, that is written down; any other exception counts as "may have arrived"."""


async def notify_with(
    notifier: Notifier, *, home: str | Path | None = None, dry_run: bool = False, retry_failed: bool = False
) -> tuple[Notified, ...]:
    """One pass over the answers that are still owed: each is given to `notifier`, and its receipt kept. What was taken
    is never given again.

    It works under the store's lock, so no daemon may run: then it raises `StoreHeld`. `dry_run` only tells what would
    be given; `retry_failed` takes also those that failed for good.
    """
    found = Home.at(home)
    if not found.database.exists():
        return ()
    clock = SystemClock()
    async with _store(found, clock) as (store, incarnation):
        if not dry_run:  # what a dead daemon was sending is nobody's now, and may have arrived
            await store.write(lambda tx: deliveries.release_sending(tx, clock.now()))
        engine = Engine(
            store=store,
            clock=clock,
            config=Config(),
            incarnation=incarnation,
            runtimes={},
            surfaces=_Everywhere(_Injected(notifier)),
            workspace=str(found.root),
        )
        return tuple(await engine.notify(dry_run=dry_run, retry_failed=retry_failed))


@asynccontextmanager
async def _store(home: Home, clock: Clock) -> AsyncIterator[tuple[Store, str]]:
    home.prepare()
    me = processes.look(os.getpid())
    holder = lock.Holder(os.getpid(), me.started if me else "", clock.now(), "notify")
    with lock.hold(home.lock, holder) as held:
        store = open_store(home.database, clock)
        try:
            held.note_store(store.id)
            yield store, f"notify.{holder.pid}.{holder.started}"
        finally:
            store.close()


class _Injected:
    """The notifier as a surface, so that receipts, doubt and failures are the outbox's work as ever."""

    name = "injected"
    can = SurfaceCan()

    def __init__(self, notifier: Notifier) -> None:
        self._notifier = notifier

    def resolve(self, address: str) -> Conversation:
        return Conversation(self.name, address)

    async def run(self, inbox: Inbox) -> None:
        raise NotImplementedError("nothing arrives here")

    async def send(self, outgoing: Outgoing) -> Receipt:
        return Receipt(outgoing.conversation, await self._notifier(outgoing) or self.name)

    async def edit(self, receipt: Receipt, outgoing: Outgoing) -> None:
        raise Never("what was given to a notifier cannot be edited")

    async def find(self, outgoing: Outgoing) -> Receipt | None:
        return None

    async def close(self) -> None:
        pass


class _Everywhere(Mapping[str, Surface]):
    """One surface for every name, also for those that the config does not know any more."""

    def __init__(self, surface: Surface) -> None:
        self._surface = surface

    def __getitem__(self, name: str) -> Surface:
        return self._surface

    def __iter__(self) -> Iterator[str]:
        return iter((self._surface.name,))

    def __len__(self) -> int:
        return 1
