"""Asks clew about commands of the corpus, and collects those that it allows without asking a person."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import cycle, islice

from clew.engine.rules.decide import decide
from clew.model.gates import Asked, Effect, GateKind, Policy
from tests.execution.corpus import USED_ALL_DAY, attacks, commands, like
from tests.execution.watching import Run, Watched
from tests.execution.workspaces import Place

Judge = Callable[[Place, Run], bool]
TRIES = 600  # per program, until one of its commands is allowed
MAX_ASKED_PER_ALLOWED = 400  # commands asked about for each that is allowed


def allowed(place: Place, run: Run) -> bool:
    """Whether clew allows this command without asking, under the default policy."""
    asked = Asked(kind=GateKind.COMMAND, title=run.command, folder=run.folder)
    verdict = decide(asked, Policy.CAREFUL, str(place.work), rules=[], now=0, thread="t")
    return verdict.effect is Effect.ALLOW


@dataclass
class Gathered:
    """The commands to run, and how many were asked about."""

    watched: dict[Watched, None] = field(default_factory=dict)
    asked: int = 0

    def ask(self, place: Place, run: Run, judge: Judge) -> bool:
        self.asked += 1
        if (place, run) in self.watched or not judge(place, run):
            return False
        self.watched[place, run] = None
        return True


def gather(places: Sequence[Place], slice_: int, slices: int, wanted: int, judge: Judge = allowed) -> Gathered:
    """Collect a slice of all attacks; then, until `wanted` more commands are allowed, commands of each program in an
    ordinary workspace, and of the corpus."""
    gathered = Gathered()
    every = [(place, run) for place in places for run in attacks(place)]
    for place, run in islice(every, slice_ % slices, None, slices):
        gathered.ask(place, run, judge)
    wanted += len(gathered.watched)
    plain = next(place for place in places if place.is_plain)
    for name in installed():
        next((run for run in islice(like(plain, name, slice_), TRIES) if gathered.ask(plain, run, judge)), None)
    for place, run in _in_turn(places, slice_):
        if len(gathered.watched) >= wanted or gathered.asked > MAX_ASKED_PER_ALLOWED * wanted:
            return gathered
        gathered.ask(place, run, judge)
    raise AssertionError("the corpus never ends")


def _in_turn(places: Sequence[Place], seed: int) -> Iterator[Watched]:
    streams = [(place, commands(place, seed)) for place in places]
    return ((place, next(stream)) for place, stream in cycle(streams))


def installed() -> list[str]:
    return [name for name in USED_ALL_DAY if shutil.which(name.split()[0])]


def programs(watched: Sequence[Watched]) -> set[str]:
    """The programs that the commands start with; for git with the subcommand."""
    found = set()
    for _, run in watched:
        words = run.command.split()
        found.add(" ".join(words[:2]) if words[0] == "git" else words[0])
    return found
