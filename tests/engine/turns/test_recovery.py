"""Recovery: which turns are looked up in the runtime, and what people are told."""

from __future__ import annotations

from pathlib import Path

from clew.model.turns import Item
from clew.store.tables import items
from tests.helpers.rig import Rig


async def test_an_interruption_that_nobody_requested_is_looked_up(tmp_path: Path) -> None:
    async with Rig(tmp_path) as rig:
        accepted = await rig.start("!hold door\n!text one", notify="room:a")
        await rig.held("door")
        await (await rig.scripted_session(accepted.thread)).interrupt()
        cut = await rig.ended(accepted.turn)
        assert (await rig.engine.threads.get(accepted.thread or "")).last_line == "(Cut off, continues.)"
        rig.scripted.holds.release("door")
        done = await rig.ended(cut.continued_by)
        await rig.delivered(f"{done.id}:final")
    assert (cut.state, rig.room.texts) == ("interrupted", ["one"])


async def test_unaskable_request_is_declined_recorded_and_noted(tmp_path: Path) -> None:
    declined = Item("n", "notice", "done", "declined: a strange form", outcome="declined")
    async with Rig(tmp_path) as rig:
        accepted = await rig.say("!hold here\n!text ok")
        await rig.held("here")
        await rig.store.write(lambda tx: items.put(tx, accepted.turn or "", declined))
        rig.scripted.holds.release("here")
        turn = await rig.ended(accepted.turn)
        await rig.delivered(f"{accepted.turn}:final")
    assert ("notice", "declined: a strange form") in [(item.kind, item.title) for item in turn.items]
    assert rig.room.sent[0].text == "ok" and "cannot ask" in rig.room.sent[0].note


async def test_an_activity_without_an_end_is_recorded_as_unended(tmp_path: Path) -> None:
    async with Rig(tmp_path) as rig:
        rig.scripted.pace = lambda: 0.0
        accepted = await rig.say("!shell make\n!hold door")
        await rig.held("door")
        await rig.store.write(lambda tx: tx.run("UPDATE items SET phase = 'started', outcome = NULL"))
        await rig.engine.threads.stop(accepted.thread or "")
        turn = await rig.ended(accepted.turn)
    assert [(item.kind, item.outcome) for item in turn.items] == [("command", "unended")]
