"""Sends undelivered answers with your own function: a pass of `clew notify` that calls it instead of the surfaces."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator, Mapping
from pathlib import Path

from clew.config.settings import Config
from clew.daemon import holding
from clew.engine.engine import Engine
from clew.model.messages import Conversation
from clew.model.surface import Inbox, Never, Outgoing, Receipt, Surface, SurfaceCan
from clew.model.views import Notified
from clew.support.clock import SystemClock
from clew.support.home import Home
from clew.texts.catalogue import say

Notifier = Callable[[Outgoing], Awaitable[str | None]]
"""Delivers one answer. Its return value is stored as the receipt's message id. If it raises `TryAgain`, `Down` or
`Never` of `clew.model.surface`, that is recorded; any other exception counts as "may have arrived"."""


async def notify_with(
    notifier: Notifier, *, home: str | Path | None = None, dry_run: bool = False, retry_failed: bool = False
) -> tuple[Notified, ...]:
    """One pass over the undelivered answers: each is passed to `notifier`, and its receipt stored. A delivered answer
    is never passed again.

    It holds the store's lock: if a daemon runs, it raises `StoreHeld`. `dry_run` only returns what would be passed;
    `retry_failed` also passes answers that failed permanently.
    """
    found = Home.at(home)
    if not found.database.exists():
        return ()
    clock = SystemClock()
    with holding.held(found, clock, "notify") as held:
        async with holding.opened(found, clock, held) as store:
            engine = Engine(
                store=store,
                clock=clock,
                config=Config(),
                incarnation=f"notify.{held.holder.pid}.{held.holder.started}",
                runtimes={},
                surfaces=_Everywhere(_Injected(notifier)),
                workspace=str(found.root),
            )
            return tuple(await engine.deliveries.notify(dry_run=dry_run, retry_failed=retry_failed, alone=True))


class _Injected:
    """The notifier as a surface, so that the outbox handles receipts, doubt and failures as usual."""

    name = "injected"
    trouble = ""
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
        raise Never(say("daemon.notifier_edit"))

    async def find(self, outgoing: Outgoing) -> Receipt | None:
        return None

    async def open_thread(self, parent: Conversation, title: str) -> Conversation | None:
        return None

    def parent(self, conversation: Conversation) -> Conversation | None:
        return None

    async def close(self) -> None:
        pass


class _Everywhere(Mapping[str, Surface]):
    """Maps every name to one surface, also names that are no longer in the config."""

    def __init__(self, surface: Surface) -> None:
        self._surface = surface

    def __getitem__(self, name: str) -> Surface:
        return self._surface

    def __iter__(self) -> Iterator[str]:
        return iter((self._surface.name,))

    def __len__(self) -> int:
        return 1
