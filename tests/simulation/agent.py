"""The agent of the simulation. It does the same for a turn each time, and exactly the same for a repeated request, as
an agent whose work was cut off would."""

from __future__ import annotations

import random

from clew.model.messages import PromptMessage
from clew.model.runtime import TurnRequest
from clew.testing.scripted_model import script
from clew.testing.scripted_model.script import Step


def steps(seed: int, request: TurnRequest) -> tuple[Step, ...]:
    own = [said for said in request.messages if said.author != "clew"]
    chance = random.Random(f"{seed} {request.turn}")
    ids = " ".join(said.id for said in own)
    return (*_work(chance), *_questions(seed, own), *_trouble(chance), script.Say(f"answer to {ids}"))


def _work(chance: random.Random) -> list[Step]:
    kinds = (script.Shell("make"), script.Think("hm"), script.Say("one moment"))
    return [chance.choice(kinds) for _ in range(chance.randrange(4))]


def _trouble(chance: random.Random) -> list[Step]:
    found: list[Step] = []
    if chance.random() < 0.1:
        found.append(script.Cut())
    if chance.random() < 0.03:
        found.append(script.Hold("for ever"))  # hangs: it runs, but sends nothing more
    if chance.random() < 0.1:
        found.append(script.Status(500))
    return found


def _long(command: str) -> str:
    """Return a text that is sent in parts, or is too long even for that. Its words all differ, so that a check can tell
    whether all of it was shown."""
    words = 600 if sum(map(ord, command)) % 2 else 2200
    return " ".join([command, *(f"w{number}" for number in range(words))])


def _questions(seed: int, own: list[PromptMessage]) -> list[Step]:
    """Return what a request makes it ask; a continuation repeats the request, and asks the same again."""
    name = own[0].id if own else ""
    chance = random.Random(f"{seed} asks {name}")
    asked: tuple[Step, ...] = (
        script.Approve((f"deploy {name}",)),
        script.Approve((_long(f"deploy {name}"),)),
        script.Approve((f"deploy {name}", f"publish {name}")),
        script.Permit(f"/{name}"),
        script.Ask(f"How, {name}?", ("well", "badly")),
        script.Ask(f"Why, {name}?", ()),
        script.Ask(f"The password, {name}?", (), secret=True),
        script.Aside(f"Also, {name}?", ("yes", "no")),
    )
    return [chance.choice(asked) for _ in range(chance.choice((0, 0, 0, 1, 1, 2)))]
