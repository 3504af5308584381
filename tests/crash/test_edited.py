"""Killed between an edit and its record: it is edited again to the same text, and nothing new is sent. With the engine
and a recording surface."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from clew.model.delivery import DeliveryKind
from clew.model.gate_views import AnswerGate
from clew.model.gates import Decision
from clew.model.surface import InDoubt, SurfaceCan
from clew.support import crash
from tests.helpers.rig import TIMEOUT, Rig, Room

pytestmark = pytest.mark.process

POINT = "outbox.edited-not-recorded"


class Death:
    """Raised at the crash point; the test kills the rest of the daemon."""

    def __init__(self) -> None:
        self.came = asyncio.Event()

    def __call__(self, passed: str) -> None:
        if passed == POINT:
            self.came.set()
            raise asyncio.CancelledError

    async def take(self, rig: Rig) -> None:
        async with asyncio.timeout(TIMEOUT):
            await self.came.wait()
        crash.hook = None
        await rig.kill()


@pytest.mark.parametrize("chat", [False, True])
async def test_a_placeholder_that_became_the_answer_is_not_sent_twice(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, chat: bool
) -> None:
    """And the placeholder's last update does not replace the answer."""
    room, death = Room(can=SurfaceCan(edit=True, chat=chat)), Death()
    monkeypatch.setattr(crash, "hook", death)
    async with Rig(tmp_path, room=room) as rig:
        await rig.allow("7")
        accepted = await rig.say("!hold door\n!text hello", sender_id="7")
        await rig.delivered(f"{accepted.turn}:placeholder")
        room.after = [InDoubt("the answer was lost", 0.0)]
        rig.scripted.holds.release("door")
        await death.take(rig)
    async with Rig(tmp_path, room=room) as rig:
        await rig.delivered(f"{accepted.turn}:final")
        later = await rig.say("!text more", sender_id="7")
        await rig.delivered(f"{later.turn}:final")  # so all deliveries before it are done
    kinds = [outgoing.kind for edited, outgoing in room.edits if edited == "message-1"]
    assert [kind for kind in kinds if kind != "placeholder"] == ["final"] * 2
    assert [sent.kind for sent in room.sent] == ["placeholder", "final"] * 2


async def test_an_updated_gate_card_is_updated_again_in_place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    room, death = Room(can=SurfaceCan(edit=True)), Death()
    async with Rig(tmp_path, room=room) as rig:
        await rig.say("!approve deploy\n!text done")
        gate = (await rig.saw("gate.opened")).data["gate"]
        await rig.delivered(f"{gate}:ask")
        monkeypatch.setattr(crash, "hook", death)
        await rig.engine.gates.answer(gate, AnswerGate(Decision.DECLINE, sender="ann"))
        await death.take(rig)
    async with Rig(tmp_path, room=room) as rig:
        await rig.until(lambda entry: str(entry.data.get("delivery", "")).startswith(f"{gate}:ask:"))
    card = 1 + [sent.kind for sent in room.sent].index(DeliveryKind.ASK)
    assert len(room.edits) > 1 and {edited for edited, _ in room.edits} == {f"message-{card}"}
    assert [sent.kind for sent in room.sent].count(DeliveryKind.ASK) == 1
