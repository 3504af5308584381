"""Where clew itself fails in the middle, the record of the runtime still decides, and nothing is done twice."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from clew.engine.turns.recovery import Recovery
from clew.engine.turns.runner import Runner
from clew.model.turns import Turn
from clew.store import Tx
from clew.support import crash
from clew.support.errors import StoreError
from tests.helpers.rig import Rig


async def test_an_end_that_clew_could_not_take_in_is_looked_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
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


async def test_what_breaks_clew_each_time_is_told_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async def broken(*given: object) -> None:
        raise ZeroDivisionError

    async with Rig(tmp_path) as rig:
        monkeypatch.setattr(Runner, "_ended", broken)
        monkeypatch.setattr(Recovery, "_look_up", broken)
        accepted = await rig.say("!text done")
        assert (await rig.ended(accepted.turn)).state == "failed"
        await rig.delivered(f"{accepted.turn}:final")
        assert len(rig.room.texts) == 1 and "clew itself failed" in rig.room.texts[0]


async def test_whatever_is_wrong_with_files_the_answer_comes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async def broken(*given: object) -> None:
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(Runner, "_made", broken)
    async with Rig(tmp_path) as rig:
        accepted = await rig.say("!text done")
        await rig.delivered(f"{accepted.turn}:final")
        assert rig.room.texts == ["done"]


async def test_a_steer_that_was_on_its_way_is_heard_once_though_a_commit_fails(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    came = asyncio.Event()

    def death(point: str) -> None:
        if point == "steer.sent-not-recorded":
            came.set()
            raise asyncio.CancelledError

    async with Rig(tmp_path, outlives=True) as rig:
        accepted = await rig.say("!hold door\n!text done")
        await rig.held("door")
        monkeypatch.setattr(crash, "hook", death)
        await rig.say("also this")
        await came.wait()
        monkeypatch.setattr(crash, "hook", None)
    count, failures = Recovery._count_as_sent, [StoreError("database or disk is full")]

    def full_at_commit(self: Recovery, tx: Tx, turn: Turn) -> None:
        count(self, tx, turn)
        if failures:
            raise failures.pop()

    monkeypatch.setattr(Recovery, "_count_as_sent", full_at_commit)
    async with Rig(tmp_path, outlives=True) as rig:
        await rig.started(accepted.turn)
        await rig.held("door")
        rig.scripted.holds.release("door")
        turn = await rig.ended(accepted.turn)
        assert turn.text.count("also this") == 1 and not failures
