"""Simulation: the engine and the real SQL in virtual time. A seed decides delays, duplicates, lost acknowledgements and
crashes; an oracle checks the promises afterwards. A "story" is the run of one seed: `python -m tests.simulation --seed
N` prints it."""

from tests.simulation.oracle import judge
from tests.simulation.world import World, play

__all__ = ["World", "judge", "play"]
