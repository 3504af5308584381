"""Clocks that a test controls."""

from __future__ import annotations

import asyncio

from clew.support.clock import SystemClock


class IdleClock(SystemClock):
    """A clock on which the idle time passes when the test sets `passed`."""

    def __init__(self, idle: float) -> None:
        super().__init__()
        self.idle = idle
        self.passed = asyncio.Event()

    async def sleep(self, seconds: float) -> None:
        if seconds == self.idle:
            await self.passed.wait()
        else:
            await super().sleep(seconds)


class Ahead(SystemClock):
    """A clock that can be set forward."""

    ahead = 0

    def now(self) -> int:
        return super().now() + self.ahead


class SteppedClock(SystemClock):
    """Stands still until it is moved; who sleeps wakes when it is moved far enough."""

    def __init__(self) -> None:
        super().__init__()
        self.time = 1_800_000_000_000
        self.sleepers: list[tuple[int, asyncio.Event]] = []
        self.slept = asyncio.Event()

    def now(self) -> int:
        return self.time

    def monotonic(self) -> float:
        return self.time / 1000

    async def sleep(self, seconds: float) -> None:
        if seconds <= 0:
            return
        woken = asyncio.Event()
        self.sleepers.append((self.time + round(seconds * 1000), woken))
        self.slept.set()
        await woken.wait()

    async def asleep(self) -> None:
        """Wait until somebody has begun to sleep since it was moved."""
        await self.slept.wait()

    def move(self, seconds: float) -> None:
        self.slept.clear()
        self.time += round(seconds * 1000)
        for due, woken in self.sleepers:
            if due <= self.time:
                woken.set()
        self.sleepers = [each for each in self.sleepers if not each[1].is_set()]
