"""Checks what every runtime must do, on its real sessions. See docs/how-to/runtimes/writing-one.md.

The author of a runtime implements a `Stage` (`runtime_stage`): it makes the runtime, with an agent behind it that plays
the script in the prompt (`clew.testing.scripted_model.script`), and can hold, kill and freeze that agent. Each of
`CHECKS` takes a new stage, and raises AssertionError or TimeoutError if the runtime fails it. What the runtime
does not declare (`RuntimeCan`) is not checked.

    @pytest.mark.parametrize("check", runtime_kit.CHECKS, ids=runtime_kit.named)
    async def test_my_runtime_conforms(check, tmp_path): await check(MyStage(tmp_path))
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
from clew.model.runtime import HealthState, RecordState, Session
from clew.model.turns import TurnState
from clew.support.errors import RuntimeLost, RuntimeTrouble
from clew.testing import runtime_agent_checks
from clew.testing.runtime_history_checks import (
    a_restarted_runtime_knows_the_history,
    a_session_says_how_it_began,
    an_unreadable_continuity_starts_a_new_session,
)
from clew.testing.runtime_policy_checks import (
    a_command_has_the_fate_of_its_policy,
    a_sandbox_is_left_only_by_a_yes_which_counts_once,
)
from clew.testing.runtime_stage import NO, PATIENCE, YES, Oddity, RuntimeRig, Stage, accept_all, answer_all

LONG = 10_000  # bytes; the limit in the check of a too long text

Check = Callable[[Stage], Awaitable[None]]


def named(check: Check) -> str:
    """Return the name of a check as words, for a test id."""
    return check.__name__.replace("_", " ")


# Texts and records


async def a_turn_has_one_start_and_one_end_which_comes_last(stage: Stage) -> None:
    """`TurnStarted` is the first event and `TurnEnded` the last, once each, and the session can be used again."""
    async with RuntimeRig(stage) as rig:
        session = await rig.open()
        turn = rig.start(session, "!text alpha beta")
        ended = await turn.end()
        assert (ended.state, ended.text, ended.problem) == (TurnState.COMPLETED, "alpha beta", None)
        await rig.assert_still_works(session)


async def text_deltas_are_contiguous_and_every_text_ends(stage: Stage) -> None:
    """Each `TextDelta` starts where the last one ended, and every text gets a `TextDone`. A text that the agent gave up
    has `cut=True` and is not in the answer."""
    async with RuntimeRig(stage) as rig:
        turn = rig.start(await rig.open(), "!text alpha\n!cut 1\n!text beta")
        await turn.wait_over()
        texts: dict[str, str] = {}
        done: dict[str, TextDone] = {}
        for event in turn.events:
            if isinstance(event, TextDelta):
                assert event.item not in done, "a TextDelta after the TextDone of its item"
                assert event.offset == len(texts.get(event.item, "")), f"wrong offset: {event}"
                texts[event.item] = texts.get(event.item, "") + event.text
            elif isinstance(event, TextDone):
                done[event.item] = event
        if turn.trouble is not None:
            return
        assert set(texts) <= set(done), "a text has no TextDone"
        whole = [event.text for event in done.values() if not event.cut]
        ended = await turn.end()
        assert ended.state is not TurnState.COMPLETED or ended.text == whole[-1], f"{ended.text!r} is not {whole}"


async def the_record_matches_the_turn(stage: Stage) -> None:
    """`record` is `ALIVE` while the turn runs, then `COMPLETED` with the answer, and None for an unknown turn."""
    async with RuntimeRig(stage) as rig:
        session = await rig.open()
        turn = rig.start(session, "!text alpha\n!hold here\n!text beta")
        await rig.wait_held("here")
        alive = await session.record(turn.id)
        assert alive is not None and alive.state is RecordState.ALIVE, f"the turn runs, but its record is {alive}"
        stage.release("here")
        ended = await turn.end()
        record = await session.record(turn.id)
        assert record is not None and record.state is RecordState.COMPLETED and record.text == ended.text
        assert await session.record("a turn that never was") is None


async def a_too_long_text_is_cut_with_a_notice(stage: Stage) -> None:
    """A text longer than `Seat.longest_text` is cut, says so, and starts with what was shown. The record has the same
    text, and the session can be used again."""
    async with RuntimeRig(stage) as rig:
        session = await rig.open(longest_text=LONG)
        words = " ".join(f"线团 clew {number}" for number in range(LONG // 10))  # an agent may stop what repeats itself
        turn = rig.start(session, f"!text {words}")
        ended = await turn.end()
        assert ended.state is TurnState.COMPLETED, f"a too long text must not fail the turn: {ended}"
        assert len(ended.text.encode()) <= LONG and "✂" in ended.text
        pieces = "".join(event.text for event in turn.events if isinstance(event, TextDelta))
        assert ended.text.startswith(pieces), "the text does not start with what the deltas showed"
        said = [event.text for event in turn.events if isinstance(event, TextDone)]
        assert said[-1] == ended.text, f"{said[-1]!r} is not {ended.text!r}"
        record = await session.record(turn.id)
        assert record is None or record.text == ended.text, "the record has another text than the TurnEnded"
        await rig.assert_still_works(session)


async def sessions_are_independent(stage: Stage) -> None:
    """A turn of one session runs and ends while a turn of another one waits."""
    async with RuntimeRig(stage) as rig:
        one, two = await rig.open(thread="one"), await rig.open(thread="two")
        held = rig.start(one, "!hold here\n!text alpha")
        await rig.wait_held("here")
        assert (await rig.run(two, "!text beta")).text == "beta"
        stage.release("here")
        assert (await held.end()).text == "alpha"


async def a_steer_is_in_the_turn_or_refused(stage: Stage) -> None:
    """`steer` returns `can.steer`. A message that it took is in `TurnEnded.messages`; without a running turn it returns
    False."""
    async with RuntimeRig(stage) as rig:
        session = await rig.open()
        turn = rig.start(session, "!text alpha\n!hold here\n!text beta")
        await rig.wait_held("here")
        taken = await session.steer(PromptMessage("meanwhile", "ann", "!text gamma"))
        assert taken == rig.runtime.can.steer
        stage.release("here")
        ended = await turn.end()
        assert not taken or "meanwhile" in ended.messages, f"the steer was taken, but its id is not in {ended.messages}"
        assert turn.id in ended.messages or not rig.runtime.can.record
        assert not await session.steer(PromptMessage("late", "ann", "!text delta")), (
            "steer must return False if no turn runs"
        )
        await rig.assert_still_works(session)


# Stopping


async def an_interrupt_before_the_first_text_ends_the_turn(stage: Stage) -> None:
    """`interrupt` ends the turn as `INTERRUPTED` even if the agent has said nothing yet."""
    await _check_interrupt(stage, "!hold here\n!text alpha")


async def an_interrupt_in_the_middle_of_a_text_ends_the_turn(stage: Stage) -> None:
    """`interrupt` ends the turn as `INTERRUPTED` while the agent writes a text."""
    await _check_interrupt(stage, "!text alpha\n!hold here\n!text beta")


async def _check_interrupt(stage: Stage, prompt: str) -> None:
    async with RuntimeRig(stage) as rig:
        session = await rig.open()
        await session.interrupt()
        turn = rig.start(session, prompt)
        await rig.wait_held("here")
        ended = await turn.interrupt()
        assert ended.state is TurnState.INTERRUPTED, f"the turn was interrupted, but its end is {ended}"
        await session.interrupt()
        await rig.assert_still_works(session)


async def an_interrupt_while_a_command_runs_ends_the_turn(stage: Stage) -> None:
    """`interrupt` ends the turn as `INTERRUPTED` while a command runs, and the session can be used again."""
    if not stage.runs_commands:
        return
    pipe = stage.workspace / "pipe"
    os.mkfifo(pipe)
    async with RuntimeRig(stage) as rig:
        session = await rig.open()
        turn = rig.start(session, f"!shell echo begun > {pipe}; cat {pipe}")
        answering = asyncio.ensure_future(accept_all(session, turn))
        async with asyncio.timeout(PATIENCE):
            assert await asyncio.to_thread(pipe.read_text) == "begun\n"
        answering.cancel()
        ended = await turn.interrupt()
        assert ended.state is TurnState.INTERRUPTED
        await rig.assert_still_works(session)


# Gates


async def an_accepted_command_runs_exactly_once(stage: Stage) -> None:
    """The command runs only after the yes, and once. The gate's title shows it, and a second answer is refused."""
    async with RuntimeRig(stage) as rig:
        session = await rig.open()
        turn = rig.start(session, f"!approve {stage.command('one')}\n!text done")
        gate = await turn.gate()
        assert stage.runs("one") == 0, "the command ran before the yes"
        assert stage.command("one") in gate.asked.title, f"the title does not contain the command: {gate.asked}"
        assert await session.answer(gate.ref, YES)
        assert not await _answer_late(session, gate.ref, YES), "it accepted a second answer"
        ended = await turn.end()
        assert (ended.text, stage.runs("one")) == ("done", 1), f"{ended}, and it ran {stage.runs('one')} times"
        assert not await _answer_late(session, gate.ref, YES)


