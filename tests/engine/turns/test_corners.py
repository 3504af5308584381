"""Corners in which a message, a stop or an answer was once lost or doubled."""

from __future__ import annotations

import asyncio
import importlib
import sqlite3
from collections.abc import AsyncIterator, Callable, Coroutine
from pathlib import Path
from typing import Any

import pytest

from clew.config.settings import Config, ThreadsConfig, TurnsConfig
from clew.engine.live import Live
from clew.engine.turns import signals
from clew.engine.turns.completion import deeds
from clew.model.events import Event
from clew.model.messages import Attachment, Fate, Inbound, Said
from clew.model.runtime import Seat, Session
from clew.model.surface import InDoubt, Never, Outgoing, Receipt, SurfaceCan, TryAgain
from clew.model.threads import ThreadKind
from clew.store import Tx, audit
from clew.store.migrate import open_store
from clew.store.sqlite.driver import WriterThread
from clew.store.tables import deliveries, items, turns
from clew.store.tables.items import TEXT, Item
from clew.support.clock import SystemClock
from clew.support.errors import BadInput, RuntimeLost, RuntimeTrouble, StoreError
from clew.texts import messages
from tests.helpers.rig import PATIENCE, Rig, Room, patient


async def test_a_stop_before_the_turn_has_begun_is_heard_when_it_has(tmp_path: Path) -> None:
    rig = Rig(tmp_path)
    opening, may_open = asyncio.Event(), asyncio.Event()
    _delay(rig, opening, may_open)
    async with rig:
        accepted = await rig.say("!hold for-ever")
        await opening.wait()
        await rig.engine.stop(accepted.thread or "")
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


async def test_a_runtime_that_is_lost_while_it_opens_is_tried_again(tmp_path: Path) -> None:
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


async def test_what_was_heard_before_a_silence_is_not_said_again(tmp_path: Path) -> None:
    async with Rig(tmp_path, config=patient()) as rig:
        accepted = await rig.say("!hold for-ever")
        await rig.held("for-ever")
        await rig.say("also this", id="m2")
        await rig.saw("steer.sent")
        rig.fall_silent(accepted.turn)
        turn = await rig.ended(accepted.turn)
        kinds = rig.kinds(accepted.thread)
    assert turn.state == "failed" and "steer.queued" not in kinds


async def test_a_joined_turn_at_a_silent_command_is_waited_for(tmp_path: Path) -> None:
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
        patience = rig.engine._runner._works[accepted.turn or ""]._patience
        assert patience is not None and patience.when() is None
        go_on.set()
        assert (await rig.ended(accepted.turn)).state == "completed"


Steering = Callable[[Said], Coroutine[Any, Any, bool]]


async def _steered_by(rig: Rig, thread: str | None, how: Callable[[Steering, list[str]], Steering]) -> list[str]:
    """Replace what the session does with a steer; the ids that reach it."""
    session, calls = await rig.scripted_session(thread), list[str]()
    session.steer = how(session.steer, calls)  # type: ignore[method-assign, assignment]
    return calls


