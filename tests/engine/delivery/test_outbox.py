"""Deliveries: retried, unconfirmed, without a surface, and at a normal stop."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from clew.model.messages import Attachment
from clew.model.surface import InDoubt, Never, Outgoing, Receipt, SurfaceCan, TryAgain
from clew.store.tables import deliveries, turns
from clew.texts import chat_messages
from tests.helpers.rig import TIMEOUT, Rig, Room


async def test_an_answer_that_is_only_a_file_is_kept(tmp_path: Path) -> None:
    async with Rig(tmp_path) as rig:
        accepted = await rig.say("!shell make\n!hold door")
        await rig.held("door")
        await rig.kill()
    picture = Attachment("a.png", "/files/a.png", "image/png")
    async with Rig(tmp_path) as rig:
        await rig.ended(accepted.turn)
        reply = await rig.say("", attachments=(picture,))
        row = await rig.store.read(lambda tx: turns.get(tx, reply.turn or ""))
    assert row is not None and picture in [file for said in row.request for file in said.attachments]


async def test_a_failed_delivery_that_notify_retries_gets_automatic_retries(tmp_path: Path) -> None:
    async with Rig(tmp_path) as rig:
        rig.room.troubles = [Never("no such channel")]
        accepted = await rig.say("!text hi")
        await rig.saw("delivery.failed")
        rig.room.troubles = [TryAgain("busy", 0.05)]
        await rig.engine.deliveries.notify(retry_failed=True)
        await rig.delivered(f"{accepted.turn}:final")
    assert rig.room.texts == ["hi"]


async def test_a_normal_stop_leaves_no_unfinished_send(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("clew.engine.engine.LAST_SENDS", TIMEOUT)
    async with Rig(tmp_path) as rig:
        for number in range(5):
            accepted = await rig.say(f"!text {number}", room=str(number))
        await rig.ended(accepted.turn)
        await rig.engine.drain(TIMEOUT)
    idle = Rig(tmp_path)
    assert await idle.store.read(deliveries.sending_finals) == []
    await idle.kill()


async def test_a_dry_run_without_a_daemon_lists_unfinished_sends(tmp_path: Path) -> None:
    async with Rig(tmp_path, room=Room(hold=asyncio.Event())) as rig:
        accepted = await rig.say("!text hi")
        await rig.ended(accepted.turn)
        await rig.until(lambda entry: entry.kind == "delivery.owed")
        while not await rig.store.read(deliveries.sending_finals):
            pass
    idle = Rig(tmp_path)
    (would,) = await idle.engine.deliveries.notify(dry_run=True, alone=True)
    assert (would.delivery, would.state) == (f"{accepted.turn}:final", "would send")
    assert await idle.engine.deliveries.notify(dry_run=True) == []
    await idle.kill()


async def test_deliveries_to_a_removed_surface_fail_with_a_reason(tmp_path: Path) -> None:
    async with Rig(tmp_path) as rig:
        accepted = await rig.start("!hold door\n!text done", notify="room:a")
        await rig.held("door")
        await rig.kill()
    rig = Rig(tmp_path, surfaces={})
    async with rig:
        cut = await rig.ended(accepted.turn)
        rig.scripted.holds.release("door")
        await rig.ended(cut.continued_by)
        view = await rig.engine.threads.get(accepted.thread or "")
    assert view.notification_status == "failed" and "no surface 'room'" in (view.notification_error or "")


async def test_stopping_a_cut_task_notifies_its_target(tmp_path: Path) -> None:
    async with Rig(tmp_path) as rig:
        accepted = await rig.start("!shell make\n!cut", notify="room:a")
        await rig.until(lambda entry: entry.kind == "delivery.sent" and str(entry.data["delivery"]).endswith(":ask"))
        asked = await rig.engine.threads.get(accepted.thread or "")
        await rig.engine.threads.resume(accepted.thread or "", "stop", rig.clock.ulid(), "ann")
        await rig.delivered(f"{asked.turn}:final")
        view = await rig.engine.threads.get(accepted.thread or "")
    assert asked.notification_status == "sent" and view.notification_status == "sent"
    assert rig.room.texts[-1] == "(Stopped.)"


class Swept(Room):
    """A room in which somebody deletes every placeholder."""

    async def edit(self, receipt: Receipt, outgoing: Outgoing) -> None:
        raise Never("the message to edit is not there")


async def test_without_its_placeholder_an_unconfirmed_answer_is_sent_again(tmp_path: Path) -> None:
    async with Rig(tmp_path, room=Swept(can=SurfaceCan(edit=True))) as rig:
        accepted = await rig.say("!hold door\n!text hello")
        await rig.delivered(f"{accepted.turn}:placeholder")
        rig.room.after = [InDoubt("the answer was lost", 0.0)]
        rig.scripted.holds.release("door")
        await rig.delivered(f"{accepted.turn}:final")
        assert rig.room.texts[1:] == ["hello", "hello"] and chat_messages.POSSIBLE_REPEAT in rig.room.sent[2].note
