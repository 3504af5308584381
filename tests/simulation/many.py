"""Runs many seeds in parallel on all processors."""

from __future__ import annotations

import gc
import logging
import os
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor

from tests.simulation.oracle import judge
from tests.simulation.world import play

CHUNK = 100  # seeds per job


def verdict(seed: int) -> list[str]:
    """Return what a story breaks, without its timeline."""
    world = play(seed)
    try:
        return judge(world)
    finally:
        world.close()


def broken_by(seeds: range) -> list[str]:
    """Return what these seeds break."""
    return [line for seed in seeds for line in verdict(seed)]


def try_many(first: int, count: int, jobs: int | None = None, say: Callable[[str], None] = print) -> list[str]:
    """Return what the seeds break; each finding is also printed at once."""
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
    """Turn off the daemons' logs, and collect garbage rarely."""
    logging.disable(logging.CRITICAL)
    gc.freeze()
    gc.set_threshold(20_000)
