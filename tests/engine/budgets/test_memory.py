"""Admission by memory: what waits, what it is told, and that nothing waits for ever."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from clew.config.settings import parse
from clew.engine.budgets.memory import FRESH
from clew.engine.turns.scheduler import LOOK_AGAIN
from clew.process import memory
from clew.support.clock import SystemClock
from clew.support.errors import ConfigError
from tests.helpers.rig import Rig

GIB = 1 << 30


class Looks(SystemClock):
    """The time between two looks passes when the test sets `passed`."""

    def __init__(self) -> None:
        super().__init__()
        self.passed = asyncio.Event()
        self.ahead = 0.0

    def monotonic(self) -> float:
        return super().monotonic() + self.ahead

    async def sleep(self, seconds: float) -> None:
        if seconds != LOOK_AGAIN:
            await super().sleep(seconds)
        else:
            await self.passed.wait()
            self.passed.clear()
            self.ahead += FRESH


class Agents:
    def __init__(self, used: int) -> None:
        self.used = used
        self.looks = 0

    def __call__(self) -> int:
        self.looks += 1
        return self.used


async def test_a_turn_waits_for_memory_says_so_once_and_starts_when_it_is_free(tmp_path: Path) -> None:
    clock, agents = Looks(), Agents(12 * GIB)
    async with Rig(tmp_path, clock=clock, memory=agents, memory_limit=10 * GIB) as rig:
        first = await rig.say("!hold one", room="a")
        await rig.held("one")
        second = await rig.say("!text two", room="b")
        await rig.delivered(f"{second.turn}:memory")
        view = await rig.engine.threads.get(second.thread or "")
        assert view.held == "It waits for memory: the agents use 12.0 of 10.0 GiB. It starts by itself."
        looked = agents.looks
        clock.passed.set()  # it is looked at again, and still waits
        third = await rig.say("!text three", room="c")
        await rig.delivered(f"{third.turn}:memory")
        assert rig.room.texts.count(view.held) == 2 and agents.looks > looked
        agents.used = 0
        clock.passed.set()
        assert (await rig.ended(second.turn)).text == "two" and (await rig.ended(third.turn)).text == "three"
        assert (await rig.engine.threads.get(second.thread or "")).held is None
        rig.scripted.holds.release("one")
        await rig.ended(first.turn)


async def test_with_no_turn_at_work_one_may_always_start(tmp_path: Path) -> None:
    agents = Agents(12 * GIB)
    async with Rig(tmp_path, clock=Looks(), memory=agents, memory_limit=10 * GIB) as rig:
        said = [await rig.say(f"!text {room}", room=room) for room in "abc"]
        assert [(await rig.ended(each.turn)).state for each in said] == ["completed"] * 3


async def test_a_single_turn_is_not_measured(tmp_path: Path) -> None:
    agents = Agents(12 * GIB)
    async with Rig(tmp_path, memory=agents, memory_limit=10 * GIB) as rig:
        await rig.ended((await rig.say("!text one")).turn)
    assert agents.looks == 0


def test_the_limit_is_a_share_or_bytes() -> None:
    assert memory.limit("70%", lambda: 1000) == 700
    assert memory.limit("5000", lambda: 1000) == 5000
    assert parse('[turns]\nmemory = "0"\n', "c").turns.memory == "0"
    with pytest.raises(ConfigError, match="a share such as"):
        parse('[turns]\nmemory = "700%"\n', "c")


def test_this_machine_has_memory() -> None:
    assert memory.of_machine() > GIB
