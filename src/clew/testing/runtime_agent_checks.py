"""Checks of the runtime kit for what real agents do in odd ways, and what must come out all the same."""

from __future__ import annotations

import asyncio

from clew.model.events import GateOpened
from clew.model.gates import Answer, Decision
from clew.model.runtime import ListsModels
from clew.model.threads import SessionBegan
from clew.model.turns import TurnState
from clew.testing.runtime_stage import NO, YES, RuntimeRig, Stage, answer_all


async def a_gate_always_shows_the_command(stage: Stage) -> None:
    """Wherever the agent says the command, the person sees it, and no rule is made of the tool's name alone."""
    async with RuntimeRig(stage) as rig:
        turn = rig.start(await rig.open(), f"!approve {stage.command('one')}\n!text done")
        asked = (await turn.gate()).asked
        assert stage.command("one") in f"{asked.title}\n{asked.detail}", f"the command is not shown: {asked}"
        assert not asked.unshown


async def one_command_is_asked_about_once(stage: Stage) -> None:
    """A yes is enough, also if the agent asks first and then has clew run the command."""
    async with RuntimeRig(stage) as rig:
        session = await rig.open()
        turn = rig.start(session, f"!approve {stage.command('one')}\n!text done")
        answering = asyncio.ensure_future(answer_all(session, turn, YES))
        await turn.end()
        answering.cancel()
        gates = [event.asked.title for event in turn.events if isinstance(event, GateOpened)]
        assert (len(gates), stage.runs("one")) == (1, 1), f"it asked {gates}, and ran {stage.runs('one')} times"


async def the_reason_of_a_no_reaches_the_model(stage: Stage) -> None:
    """The agent gets to know why a person declined, in the same turn. Checked if the stage has `was_told`, which says
    whether the model was sent these words."""
    if (was_told := getattr(stage, "was_told", None)) is None:
        return
    async with RuntimeRig(stage) as rig:
        session = await rig.open()
        turn = rig.start(session, f"!approve {stage.command('one')}\n!text done")
        gate = await turn.gate()
        assert await session.answer(gate.ref, Answer(Decision.DECLINE, "the moon is full"))
        refusing = asyncio.ensure_future(answer_all(session, turn, NO, first=2))
        await turn.end()
        refusing.cancel()
        assert was_told("the moon is full"), "the model does not know the reason"
        assert stage.runs("one") == 0
        await rig.assert_still_works(session)


async def a_command_runs_in_the_folder_of_its_thread(stage: Stage) -> None:
    """Each of two threads in different folders works in its own, also if the agent goes by the folder of its
    process."""
    if not stage.runs_commands:
        return
    async with RuntimeRig(stage) as rig:
        for name in ("one", "two"):
            folder = stage.workspace / f"folder-{name}"
            folder.mkdir()
            session = await rig.open(thread=name, workspace=folder)
            await rig.run(session, f"!approve {stage.command(name)}\n!text done")
            ran = stage.folders(name)
            assert ran == [str(folder)], f"the thread works in {folder}, and its command ran in {ran}"


async def an_error_of_the_model_is_not_an_answer(stage: Stage) -> None:
    """A turn whose model refused has failed, also if the agent sends the error as a text. The problem says what the
    model said, and the session can be used again."""
    async with RuntimeRig(stage) as rig:
        session = await rig.open()
        ended = await rig.run(session, "!status 400")
        assert ended.state is TurnState.FAILED, f"the model failed, but the turn is {ended}"
        assert ended.problem is not None and "400" in ended.problem.message, f"it does not say why: {ended.problem}"
        await rig.assert_still_works(session)


async def an_empty_end_is_not_an_answer(stage: Stage) -> None:
    """A turn that ended without a text, a tool or a plan is not completed. Checked if the stage has `empty`, a script
    in which the model answers nothing."""
    if not (script := getattr(stage, "empty", "")):
        return
    async with RuntimeRig(stage) as rig:
        session = await rig.open()
        ended = await rig.run(session, script)
        assert ended.state is TurnState.FAILED, f"nothing was answered, but the turn is {ended}"
        assert ended.problem is not None and ended.problem.message
        await rig.assert_still_works(session)


async def a_usage_limit_has_its_own_code(stage: Stage) -> None:
    """A turn that failed at the usage limit of the account has the problem `usage_limit`. Checked if the stage has
    `limit`, a script in which the model refuses for that."""
    if not (script := getattr(stage, "limit", "")):
        return
    async with RuntimeRig(stage) as rig:
        ended = await rig.run(await rig.open(), script)
        assert ended.problem is not None and ended.problem.code == "usage_limit", f"not a usage limit: {ended}"


async def a_session_that_was_resumed_is_the_stored_one(stage: Stage) -> None:
    """`RESUMED` means that the agent goes on with the session of the continuity; otherwise it is told the history."""
    async with RuntimeRig(stage) as first:
        session = await first.open()
        await first.run(session, "!text alpha")
        kept, past = session.continuity(), first.past
    async with RuntimeRig(stage) as second:
        second.past = past
        again = await second.open(kept)
        if again.began() is SessionBegan.RESUMED:
            assert again.continuity() == kept, f"it says that it resumed {kept}, and has {again.continuity()}"


async def each_offered_model_can_be_chosen(stage: Stage) -> None:
    """A session can be opened with the first and the last of the models that the runtime lists. If the stage has
    `models`, the runtime lists those."""
    async with RuntimeRig(stage) as rig:
        await rig.open()
        offered = await rig.runtime.models() if isinstance(rig.runtime, ListsModels) else ()
        wanted, names = getattr(stage, "models", None), [model.name for model in offered]
        assert wanted is None or names == list(wanted), f"it offers {wanted}, and lists {names}"
        for number, model in enumerate([*offered[:1], *offered[-1:]]):
            await rig.open(thread=f"thread-{number}", model=model.name)


async def stopping_one_thread_leaves_the_others_alone(stage: Stage) -> None:
    """An interrupt ends the turn of its thread only, also if the agent does not obey. Both threads can be used
    again."""
    async with RuntimeRig(stage) as rig:
        one, two = await rig.open(thread="one"), await rig.open(thread="two")
        other = rig.start(one, "!hold here\n!text alpha")
        await rig.wait_held("here")
        stopped = rig.start(two, "!hold there\n!text beta")
        await rig.wait_held("there")
        assert (await stopped.interrupt()).state is TurnState.INTERRUPTED
        stage.release("here")
        ended = await other.end()
        assert (ended.state, ended.text) == (TurnState.COMPLETED, "alpha"), f"the other thread was touched: {ended}"
        for session in (one, two):
            await rig.assert_still_works(session)


CHECKS = (
    a_gate_always_shows_the_command,
    one_command_is_asked_about_once,
    the_reason_of_a_no_reaches_the_model,
    a_command_runs_in_the_folder_of_its_thread,
    an_error_of_the_model_is_not_an_answer,
    an_empty_end_is_not_an_answer,
    a_usage_limit_has_its_own_code,
    a_session_that_was_resumed_is_the_stored_one,
    each_offered_model_can_be_chosen,
    stopping_one_thread_leaves_the_others_alone,
)
