"""Several messages of one person in a row are one request, and none of them is lost."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
from msgspec.structs import replace

from clew.model.messages import Accepted, Fate, Person, Role
from clew.model.surface import SurfaceCan
from clew.store import Tx
from clew.store.tables import people, turns
from clew.support.clock import SystemClock
from tests.engine.gates.test_lifecycle import shown
from tests.helpers.clocks import SteppedClock
from tests.helpers.rig import Rig, Room


def admit(tx: Tx) -> None:
    for id in ("1", "2"):
        people.add(tx, Person("room", id, f"person {id}", Role.OWNER, 0, "test"))


def chat(folder: Path, clock: SystemClock, debounce: float = 1.0) -> Rig:
    return Rig(folder, room=Room(can=SurfaceCan(chat=True)), clock=clock, debounce=debounce)


async def say(rig: Rig, text: str, who: str = "1", **more: object) -> Accepted:
    return await rig.say(text, sender_id=who, **more)  # type: ignore[arg-type]


async def request(rig: Rig, turn: str | None) -> list[str]:
    row = await rig.store.read(lambda tx: turns.get(tx, turn or ""))
    assert row is not None
    return [message.text for message in row.request]


def waits(rig: Rig) -> list[str]:
    return [entry.turn or "" for entry in rig._entries if entry.kind == "turn.claimed"]


async def test_messages_in_a_row_become_one_turn_each_with_its_own_fate(tmp_path: Path) -> None:
    clock = SteppedClock()
    async with chat(tmp_path, clock) as rig:
        await rig.store.write(admit)
        first = await say(rig, "first")
        await clock.slept.wait()
        clock.move(0.9)
        second = await say(rig, "第二条")
        clock.move(0.9)  # the wait began again with the second message
        third = await say(rig, "!text done")
        assert {each.turn for each in (first, second, third)} == {first.turn}
        assert {each.fate for each in (first, second, third)} == {Fate.TURN}
        assert waits(rig) == []
        await move_until_ended(clock, rig, first)
        assert await request(rig, first.turn) == ["first", "第二条", "!text done"]
        fates = await rig.engine.status.fates()
        assert fates["turn"] == 3
        passages = await rig.engine.threads.transcript(first.thread or "", 10)
        assert [each.text for each in passages] == ["first", "第二条", "!text done", "done"]


async def move_until_ended(clock: SteppedClock, rig: Rig, said: Accepted) -> None:
    """Move the clock, second by second, until the turn has ended."""
    ended = asyncio.ensure_future(rig.ended(said.turn))
    while not ended.done():
        clock.move(1.0)
        await asyncio.wait([ended], timeout=0.02)
    await ended


async def test_a_turn_waits_no_longer_than_a_few_times_its_wait(tmp_path: Path) -> None:
    clock = SteppedClock()
    async with chat(tmp_path, clock) as rig:
        await rig.store.write(admit)
        first = await say(rig, "!text one")
        for _ in range(8):
            clock.move(0.9)
            await say(rig, "more")
        assert len(await request(rig, first.turn)) == 6


async def test_the_messages_of_two_people_or_places_are_not_merged(tmp_path: Path) -> None:
    clock = SteppedClock()
    async with chat(tmp_path, clock) as rig:
        await rig.store.write(admit)
        first = await say(rig, "!text one", in_group=True)
        other = await say(rig, "!text two", "2", in_group=True)
        elsewhere = await say(rig, "!text three", room="b")
        assert len({first.turn, other.turn, elsewhere.turn}) == 3
        for each in (first, other, elsewhere):
            await move_until_ended(clock, rig, each)


async def test_a_killed_daemon_merges_and_runs_what_was_accepted(tmp_path: Path) -> None:
    clock = SteppedClock()
    async with chat(tmp_path, clock) as rig:
        await rig.store.write(admit)
        first = await say(rig, "first", id="m1")
    async with chat(tmp_path, clock) as rig:
        again = await say(rig, "first", id="m1")
        assert again.repeated and again.turn == first.turn
        second = await say(rig, "!text done", id="m2")
        assert second.turn == first.turn
    clock.move(30)
    async with chat(tmp_path, clock) as rig:
        await rig.ended(first.turn)
        assert await request(rig, first.turn) == ["first", "!text done"]


async def test_a_clock_that_was_set_back_holds_no_turn(tmp_path: Path) -> None:
    clock = SteppedClock()
    async with chat(tmp_path, clock) as rig:
        await rig.store.write(admit)
        first = await say(rig, "!text done")
    clock.time -= 3_600_000
    async with chat(tmp_path, clock) as rig:
        await rig.ended(first.turn)


async def test_commands_and_answers_never_wait_and_are_not_merged(tmp_path: Path) -> None:
    clock = SteppedClock()
    async with chat(tmp_path, clock) as rig:
        await rig.store.write(admit)
        first = await say(rig, "!text one")
        status = await say(rig, "/status")
        assert status.fate is Fate.COMMAND and "1 queued" in status.words
        queued = await say(rig, "/queue !text two")
        assert queued.turn != first.turn
        assert (await say(rig, "/stop")).fate is Fate.COMMAND
        await rig.ended(queued.turn)  # nothing is waited for any more


async def test_an_answer_to_a_gate_is_not_delayed(tmp_path: Path) -> None:
    async with chat(tmp_path, SystemClock(), debounce=0.01) as rig:
        await rig.store.write(admit)
        asked = await say(rig, "!approve deploy\n!text done")
        await rig.saw("gate.opened")
        [gate] = await rig.engine.gates.all()
        await rig.delivered(f"{gate.id}:ask")
        assert (await say(rig, f"{gate.code} y")).fate is Fate.ANSWER
        assert (await rig.ended(asked.turn)).text == "done"


async def test_without_a_wait_every_message_starts_at_once(tmp_path: Path) -> None:
    clock = SteppedClock()
    async with chat(tmp_path, clock, debounce=0) as rig:
        await rig.store.write(admit)
        await rig.ended((await say(rig, "!text one")).turn)


async def test_programs_do_not_wait(tmp_path: Path) -> None:
    clock = SteppedClock()
    async with Rig(tmp_path, clock=clock, debounce=1.0) as rig:
        await rig.ended((await rig.send((await rig.start("!text one")).thread, "!text two")).turn)


async def test_a_message_to_a_completed_thread_waits_for_more_too(tmp_path: Path) -> None:
    clock = SteppedClock()
    async with chat(tmp_path, clock) as rig:
        await rig.store.write(admit)
        await move_until_ended(clock, rig, await say(rig, "!text one"))
        assert (await say(rig, "/done")).fate is Fate.COMMAND
        second = await say(rig, "look at this")
        third = await say(rig, "!text done")
        assert second.turn == third.turn
        await move_until_ended(clock, rig, second)


async def test_an_album_is_one_request_also_if_only_one_part_names_clew(tmp_path: Path) -> None:
    clock = SteppedClock()
    async with chat(tmp_path, clock) as rig:
        await rig.store.write(admit)
        first = await say(rig, "!text two pictures", in_group=True, album="g1")
        clock.move(2.5)  # its next picture had to be fetched
        second = await say(rig, "picture", direct=False, in_group=True, album="g1")
        assert (second.fate, second.turn) == (Fate.TURN, first.turn)
        unrelated = await say(rig, "chatter", direct=False, in_group=True, album="g2")
        assert unrelated.turn is None
        await move_until_ended(clock, rig, first)
        assert await request(rig, first.turn) == ["!text two pictures", "picture"]


async def test_a_part_of_an_album_that_comes_late_is_for_the_same_thread(tmp_path: Path) -> None:
    clock = SteppedClock()
    async with chat(tmp_path, clock) as rig:
        await rig.store.write(admit)
        first = await say(rig, "!text two pictures", in_group=True, album="g1")
        clock.move(4.0)
        await rig.ended(first.turn)
        await say(rig, "/new", in_group=True)
        second = await say(rig, "!text picture", direct=False, in_group=True, album="g1")
        assert (second.fate, second.thread, second.words) == (Fate.TURN, first.thread, "")
        assert (await say(rig, "chatter", direct=False, in_group=True, album="g2")).turn is None


@pytest.mark.parametrize("in_group", [True, False])
async def test_the_parts_of_an_album_follow_the_first_into_the_running_turn(tmp_path: Path, in_group: bool) -> None:
    async with Rig(tmp_path, room=Room(can=SurfaceCan(chat=True)), debounce=0.1) as rig:
        await rig.store.write(admit)
        running = await say(rig, "!hold door\n!text one", in_group=in_group)
        await rig.held("door")
        first = await say(rig, "look at these", in_group=in_group, album="g1")
        second = await say(rig, "picture", direct=not in_group, in_group=in_group, album="g1")
        assert (first.fate, first.words != "") == (Fate.STEER, True)
        assert (second.fate, second.turn, second.words) == (Fate.STEER, running.turn, "")  # one album, told once
        rig.scripted.holds.release("door")
        await rig.ended(running.turn)


async def test_without_a_wait_no_part_of_an_album_is_lost(tmp_path: Path) -> None:
    async with Rig(tmp_path, room=Room(can=SurfaceCan(chat=True)), debounce=0) as rig:
        rig.scripted.can = replace(rig.scripted.can, steer=False)
        await rig.store.write(admit)
        running = await say(rig, "!hold door\n!text one", in_group=True)
        await rig.held("door")
        first = await say(rig, "!text look at these", in_group=True, album="g1")
        other = await say(rig, "!text another", in_group=True)
        second = await say(rig, "picture", direct=False, in_group=True, album="g1")
        assert (second.fate, second.turn, second.words) == (Fate.TURN, first.turn, "")
        assert await request(rig, first.turn) == ["!text look at these", "picture"]
        rig.scripted.holds.release("door")
        for turn in (running.turn, first.turn, other.turn):
            await rig.ended(turn)


async def test_a_later_message_is_steered_or_queued_as_before(tmp_path: Path) -> None:
    clock = SteppedClock()
    async with chat(tmp_path, clock) as rig:
        await rig.store.write(admit)
        first = await say(rig, "!hold door\n!text one")
        held = asyncio.ensure_future(rig.held("door"))
        while not held.done():
            clock.move(1.0)
            await asyncio.wait([held], timeout=0.02)
        second = await say(rig, "and this")
        assert second.fate is Fate.STEER
        rig.scripted.holds.release("door")
        await move_until_ended(clock, rig, first)


@pytest.mark.parametrize("text", ["", " "])
async def test_an_empty_message_of_a_burst_is_refused_alone(tmp_path: Path, text: str) -> None:
    clock = SteppedClock()
    async with chat(tmp_path, clock) as rig:
        await rig.store.write(admit)
        first = await say(rig, "!text one")
        assert (await say(rig, text)).fate is Fate.REFUSED
        await move_until_ended(clock, rig, first)


async def test_the_caption_of_a_late_part_is_no_way_around_a_question_for_a_secret(tmp_path: Path) -> None:
    async with Rig(tmp_path, room=Room(can=SurfaceCan(chat=True)), debounce=0.1) as rig:
        await rig.store.write(admit)
        await say(rig, "!hold door\n!secret the password\n!text thanks")
        await rig.held("door")
        assert (await say(rig, "look at these", album="g1")).fate is Fate.STEER
        rig.scripted.holds.release("door")
        await shown(rig)
        assert (await say(rig, "hunter2", album="g1")).fate is Fate.REFUSED
