"""The end of a turn, if clew itself fails while it writes it: the runtime's record decides, nothing is done twice."""

from __future__ import annotations

from pathlib import Path

import pytest

from clew.engine.turns.recovery import Recovery
from clew.engine.turns.runner import Runner
from clew.model.surface import SurfaceCan
from tests.helpers.rig import Rig, Room


async def test_an_end_that_clew_failed_to_record_is_looked_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    broken = [ZeroDivisionError()]
    ended = Runner._ended

    async def once(self: Runner, *given: object) -> object:
        if broken:
            raise broken.pop()
        return await ended(self, *given)  # type: ignore[arg-type]

    monkeypatch.setattr(Runner, "_ended", once)
    async with Rig(tmp_path) as rig:
        accepted = await rig.say("!shell make\n!text done")
        assert (await rig.ended(accepted.turn)).state == "completed"
        await rig.delivered(f"{accepted.turn}:final")
        assert rig.room.texts == ["done"] and not broken


async def test_a_turn_that_fails_inside_clew_each_time_is_reported_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def broken(*given: object) -> None:
        raise ZeroDivisionError

    async with Rig(tmp_path) as rig:
        monkeypatch.setattr(Runner, "_ended", broken)
        monkeypatch.setattr(Recovery, "_look_up", broken)
        accepted = await rig.say("!text done")
        assert (await rig.ended(accepted.turn)).state == "failed"
        await rig.delivered(f"{accepted.turn}:final")
        assert len(rig.room.texts) == 1 and "clew itself failed" in rig.room.texts[0]


async def test_a_problem_with_files_does_not_hold_up_the_answer(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def broken(*given: object) -> None:
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(Runner, "_artifacts", broken)
    async with Rig(tmp_path) as rig:
        accepted = await rig.say("!text done")
        await rig.delivered(f"{accepted.turn}:final")
        assert rig.room.texts == ["done"]


async def test_an_answer_in_a_chat_where_nobody_asked_names_its_task(tmp_path: Path) -> None:
    async with Rig(tmp_path, room=Room(can=SurfaceCan(chat=True))) as rig:
        started = await rig.start("!text done\n*and* more", notify="room:a")
        await rig.delivered(f"{started.turn}:final")
        assert rig.room.texts == ["Task: !text done\n\ndone"]
        await rig.allow("7")
        asked = await rig.say("!text here", sender_id="7", room="b")
        await rig.delivered(f"{asked.turn}:final")
        assert rig.room.texts[-1] == "here"
