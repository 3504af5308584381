"""Clocks for tests that decide when a certain time has passed."""

from __future__ import annotations

import asyncio

from clew.support.clock import SystemClock


class IdleClock(SystemClock):
    """The idle time passes when a test says so."""

    def __init__(self, idle: float) -> None:
        super().__init__()
        self.idle = idle
        self.passed = asyncio.Event()

    async def sleep(self, seconds: float) -> None:
        if seconds == self.idle:
            await self.passed.wait()
        else:
            await super().sleep(seconds)
