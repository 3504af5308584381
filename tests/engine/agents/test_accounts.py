"""Which account of an agent a new thread gets, if nobody names one."""

from __future__ import annotations

from pathlib import Path

from clew.config.settings import Config, ThreadsConfig
from clew.engine.account_limits import note_limits, record_success
from clew.model.events import LimitStatus, LimitWindow
from clew.support.clock import SystemClock
from clew.support.errors import RuntimeTrouble
from clew.testing.scripted_model import script
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


class Refusing(Account):
    """An account that is used up."""

    def __init__(self, folder: Path) -> None:
        super().__init__(SystemClock(), FileLedger(folder))
        self.play = lambda request: (script.Error("insufficient_quota"),)


async def test_an_account_that_is_used_up_is_left_for_the_next_and_taken_again_after(tmp_path: Path) -> None:
    one, two = Refusing(tmp_path / "one"), Account(SystemClock(), FileLedger(tmp_path / "two"))
    config = Config(threads=ThreadsConfig(runtime="one", fallback=("one", "two"), accounts="drain"))
    async with Rig(tmp_path, config=config, more={"one": one, "two": two}) as rig:
        first = await rig.say("!text hello", room="a")
        assert (await rig.ended(first.turn)).runtime == "two"
        thread = await rig.engine.threads.get(first.thread or "")
        assert thread.runtime == "one", "its own account is unchanged"
        second = await rig.say("!text hello", room="b")
        await rig.ended(second.turn)
        assert (await rig.engine.threads.get(second.thread or "")).runtime == "two", "a new thread begins there"
        await rig.store.write(lambda tx: record_success(tx, rig.engine._core, "one", first.thread or ""))
        third = await rig.start("!text hello")
        assert (await rig.engine.threads.get(third.thread or "")).runtime == "one"


async def test_what_is_known_of_other_windows_stays_when_an_account_works_again(tmp_path: Path) -> None:
    async with rig_with(tmp_path, "most-left") as rig:
        core, later = rig.engine._core, rig.clock.now() + 3_600_000
        week = LimitWindow("secondary", LimitStatus.OK, 0.8, later)
        await note_limits(core, "one", (week, LimitWindow("primary", LimitStatus.REACHED, 1.0, later)))
        await note_limits(core, "two", (LimitWindow("secondary", LimitStatus.OK, 0.5, later),))
        said = await rig.say("!text hello", room="a", runtime="one")
        await rig.ended(said.turn)
        await rig.store.write(lambda tx: record_success(tx, core, "one", said.thread or ""))
        assert core.limits["one"] == {"secondary": week}
        assert await runtime_of_new(rig, "b") == "two"


# Asking


class Asked(ScriptedRuntime):
    """An agent that can be asked for its limits. `tells`: what it says; None: it cannot now."""

    def __init__(self, folder: Path, tells: tuple[LimitWindow, ...] | None) -> None:
        super().__init__(SystemClock(), FileLedger(folder))
        self.tells = tells
        self.times = 0

    async def limits(self) -> tuple[LimitWindow, ...]:
        self.times += 1
        if self.tells is None:
            raise RuntimeTrouble("log in")
        return self.tells


async def test_agents_that_can_tell_are_asked_once_a_minute_and_only_on_request(tmp_path: Path) -> None:
    able = Asked(tmp_path / "able", (LimitWindow("primary", LimitStatus.OK, 0.4, 2**41),))
    mute = Asked(tmp_path / "mute", None)
    async with Rig(tmp_path, more={"able": able, "mute": mute}) as rig:
        assert await rig.engine.status.limits() == [] and able.times == 0
        for _ in range(3):
            found = await rig.engine.status.limits(ask=True)
            assert [(each.runtime, each.window, each.used, each.status) for each in found] == [
                ("able", "primary", 0.4, "ok"),
                ("mute", "", None, "unreported"),
            ]
        assert (able.times, mute.times) == (1, 1)
        assert [each.runtime for each in await rig.engine.status.limits()] == ["able"], "the answer is stored"


async def test_a_thread_keeps_the_account_that_somebody_named(tmp_path: Path) -> None:
    async with rig_with(tmp_path, "round-robin") as rig:
        assert [await runtime_of_new(rig, room, runtime="two") for room in "ab"] == ["two", "two"]
