"""An image for a runtime that does not take images: its sender is told."""

from __future__ import annotations

from pathlib import Path

import pytest
from msgspec.structs import replace

from clew.model.messages import LOCAL_CLIENT, Attachment, Inbound
from tests.helpers.rig import Rig

PICTURE = Attachment("a cat.png", "/nowhere/cat.png", "image/png")
NOTES = Attachment("notes.txt", "/nowhere/notes.txt", "text/plain")


@pytest.fixture
def blind(tmp_path: Path) -> Rig:
    """A daemon whose runtime does not take images."""
    rig = Rig(tmp_path)
    rig.scripted.can = replace(rig.scripted.can, images=False)
    return rig


def notices(rig: Rig) -> list[str]:
    return [text for text in rig.room.texts if "does not take images" in text]


async def test_the_sender_of_an_image_is_told_that_the_agent_cannot_see_it(blind: Rig) -> None:
    async with blind as rig:
        sent = await rig.say("!text done", attachments=(PICTURE, NOTES))
        await rig.ended(sent.turn)
        logged = await rig.until(lambda entry: entry.kind == "notice")
        await rig.until(lambda entry: entry.kind == "delivery.sent" and "images" in str(entry.data))
        await rig.until(lambda entry: entry.kind == "delivery.sent" and "final" in str(entry.data))
    [told] = notices(rig)
    assert "scripted does not take images, so it cannot see what a cat.png shows." in told
    assert "notes" not in told and rig.room.texts[-1] == "done"
    assert logged.data["notice"] == "warning" and "a cat.png" in str(logged.data["text"])


async def test_the_sender_of_an_image_into_a_running_turn_is_told_too(blind: Rig) -> None:
    async with blind as rig:
        begun = await rig.say("!hold here\n!text done")
        await rig.held("here")
        await rig.say("look", attachments=(PICTURE,))
        await rig.until(lambda entry: entry.kind == "delivery.sent" and "images" in str(entry.data))
        rig.scripted.holds.release("here")
        await rig.ended(begun.turn)
    assert len(notices(rig)) == 1


async def test_a_local_client_finds_the_notice_in_the_log_only(blind: Rig) -> None:
    async with blind as rig:
        sent = await rig.engine.inbox.accept(Inbound(LOCAL_CLIENT, "m", "ann", "!text done", (PICTURE,)))
        await rig.ended(sent.turn)
        assert "notice" in rig.kinds(sent.thread)
    assert rig.room.texts == []


async def test_nobody_is_told_of_an_image_that_the_agent_can_see(tmp_path: Path) -> None:
    async with Rig(tmp_path) as rig:
        sent = await rig.say("!text done", attachments=(PICTURE,))
        await rig.ended(sent.turn)
        assert "notice" not in rig.kinds(sent.thread)
