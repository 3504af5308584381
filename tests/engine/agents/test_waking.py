"""When parked threads go on, in which order, and that what people were told stays true."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path

import pytest

from clew.engine.account_limits import note_limits
from clew.engine.agents.refusals import SPREAD, works_again
from clew.model.budgets import BudgetScope, Measure, Payer, Spent
from clew.model.events import LimitStatus, LimitWindow
from clew.model.threads import Priority, ThreadSettings
from clew.store.tables import limits, parked, threads, usage
from clew.testing.scripted_model import script
from tests.engine.agents.test_parking import HOUR, MINUTE, Limited, auto

DAY = 24 * HOUR


def choices(**words: str) -> ThreadSettings:
    return ThreadSettings(choices=words)


def quiet_now(at: int) -> str:
    """Quiet hours that began some hours before a time, and end some hours after it."""
    hour = datetime.fromtimestamp(at / 1000).hour
    return f"{(hour - 3) % 24:02}:00-{(hour + 4) % 24:02}:00"


async def parked_rooms(rig: Limited, rooms: str) -> list[str]:
    """Threads that are parked, one in each room."""
    found = []
    for room in rooms:
        said = await rig.say("go", room=room)
        await rig.parked(said.thread)
        found.append(said.thread or "")
    return found


async def test_a_postponed_thread_says_the_new_time_in_its_chat(tmp_path: Path) -> None:
    async with Limited(tmp_path, frees_after=4 * HOUR) as rig:
        first, second = await parked_rooms(rig, "ab")
        waiting = await rig.thread(second)
        await rig.delivered(f"{(await rig.queue(second))[0].id}:limit")
        rig.scripted.free_at = rig.frees_at
        rig.pass_time(2 * HOUR + 4 * MINUTE)
        await rig.parked(first, times=2)
        thread = await rig.until_thread(second, lambda found: found.wake_at == rig.frees_at + 3 * MINUTE)
        assert thread.suspend_message != waiting.suspend_message
        await rig.delivered(f"{(await rig.queue(second))[0].id}:limit:rephrased")
        shown = rig.room.edits[-1][1]
        assert thread.suspend_message is not None and thread.suspend_message.split("(")[0].strip(". ") in shown.text
        assert "(in 1 h 59 m)" in shown.text and [button.says for button in shown.buttons] == ["now", "stop"]


async def test_each_time_that_a_turn_is_parked_its_question_has_another_id(tmp_path: Path) -> None:
    async with Limited(tmp_path, frees_after=4 * HOUR) as rig:
        (name,) = await parked_rooms(rig, "a")
        first = (await rig.engine.threads.get(name)).asks
        await rig.engine.threads.resume(name, "", rig.clock.ulid(), "ann")
        await rig.parked(name, times=2)
        second = (await rig.engine.threads.get(name)).asks
        assert first and second and first != second


async def test_a_thread_that_follows_after_quiet_hours_says_so(tmp_path: Path) -> None:
    async with Limited(tmp_path) as rig:
        first, second = await parked_rooms(rig, "ab")
        hours = quiet_now(rig.began + 2 * HOUR)
        await rig.engine.threads.change(second, None, choices(quiet_hours=hours))
        await rig.delivered(f"{(await rig.queue(second))[0].id}:limit")
        rig.pass_time(2 * HOUR + 4 * MINUTE)
        await rig.until_thread(first, lambda found: found.limit_waits == 0)
        thread = await rig.until_thread(second, lambda found: "works again" in (found.suspend_message or ""))
        assert thread.wake_at is not None and thread.wake_at - rig.clock.now() > HOUR
        await rig.delivered(f"{(await rig.queue(second))[0].id}:limit:rephrased")
        assert "works again. Resumes" in rig.room.edits[-1][1].text


async def test_the_first_by_priority_and_age_asks_and_the_others_follow_one_by_one(tmp_path: Path) -> None:
    async with Limited(tmp_path) as rig:
        low, first, second, high = await parked_rooms(rig, "abcd")
        await rig.engine.threads.change(low, None, ThreadSettings(priority=Priority.LOW))
        await rig.engine.threads.change(high, None, ThreadSettings(priority=Priority.HIGH))
        turn = (await rig.queue(high))[0].id
        rig.scripted.play = lambda request: (
            (script.Hold("door"),) if getattr(request, "turn", "") == turn else (script.Say("done"),)
        )
        rig.pass_time(2 * HOUR + 4 * MINUTE)
        await rig.until(lambda entry: entry.kind == "turn.claimed" and entry.turn == turn)
        names = await rig.store.read(lambda tx: parked.parked_for(tx, "scripted"))
        assert names == [first, second, low], "by priority, then the oldest"


async def test_those_behind_the_first_are_spread_out(tmp_path: Path) -> None:
    async with Limited(tmp_path) as rig:
        names = await parked_rooms(rig, "abc")
        core = rig.engine._core

        def body(tx: object) -> list[int | None]:
            works_again(tx, core, "scripted", names[0])  # type: ignore[arg-type]
            rows = [threads.get(tx, name) for name in names]  # type: ignore[arg-type]
            return [row.wake_at for row in rows if row is not None]

        times = await rig.store.write(body)
        assert [(at or 0) - (times[0] or 0) for at in times] == [0, SPREAD, 2 * SPREAD]


@pytest.mark.parametrize("ahead", [300 * DAY, 10 * DAY, 3 * HOUR])
async def test_a_time_that_was_stored_while_the_clock_was_ahead_is_not_waited_for(tmp_path: Path, ahead: int) -> None:
    async with Limited(tmp_path, frees_after=400 * DAY) as rig:
        rig.clock.ahead = ahead  # type: ignore[attr-defined]
        rig.scripted.free_at = rig.clock.now() + 5 * HOUR
        said = await rig.say("go")
        thread = await rig.parked(said.thread)
        assert thread.wake_at is not None and thread.wake_at > rig.began + ahead
        rig.clock.ahead = 0  # type: ignore[attr-defined]
        rig.frees_at = 0
        rig.engine._waking.look()
        thread = await rig.until_thread(said.thread, lambda found: (found.wake_at or 0) < rig.began + 16 * MINUTE)
        assert "did not say until when" in (thread.suspend_message or "")
        other = await rig.say("go", room="b")
        assert ((await rig.parked(other.thread)).wake_at or 0) < rig.began + 16 * MINUTE
        rig.pass_time(16 * MINUTE)
        for each in (said, other):
            assert (await rig.ended(each.turn)).state == "completed"


async def test_at_the_start_a_time_from_a_clock_that_was_ahead_is_bounded(tmp_path: Path) -> None:
    async with Limited(tmp_path, frees_after=400 * DAY) as rig:
        rig.clock.ahead = 300 * DAY  # type: ignore[attr-defined]
        rig.scripted.free_at = rig.clock.now() + 5 * HOUR
        said = await rig.say("go")
        await rig.parked(said.thread)
    async with Limited(tmp_path, frees_after=0) as rig:
        await rig.until_thread(said.thread, lambda found: (found.wake_at or 0) < rig.began + 16 * MINUTE)
        rig.pass_time(16 * MINUTE)
        assert (await rig.ended(said.turn)).state == "completed"


async def test_a_thread_whose_account_is_free_does_not_wait_for_an_absurd_time(tmp_path: Path) -> None:
    async with Limited(tmp_path) as rig:
        (name,) = await parked_rooms(rig, "a")
        await rig.store.write(lambda tx: limits.clear_reached(tx, "scripted", 0))
        await rig.store.write(lambda tx: tx.run("UPDATE threads SET wake_at = ? WHERE id = ?", 2**47, name))
        rig.engine._core.refusals.clear()
        rig.frees_at = 0
        rig.engine._waking.look()
        assert (await rig.ended((await rig.queue(name))[0].id)).state == "completed"


async def test_a_full_window_of_another_model_sets_no_wait(tmp_path: Path) -> None:
    async with Limited(tmp_path, None) as rig:
        full = (
            LimitWindow("spark primary", LimitStatus.REACHED, 1.0, rig.began + 9 * HOUR),
            LimitWindow("primary", LimitStatus.REACHED, 1.0, rig.began + HOUR),
        )
        await note_limits(rig.engine._core, "scripted", full)
        said = await rig.say("go")
        assert (await rig.parked(said.thread)).wake_at == rig.began + HOUR + 3 * MINUTE


async def test_a_limit_of_a_month_is_waited_for(tmp_path: Path) -> None:
    async with Limited(tmp_path, 31 * DAY) as rig:
        said = await rig.say("go")
        assert (await rig.parked(said.thread)).wake_at == rig.began + 31 * DAY + 3 * MINUTE


async def test_if_the_budget_holds_the_one_that_was_to_ask_another_asks(tmp_path: Path) -> None:
    async with Limited(tmp_path, config=auto()) as rig:
        first, second = await parked_rooms(rig, "ab")
        await rig.engine.usage.set_for_thread(first, {Measure.TURNS: 1}, "you")
        payer = Payer(BudgetScope.THREAD, first, "")
        await rig.store.write(lambda tx: usage.add(tx, (payer,), "scripted", "", Spent(turns=5)))
        rig.pass_time(2 * HOUR + 4 * MINUTE)
        turn = (await rig.queue(second))[0].id
        assert (await rig.ended(turn)).state == "completed"
        assert (await rig.thread(first)).suspended_by == "budget"
