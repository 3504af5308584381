"""Time, sleep, ids and randomness. Injected everywhere, so that tests and simulations control them."""

from __future__ import annotations

import asyncio
import random
import time
from typing import Protocol

_CROCKFORD = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"


class Clock(Protocol):
    def now(self) -> int:
        """Unix time in milliseconds."""

    def monotonic(self) -> float:
        """Seconds that never go back; for timeouts and durations."""

    async def sleep(self, seconds: float) -> None: ...

    def ulid(self) -> str:
        """A new id: 26 characters that sort by time."""

    def token(self) -> str:
        """128 random bits as hex."""

    def random(self) -> float: ...


class SystemClock:
    """The real clock."""

    def __init__(self) -> None:
        self._random = random.SystemRandom()
        self._last = (0, 0)

    def now(self) -> int:
        return time.time_ns() // 1_000_000

    def monotonic(self) -> float:
        return time.monotonic()

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(seconds)

    def ulid(self) -> str:
        self._last = next_ulid(self._last, self.now(), self._random.getrandbits(80))
        return encode_ulid(*self._last)

    def token(self) -> str:
        return f"{self._random.getrandbits(128):032x}"

    def random(self) -> float:
        return self._random.random()


def next_ulid(last: tuple[int, int], millis: int, bits: int) -> tuple[int, int]:
    """The next id, which sorts after `last` even in the same millisecond or after the clock was set back."""
    if millis > last[0]:
        return millis, bits
    return last[0], last[1] + 1


def encode_ulid(millis: int, bits: int) -> str:
    value = (millis << 80) | (bits & ((1 << 80) - 1))
    return "".join(_CROCKFORD[(value >> shift) & 31] for shift in range(125, -1, -5))