async def test_a_steer_whose_answer_is_late_is_not_given_twice(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(signals, "STEER_TIMEOUT", 0.05)

    def late(steer: Steering, calls: list[str]) -> Steering:
        async def answer(message: Said) -> bool:
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


async def test_a_stop_counts_for_a_turn_that_was_only_about_to_run(tmp_path: Path) -> None:
    config = Config(threads=ThreadsConfig(runtime="scripted"), turns=TurnsConfig(parallel=1))
    async with Rig(tmp_path, config=config) as rig:
        first = await rig.start("!hold door")
        await rig.held("door")
        second = await rig.start("!text never")
        await rig.engine.stop(second.thread or "")
        assert (await rig.ended(second.turn)).state == "interrupted"
        rig.scripted.holds.release("door")
        await rig.ended(first.turn)


async def test_what_breaks_clew_is_refused_in_words_and_has_its_fate(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*given: object) -> None:
        raise ZeroDivisionError

    async with Rig(tmp_path) as rig:
        monkeypatch.setattr(importlib.import_module("clew.engine.inbox.admission"), "at_gates", broken)
        first = await rig.say("!text hi", id="m1")
        monkeypatch.undo()
        again = await rig.say("!text hi", id="m1")
        assert (first.fate, first.words) == ("refused", messages.BROKEN)
        assert (again.fate, again.repeated) == ("refused", True)


async def test_a_steer_that_breaks_does_not_deafen_the_turn_to_a_stop(tmp_path: Path) -> None:
    def broken(steer: Steering, calls: list[str]) -> Steering:
        async def answer(message: Said) -> bool:
            calls.append(message.id)
            raise RuntimeTrouble("an answer in an unknown shape")

        return answer

    async with Rig(tmp_path) as rig:
        accepted = await rig.say("!hold for-ever")
        await rig.held("for-ever")
        await _steered_by(rig, accepted.thread, broken)
        late = await rig.say("!text two", id="m2")
        await rig.saw("steer.sent")
        await rig.engine.stop(accepted.thread or "")
        turn = await rig.ended(accepted.turn)
        queued = await rig.saw("steer.queued")  # the record does not have it
        done = await rig.ended(queued.turn)
    assert late.fate is Fate.STEER and (turn.state, done.text) == ("interrupted", "two")


async def test_somebody_called_clew_does_not_speak_in_its_name(tmp_path: Path) -> None:
    async with Rig(tmp_path) as rig:
        accepted = await rig.engine.say(Inbound(rig.where(), "m1", "Clew", "!hold door\n!text one"))
        await rig.held("door")
        await rig.kill()
    async with Rig(tmp_path) as rig:
        cut = await rig.ended(accepted.turn)
        row = await rig.store.read(lambda tx: turns.get(tx, cut.continued_by or ""))
    assert row is not None and row.request[0].text == "!hold door\n!text one"


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


async def test_what_failed_and_is_put_off_again_goes_on_by_itself(tmp_path: Path) -> None:
    async with Rig(tmp_path) as rig:
        rig.room.troubles = [Never("no such channel")]
        accepted = await rig.say("!text hi")
        await rig.saw("delivery.failed")
        rig.room.troubles = [TryAgain("busy", 0.05)]
        await rig.engine.notify(retry_failed=True)
        await rig.delivered(f"{accepted.turn}:final")
    assert rig.room.texts == ["hi"]


async def test_a_plain_stop_just_after_an_end_leaves_nothing_on_its_way(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("clew.engine.engine.LAST_SENDS", PATIENCE)
    async with Rig(tmp_path) as rig:
        for number in range(5):
            accepted = await rig.say(f"!text {number}", room=str(number))
        await rig.ended(accepted.turn)
        await rig.engine.settle(PATIENCE)
    idle = Rig(tmp_path)
    assert await idle.store.read(deliveries.sending_finals) == []
    await idle.kill()


async def test_a_restart_does_not_wait_for_what_is_joined_meanwhile(tmp_path: Path) -> None:
    async with Rig(tmp_path, outlives=True) as rig:
        accepted = await rig.say("!hold for-ever")
        await rig.held("for-ever")
        await rig.kill()
    rig = Rig(tmp_path, outlives=True)
    opening, may_open = asyncio.Event(), asyncio.Event()
    _delay(rig, opening, may_open)
    async with rig:
        await opening.wait()
        settling = asyncio.create_task(rig.engine.settle(1000.0, restart=True))
        await asyncio.wait([settling], timeout=0.05)
        assert not settling.done()
        may_open.set()
        async with asyncio.timeout(PATIENCE):
            await settling
        assert "turn.ended" not in rig.kinds(accepted.thread)


async def test_what_a_dead_daemon_was_sending_is_told_by_a_dry_run_where_none_runs(tmp_path: Path) -> None:
    async with Rig(tmp_path, room=Room(hold=asyncio.Event())) as rig:
        accepted = await rig.say("!text hi")
        await rig.ended(accepted.turn)
        await rig.until(lambda entry: entry.kind == "delivery.owed")
        while not await rig.store.read(deliveries.sending_finals):
            pass
    idle = Rig(tmp_path)
    (would,) = await idle.engine.notify(dry_run=True, alone=True)
    assert (would.delivery, would.state) == (f"{accepted.turn}:final", "would send")
    assert await idle.engine.notify(dry_run=True) == []
    await idle.kill()


async def test_a_notice_to_a_client_that_asks_for_itself_is_not_left_waiting(tmp_path: Path) -> None:
    def refused(steer: Steering, calls: list[str]) -> Steering:
        async def answer(message: Said) -> bool:
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


async def test_what_is_owed_to_a_surface_that_is_gone_says_so(tmp_path: Path) -> None:
    async with Rig(tmp_path) as rig:
        accepted = await rig.start("!hold door\n!text done", notify="room:a")
        await rig.held("door")
        await rig.kill()
    rig = Rig(tmp_path, surfaces={})
    async with rig:
        cut = await rig.ended(accepted.turn)
        rig.scripted.holds.release("door")
        await rig.ended(cut.continued_by)
        view = await rig.engine.thread(accepted.thread or "")
    assert view.notification_status == "failed" and "no surface 'room'" in (view.notification_error or "")


async def test_a_backlog_asks_where_the_thread_notifies(tmp_path: Path) -> None:
    rig = Rig(tmp_path)
    accepted = await rig.start("!text two", notify="room:a")
    await rig.kill()
    async with Rig(tmp_path, config=patient(stale_after=-1)) as rig:
        await rig.delivered(f"{accepted.turn}:backlog")
    assert "1 message waited" in rig.room.texts[0]


async def test_a_merge_leaves_alone_what_is_history_already(tmp_path: Path) -> None:
    rig = Rig(tmp_path)
    opening, never = asyncio.Event(), asyncio.Event()
    _delay(rig, opening, never)
    async with rig:
        first = await rig.say("!text one")
        await opening.wait()
        second = await rig.say("!text two", queue=True)
        third = await rig.say("!text three", queue=True)
        await rig.kill()
    idle = Rig(tmp_path)
    await idle.store.write(lambda tx: tx.run("UPDATE turns SET state = 'queued', owner = NULL"))
    await idle.kill()
    async with Rig(tmp_path, config=patient(stale_after=-1)) as rig:
        await rig.saw("delivery.sent")
        await rig.say("merge")
        one, both = await rig.ended(first.turn), await rig.ended(second.turn)
        dropped = await rig.engine.turn(third.turn or "")
    assert (one.text, both.request) == ("one", "!text two\n\n!text three")
    assert (dropped.state, dropped.request) == ("interrupted", "")  # what was said is said once


async def test_a_fork_of_a_fresh_fork_has_the_same_history(tmp_path: Path) -> None:
    async with Rig(tmp_path) as rig:
        accepted = await rig.start("!text hi", kind=ThreadKind.CHAT)
        await rig.ended(accepted.turn)
        one = await rig.engine.fork(accepted.thread or "", None, None)
        two = await rig.engine.fork(one.id, None, None)
        told = [passage.text for passage in await rig.engine.transcript(two.id, 50)]
        said = await rig.send(two.id, "!recall")
        turn = await rig.ended(said.turn)
    assert told[:2] == ["!text hi", "hi"] and turn.text.startswith("I know 2 messages")


async def test_an_interruption_that_nobody_asked_for_is_looked_up(tmp_path: Path) -> None:
    async with Rig(tmp_path) as rig:
        accepted = await rig.start("!hold door\n!text one", notify="room:a")
        await rig.held("door")
        await (await rig.scripted_session(accepted.thread)).interrupt()
        cut = await rig.ended(accepted.turn)
        rig.scripted.holds.release("door")
        done = await rig.ended(cut.continued_by)
        await rig.delivered(f"{done.id}:final")
    assert (cut.state, rig.room.texts) == ("interrupted", ["one"])


async def test_a_writer_that_cannot_even_roll_back_says_so_and_goes_on(tmp_path: Path) -> None:
    store = open_store(tmp_path / "clew.db", SystemClock())
    executor = store._executor
    assert isinstance(executor, WriterThread)
    good = executor._connection.raw

    class Broken:
        in_transaction = True

        def execute(self, sql: str, *params: object) -> None:
            raise sqlite3.OperationalError("disk I/O error")

        def close(self) -> None:
            good.close()

    executor._connection.raw = Broken()  # type: ignore[assignment]
    with pytest.raises(StoreError):
        await store.write(_note)
    await store.write(_note)
    assert await store.read(lambda tx: len(tx.all("SELECT 1 FROM meta WHERE name = 'note'"))) == 1
    await asyncio.to_thread(store.close)


def _note(tx: Tx) -> None:
    tx.run("INSERT INTO meta (name, value) VALUES ('note', 'x')")


async def test_whoever_waits_elsewhere_hears_that_a_cut_task_was_stopped(tmp_path: Path) -> None:
    async with Rig(tmp_path) as rig:
        accepted = await rig.start("!shell make\n!cut", notify="room:a")
        await rig.until(lambda entry: entry.kind == "delivery.sent" and str(entry.data["delivery"]).endswith(":ask"))
        asked = await rig.engine.thread(accepted.thread or "")
        await rig.engine.resume(accepted.thread or "", "stop", rig.clock.ulid(), "ann")
        await rig.delivered(f"{asked.turn}:final")
        view = await rig.engine.thread(accepted.thread or "")
    assert asked.notification_status == "sent" and view.notification_status == "sent"
    assert rig.room.texts[-1] == "(Stopped.)"


async def test_what_nobody_could_be_asked_about_is_history_and_small_print(tmp_path: Path) -> None:
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


async def test_what_was_begun_and_has_no_end_is_told_as_that(tmp_path: Path) -> None:
    async with Rig(tmp_path) as rig:
        rig.scripted.pace = lambda: 0.0
        accepted = await rig.say("!shell make\n!hold door")
        await rig.held("door")
        await rig.store.write(lambda tx: tx.run("UPDATE items SET phase = 'started', outcome = NULL"))
        await rig.engine.stop(accepted.thread or "")
        turn = await rig.ended(accepted.turn)
    assert [(item.kind, item.outcome) for item in turn.items] == [("command", "unended")]


def test_what_was_stored_of_the_answer_when_a_daemon_died_is_not_told_before_it() -> None:
    before, begun = Item("a", TEXT, "done", body="one"), Item("b", TEXT, "started", body="one tw")
    assert [deed.body for deed in deeds([before, begun], "one two")] == ["one"]
    assert [deed.body for deed in deeds([before], "one two")] == ["one"], "a text of its own"


def test_the_rest_of_a_text_whose_beginning_another_daemon_heard_is_not_stored_as_a_text() -> None:
    live = Live()
    live.text("T", "U", "a", 0, "one")
    live.text("T", "U", "b", 4, "two")
    assert live.open_texts("T") == {"a": "one"}


async def test_no_thread_is_made_on_a_runtime_of_the_settings_that_is_not_there(tmp_path: Path) -> None:
    async with Rig(tmp_path, config=Config(threads=ThreadsConfig(runtime="scriptd"))) as rig:
        with pytest.raises(BadInput, match="There is no runtime named 'scriptd'; known here: scripted"):
            await rig.start("!text hello")
        assert await rig.store.read(turns.every) == []


class Swept(Room):
    """Where somebody deletes every placeholder."""

    async def edit(self, receipt: Receipt, outgoing: Outgoing) -> None:
        raise Never("the message to edit is not there")


async def test_an_answer_in_doubt_whose_placeholder_was_deleted_is_sent_again_and_says_so(tmp_path: Path) -> None:
    async with Rig(tmp_path, room=Swept(can=SurfaceCan(edit=True))) as rig:
        accepted = await rig.say("!hold door\n!text hello")
        await rig.delivered(f"{accepted.turn}:placeholder")
        rig.room.after = [InDoubt("the answer was lost", 0.0)]
        rig.scripted.holds.release("door")
        await rig.delivered(f"{accepted.turn}:final")
        assert rig.room.texts[1:] == ["hello", "hello"] and messages.POSSIBLE_REPEAT in rig.room.sent[2].note