async def an_accepted_command_runs_in_the_folder_that_was_shown(stage: Stage) -> None:
    """An accepted command runs once, in `Asked.folder`, if the gate shows a folder."""
    if not stage.runs_commands:
        return
    async with RuntimeRig(stage) as rig:
        session = await rig.open()
        turn = rig.start(session, f"!approve {stage.command('one')}\n!text done")
        gate = await turn.gate()
        await session.answer(gate.ref, YES)
        await turn.end()
        shown, ran = gate.asked.folder, stage.folders("one")
        assert len(ran) == 1, f"it ran {len(ran)} times"
        assert shown is None or _is_same(shown, ran[0]), f"the gate showed {shown}, but it ran in {ran[0]}"


def _is_same(folder: str, other: str) -> bool:
    return Path(folder).resolve() == Path(other).resolve()


async def a_hostile_agent_gets_only_what_was_accepted(stage: Stage) -> None:
    """For each of `Stage.tricks`: only what was accepted first is done, byte for byte, in the folder and environment
    that were shown, once."""
    if not stage.tricks:
        return
    async with RuntimeRig(stage) as rig:
        session = await rig.open()
        for trick in stage.tricks:
            turn = rig.start(session, trick.script)
            gate = await turn.gate()
            assert trick.shows in gate.asked.title, f"{trick.shows!r} is not in the title {gate.asked.title!r}"
            await session.answer(gate.ref, YES)
            refusing = asyncio.ensure_future(answer_all(session, turn, NO, first=2))
            await turn.end()
            refusing.cancel()
            assert not (harm := trick.harm()), f"{harm}, by {trick.script}"


