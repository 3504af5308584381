"""An answer that was given and never reached the agent: for what it counts, and for how long."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from clew.clock import SystemClock
from clew.engine import giving
from clew.model import Accepted, Fate
from tests.engine.test_gates import COMMAND, YES, answered_and_cut, asked, executions
from tests.rig import Rig

ACTED = f"!shell make\n!approve {COMMAND}\n!text done"  # a chat that has done something asks before it goes on
HOURS = 2 * 3600 * 1000


class LaterClock(SystemClock):
    def now(self) -> int:
        return super().now() + HOURS


async def cut_after_a_yes(folder: Path) -> Accepted:
    async with Rig(folder) as rig:
        accepted = await rig.say(ACTED)
        (gate,) = await asked(rig)
        await answered_and_cut(rig, gate)
    return accepted


async def test_a_plain_continue_means_what_was_answered(tmp_path: Path) -> None:
    accepted = await cut_after_a_yes(tmp_path)
    async with Rig(tmp_path) as rig:
        await rig.delivered(f"{accepted.turn}:ask")
        await rig.ended((await rig.say("continue")).turn)
        assert executions(rig) == [COMMAND]


async def test_whoever_says_something_else_is_asked_again(tmp_path: Path) -> None:
    accepted = await cut_after_a_yes(tmp_path)
    async with Rig(tmp_path) as rig:
        await rig.delivered(f"{accepted.turn}:ask")
        goes_on = await rig.engine.resume(accepted.thread or "", "but do not deploy today", "m-resume", "ann")
        (again,) = await asked(rig)
        assert (again.turn, again.state, executions(rig)) == (goes_on.turn, "open", [])


async def test_what_is_said_into_the_work_counts_more_than_an_old_yes(tmp_path: Path) -> None:
    async with Rig(tmp_path) as rig:
        await rig.start(f"!hold door\n!approve {COMMAND}\n!text done")
        await rig.held("door")
        rig.scripted.holds.release("door")
        (gate,) = await asked(rig)
        await answered_and_cut(rig, gate)
    async with Rig(tmp_path) as rig:
        await rig.held("door")
        assert (await rig.send(gate.thread, "do not deploy today")).fate is Fate.STEER
        rig.scripted.holds.release("door")
        (again,) = await asked(rig)
        assert again.state == "open" and executions(rig) == []


async def test_an_old_yes_is_asked_for_again(tmp_path: Path) -> None:
    accepted = await cut_after_a_yes(tmp_path)
    async with Rig(tmp_path, clock=LaterClock()) as rig:
        await rig.delivered(f"{accepted.turn}:ask")
        await rig.say("continue")
        (again,) = await asked(rig)
        assert again.state == "open" and executions(rig) == []


async def test_a_yes_that_a_stop_overtook_is_not_called_allowed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    never = asyncio.Event()

    async def held(*given: object) -> None:
        await never.wait()

    monkeypatch.setattr(giving, "_give", held)
    async with Rig(tmp_path) as rig:
        accepted = await rig.say(f"!approve {COMMAND}\n!text done")
        (gate,) = await asked(rig)
        await rig.engine.waiting.answer(gate.code, YES)
        await rig.engine.stop(accepted.thread or "")
        await rig.ended(accepted.turn)
        assert (await rig.engine.waiting.one(gate.id)).state == "void" and executions(rig) == []
