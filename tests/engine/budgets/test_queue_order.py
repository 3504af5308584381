"""The order of the queue: priority, ageing, and the most turns in one folder."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from clew.engine.turns.scheduler import LEAD
from clew.model.threads import Priority, ThreadSettings
from clew.support.clock import SystemClock
from tests.helpers.rig import Rig, patient


class Ahead(SystemClock):
    ahead = 0.0

    def monotonic(self) -> float:
        return super().monotonic() + self.ahead


async def claimed(rig: Rig, count: int) -> list[str]:
    """The threads in the order in which their turns were claimed."""
    await rig.until(lambda entry: rig.kinds().count("turn.ended") == count)
    return [entry.thread for entry in rig._entries if entry.kind == "turn.claimed"]


async def test_of_turns_that_wait_a_high_priority_goes_first_and_a_low_one_last(tmp_path: Path) -> None:
    async with Rig(tmp_path, config=patient(parallel=1)) as rig:
        first = await rig.start("!hold here")
        await rig.held("here")
        low = await rig.start("!text low", priority=Priority.LOW)
        normal = await rig.start("!text normal")
        high = await rig.start("!text high", priority=Priority.HIGH)
        rig.scripted.holds.release("here")
        assert await claimed(rig, 4) == [first.thread, high.thread, normal.thread, low.thread]


async def test_a_low_priority_that_waited_long_goes_before_newer_ones(tmp_path: Path) -> None:
    clock = Ahead()
    async with Rig(tmp_path, clock=clock, config=patient(parallel=1)) as rig:
        first = await rig.start("!hold here")
        await rig.held("here")
        low = await rig.start("!text low", priority=Priority.LOW)
        clock.ahead = -LEAD[Priority.LOW] + 60
        normal = await rig.start("!text normal")
        rig.scripted.holds.release("here")
        assert await claimed(rig, 3) == [first.thread, low.thread, normal.thread]


async def test_a_priority_can_be_changed_while_the_turn_waits_and_outlives_the_daemon(tmp_path: Path) -> None:
    async with Rig(tmp_path, config=patient(parallel=1)) as rig:
        first = await rig.start("!hold here")
        await rig.held("here")
        one, two = await rig.start("!text one"), await rig.start("!text two")
        view = await rig.engine.threads.change(two.thread or "", None, ThreadSettings(priority=Priority.HIGH))
        assert view.priority == "high"
        rig.scripted.holds.release("here")
        assert await claimed(rig, 3) == [first.thread, two.thread, one.thread]
        await rig.kill()
    async with Rig(tmp_path) as rig:
        assert rig.engine._scheduler._priorities == {two.thread: Priority.HIGH}


async def test_in_one_folder_only_so_many_turns_run_at_once(tmp_path: Path) -> None:
    config = replace(patient(), turns=replace(patient().turns, per_project=1))
    (tmp_path / "other").mkdir()
    async with Rig(tmp_path, config=config) as rig:
        first = await rig.start("!hold here")
        await rig.held("here")
        second, third = await rig.start("!text two"), await rig.start("!text three")
        elsewhere = await rig.start("!text other", workspace=str(tmp_path / "other"))
        await rig.ended(elsewhere.turn)
        assert rig.kinds(second.thread).count("turn.claimed") == 0
        rig.scripted.holds.release("here")
        order = await claimed(rig, 4)
    assert order == [first.thread, elsewhere.thread, second.thread, third.thread]
