"""Stops and steers that reach a turn early, late, twice or with an error."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any

import pytest

from clew.config.settings import Config, ThreadsConfig, TurnsConfig
from clew.engine.turns import signals
from clew.engine.turns.recovery import Recovery
from clew.model.messages import Fate, PromptMessage
from clew.model.runtime import Seat, Session
from clew.model.turns import Turn
from clew.store import Tx, audit
from clew.support import crash
from clew.support.errors import RuntimeTrouble, StoreError
from tests.helpers.rig import Rig


async def test_a_stop_before_the_turn_has_started_is_sent_once_it_has(tmp_path: Path) -> None:
    rig = Rig(tmp_path)
    opening, may_open = asyncio.Event(), asyncio.Event()
    _delay(rig, opening, may_open)
    async with rig:
        accepted = await rig.say("!hold for-ever")
        await opening.wait()
        await rig.engine.threads.stop(accepted.thread or "")
        may_open.set()
        turn = await rig.ended(accepted.turn)
    assert turn.state == "interrupted"


def _delay(rig: Rig, opening: asyncio.Event, may_open: asyncio.Event) -> None:
    open_ = rig.scripted.open

    async def slowly(seat: Seat) -> Session:
        opening.set()
        await may_open.wait()
        return await open_(seat)

    rig.scripted.open = slowly  # type: ignore[method-assign]


Steering = Callable[[PromptMessage], Coroutine[Any, Any, bool]]


async def _steered_by(rig: Rig, thread: str | None, how: Callable[[Steering, list[str]], Steering]) -> list[str]:
    """Replace what the session does with a steer; the ids that reach it."""
    session, calls = await rig.scripted_session(thread), list[str]()
    session.steer = how(session.steer, calls)  # type: ignore[method-assign, assignment]
    return calls


async def test_a_steer_with_a_late_response_is_not_sent_twice(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(signals, "STEER_TIMEOUT", 0.05)

    def late(steer: Steering, calls: list[str]) -> Steering:
        async def answer(message: PromptMessage) -> bool:
            calls.append(message.id)
            taken = await steer(message)
            if len(calls) == 1:
                await asyncio.Event().wait()
            return taken

        return answer

    async with Rig(tmp_path) as rig:
        accepted = await rig.say("!hold door\n!text done")
        await rig.held("door")
        calls = await _steered_by(rig, accepted.thread, late)
        await rig.say("two", id="m2")
        await rig.until(lambda entry: entry.kind == "steer.sent" and entry.data["message"] == "m2")
        await rig.say("three", id="m3")
        await rig.until(lambda entry: entry.kind == "steer.sent" and entry.data["message"] == "m3")
        rig.scripted.holds.release("door")
        turn = await rig.ended(accepted.turn)
    assert calls == ["m2", "m3"] and "heard: two; three" in turn.text


async def test_a_stop_applies_to_a_turn_that_is_about_to_run(tmp_path: Path) -> None:
    config = Config(threads=ThreadsConfig(runtime="scripted"), turns=TurnsConfig(parallel=1))
    async with Rig(tmp_path, config=config) as rig:
        first = await rig.start("!hold door")
        await rig.held("door")
        second = await rig.start("!text never")
        await rig.engine.threads.stop(second.thread or "")
        assert (await rig.ended(second.turn)).state == "interrupted"
        rig.scripted.holds.release("door")
        await rig.ended(first.turn)


async def test_a_failing_steer_does_not_block_a_stop(tmp_path: Path) -> None:
    def broken(steer: Steering, calls: list[str]) -> Steering:
        async def answer(message: PromptMessage) -> bool:
            calls.append(message.id)
            raise RuntimeTrouble("an answer in an unknown shape")

        return answer

    async with Rig(tmp_path) as rig:
        accepted = await rig.say("!hold for-ever")
        await rig.held("for-ever")
        await _steered_by(rig, accepted.thread, broken)
        late = await rig.say("!text two", id="m2")
        await rig.saw("steer.sent")
        await rig.engine.threads.stop(accepted.thread or "")
        turn = await rig.ended(accepted.turn)
        queued = await rig.saw("steer.queued")  # the record does not have it
        dropped = await rig.ended(queued.turn)
    assert late.fate is Fate.STEER and (turn.state, dropped.state, dropped.started_at) == (
        "interrupted",
        "interrupted",
        None,
    )


async def test_what_the_agent_had_not_read_at_a_stop_does_not_run_and_its_sender_is_told(tmp_path: Path) -> None:
    def in_doubt(steer: Steering, calls: list[str]) -> Steering:
        async def answer(message: PromptMessage) -> bool:
            return True  # the record will not have it

        return answer

    async with Rig(tmp_path) as rig:
        accepted = await rig.say("!hold for-ever")
        await rig.held("for-ever")
        await _steered_by(rig, accepted.thread, in_doubt)
        await rig.say("wait, don't", id="m2")
        await rig.saw("steer.sent")
        await rig.engine.threads.stop(accepted.thread or "", "Ann")
        after = await rig.say("!text instead", id="m3")
        await rig.ended(accepted.turn)
        assert (await rig.ended(after.turn)).text == "instead"  # said after the stop: it runs
        dropped = await rig.until(lambda entry: entry.kind == "steer.queued")
        await rig.delivered(f"{dropped.turn}:dropped")
        assert any("not run: the turn was stopped before the agent read it" in text for text in rig.room.texts)


async def test_a_transcript_says_who_stopped_a_turn(tmp_path: Path) -> None:
    async with Rig(tmp_path) as rig:
        accepted = await rig.say("!hold for-ever")
        await rig.held("for-ever")
        await rig.engine.threads.stop(accepted.thread or "", "Ann")
        turn = await rig.ended(accepted.turn)
        entries = await rig.engine.threads.transcript(accepted.thread or "", 10)
        assert (await rig.engine.threads.get(accepted.thread or "")).last_line == "(Stopped by Ann.)"
        await rig.delivered(f"{turn.id}:final")
        assert any("(Stopped by Ann.)" in text for text in rig.room.texts)
    assert (turn.state, turn.stopped_by) == ("interrupted", "Ann")
    assert [each.stopped_by for each in entries if each.role == "agent"] == ["Ann"]


async def test_a_steer_in_progress_is_sent_once_though_a_commit_fails(
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


async def test_a_notice_to_a_local_client_is_not_left_pending(tmp_path: Path) -> None:
    def refused(steer: Steering, calls: list[str]) -> Steering:
        async def answer(message: PromptMessage) -> bool:
            return False

        return answer

    async with Rig(tmp_path) as rig:
        accepted = await rig.start("!hold door")
        await rig.held("door")
        await _steered_by(rig, accepted.thread, refused)
        await rig.send(accepted.thread, "!text also")
        queued = await rig.saw("steer.queued")
        rig.scripted.holds.release("door")
        await rig.ended(queued.turn)
        left = await rig.store.read(audit.unfinished)
    assert left == []
