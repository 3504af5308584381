"""Running a turn on a runtime that is lost, silent, reattached or missing."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from clew.config.settings import Config, ThreadsConfig
from clew.model.events import Event
from clew.model.runtime import Seat, Session
from clew.store.tables import turns
from clew.support.errors import BadInput, RuntimeLost
from tests.engine.turns.test_signals import _delay
from tests.helpers.rig import TIMEOUT, Rig, patient


async def test_a_runtime_lost_while_opening_is_retried(tmp_path: Path) -> None:
    rig = Rig(tmp_path)
    open_, tries = rig.scripted.open, []

    async def flaky(seat: Seat) -> Session:
        tries.append(seat)
        if len(tries) == 1:
            raise RuntimeLost("it is gone")
        return await open_(seat)

    rig.scripted.open = flaky  # type: ignore[method-assign]
    async with rig:
        accepted = await rig.say("!text hello")
        turn = await rig.ended(accepted.turn)
    assert (turn.state, turn.text) == ("completed", "hello")


async def test_a_steer_sent_before_a_silence_is_not_queued(tmp_path: Path) -> None:
    async with Rig(tmp_path, config=patient()) as rig:
        accepted = await rig.say("!hold for-ever")
        await rig.held("for-ever")
        await rig.say("also this", id="m2")
        await rig.saw("steer.sent")
        rig.fall_silent(accepted.turn)
        turn = await rig.ended(accepted.turn)
        kinds = rig.kinds(accepted.thread)
    assert turn.state == "failed" and "steer.queued" not in kinds


async def test_a_reattached_turn_with_a_running_command_does_not_time_out(tmp_path: Path) -> None:
    paces = iter((0.0, 0.0, 1000.0))
    async with Rig(tmp_path, outlives=True) as rig:
        rig.scripted.pace = lambda: next(paces)
        accepted = await rig.say("!shell make")
        await rig.saw("activity")
        await rig.kill()
    rig, joined, go_on = Rig(tmp_path, outlives=True), asyncio.Event(), asyncio.Event()
    open_ = rig.scripted.open

    async def quiet(seat: Seat) -> Session:
        session = await open_(seat)
        attach = session.attach

        async def later(turn: str) -> AsyncIterator[Event]:
            joined.set()
            await go_on.wait()
            async for event in attach(turn):
                yield event

        session.attach = later  # type: ignore[method-assign]
        return session

    rig.scripted.open = quiet  # type: ignore[method-assign]
    async with rig:
        await joined.wait()
        patience = rig.engine._runner._consumers[accepted.turn or ""]._timeout
        assert patience is not None and patience.when() is None
        go_on.set()
        assert (await rig.ended(accepted.turn)).state == "completed"


async def test_a_restart_does_not_wait_for_turns_reattached_meanwhile(tmp_path: Path) -> None:
    async with Rig(tmp_path, outlives=True) as rig:
        accepted = await rig.say("!hold for-ever")
        await rig.held("for-ever")
        await rig.kill()
    rig = Rig(tmp_path, outlives=True)
    opening, may_open = asyncio.Event(), asyncio.Event()
    _delay(rig, opening, may_open)
    async with rig:
        await opening.wait()
        settling = asyncio.create_task(rig.engine.drain(1000.0, restart=True))
        await asyncio.wait([settling], timeout=0.05)
        assert not settling.done()
        may_open.set()
        async with asyncio.timeout(TIMEOUT):
            await settling
        assert "turn.ended" not in rig.kinds(accepted.thread)


async def test_no_thread_is_created_if_the_default_runtime_does_not_exist(tmp_path: Path) -> None:
    async with Rig(tmp_path, config=Config(threads=ThreadsConfig(runtime="scriptd"))) as rig:
        with pytest.raises(BadInput, match="There is no runtime named 'scriptd'; known here: scripted"):
            await rig.start("!text hello")
        assert await rig.store.read(turns.all_rows) == []
