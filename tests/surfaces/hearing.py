"""A fake inbox, clocks that do not wait, and a surface that runs during a test."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

from clew.model.messages import Accepted, Conversation, Fate, Inbound
from clew.model.surface import KnownConversation, Surface
from clew.support.clock import SystemClock
from tests.surfaces.fakes.process import PATIENCE

LONG = 60.0  # seconds; longer waits, such as between pings, really wait


@dataclass
class Heard:
    """An inbox that records its messages. It raises `troubles` first, one by one, and `unsure` ones in `welcomes`;
    `hold` makes it wait."""

    words: str = ""
    fate: Fate = Fate.TURN
    troubles: list[Exception] = field(default_factory=list)
    unsure: list[Exception] = field(default_factory=list)
    hold: asyncio.Event | None = None
    is_welcome: bool = True
    entered: asyncio.Event = field(default_factory=asyncio.Event)
    moves: list[tuple[str, str]] = field(default_factory=list)
    got: list[Inbound] = field(default_factory=list)
    edits: list[Inbound] = field(default_factory=list)
    deletions: list[str] = field(default_factory=list)
    news: asyncio.Condition = field(default_factory=asyncio.Condition)

    async def known(self, surface: str) -> list[KnownConversation]:
        return []

    async def moved(self, old: Conversation, new: Conversation) -> None:
        async with self.news:
            self.moves.append((old.address, new.address))
            self.news.notify_all()

    async def edited(self, inbound: Inbound) -> None:
        self.edits.append(inbound)

    async def deleted(self, surface: str, message: str) -> None:
        self.deletions.append(message)

    async def welcomes(self, inbound: Inbound) -> bool:
        if self.unsure:
            raise self.unsure.pop(0)
        return self.is_welcome

    async def accept(self, inbound: Inbound) -> Accepted:
        self.entered.set()
        if self.troubles:
            raise self.troubles.pop(0)
        if self.hold is not None:
            await self.hold.wait()
        async with self.news:
            self.got.append(inbound)
            self.news.notify_all()
        return Accepted(self.fate, "T1", "U1", words=self.words)

    async def first(self, count: int = 1) -> list[Inbound]:
        async with asyncio.timeout(PATIENCE), self.news:
            await self.news.wait_for(lambda: len(self.got) >= count)
            return self.got[:count]


class Quick(SystemClock):
    """A clock that records short waits and ends them at once."""

    def __init__(self) -> None:
        super().__init__()
        self.waited: list[float] = []

    async def sleep(self, seconds: float) -> None:
        if seconds >= LONG:
            await asyncio.Event().wait()
        self.waited.append(seconds)
        await asyncio.sleep(0)


class Standing(SystemClock):
    """A clock whose waits a test can see, and that end with `go`."""

    def __init__(self) -> None:
        super().__init__()
        self.waits, self.go = asyncio.Event(), asyncio.Event()

    async def sleep(self, seconds: float) -> None:
        if seconds >= LONG:
            await asyncio.Event().wait()
        self.waits.set()
        await self.go.wait()

    async def seen(self) -> None:
        async with asyncio.timeout(PATIENCE):
            await self.waits.wait()


@asynccontextmanager
async def running(surface: Surface, inbox: Heard | None = None) -> AsyncIterator[Heard]:
    heard = inbox or Heard()
    task = asyncio.create_task(surface.run(heard))
    try:
        yield heard
    finally:
        task.cancel()
        async with asyncio.timeout(10):  # on a busy machine too
            await asyncio.gather(task, return_exceptions=True)
            await surface.close()
