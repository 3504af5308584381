"""`python -m clew.simulation --seed N`: the story of one seed as a timeline; `--seeds N`: the verdict on many."""

from __future__ import annotations

import argparse
import sys
import time

from clew.simulation import judge, play


def main() -> int:
    parser = argparse.ArgumentParser(prog="clew.simulation", description=__doc__)
    parser.add_argument("--seed", type=int, help="tell the story of this seed")
    parser.add_argument("--seeds", type=int, default=300, help="how many seeds to try")
    parser.add_argument("--first", type=int, default=0, help="the first of them")
    wanted = parser.parse_args()
    return _tell(wanted.seed) if wanted.seed is not None else _try(wanted.first, wanted.seeds)


def _tell(seed: int) -> int:
    world = play(seed)
    print("\n".join(world.timeline))
    broken = judge(world)
    print("\n".join(broken) or f"seed {seed}: every promise held")
    return 1 if broken else 0


def _try(first: int, count: int) -> int:
    started = time.monotonic()
    bad = 0
    for seed in range(first, first + count):
        for line in judge(play(seed)):
            bad += 1
            print(line)
    print(f"{count} seeds, {bad} broken promises, {time.monotonic() - started:.1f} s")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