async def a_declined_command_does_not_run(stage: Stage) -> None:
    """A declined command does not run, and the session can be used again."""
    async with RuntimeRig(stage) as rig:
        session = await rig.open()
        turn = rig.start(session, f"!approve {stage.command('one')}\n!text done")
        await session.answer((await turn.gate()).ref, NO)
        await turn.end()
        assert stage.runs("one") == 0
        await rig.assert_still_works(session)


async def an_answer_counts_for_the_gate_with_its_reference(stage: Stage) -> None:
    """Of two open gates each gets its own answer, in any order; an unknown reference is refused."""
    async with RuntimeRig(stage) as rig:
        session = await rig.open()
        turn = rig.start(session, f"!both {stage.command('one')} | {stage.command('two')}\n!text done")
        await turn.gate()
        assert not await session.answer("nobody's", YES), "it accepted an answer with an unknown reference"
        opened = [event for event in turn.events if isinstance(event, GateOpened)]
        allowed = opened[-1]
        await session.answer(allowed.ref, YES)
        denied = opened[0] if len(opened) > 1 else await turn.gate(2)
        assert denied.ref != allowed.ref
        await session.answer(denied.ref, NO)
        await turn.end()
        names = ("two", "one") if stage.command("two") in allowed.asked.title else ("one", "two")
        assert [stage.runs(name) for name in names] == [1, 0]


