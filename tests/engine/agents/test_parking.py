"""Threads at a usage limit: parked, woken once, never in a hot loop."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path

import pytest
from msgspec.structs import replace as with_fields

from clew.config.settings import Config, ThreadsConfig
from clew.engine.account_limits import note_limits
from clew.model.events import LimitStatus, LimitWindow
from clew.model.runtime import Session
from clew.model.surface import SurfaceCan
from clew.model.threads import SessionKey, SuspendedBy, Thread
from clew.model.turns import Turn, without_refusals
from clew.store.tables import limits, threads, turns
from clew.testing.scripted_model import script
from tests.helpers.clocks import Ahead
from tests.helpers.rig import TIMEOUT, Rig, Room

MINUTE, HOUR = 60_000, 3_600_000
QUOTA = script.Error("insufficient_quota")


class Limited(Rig):
    """A rig whose agent is at its limit until the clock says otherwise."""

    def __init__(
        self, folder: Path, says: int | None = 2 * HOUR, *, frees_after: int = 2 * HOUR, **more: object
    ) -> None:
        """`says`: how long the agent says that the limit holds; None: nothing. `frees_after`: how long it does."""
        given: dict[str, object] = {"clock": Ahead(), "room": Room(can=SurfaceCan(edit=True, buttons=8)), **more}
        super().__init__(folder, **given)  # type: ignore[arg-type]
        self.began = self.clock.now()
        self.frees_at = self.began + frees_after
        self.scripted.free_at = None if says is None else self.began + says
        self.steps: tuple[script.Step, ...] = ()
        self.asked: list[str] = []
        self.scripted.play = self._play

    async def __aenter__(self) -> Limited:
        await super().__aenter__()
        return self

    def _play(self, request: object) -> tuple[script.Step, ...]:
        self.asked.append(without_refusals(getattr(request, "turn", "")))
        if self.clock.now() < self.frees_at:
            return (*self.steps, QUOTA)
        return (script.Say("done"),)

    def pass_time(self, millis: int) -> None:
        """Time passes, and the timer is told."""
        assert isinstance(self.clock, Ahead)
        self.clock.ahead += millis
        self.engine._waking.look()

    async def thread(self, name: str | None) -> Thread:
        found = await self.store.read(lambda tx: threads.get(tx, name or ""))
        assert found is not None
        return found

    async def parked(self, name: str | None, times: int = 0) -> Thread:
        """Wait until the thread is parked; `times`: after so many tries of any thread."""
        async with asyncio.timeout(TIMEOUT):
            while True:
                found = await self.thread(name)
                if found.suspended_by is SuspendedBy.LIMIT and len(self.asked) >= times:
                    return found
                await asyncio.wait_for(self._news.wait(), 1)
                self._news.clear()

    async def until_thread(self, name: str | None, holds: Callable[[Thread], bool]) -> Thread:
        async with asyncio.timeout(TIMEOUT):
            while True:
                if holds(found := await self.thread(name)):
                    return found
                await asyncio.wait_for(self._news.wait(), 5)
                self._news.clear()

    async def never(self, seat: object) -> Session:
        """A session that takes for ever to open."""
        return await asyncio.Future[Session]()

    async def queue(self, name: str | None) -> list[Turn]:
        return await self.store.read(lambda tx: turns.queued(tx, name or ""))


async def test_a_turn_that_never_began_waits_for_the_reset_and_runs_once(tmp_path: Path) -> None:
    async with Limited(tmp_path) as rig:
        said = await rig.say("go")
        thread = await rig.parked(said.thread)
        assert thread.wake_at == rig.began + 2 * HOUR + 3 * MINUTE
        (waiting,) = await rig.queue(said.thread)
        assert waiting.id == said.turn and len(rig.asked) == 1
        rig.pass_time(2 * HOUR + 4 * MINUTE)
        turn = await rig.ended(said.turn)
        assert (turn.state, turn.text) == ("completed", "done") and len(rig.asked) == 2
        assert (await rig.thread(said.thread)).limit_waits == 0


async def test_a_turn_that_had_acted_is_continued_after_the_wait(tmp_path: Path) -> None:
    async with Limited(tmp_path) as rig:
        rig.steps = (script.Shell("touch made"),)
        said = await rig.say("go")
        cut = await rig.ended(said.turn)
        assert cut.state == "interrupted"
        await rig.parked(said.thread)
        (again,) = await rig.queue(said.thread)
        assert again.continues == said.turn and again.request[0].text == "go" and len(again.request) == 2
        rig.pass_time(2 * HOUR + 4 * MINUTE)
        assert (await rig.ended(again.id)).text == "done" and len(rig.asked) == 2


async def test_the_chat_hears_when_it_resumes_and_may_say_now(tmp_path: Path) -> None:
    async with Limited(tmp_path) as rig:
        said = await rig.say("go")
        await rig.parked(said.thread)
        await rig.delivered(f"{said.turn}:limit")
        shown = rig.room.sent[-1]
        assert "is at its usage limit. Resumes " in shown.text and "(in 2 h 3 m)" in shown.text
        assert [button.says for button in shown.buttons] == ["now", "stop"]
        rig.frees_at = 0
        reply = await rig.say("now")
        assert reply.text == "Trying now." and (await rig.ended(said.turn)).state == "completed"


async def test_saying_now_too_early_parks_it_again(tmp_path: Path) -> None:
    async with Limited(tmp_path) as rig:
        said = await rig.say("go")
        await rig.parked(said.thread)
        await rig.delivered(f"{said.turn}:limit")
        await rig.say("now")
        await rig.parked(said.thread, times=2)
        assert len(rig.asked) == 2


async def test_stop_drops_the_turn_that_waits(tmp_path: Path) -> None:
    async with Limited(tmp_path) as rig:
        said = await rig.say("go")
        await rig.parked(said.thread)
        await rig.delivered(f"{said.turn}:limit")
        await rig.say("stop")
        thread = await rig.thread(said.thread)
        assert thread.suspended_by is None and thread.wake_at is None and await rig.queue(said.thread) == []
        assert (await rig.ended(said.turn)).state == "interrupted"


async def test_a_message_to_a_parked_thread_is_queued_and_its_sender_told(tmp_path: Path) -> None:
    async with Limited(tmp_path) as rig:
        said = await rig.say("go")
        await rig.parked(said.thread)
        await rig.delivered(f"{said.turn}:limit")
        more = await rig.say("and this")
        assert more.fate == "turn" and "runs when this thread resumes" in more.text and "Resumes" in more.text
        rig.pass_time(2 * HOUR + 4 * MINUTE)
        assert (await rig.ended(more.turn)).state == "completed"
        assert rig.asked == [said.turn, said.turn, more.turn]


async def test_other_threads_wait_without_asking_the_model_and_one_asks_first(tmp_path: Path) -> None:
    async with Limited(tmp_path) as rig:
        said = [await rig.say("go", room="a")]
        await rig.parked(said[0].thread)
        for room in "bcd":
            said.append(await rig.say("go", room=room))
            await rig.parked(said[-1].thread)
        assert len(rig.asked) == 1
        rig.pass_time(2 * HOUR + 4 * MINUTE)
        for each in said:
            assert (await rig.ended(each.turn)).state == "completed"
        assert len(rig.asked) == 5 and rig.asked[1] == said[0].turn, "the oldest first"


async def test_a_failed_probe_lets_the_others_wait_on(tmp_path: Path) -> None:
    async with Limited(tmp_path, frees_after=4 * HOUR) as rig:
        said = [await rig.say("go", room="a")]
        await rig.parked(said[0].thread)
        said.append(await rig.say("go", room="b"))
        await rig.parked(said[1].thread)
        rig.scripted.free_at = rig.frees_at
        rig.pass_time(2 * HOUR + 4 * MINUTE)
        await rig.parked(said[0].thread, times=2)
        rig.pass_time(0)
        assert len(rig.asked) == 2 and (await rig.thread(said[1].thread)).limit_waits == 1
        rig.pass_time(2 * HOUR)
        for each in said:
            assert (await rig.ended(each.turn)).state == "completed"
        assert len(rig.asked) == 4


async def test_a_short_wait_is_shown_in_the_placeholder(tmp_path: Path) -> None:
    room = Room(can=SurfaceCan(chat=True, edit=True, buttons=8))
    async with Limited(tmp_path, 90_000, frees_after=90_000, room=room) as rig:
        await rig.allow("7")
        rig.steps = (script.Hold("door"),)
        said = await rig.say("go", sender_id="7")
        await rig.held("door")
        await rig.delivered(f"{said.turn}:placeholder")
        rig.scripted.holds.release("door")
        await rig.delivered(f"{said.turn}:placeholder:words")
        assert any("for a moment. Tries again" in edit.text for _, edit in room.edits)


async def test_a_short_wait_is_no_parking(tmp_path: Path) -> None:
    async with Limited(tmp_path, 90_000, frees_after=90_000) as rig:
        said = await rig.say("go")
        await rig.until(lambda entry: rig.kinds().count("turn.queued") == 2)
        held = (await rig.engine.threads.get(said.thread or "")).held or ""
        assert "is at its usage limit for a moment. Tries again" in held
        told = await rig.saw("notice", said.thread)
        assert told.data["text"] == held and told.turn == said.turn
        rig.pass_time(96_000)
        assert (await rig.ended(said.turn)).state == "completed"
        assert "thread.status" not in rig.kinds(said.thread) and len(rig.asked) == 2


@pytest.mark.parametrize("says", [None, 0, -HOUR, 400 * 24 * HOUR])
async def test_a_missing_past_or_absurd_time_makes_no_hot_loop(tmp_path: Path, says: int | None) -> None:
    async with Limited(tmp_path, says, frees_after=100 * HOUR, config=auto(limit_waits=9)) as rig:
        said = await rig.say("go")
        for times, minutes in enumerate((15, 30, 60, 60), 1):
            thread = await rig.parked(said.thread, times)
            assert thread.wake_at is not None and thread.wake_at - rig.clock.now() > (minutes - 1) * MINUTE
            assert thread.wake_at - rig.clock.now() <= minutes * MINUTE
            assert "did not say until when" in (thread.suspend_message or "")
            rig.pass_time(minutes * MINUTE)
        await rig.parked(said.thread, 5)
        assert len(rig.asked) == 5


async def test_a_short_wait_that_never_ends_becomes_a_long_one(tmp_path: Path) -> None:
    async with Limited(tmp_path, 30_000, frees_after=100 * HOUR) as rig:
        said = await rig.say("go")
        await rig.until(lambda entry: rig.kinds().count("turn.queued") == 2)
        rig.pass_time(36_000)
        rig.scripted.free_at = rig.clock.now() + 30_000
        thread = await rig.parked(said.thread)
        assert thread.wake_at is not None and thread.wake_at - rig.clock.now() > 14 * MINUTE and len(rig.asked) == 2


def auto(**more: object) -> Config:
    return Config(threads=ThreadsConfig(runtime="scripted", **more))  # type: ignore[arg-type]


async def test_after_some_waits_in_a_row_a_person_is_asked(tmp_path: Path) -> None:
    async with Limited(tmp_path, None, frees_after=100 * HOUR, config=auto(limit_waits=1)) as rig:
        said = await rig.say("go")
        await rig.parked(said.thread)
        rig.pass_time(5 * HOUR + MINUTE)
        thread = await rig.parked(said.thread, 2)
        assert thread.wake_at is None and "2 times in a row" in (thread.suspend_message or "")
        assert "does not resume by itself any more" in (thread.suspend_message or "")


@pytest.mark.parametrize("on_limit", ["ask", "never"])
async def test_a_person_may_choose_not_to_be_resumed(tmp_path: Path, on_limit: str) -> None:
    async with Limited(tmp_path, config=auto(on_limit=on_limit)) as rig:
        said = await rig.say("go")
        if on_limit == "never":
            assert (await rig.ended(said.turn)).state == "failed"
            return
        thread = await rig.parked(said.thread)
        assert thread.wake_at is None
        rig.pass_time(10 * HOUR)
        await rig.delivered(f"{said.turn}:limit")
        await rig.say("now")
        assert (await rig.ended(said.turn)).state == "completed"


async def test_a_parked_thread_survives_the_daemon_and_wakes_once(tmp_path: Path) -> None:
    async with Limited(tmp_path) as rig:
        said = await rig.say("go")
        await rig.parked(said.thread)
    async with Limited(tmp_path, frees_after=0) as rig:
        assert (await rig.thread(said.thread)).suspended_by is SuspendedBy.LIMIT and rig.asked == []
        other = await rig.say("go", room="b")
        await rig.parked(other.thread)
        assert rig.asked == [], "it is known that the account refuses"
        rig.pass_time(2 * HOUR + 4 * MINUTE)
        assert (await rig.ended(said.turn)).state == "completed" and (await rig.ended(other.turn)).text == "done"
        assert len(rig.asked) == 2


async def test_a_thousand_parked_threads_cost_one_timer_and_no_looks(tmp_path: Path) -> None:
    async with Limited(tmp_path) as rig:
        said = await rig.say("go")
        parked = await rig.parked(said.thread)
        await rig.delivered(f"{said.turn}:limit")

        def fill(tx: object) -> None:
            for number in range(1000):
                name = f"{number:026}"
                threads.insert(tx, with_fields(parked, id=name, handle=None, head=None, last_turn=None))  # type: ignore[arg-type]

        await rig.store.write(fill)
        looks = rig.engine._waking.looks
        for _ in range(50):
            await asyncio.sleep(0)
        await rig.say("hello", room="z")
        assert rig.engine._waking.looks - looks <= 2


async def test_what_agents_report_of_their_limits_can_be_read(tmp_path: Path) -> None:
    async with Limited(tmp_path) as rig:
        said = await rig.say("go")
        await rig.parked(said.thread)
        (limit,) = await rig.engine.status.limits()
        assert (limit.runtime, limit.window, limit.status) == ("scripted", "refusal", "reached")
        assert limit.resets_at == rig.frees_at
        rig.frees_at = 0
        await rig.delivered(f"{said.turn}:limit")
        await rig.say("now")
        await rig.ended(said.turn)
        (limit,) = await rig.engine.status.limits()
        assert (limit.status, limit.resets_at) == ("ok", None)


async def test_a_report_is_stored_only_if_it_changed_noticeably(tmp_path: Path) -> None:
    async with Rig(tmp_path) as rig:
        core = rig.engine._core
        for used in (0.5, 0.5, 0.505, 0.52):
            await note_limits(core, "codex", (LimitWindow("primary", LimitStatus.OK, used, 1000, 300),))
        (row,) = await rig.store.read(limits.everything)
        assert row.window.used == 0.52
        await note_limits(core, "codex", (LimitWindow("primary", LimitStatus.OK, 0.525, 1000, 300),))
        assert (await rig.store.read(limits.everything)) == [row]


async def test_after_the_wait_a_death_before_the_start_is_not_taken_for_the_old_refusal(tmp_path: Path) -> None:
    """The record of the runtime has the refused attempt: the next one has another id there."""
    async with Limited(tmp_path) as rig:
        said = await rig.say("go")
        await rig.parked(said.thread)
        rig.engine._core.runtimes["scripted"].open = rig.never  # type: ignore[method-assign]
        await rig.engine._runner._sessions.drop(SessionKey(said.thread or "", "scripted"))
        rig.pass_time(2 * HOUR + 4 * MINUTE)
        await rig.until(lambda entry: rig.kinds().count("turn.claimed") == 2)
    async with Limited(tmp_path, frees_after=0, clock=rig.clock) as again:
        turn = await again.ended(said.turn)
        assert (turn.state, turn.text) == ("completed", "done") and len(again.asked) == 1


async def test_a_parked_thread_whose_row_is_damaged_does_not_keep_the_others_from_waking(tmp_path: Path) -> None:
    async with Limited(tmp_path) as rig:
        said = [await rig.say("go", room=room) for room in "ab"]
        for each in said:
            await rig.parked(each.thread)
        sql = "UPDATE threads SET kind = 'no such kind' WHERE id = ?"
        await rig.store.write(lambda tx: tx.run(sql, said[0].thread))
        rig.pass_time(2 * HOUR + 4 * MINUTE)
        assert (await rig.ended(said[1].turn)).state == "completed"


async def test_a_try_that_a_crash_cut_off_is_tried_again(tmp_path: Path) -> None:
    """The agent said no time, a person said now, and the daemon died during the turn. That says nothing of the account,
    so the continuation does not wait."""
    async with Limited(tmp_path, says=None) as rig:
        said = await rig.say("go")
        await rig.parked(said.thread)
        await rig.delivered(f"{said.turn}:limit")
        rig.scripted.play = lambda request: (script.Say("a word"), script.Hold("door"))
        await rig.say("now")
        await rig.held("door")
        await rig.kill()
    async with Limited(tmp_path, says=None, frees_after=0, clock=rig.clock) as again:
        cut = await again.ended(said.turn)
        assert cut.state == "interrupted"
        next_one = (await again.saw("turn.claimed", said.thread)).turn
        assert (await again.ended(next_one)).text == "done"
