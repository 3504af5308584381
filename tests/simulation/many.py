"""Many seeds, on as many processors as there are."""

from __future__ import annotations

import gc
import logging
import os
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor

from tests.simulation.oracle import judge
from tests.simulation.world import play

CHUNK = 100  # seeds that are told about at once


def verdict(seed: int) -> list[str]:
    """What a story breaks, where nobody looks at the story itself."""
    world = play(seed)
    try:
        return judge(world)
    finally:
        world.close()


def broken_by(seeds: range) -> list[str]:
    """What these seeds break."""
    return [line for seed in seeds for line in verdict(seed)]


def try_many(first: int, count: int, jobs: int | None = None, say: Callable[[str], None] = print) -> list[str]:
    """What any of them breaks; it is also said at once."""
    end = first + count
    chunks = [range(start, min(start + CHUNK, end)) for start in range(first, end, CHUNK)]
    found: list[str] = []
    with ProcessPoolExecutor(jobs or os.cpu_count(), initializer=be_quick) as workers:
        for number, broken in enumerate(workers.map(broken_by, chunks), 1):
            found += broken
            for line in broken:
                say(line)
            if number % 10 == 0 or number == len(chunks):
                say(f"{min(number * CHUNK, count):,} of {count:,} seeds, {len(found)} broken promises")
    return found


def be_quick() -> None:
    """What daemons log about their deaths is no news here, and what a story leaves behind can lie for a while."""
    logging.disable(logging.CRITICAL)
    gc.freeze()
    gc.set_threshold(20_000)
