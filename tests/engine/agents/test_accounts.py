"""Which account of an agent a new thread gets, if nobody names one."""

from __future__ import annotations

from pathlib import Path

from clew.config.settings import Config, ThreadsConfig
from clew.engine.account_limits import note_limits
from clew.model.events import LimitStatus, LimitWindow
from clew.support.clock import SystemClock
from clew.testing.scripted_runtime import FileLedger, ScriptedRuntime
from tests.helpers.rig import Rig


class Account(ScriptedRuntime):
    kind = "agent"


def rig_with(folder: Path, strategy: str) -> Rig:
    made = {name: Account(SystemClock(), FileLedger(folder / name)) for name in ("one", "two")}
    threads = ThreadsConfig(runtime="one", fallback=("one", "two", "scripted"), accounts=strategy)
    return Rig(folder, config=Config(threads=threads), more=made)


async def runtime_of_new(rig: Rig, room: str, runtime: str | None = None) -> str:
    said = await rig.say("!text hello", room=room, runtime=runtime)
    return (await rig.ended(said.turn)).runtime


async def test_in_turn_each_account_gets_a_thread_and_no_other_agent_does(tmp_path: Path) -> None:
    async with rig_with(tmp_path, "round-robin") as rig:
        assert [await runtime_of_new(rig, room) for room in "abc"] == ["one", "two", "one"]


async def test_the_account_that_has_used_least_gets_the_thread(tmp_path: Path) -> None:
    async with rig_with(tmp_path, "most-left") as rig:
        later = rig.clock.now() + 3_600_000
        await note_limits(rig.engine._core, "one", (LimitWindow("primary", LimitStatus.OK, 0.8, later),))
        assert await runtime_of_new(rig, "a") == "two"
        await note_limits(rig.engine._core, "two", (LimitWindow("primary", LimitStatus.WARNING, 0.9, later),))
        assert await runtime_of_new(rig, "b") == "one"


async def test_one_account_is_used_up_before_the_next(tmp_path: Path) -> None:
    async with rig_with(tmp_path, "drain") as rig:
        assert [await runtime_of_new(rig, room) for room in "ab"] == ["one", "one"]


async def test_a_thread_keeps_the_account_that_somebody_named(tmp_path: Path) -> None:
    async with rig_with(tmp_path, "round-robin") as rig:
        assert [await runtime_of_new(rig, room, runtime="two") for room in "ab"] == ["two", "two"]
