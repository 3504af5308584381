"""The engine and the real SQL in virtual time: a seed decides delays, duplicates, lost acknowledgements and deaths, and
one oracle checks the promises afterwards. `python -m clew.simulation --seed N` tells the story of a seed."""

from clew.simulation.oracle import judge
from clew.simulation.world import World, play

__all__ = ["World", "judge", "play"]
