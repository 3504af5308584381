"""The clock and random numbers of a story; the seed decides both."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Sequence

from msgspec import Struct

from clew.support.clock import encode_ulid, next_ulid

EPOCH = 1_800_000_000_000  # milliseconds; the start of every story


class Jump(Struct, frozen=True):
    """From `at` on, the wall clock is wrong by `off` seconds."""

    at: float
    off: float


def jumps(chance: random.Random) -> list[Jump]:
    if chance.random() < 0.7:
        return []
    times = sorted(chance.random() * 60 for _ in range(chance.randrange(1, 4)))
    return [Jump(at, chance.choice((-3600.0, -30.0, 0.0, 30.0, 3600.0))) for at in times]


class VirtualClock:
    """The loop's time, and random numbers of the seed. Sometimes the wall clock jumps forward or back."""

    def __init__(self, chance: random.Random, jumps: Sequence[Jump] = ()) -> None:
        self._chance = chance
        self._jumps = jumps
        self._last = (0, 0)
        self.start = 0.0

    def now(self) -> int:
        passed = self.monotonic()
        return EPOCH + int((passed + self._wrong(passed)) * 1000)

    def _wrong(self, passed: float) -> float:
        return next((jump.off for jump in reversed(self._jumps) if jump.at <= passed), 0.0) if self._jumps else 0.0

    def monotonic(self) -> float:
        try:
            return asyncio.get_running_loop().time()
        except RuntimeError:
            return self.start

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(seconds)

    def ulid(self) -> str:
        self._last = next_ulid(self._last, self.now(), self._chance.getrandbits(79))
        return encode_ulid(*self._last)

    def token(self) -> str:
        return f"{self._chance.getrandbits(128):032x}"

    def random(self) -> float:
        return self._chance.random()
