"""`python -m tests.simulation --seed N`: prints the timeline of one seed; `--seeds N`: checks many."""

from __future__ import annotations

import argparse
import sys
import time

from tests.simulation import judge, play
from tests.simulation.many import try_many


def main() -> int:
    parser = argparse.ArgumentParser(prog="tests.simulation", description=__doc__)
    parser.add_argument("--seed", type=int, help="tell the story of this seed")
    parser.add_argument("--seeds", type=int, default=300, help="how many seeds to try")
    parser.add_argument("--first", type=int, default=0, help="the first of them")
    parser.add_argument("--jobs", type=int, help="on how many processors; else on all")
    wanted = parser.parse_args()
    return _tell(wanted.seed) if wanted.seed is not None else _try(wanted.first, wanted.seeds, wanted.jobs)


def _tell(seed: int) -> int:
    world = play(seed)
    print("\n".join(world.timeline))
    broken = judge(world)
    print("\n".join(broken) or f"seed {seed}: every promise held")
    return 1 if broken else 0


def _try(first: int, count: int, jobs: int | None) -> int:
    started = time.monotonic()
    broken = try_many(first, count, jobs)
    print(f"{time.monotonic() - started:.1f} s")
    return 1 if broken else 0


if __name__ == "__main__":
    sys.exit(main())
