"""What a person chose for one thread: who takes its turns, and how it waits at a usage limit."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path

import pytest

from clew.config.settings import Config, ThreadsConfig
from clew.engine.agents.quiet_hours import after_quiet_hours
from clew.model.threads import LimitChoices, ThreadSettings
from clew.support.errors import BadInput
from clew.testing.scripted_model import script
from tests.engine.agents.test_fallback import Other, rig_with
from tests.engine.agents.test_parking import HOUR, MINUTE, Limited, auto
from tests.helpers.rig import Rig


async def choose(rig: Rig, thread: str | None, **words: str) -> None:
    await rig.engine.threads.change(thread or "", None, ThreadSettings(choices=words))


async def now(rig: Limited, thread: str | None) -> None:
    await rig.engine.threads.resume(thread or "", "", rig.clock.ulid(), "ann")


async def begun(rig: Limited) -> str:
    """A thread whose first turn worked, before the limit."""
    frees_at, rig.frees_at = rig.frees_at, 0
    said = await rig.say("hello")
    await rig.ended(said.turn)
    rig.frees_at = frees_at
    rig.asked.clear()
    return said.thread or ""


async def test_a_thread_may_ask_where_others_go_on_by_themselves(tmp_path: Path) -> None:
    async with Limited(tmp_path) as rig:
        name = await begun(rig)
        await choose(rig, name, on_limit="ask")
        await rig.say("go")
        assert (await rig.parked(name)).wake_at is None
        other = await rig.say("go", room="b")
        assert (await rig.parked(other.thread)).wake_at is not None


async def test_a_thread_may_fail_at_once_or_wait_where_others_fail(tmp_path: Path) -> None:
    async with Limited(tmp_path, config=auto(on_limit="never")) as rig:
        name = await begun(rig)
        await choose(rig, name, on_limit="auto")
        failed = await rig.say("go", room="b")
        assert (await rig.ended(failed.turn)).state == "failed"
        await rig.say("go")
        assert (await rig.parked(name)).wake_at is not None
        await choose(rig, name, on_limit="never")
        rig.frees_at += 9 * HOUR
        rig.scripted.free_at = rig.frees_at
        rig.pass_time(2 * HOUR + 4 * MINUTE)
        turn = (await rig.queue(name))[0].id
        assert (await rig.ended(turn)).state == "failed"


async def test_a_thread_may_wait_for_fewer_windows(tmp_path: Path) -> None:
    async with Limited(tmp_path, frees_after=100 * HOUR) as rig:
        name = await begun(rig)
        await choose(rig, name, limit_waits="1")
        await rig.say("go")
        assert (await rig.parked(name)).wake_at is not None
        rig.scripted.free_at = rig.began + 7 * HOUR
        rig.pass_time(2 * HOUR + 4 * MINUTE)
        thread = await rig.parked(name, times=2)
        assert thread.wake_at is None and "2 times in a row" in (thread.suspend_message or "")


async def test_now_pressed_in_one_window_counts_once(tmp_path: Path) -> None:
    async with Limited(tmp_path, frees_after=100 * HOUR, config=auto(limit_waits=1)) as rig:
        said = await rig.say("go")
        await rig.parked(said.thread)
        for times in (2, 3, 4):
            await now(rig, said.thread)
            thread = await rig.parked(said.thread, times)
            assert (thread.limit_waits, thread.wake_at) == (1, rig.began + 2 * HOUR + 3 * MINUTE)


async def test_a_time_of_reset_that_was_not_told_before_is_another_window(tmp_path: Path) -> None:
    async with Limited(tmp_path, frees_after=100 * HOUR) as rig:
        said = await rig.say("go")
        await rig.parked(said.thread)
        for number, hours in ((2, 9), (3, 30)):
            rig.scripted.free_at = rig.began + hours * HOUR
            await now(rig, said.thread)
            assert (await rig.parked(said.thread, number)).limit_waits == number


async def test_tries_at_unknown_times_are_one_window_of_five_hours(tmp_path: Path) -> None:
    async with Limited(tmp_path, None, frees_after=100 * HOUR) as rig:
        said = await rig.say("go")
        counts = []
        for times in range(1, 8):
            counts.append((await rig.parked(said.thread, times)).limit_waits)
            rig.pass_time(HOUR)
        assert counts == [1, 1, 1, 1, 1, 2, 2]


async def test_a_turn_that_worked_ends_the_count(tmp_path: Path) -> None:
    async with Limited(tmp_path) as rig:
        said = await rig.say("go")
        await rig.parked(said.thread)
        rig.pass_time(2 * HOUR + 4 * MINUTE)
        await rig.ended(said.turn)
        thread = await rig.thread(said.thread)
        assert (thread.limit_waits, thread.limit_window) == (0, None)


# Quiet hours


def at(hour: int, minute: int = 0, day: int = 2) -> int:
    return int(datetime(2026, 3, day, hour, minute).timestamp() * 1000)


@pytest.mark.parametrize(
    ("when", "then"),
    [
        (at(22, 59), at(22, 59)),
        (at(23), at(7, day=3)),
        (at(3), at(7)),
        (at(6, 59), at(7)),
        (at(7), at(7)),
    ],
)
def test_nothing_goes_on_in_quiet_hours_over_midnight(when: int, then: int) -> None:
    assert after_quiet_hours(when, "23:00-07:00") == then


def test_quiet_hours_within_a_day_end_on_that_day() -> None:
    assert after_quiet_hours(at(12, 30), "12:00-14:00") == at(14)
    assert after_quiet_hours(at(14), "12:00-14:00") == at(14)


@pytest.mark.parametrize("hours", [None, "08:00-08:00"])
def test_without_quiet_hours_the_time_stays(hours: str | None) -> None:
    assert after_quiet_hours(at(8), hours) == at(8)


def around(moment: int) -> str:
    hour = datetime.fromtimestamp(moment / 1000).hour
    return f"{(hour - 3) % 24:02}:00-{(hour + 4) % 24:02}:00"


async def test_a_parked_thread_does_not_go_on_in_quiet_hours(tmp_path: Path) -> None:
    async with Limited(tmp_path) as rig:
        reset = rig.began + 2 * HOUR
    config = auto(quiet_hours=around(reset))
    async with Limited(tmp_path / "b", config=config) as rig:
        said = await rig.say("go")
        thread = await rig.parked(said.thread)
        assert thread.wake_at == after_quiet_hours(rig.began + 2 * HOUR + 3 * MINUTE, around(reset))
        rig.pass_time(2 * HOUR + 4 * MINUTE)
        other = await rig.say("go", room="b")
        assert (await rig.ended(other.turn)).state == "completed", "a person who writes is awake"
        assert (await rig.thread(said.thread)).suspended_by == "limit"
        rig.pass_time((thread.wake_at or 0) - rig.clock.now() + MINUTE)
        assert (await rig.ended(said.turn)).state == "completed"


@pytest.mark.parametrize("own", ["own", "none", "default"])
async def test_a_thread_may_have_quiet_hours_of_its_own(tmp_path: Path, own: str) -> None:
    usual = around(int(datetime.now().timestamp() * 1000) + 2 * HOUR)
    config = auto(quiet_hours=None if own == "own" else usual)
    async with Limited(tmp_path, config=config) as rig:
        name = await begun(rig)
        await choose(rig, name, quiet_hours=usual if own == "own" else own)
        await rig.say("go")
        expected = rig.began + 2 * HOUR + 3 * MINUTE
        wake_at = (await rig.parked(name)).wake_at
        assert wake_at == (expected if own == "none" else after_quiet_hours(expected, usual))


# Who takes its turns


async def test_a_thread_may_have_a_list_of_its_own(tmp_path: Path) -> None:
    other, last = Other(tmp_path, "other"), Other(tmp_path, "last")
    config = Config(threads=ThreadsConfig(runtime="scripted", fallback=("scripted", "other0")))
    async with rig_with(tmp_path, other, last, config=config) as rig:
        name = await begun(rig)
        await choose(rig, name, fallback="other1")
        said = await rig.say("go")
        assert (await rig.ended(said.turn)).runtime == "other1" and other.opened == 0


async def test_a_thread_may_have_nobody_who_takes_its_turns(tmp_path: Path) -> None:
    other = Other(tmp_path, "other")
    async with rig_with(tmp_path, other) as rig:
        name = await begun(rig)
        await choose(rig, name, fallback="none")
        await rig.say("go")
        await rig.parked(name)
        assert other.opened == 0
        await choose(rig, name, fallback="default")
        view = await rig.engine.threads.get(name)
        assert view.fallback is None


async def test_a_fork_waits_as_its_source_does(tmp_path: Path) -> None:
    async with Limited(tmp_path) as rig:
        name = await begun(rig)
        await choose(rig, name, fallback="none", on_limit="ask", limit_waits="2", quiet_hours="none")
        fork = await rig.engine.threads.fork(name, None, None)
        assert (fork.fallback, fork.on_limit, fork.limit_waits, fork.quiet_hours) == ((), "ask", 2, "")
        assert (await rig.thread(fork.id)).choices == LimitChoices((), "ask", 2, "")


@pytest.mark.parametrize(
    ("name", "word"),
    [
        ("fallback", "gone"),
        ("on_limit", "perhaps"),
        ("limit_waits", "0"),
        ("limit_waits", "many"),
        ("quiet_hours", "night"),
        ("quiet_hours", "24:00-07:00"),
    ],
)
async def test_what_is_no_choice_is_refused(tmp_path: Path, name: str, word: str) -> None:
    async with Rig(tmp_path) as rig:
        said = await rig.say("!text hello")
        await rig.ended(said.turn)
        with pytest.raises(BadInput):
            await choose(rig, said.thread, **{name: word})


# A parked thread may go on elsewhere without a list


async def test_a_parked_thread_offers_another_agent_also_without_a_list(tmp_path: Path) -> None:
    other = Other(tmp_path, "other", script.Say("by other"))
    async with Limited(tmp_path, more={"other0": other}) as rig:
        said = await rig.say("go")
        await rig.parked(said.thread)
        await rig.delivered(f"{said.turn}:limit")
        assert [button.says for button in rig.room.sent[-1].buttons] == ["now", "on other0", "stop"]
        assert (await rig.engine.threads.get(said.thread or "")).other_agent == "other0"
        await rig.say("on other0")
        assert (await rig.ended(said.turn)).runtime == "other0"


class Absent(Other):
    def is_there(self) -> bool:
        return False


async def test_an_agent_that_is_not_installed_is_not_offered(tmp_path: Path) -> None:
    async with Limited(tmp_path, more={"other0": Absent(tmp_path, "other")}) as rig:
        said = await rig.say("go")
        await rig.parked(said.thread)
        await rig.delivered(f"{said.turn}:limit")
        assert [button.says for button in rig.room.sent[-1].buttons] == ["now", "stop"]
