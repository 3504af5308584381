"""The engine and the real SQL in virtual time: a seed decides delays, duplicates, lost acknowledgements and deaths, and
one oracle checks the promises afterwards. `python -m tests.simulation --seed N` tells the story of a seed."""

from tests.simulation.oracle import judge
from tests.simulation.world import World, play

__all__ = ["World", "judge", "play"]
