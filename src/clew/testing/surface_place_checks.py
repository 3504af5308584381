"""The checks of the surface kit about threads of the platform: opening one, and what happens if people delete it."""

from __future__ import annotations

from pathlib import Path

from clew.testing.surface_stage import Daemon, Stage, wait_answered, with_text


async def a_message_in_an_opened_thread_has_that_conversation(stage: Stage, folder: Path) -> None:
    """`open_thread` returns a conversation that `resolve` finds, and whose `parent` is its chat; messages sent there
    have it, with `in_thread`."""
    async with Daemon(stage, folder) as clew:
        if not clew.surface.can.threads:
            return
        await stage.say("!text alpha")
        await wait_answered(stage, "alpha")
        parent = clew.surface.received[0].conversation
        opened = await clew.surface.open_thread(parent, "what is to be done")
        assert opened is not None and opened != parent and clew.surface.resolve(opened.address) == opened
        assert clew.surface.parent(opened) == parent and clew.surface.parent(parent) is None
        await stage.say("!text beta", where=opened)
        await wait_answered(stage, "alpha", "beta")
        assert clew.surface.received[-1].conversation == opened and clew.surface.received[-1].in_thread


async def an_answer_whose_thread_was_deleted_goes_to_its_chat(stage: Stage, folder: Path) -> None:
    """If people delete a thread of the platform while the agent works, sending there raises `Gone`: then the answer
    comes to the chat that the thread was in, with a line that says why."""
    async with Daemon(stage, folder) as clew:
        if not clew.surface.can.threads:
            return
        await stage.say("!text alpha")
        await wait_answered(stage, "alpha")
        parent = clew.surface.received[0].conversation
        opened = await clew.surface.open_thread(parent, "what is to be done")
        assert opened is not None
        await stage.say("!hold here\n!text beta", where=opened)
        await clew.wait_held("here")
        await stage.delete_thread(opened)
        clew.agent.holds.release("here")
        shown = await stage.wait_shown(lambda shown: with_text(shown, "beta"))
        assert with_text(shown, "The answer below belongs to"), "nothing says why the answer comes here"
        await stage.say("!text gamma", quote=with_text(shown, "beta")[-1].id)
        await stage.wait_shown(lambda shown: with_text(shown, "gamma"))
        assert clew.surface.accepted[-1].thread == clew.surface.accepted[-2].thread
