"""Checks of the surface kit: replies, marks, edited and deleted messages."""

from __future__ import annotations

from pathlib import Path

from clew.testing.surface_stage import Daemon, Stage, start_working, wait_accepted, wait_answered, with_text


async def the_answer_replies_to_its_question(stage: Stage, folder: Path) -> None:
    """With `can.replies`, an answer is a reply to the message that it answers (`Outgoing.reply_to`)."""
    async with Daemon(stage, folder) as clew:
        if not clew.surface.can.replies:
            return
        asked = [await stage.say(f"!text {text}") for text in ("alpha", "beta")]
        shown = await wait_answered(stage, "alpha", "beta")
        replied = [with_text(shown, text)[-1].replies_to for text in ("alpha", "beta")]
        assert replied == asked, f"the answers reply to {replied}, in place of {asked}"


async def a_message_that_was_heard_is_marked(stage: Stage, folder: Path) -> None:
    """With `can.reactions`, `react` marks a message of the person, by its id in `Inbound`."""
    async with Daemon(stage, folder) as clew:
        if not clew.surface.can.reactions:
            return
        message = await stage.say("!text alpha")
        await clew.surface.wait_until(lambda: message in clew.surface.reacted)
        await wait_answered(stage, "alpha")


async def an_edit_changes_a_queued_message(stage: Stage, folder: Path) -> None:
    """If the platform tells of edits, `Inbox.edited` gets the message as it is now, with the id that it had."""
    async with Daemon(stage, folder) as clew:
        await start_working(stage, clew)
        message = await stage.say("!text beta")
        await wait_accepted(stage, clew, message)
        if not await stage.change(message, "!text gamma"):
            return
        await clew.surface.wait_until(lambda: clew.surface.changed)
        clew.agent.holds.release("here")
        shown = await wait_answered(stage, "alpha", "gamma")
        assert not with_text(shown, "beta"), "the old text was answered"


async def a_deleted_message_is_taken_back_while_it_is_queued(stage: Stage, folder: Path) -> None:
    """If the platform tells of deletions, `Inbox.deleted` gets the id of a message that its author deleted."""
    async with Daemon(stage, folder) as clew:
        await start_working(stage, clew)
        message = await stage.say("!text beta")
        await wait_accepted(stage, clew, message)
        if not await stage.delete(message):
            return
        await clew.surface.wait_until(lambda: clew.surface.gone)
        await wait_accepted(stage, clew, await stage.say("!text gamma"))
        clew.agent.holds.release("here")
        shown = await wait_answered(stage, "alpha", "gamma")
        assert not with_text(shown, "beta"), "the deleted message was answered"
