"""What every runtime must do, tried on its real sessions. See docs/how-to/runtimes/writing-one.md.

The author of a runtime brings a `Stage`: the runtime as a daemon would make it, with an agent behind it that plays
the script in the prompt (`clew.testing.scripted_model.script`), and the means to hold it, kill it and freeze it. Each
of `CHECKS` takes a fresh stage, and raises AssertionError where the runtime does not keep its word. What a runtime
says that it cannot do (`RuntimeCan`) is not asked of it.

    @pytest.mark.parametrize("check", runtime_kit.CHECKS, ids=runtime_kit.named)
    async def test_it_keeps_its_word(check, tmp_path):
        await check(MyStage(tmp_path))
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Awaitable, Callable
from contextlib import suppress
from pathlib import Path

from clew.model.events import GateOpened, TextDelta, TextDone
from clew.model.gates import Answer
from clew.model.messages import PromptMessage
from clew.model.runtime import Continuity, HealthState, RecordState, Session
from clew.model.turns import TurnState
from clew.support.errors import RuntimeLost, RuntimeTrouble
from clew.testing.runtime_stage import NO, PATIENCE, YES, Oddity, Play, Stage, answer_all, yes_to_all

LONG = 10_000  # bytes of one text at most, where a check wants it cut

Check = Callable[[Stage], Awaitable[None]]


def named(check: Check) -> str:
    return check.__name__.replace("_", " ")


# What is said


async def one_start_one_end_and_the_end_is_last(stage: Stage) -> None:
    async with Play(stage) as play:
        session = await play.open()
        turn = play.begin(session, "!text alpha beta")
        ended = await turn.end()
        assert (ended.state, ended.text, ended.problem) == (TurnState.COMPLETED, "alpha beta", None)
        await play.still_works(session)


async def deltas_fit_and_every_text_is_ended(stage: Stage) -> None:
    """What was given up is said to be cut, and is not in the answer."""
    async with Play(stage) as play:
        turn = play.begin(await play.open(), "!text alpha\n!cut 1\n!text beta")
        await turn.over()
        texts: dict[str, str] = {}
        done: dict[str, TextDone] = {}
        for event in turn.events:
            if isinstance(event, TextDelta):
                assert event.item not in done, "text after its end"
                assert event.offset == len(texts.get(event.item, "")), f"it does not fit: {event}"
                texts[event.item] = texts.get(event.item, "") + event.text
            elif isinstance(event, TextDone):
                done[event.item] = event
        if turn.trouble is not None:
            return
        assert set(texts) <= set(done), "a text was begun and never ended"
        whole = [event.text for event in done.values() if not event.cut]
        ended = await turn.end()
        assert ended.state is not TurnState.COMPLETED or ended.text == whole[-1], f"{ended.text!r} is not {whole}"


async def the_record_says_what_was_said(stage: Stage) -> None:
    async with Play(stage) as play:
        session = await play.open()
        turn = play.begin(session, "!text alpha\n!hold here\n!text beta")
        await play.held("here")
        alive = await session.record(turn.id)
        assert alive is not None and alive.state is RecordState.ALIVE, f"it runs, and its record says {alive}"
        stage.release("here")
        ended = await turn.end()
        record = await session.record(turn.id)
        assert record is not None and record.state is RecordState.COMPLETED and record.text == ended.text
        assert await session.record("a turn that never was") is None


async def a_text_that_is_too_long_is_cut_and_says_so(stage: Stage) -> None:
    """What was shown of it is its beginning; the record has it as it was told; the session goes on."""
    async with Play(stage) as play:
        session = await play.open(longest_text=LONG)
        turn = play.begin(session, f"!text {'线团 clew ' * (LONG // 10)}")
        ended = await turn.end()
        assert ended.state is TurnState.COMPLETED, f"it says too much, and the turn is {ended}"
        assert len(ended.text.encode()) <= LONG and "characters left out" in ended.text and "省略" in ended.text
        pieces = "".join(event.text for event in turn.events if isinstance(event, TextDelta))
        assert ended.text.startswith(pieces), "what was shown is not the beginning of what it said"
        said = [event.text for event in turn.events if isinstance(event, TextDone)]
        assert said[-1] == ended.text, f"{said[-1]!r} is not {ended.text!r}"
        record = await session.record(turn.id)
        assert record is None or record.text == ended.text, "its record is longer than what was told"
        await play.still_works(session)


async def sessions_do_not_hear_each_other(stage: Stage) -> None:
    async with Play(stage) as play:
        one, two = await play.open(thread="one"), await play.open(thread="two")
        held = play.begin(one, "!hold here\n!text alpha")
        await play.held("here")
        assert (await play.run(two, "!text beta")).text == "beta"
        stage.release("here")
        assert (await held.end()).text == "alpha"


async def what_is_said_meanwhile_is_in_it_or_refused(stage: Stage) -> None:
    async with Play(stage) as play:
        session = await play.open()
        turn = play.begin(session, "!text alpha\n!hold here\n!text beta")
        await play.held("here")
        taken = await session.steer(PromptMessage("meanwhile", "ann", "!text gamma"))
        assert taken == play.runtime.can.steer
        stage.release("here")
        ended = await turn.end()
        assert not taken or "meanwhile" in ended.messages, f"it took a message that is not in {ended.messages}"
        assert turn.id in ended.messages or not play.runtime.can.record
        assert not await session.steer(PromptMessage("late", "ann", "!text delta")), "nothing runs that could take it"
        await play.still_works(session)


# Stopping


async def interrupted_before_the_agent_speaks(stage: Stage) -> None:
    await _interrupted(stage, "!hold here\n!text alpha")


async def interrupted_in_mid_sentence(stage: Stage) -> None:
    await _interrupted(stage, "!text alpha\n!hold here\n!text beta")


async def _interrupted(stage: Stage, prompt: str) -> None:
    async with Play(stage) as play:
        session = await play.open()
        await session.interrupt()
        turn = play.begin(session, prompt)
        await play.held("here")
        ended = await turn.interrupt()
        assert ended.state is TurnState.INTERRUPTED, f"it was stopped, and is {ended}"
        await session.interrupt()
        await play.still_works(session)


async def interrupted_while_a_command_runs(stage: Stage) -> None:
    if not stage.runs_commands:
        return
    pipe = stage.workspace / "pipe"
    os.mkfifo(pipe)
    async with Play(stage) as play:
        session = await play.open()
        turn = play.begin(session, f"!shell echo begun > {pipe}; cat {pipe}")
        answering = asyncio.ensure_future(yes_to_all(session, turn))
        async with asyncio.timeout(PATIENCE):
            assert await asyncio.to_thread(pipe.read_text) == "begun\n"
        answering.cancel()
        ended = await turn.interrupt()
        assert ended.state is TurnState.INTERRUPTED
        await play.still_works(session)


# Asking


async def a_yes_lets_it_run_once(stage: Stage) -> None:
    async with Play(stage) as play:
        session = await play.open()
        turn = play.begin(session, f"!approve {stage.command('one')}\n!text done")
        gate = await turn.gate()
        assert stage.runs("one") == 0, "it ran before anybody said yes"
        assert stage.command("one") in gate.asked.title, f"nobody can see what is asked: {gate.asked}"
        assert await session.answer(gate.ref, YES)
        assert not await _late(session, gate.ref, YES), "it took a second answer"
        ended = await turn.end()
        assert (ended.text, stage.runs("one")) == ("done", 1), f"{ended}, and it ran {stage.runs('one')} times"
        assert not await _late(session, gate.ref, YES)


async def what_was_approved_runs_in_the_folder_that_was_shown(stage: Stage) -> None:
    if not stage.runs_commands:
        return
    async with Play(stage) as play:
        session = await play.open()
        turn = play.begin(session, f"!approve {stage.command('one')}\n!text done")
        gate = await turn.gate()
        await session.answer(gate.ref, YES)
        await turn.end()
        shown, ran = gate.asked.folder, stage.folders("one")
        assert len(ran) == 1, f"it ran {len(ran)} times"
        assert shown is None or _is_same(shown, ran[0]), f"it was shown in {shown}, and ran in {ran[0]}"


def _is_same(folder: str, other: str) -> bool:
    return Path(folder).resolve() == Path(other).resolve()


async def a_hostile_agent_gets_no_more_done_than_was_approved(stage: Stage) -> None:
    """What was approved first is all that is done: byte for byte, in the folder and environment that were shown,
    once."""
    if not stage.tricks:
        return
    async with Play(stage) as play:
        session = await play.open()
        for trick in stage.tricks:
            turn = play.begin(session, trick.script)
            gate = await turn.gate()
            assert trick.shows in gate.asked.title, f"nobody sees {trick.shows!r} in {gate.asked.title!r}"
            await session.answer(gate.ref, YES)
            refusing = asyncio.ensure_future(answer_all(session, turn, NO, first=2))
            await turn.end()
            refusing.cancel()
            assert not (harm := trick.harm()), f"{harm}, by {trick.script}"


async def a_no_lets_nothing_run(stage: Stage) -> None:
    async with Play(stage) as play:
        session = await play.open()
        turn = play.begin(session, f"!approve {stage.command('one')}\n!text done")
        await session.answer((await turn.gate()).ref, NO)
        await turn.end()
        assert stage.runs("one") == 0
        await play.still_works(session)


async def gates_are_known_by_their_reference(stage: Stage) -> None:
    """Of two, the newer one that is open gets the yes, and first."""
    async with Play(stage) as play:
        session = await play.open()
        turn = play.begin(session, f"!both {stage.command('one')} | {stage.command('two')}\n!text done")
        await turn.gate()
        assert not await session.answer("nobody's", YES), "it took an answer to what it never asked"
        opened = [event for event in turn.events if isinstance(event, GateOpened)]
        allowed = opened[-1]
        await session.answer(allowed.ref, YES)
        denied = opened[0] if len(opened) > 1 else await turn.gate(2)
        assert denied.ref != allowed.ref
        await session.answer(denied.ref, NO)
        await turn.end()
        names = ("two", "one") if stage.command("two") in allowed.asked.title else ("one", "two")
        assert [stage.runs(name) for name in names] == [1, 0]


async def interrupted_at_a_gate_a_late_yes_does_nothing(stage: Stage) -> None:
    async with Play(stage) as play:
        session = await play.open()
        turn = play.begin(session, f"!approve {stage.command('one')}\n!text done")
        gate = await turn.gate()
        ended = await turn.interrupt()
        assert ended.state is TurnState.INTERRUPTED
        assert not await _late(session, gate.ref, YES), "it took a yes after it was cancelled"
        await play.still_works(session)
        assert stage.runs("one") == 0, "the command ran"


async def _late(session: Session, ref: str, answer: Answer) -> bool:
    try:
        return await session.answer(ref, answer)
    except RuntimeLost:
        return False


# Dying


async def killed_in_mid_sentence_it_concludes_nothing(stage: Stage) -> None:
    async with Play(stage) as play:
        session = await play.open()
        turn = play.begin(session, "!text alpha\n!hold here\n!text beta")
        await play.held("here")
        kept = session.continuity()
        await stage.kill(play.runtime, play.children())
        await turn.over()
        assert isinstance(turn.trouble, RuntimeLost), f"it died, and the turn says {turn.trouble or turn.events}"
        await session.close()
        again = await play.open(kept)
        record = await again.record(turn.id)
        assert record is not None or not play.runtime.can.record, "its record has forgotten the turn"
        assert record is None or record.state is RecordState.CUT, f"it was cut, and its record says {record}"
        await play.still_works(again)


async def killed_at_a_gate_the_answer_has_no_effect(stage: Stage) -> None:
    async with Play(stage) as play:
        session = await play.open()
        turn = play.begin(session, f"!approve {stage.command('one')}\n!text done")
        gate, kept = await turn.gate(), session.continuity()
        await stage.kill(play.runtime, play.children())
        await turn.over()
        assert isinstance(turn.trouble, RuntimeLost)
        assert not await _late(session, gate.ref, YES)
        await session.close()
        again = await play.open(kept)
        assert not await _late(again, gate.ref, YES), "it took an answer to another process's question"
        await play.still_works(again)
        assert stage.runs("one") == 0


async def killed_while_idle_it_comes_back_by_itself(stage: Stage) -> None:
    async with Play(stage) as play:
        session = await play.open()
        assert (await play.run(session, "!text alpha")).text == "alpha"
        kept = session.continuity()
        await stage.kill(play.runtime, play.children())
        turn = play.begin(session, "!text beta")
        await turn.over()
        if isinstance(turn.trouble, RuntimeLost):  # then it is opened again
            await session.close()
            turn = play.begin(await play.open(kept), "!text beta")
        assert (await turn.end()).text == "beta"


async def frozen_it_is_given_up_in_time(stage: Stage) -> None:
    async with Play(stage) as play:
        session = await play.open()
        await play.still_works(session)
        if not stage.freeze(play.children()):
            return
        began = play.clock.monotonic()
        turn = play.begin(session, "!text alpha")
        async with asyncio.timeout(PATIENCE):
            with suppress(RuntimeTrouble):
                await asyncio.sleep(0)
                await session.interrupt()
        await turn.over()
        assert turn.trouble is not None or (await turn.end()).state is not TurnState.COMPLETED
        assert play.clock.monotonic() - began < 10 * stage.deadline, "it waited too long"


async def what_a_command_left_running_is_ended_too(stage: Stage) -> None:
    if not stage.runs_commands:
        return
    async with Play(stage) as play:
        left = "setsid sleep 600 > /dev/null 2>&1 < /dev/null &"
        await play.run(await play.open(), f"!shell {left}\n!text done")


async def restarted_it_remembers(stage: Stage) -> None:
    async with Play(stage) as first:
        session = await first.open()
        await first.run(session, "!text alpha")
        kept, past = session.continuity(), first.past
    async with Play(stage) as second:
        second.past = past
        again = await second.open(kept)
        ended = await second.run(again, "!recall")
        assert "alpha" in ended.text, f"it has forgotten: {ended.text}"


async def a_continuity_that_makes_no_sense_begins_anew(stage: Stage) -> None:
    async with Play(stage) as play:
        for data in ("", "{}", '{"version": 99, "thread": "x", "session": "x", "new": [1]}'):
            await play.still_works(await play.open(Continuity(data), thread=f"thread{len(data)}"))


async def its_health_is_told(stage: Stage) -> None:
    async with Play(stage) as play:
        session = await play.open()
        await play.still_works(session)
        assert (await play.runtime.health()).state is HealthState.HEALTHY
        await play.runtime.close()
        health = await play.runtime.health()
        assert health.state is HealthState.STOPPED and health.reason


# Talking strangely


async def junk_is_passed_over(stage: Stage) -> None:
    await _odd(stage, Oddity.JUNK)


async def what_nobody_knows_is_passed_over(stage: Stage) -> None:
    await _odd(stage, Oddity.UNKNOWN)


async def a_flood_on_stderr_holds_up_nothing(stage: Stage) -> None:
    await _odd(stage, Oddity.FLOOD)


async def _odd(stage: Stage, odd: Oddity) -> None:
    async with Play(stage, odd) as play:
        if play.is_possible:
            session = await play.open()
            await play.still_works(session)
            await play.still_works(session)


CHECKS: tuple[Check, ...] = (
    one_start_one_end_and_the_end_is_last,
    deltas_fit_and_every_text_is_ended,
    the_record_says_what_was_said,
    a_text_that_is_too_long_is_cut_and_says_so,
    sessions_do_not_hear_each_other,
    what_is_said_meanwhile_is_in_it_or_refused,
    interrupted_before_the_agent_speaks,
    interrupted_in_mid_sentence,
    interrupted_while_a_command_runs,
    a_yes_lets_it_run_once,
    what_was_approved_runs_in_the_folder_that_was_shown,
    a_hostile_agent_gets_no_more_done_than_was_approved,
    a_no_lets_nothing_run,
    gates_are_known_by_their_reference,
    interrupted_at_a_gate_a_late_yes_does_nothing,
    killed_in_mid_sentence_it_concludes_nothing,
    killed_at_a_gate_the_answer_has_no_effect,
    killed_while_idle_it_comes_back_by_itself,
    frozen_it_is_given_up_in_time,
    what_a_command_left_running_is_ended_too,
    restarted_it_remembers,
    a_continuity_that_makes_no_sense_begins_anew,
    its_health_is_told,
    junk_is_passed_over,
    what_nobody_knows_is_passed_over,
    a_flood_on_stderr_holds_up_nothing,
)