async def a_yes_after_an_interrupt_has_no_effect(stage: Stage) -> None:
    """`interrupt` cancels an open gate. A later yes is refused, and the command does not run."""
    async with RuntimeRig(stage) as rig:
        session = await rig.open()
        turn = rig.start(session, f"!approve {stage.command('one')}\n!text done")
        gate = await turn.gate()
        ended = await turn.interrupt()
        assert ended.state is TurnState.INTERRUPTED
        assert not await _answer_late(session, gate.ref, YES), "it accepted a yes after the interrupt"
        await rig.assert_still_works(session)
        assert stage.runs("one") == 0, "the command ran"


async def _answer_late(session: Session, ref: str, answer: Answer) -> bool:
    try:
        return await session.answer(ref, answer)
    except RuntimeLost:
        return False


# Crashes and restarts


async def a_killed_agent_leaves_the_turn_in_doubt(stage: Stage) -> None:
    """If the agent dies in a turn, `run` raises RuntimeLost and sends no `TurnEnded`. A reopened session has the turn's
    record as `CUT`, or none, if the agent had not written it yet."""
    async with RuntimeRig(stage) as rig:
        session = await rig.open()
        turn = rig.start(session, "!text alpha\n!hold here\n!text beta")
        await rig.wait_held("here")
        kept = session.continuity()
        await stage.kill(rig.runtime, rig.children())
        await turn.wait_over()
        assert isinstance(turn.trouble, RuntimeLost), f"no RuntimeLost: {turn.trouble or turn.events}"
        await session.close()
        again = await rig.open(kept)
        record = await again.record(turn.id)
        assert record is None or record.state is RecordState.CUT, f"the turn was cut off, but its record is {record}"
        await rig.assert_still_works(again)


async def an_answer_after_the_agent_was_killed_has_no_effect(stage: Stage) -> None:
    """If the agent dies at a gate, a later answer is refused, also by a reopened session, and nothing runs."""
    async with RuntimeRig(stage) as rig:
        session = await rig.open()
        turn = rig.start(session, f"!approve {stage.command('one')}\n!text done")
        gate, kept = await turn.gate(), session.continuity()
        await stage.kill(rig.runtime, rig.children())
        await turn.wait_over()
        assert isinstance(turn.trouble, RuntimeLost)
        assert not await _answer_late(session, gate.ref, YES)
        await session.close()
        again = await rig.open(kept)
        assert not await _answer_late(again, gate.ref, YES), "it accepted an answer to a gate of another process"
        await rig.assert_still_works(again)
        assert stage.runs("one") == 0


async def an_agent_killed_while_idle_is_restarted(stage: Stage) -> None:
    """The next turn works after the agent died, at the latest when the session is opened again."""
    async with RuntimeRig(stage) as rig:
        session = await rig.open()
        assert (await rig.run(session, "!text alpha")).text == "alpha"
        kept = session.continuity()
        await stage.kill(rig.runtime, rig.children())
        turn = rig.start(session, "!text beta")
        await turn.wait_over()
        if isinstance(turn.trouble, RuntimeLost):  # the session may have to be opened again
            await session.close()
            turn = rig.start(await rig.open(kept), "!text beta")
        assert (await turn.end()).text == "beta"


