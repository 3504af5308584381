"""Answers that were never sent to the agent: which request they answer, and for how long."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from clew.engine.gates import dispatch
from clew.model.gate_views import AnswerGate
from clew.model.gates import Decision
from clew.model.messages import Accepted, Fate
from clew.store.tables import gates
from clew.support.clock import SystemClock
from clew.testing.scripted_model import script
from tests.engine.gates.test_lifecycle import COMMAND, NO, YES, answered_and_cut, asked, executions
from tests.helpers.rig import Rig

ACTED = f"!shell make\n!approve {COMMAND}\n!text done"  # if something ran, a chat asks before it continues
HOURS = 2 * 3600 * 1000


class LaterClock(SystemClock):
    def now(self) -> int:
        return super().now() + HOURS


async def cut_after_a_yes(folder: Path) -> Accepted:
    async with Rig(folder) as rig:
        accepted = await rig.say(ACTED)
        (gate,) = await asked(rig)
        await answered_and_cut(rig, gate)
    return accepted


async def test_a_plain_continue_uses_the_unsent_answer(tmp_path: Path) -> None:
    accepted = await cut_after_a_yes(tmp_path)
    async with Rig(tmp_path) as rig:
        await rig.delivered(f"{accepted.turn}:ask")
        await rig.ended((await rig.say("continue")).turn)
        assert executions(rig) == [COMMAND]


async def test_a_person_who_says_something_else_is_asked_again(tmp_path: Path) -> None:
    accepted = await cut_after_a_yes(tmp_path)
    async with Rig(tmp_path) as rig:
        await rig.delivered(f"{accepted.turn}:ask")
        goes_on = await rig.engine.threads.resume(accepted.thread or "", "but do not deploy today", "m-resume", "ann")
        (again,) = await asked(rig)
        assert (again.turn, again.state, executions(rig)) == (goes_on.turn, "open", [])


async def test_a_steer_cancels_an_unsent_yes(tmp_path: Path) -> None:
    async with Rig(tmp_path) as rig:
        await rig.start(f"!hold door\n!approve {COMMAND}\n!text done")
        await rig.held("door")
        rig.scripted.holds.release("door")
        (gate,) = await asked(rig)
        await answered_and_cut(rig, gate)
    async with Rig(tmp_path) as rig:
        await rig.held("door")
        assert (await rig.send(gate.thread, "do not deploy today")).fate is Fate.STEER
        rig.scripted.holds.release("door")
        (again,) = await asked(rig)
        assert again.state == "open" and executions(rig) == []


async def test_a_no_to_another_gate_cancels_an_unsent_yes(tmp_path: Path) -> None:
    accepted = await cut_after_a_yes(tmp_path)
    async with Rig(tmp_path) as rig:
        await rig.delivered(f"{accepted.turn}:ask")
        rig.scripted.play = lambda request: (
            script.Approve(("make test",)),
            script.Approve((COMMAND,)),
            script.Say("done"),
        )
        await rig.say("continue")
        (other,) = await asked(rig)
        await rig.engine.gates.answer(other.code, AnswerGate(Decision.DECLINE))
        await rig.until(lambda entry: rig.kinds().count("gate.opened") == 2)
        (again,) = await rig.engine.gates.all()
        assert again.title == COMMAND and executions(rig) == []


@pytest.mark.parametrize("first", [YES, NO])
async def test_an_unsent_yes_is_kept_only_if_not_declined_since(tmp_path: Path, first: AnswerGate) -> None:
    """The agent asks the same twice at once, and is answered yes and no."""
    async with Rig(tmp_path) as rig:
        rig.scripted.play = lambda request: (
            script.Shell("make"),
            script.Approve((COMMAND, COMMAND)),
            script.Say("done"),
        )
        accepted = await rig.say("go")
        one, other = await asked(rig, 2)
        rig.hold_answers()
        await rig.engine.gates.answer(one.code, first)
        await rig.engine.gates.answer(other.code, NO if first is YES else YES)
        sql = "UPDATE gates SET answered_at = answered_at + 1 WHERE id = ?"  # on a fast machine the times may be equal
        await rig.store.write(lambda tx: tx.run(sql, other.id))
        await rig.kill()
    async with Rig(tmp_path) as rig:
        await rig.delivered(f"{accepted.turn}:ask")
        kept = {row.id for row in await rig.store.read(gates.all_rows) if row.carried}
        assert kept == ({other.id} if first is YES else {one.id, other.id})


@pytest.mark.parametrize("word", ["stop", "no", "不要"])
async def test_no_yes_is_kept_for_a_suspended_turn_that_is_stopped(tmp_path: Path, word: str) -> None:
    accepted = await cut_after_a_yes(tmp_path)
    async with Rig(tmp_path) as rig:
        await rig.delivered(f"{accepted.turn}:ask")
        await rig.say(word)
        assert not any(row.carried for row in await rig.store.read(gates.all_rows))


async def test_no_yes_is_kept_for_a_turn_that_a_person_stops(tmp_path: Path) -> None:
    async with Rig(tmp_path) as rig:
        accepted = await rig.start(f"!hold door\n!approve {COMMAND}\n!text done")
        await rig.held("door")
        rig.scripted.holds.release("door")
        (gate,) = await asked(rig)
        await answered_and_cut(rig, gate)
    async with Rig(tmp_path) as rig:
        await rig.held("door")
        await rig.engine.threads.stop(accepted.thread or "")
        assert not any(row.carried for row in await rig.store.read(gates.all_rows))


async def test_an_expired_unsent_yes_is_asked_for_again(tmp_path: Path) -> None:
    accepted = await cut_after_a_yes(tmp_path)
    async with Rig(tmp_path, clock=LaterClock()) as rig:
        await rig.delivered(f"{accepted.turn}:ask")
        await rig.say("continue")
        (again,) = await asked(rig)
        assert again.state == "open" and executions(rig) == []


async def test_a_yes_that_a_stop_overtook_is_not_shown_as_allowed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    never = asyncio.Event()

    async def held(*given: object) -> None:
        await never.wait()

    monkeypatch.setattr(dispatch, "_send_one", held)
    async with Rig(tmp_path) as rig:
        accepted = await rig.say(f"!approve {COMMAND}\n!text done")
        (gate,) = await asked(rig)
        await rig.engine.gates.answer(gate.code, YES)
        await rig.engine.threads.stop(accepted.thread or "")
        await rig.ended(accepted.turn)
        assert (await rig.engine.gates.one(gate.id)).state == "void" and executions(rig) == []
