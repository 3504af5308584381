"""What a suspended thread asks is rewritten once it is settled."""

from __future__ import annotations

from pathlib import Path

import pytest

from clew.surfaces.base import SurfaceCan
from tests.rig import Rig, Room, patient

CAN = SurfaceCan(edit=True, buttons=8)


async def _cut(folder: Path) -> tuple[str, str]:
    async with Rig(folder) as rig:
        accepted = await rig.say("!shell make\n!hold door\n!text hello")
        await rig.held("door")
        await rig.kill()
    return accepted.thread or "", accepted.turn or ""


@pytest.mark.parametrize(
    ("said", "outcome"),
    [("continue", "continued by ann"), ("stop", "stopped by ann"), ("but mind the tests", "continued by ann")],
)
async def test_what_was_asked_about_a_cut_turn_says_what_became_of_it(tmp_path: Path, said: str, outcome: str) -> None:
    _, turn = await _cut(tmp_path)
    async with Rig(tmp_path, room=Room(can=CAN)) as rig:
        await rig.delivered(f"{turn}:ask")
        [asked] = [sent for sent in rig.room.sent if sent.kind == "ask"]
        assert [button.says for button in asked.buttons] == ["continue", "stop"]
        await rig.say(said)
        await rig.delivered(f"{turn}:ask:over")
    [(message, redrawn)] = [(id, edit) for id, edit in rig.room.edits if edit.id == f"{turn}:ask:over"]
    assert message == f"message-{rig.room.sent.index(asked) + 1}" and not redrawn.buttons
    assert redrawn.text.startswith("This turn was cut off") and redrawn.text.endswith(f"→ {outcome}")
    assert "Reply" not in redrawn.text


@pytest.mark.parametrize(
    ("said", "outcome"),
    [("run all", "run in their order, by ann"), ("merge", "merged into one by ann"), ("skip", "skipped by ann")],
)
async def test_what_was_asked_about_a_backlog_says_what_became_of_it(tmp_path: Path, said: str, outcome: str) -> None:
    rig = Rig(tmp_path)
    first = await rig.say("!text one")
    await rig.kill()
    async with Rig(tmp_path, config=patient(stale_after=-1), room=Room(can=CAN)) as rig:
        await rig.delivered(f"{first.turn}:backlog")
        await rig.say(said)
        await rig.delivered(f"{first.turn}:backlog:over")
    [redrawn] = [edit for _, edit in rig.room.edits if edit.id.endswith(":backlog:over")]
    assert redrawn.text == f"clew was away, and 1 message waited here.\n→ {outcome}" and not redrawn.buttons


async def test_whoever_ends_the_thread_settles_what_it_asked(tmp_path: Path) -> None:
    thread, turn = await _cut(tmp_path)
    async with Rig(tmp_path, room=Room(can=CAN)) as rig:
        await rig.delivered(f"{turn}:ask")
        await rig.engine.cancel(thread)
        await rig.delivered(f"{turn}:ask:over")
    assert rig.room.edits[-1][1].text.endswith("→ the thread was cancelled")


async def test_where_nothing_can_be_edited_nothing_is_said_again(tmp_path: Path) -> None:
    _, turn = await _cut(tmp_path)
    async with Rig(tmp_path) as rig:
        await rig.delivered(f"{turn}:ask")
        await rig.say("stop")
        last = await rig.say("!text last")
        await rig.delivered(f"{last.turn}:final")
    assert [sent.kind for sent in rig.room.sent] == ["ask", "final"] and not rig.room.edits