async def a_frozen_agent_is_given_up_in_time(stage: Stage) -> None:
    """A turn and an interrupt fail within `Stage.deadline`, times ten, if the agent does not react at all."""
    async with RuntimeRig(stage) as rig:
        session = await rig.open()
        await rig.assert_still_works(session)
        if not stage.freeze(rig.children()):
            return
        began = rig.clock.monotonic()
        turn = rig.start(session, "!text alpha")
        async with asyncio.timeout(PATIENCE):
            with suppress(RuntimeTrouble):
                await asyncio.sleep(0)
                await session.interrupt()
        await turn.wait_over()
        assert turn.trouble is not None or (await turn.end()).state is not TurnState.COMPLETED
        assert rig.clock.monotonic() - began < 10 * stage.deadline, "it gave up too late"


async def background_processes_of_a_command_are_ended(stage: Stage) -> None:
    """After `close` no process is left, also none that a command started in another session."""
    if not stage.runs_commands:
        return
    async with RuntimeRig(stage) as rig:
        left = "setsid sleep 600 > /dev/null 2>&1 < /dev/null &"
        await rig.run(await rig.open(), f"!shell {left}\n!text done")


async def health_is_healthy_while_running_and_stopped_after_close(stage: Stage) -> None:
    """`health` is `HEALTHY` after a turn, and `STOPPED` with a reason after `close`."""
    async with RuntimeRig(stage) as rig:
        session = await rig.open()
        await rig.assert_still_works(session)
        assert (await rig.runtime.health()).state is HealthState.HEALTHY
        await rig.runtime.close()
        health = await rig.runtime.health()
        assert health.state is HealthState.STOPPED and health.reason


# Odd output


async def invalid_lines_are_ignored(stage: Stage) -> None:
    """Lines that are not messages do not disturb a turn."""
    await _check_oddity(stage, Oddity.JUNK)


async def unknown_messages_are_ignored(stage: Stage) -> None:
    """Unknown events and requests do not disturb a turn."""
    await _check_oddity(stage, Oddity.UNKNOWN)


async def much_output_on_stderr_does_not_block(stage: Stage) -> None:
    """Megabytes on stderr do not block a turn."""
    await _check_oddity(stage, Oddity.FLOOD)


async def _check_oddity(stage: Stage, odd: Oddity) -> None:
    async with RuntimeRig(stage, odd) as rig:
        if rig.is_possible:
            session = await rig.open()
            await rig.assert_still_works(session)
            await rig.assert_still_works(session)


CHECKS: tuple[Check, ...] = (
    a_turn_has_one_start_and_one_end_which_comes_last,
    text_deltas_are_contiguous_and_every_text_ends,
    the_record_matches_the_turn,
    a_too_long_text_is_cut_with_a_notice,
    sessions_are_independent,
    a_steer_is_in_the_turn_or_refused,
    an_interrupt_before_the_first_text_ends_the_turn,
    an_interrupt_in_the_middle_of_a_text_ends_the_turn,
    an_interrupt_while_a_command_runs_ends_the_turn,
    an_accepted_command_runs_exactly_once,
    an_accepted_command_runs_in_the_folder_that_was_shown,
    a_hostile_agent_gets_only_what_was_accepted,
    a_declined_command_does_not_run,
    an_answer_counts_for_the_gate_with_its_reference,
    a_yes_after_an_interrupt_has_no_effect,
    a_command_has_the_fate_of_its_policy,
    a_sandbox_is_left_only_by_a_yes_which_counts_once,
    a_killed_agent_leaves_the_turn_in_doubt,
    an_answer_after_the_agent_was_killed_has_no_effect,
    an_agent_killed_while_idle_is_restarted,
    a_frozen_agent_is_given_up_in_time,
    background_processes_of_a_command_are_ended,
    a_restarted_runtime_knows_the_history,
    a_session_says_how_it_began,
    an_unreadable_continuity_starts_a_new_session,
    health_is_healthy_while_running_and_stopped_after_close,
    invalid_lines_are_ignored,
    unknown_messages_are_ignored,
    much_output_on_stderr_does_not_block,
    *runtime_agent_checks.CHECKS,
)
