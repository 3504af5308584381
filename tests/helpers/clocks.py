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
