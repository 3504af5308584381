"""A message from its arrival to its receipt, and what people do with threads, on the real engine and database."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
from msgspec.structs import replace

from clew.model.messages import Fate
from clew.model.surface import Down, Never, SurfaceCan, TryAgain
from clew.model.threads import ThreadFilter, ThreadKind
from clew.model.views import NewThread
from clew.store import audit
from clew.store.tables import turns
from clew.support.clock import SystemClock
from clew.support.coded import Coded
from clew.support.errors import Ambiguous, BadInput, NotFound, Refused
from tests.helpers.rig import Rig, Room, patient


async def test_a_message_becomes_a_turn_and_its_answer_returns_to_the_sender(tmp_path: Path) -> None:
    async with Rig(tmp_path) as rig:
        accepted = await rig.say("!text hello")
        assert accepted.fate is Fate.TURN
        turn = await rig.ended(accepted.turn)
        await rig.delivered(f"{accepted.turn}:final")
    assert (turn.state, turn.text) == ("completed", "hello")
    assert [(sent.id, sent.text) for sent in rig.room.sent] == [(f"{accepted.turn}:final", "hello")]


async def test_the_second_message_in_a_conversation_goes_to_the_same_thread(tmp_path: Path) -> None:
    async with Rig(tmp_path) as rig:
        first = await rig.say("!text one")
        await rig.ended(first.turn)
        second = await rig.say("!recall")
        turn = await rig.ended(second.turn)
    assert first.thread == second.thread
    assert turn.text.startswith("I know 2 messages")


async def test_a_message_during_a_turn_is_steered_and_its_sender_notified(tmp_path: Path) -> None:
    async with Rig(tmp_path) as rig:
        first = await rig.say("!hold door\n!text done")
        await rig.started(first.turn)
        second = await rig.say("and be quick")
        assert (second.fate, second.turn) == (Fate.STEER, first.turn)
        assert second.words
        await rig.saw("steer.sent")
        rig.scripted.holds.release("door")
        turn = await rig.ended(first.turn)
        told = await rig.engine.threads.transcript(first.thread or "", 50)
    assert "heard: and be quick" in turn.text
    assert [passage.text for passage in told if passage.role == "person"] == ["!hold door\n!text done", "and be quick"]


async def test_a_queued_message_runs_after_the_running_turn(tmp_path: Path) -> None:
    async with Rig(tmp_path) as rig:
        first = await rig.say("!hold door\n!text one")
        await rig.started(first.turn)
        second = await rig.say("!text two", queue=True)
        third = await rig.say("!text three", queue=True)
        assert (second.fate, second.words) == (Fate.TURN, "Queued: it runs next.")
        assert third.words == "Queued behind 1 more."
        rig.scripted.holds.release("door")
        await rig.ended(third.turn)
        await rig.delivered(f"{third.turn}:final")
    assert rig.room.texts == ["one", "two", "three"]


async def test_a_late_steer_is_queued_and_its_sender_notified(tmp_path: Path) -> None:
    async with Rig(tmp_path) as rig:
        first = await rig.say("!hold door\n!text one")
        await rig.started(first.turn)

        async def never(message: object) -> bool:
            return False

        session = await rig.scripted_session(first.thread)
        session.steer = never  # type: ignore[method-assign]
        late = await rig.say("!text two")
        assert late.fate is Fate.STEER
        queued = await rig.saw("steer.queued")
        rig.scripted.holds.release("door")
        turn = await rig.ended(queued.turn)
        fates = await rig.engine.status.fates()
    assert turn.text == "two"
    assert fates == {"turn": 2, "steer": 0, "answer": 0, "command": 0, "refused": 0}
    assert [sent.text for sent in rig.room.sent if sent.kind == "notice"] == [
        "Your message came too late for the running turn; it is queued and runs next."
    ]


async def test_a_task_is_completed_with_its_turn(tmp_path: Path) -> None:
    async with Rig(tmp_path) as rig:
        accepted = await rig.start("!text done", notify="room:a")
        await rig.delivered(f"{accepted.turn}:final")
        view = await rig.engine.threads.get(accepted.thread or "")
    assert (view.status, view.kind, view.notification_status) == ("completed", "task", "sent")
    assert view.completed_at is not None and view.notified_at is not None
    assert rig.room.texts == ["done"]


async def test_a_task_that_fails_waits_for_a_person_and_can_be_resumed(tmp_path: Path) -> None:
    async with Rig(tmp_path) as rig:
        accepted = await rig.start("!status 500")
        await rig.ended(accepted.turn)
        view = await rig.engine.threads.get(accepted.thread or "")
        assert (view.status, view.suspended_by) == ("suspended", "failure")
        again = await rig.engine.threads.resume(view.id, "!text better", rig.clock.ulid(), "ann")
        turn = await rig.ended(again.turn)
    assert turn.state == "failed"  # the request is repeated word for word, so it fails again


async def test_an_answer_without_a_target_is_recorded_too(tmp_path: Path) -> None:
    async with Rig(tmp_path) as rig:
        accepted = await rig.start("!text hello")
        await rig.ended(accepted.turn)
        rows = await rig.engine.threads.where(accepted.thread or "")
    assert [(row.delivery, row.state, row.conversation) for row in rows] == [
        (f"{accepted.turn}:final", "no_target", None)
    ]


async def test_a_target_is_checked_before_anything_starts(tmp_path: Path) -> None:
    async with Rig(tmp_path) as rig:
        with pytest.raises(BadInput, match="not a notify target"):
            await rig.start("!text hello", notify="nowhere:x")
        with pytest.raises(BadInput, match="no runtime"):
            await rig.start("!text hello", runtime="hal")
        with pytest.raises(BadInput, match="not a folder"):
            await rig.start("!text hello", workspace="/no/such/folder")
        with pytest.raises(BadInput, match="empty"):
            await rig.start("  ")
        page = await rig.engine.threads.page(ThreadFilter())
    assert page.threads == ()


async def test_stop_ends_the_running_turn_and_says_so(tmp_path: Path) -> None:
    async with Rig(tmp_path) as rig:
        first = await rig.say("!text half\n!hold for-ever\n!text never")
        await rig.started(first.turn)
        behind = await rig.say("!text next", queue=True)
        await rig.engine.threads.stop(first.thread or "")
        turn = await rig.ended(first.turn)
        await rig.ended(behind.turn)
        await rig.delivered(f"{behind.turn}:final")
        with pytest.raises(Refused, match="Nothing runs"):
            await rig.engine.threads.stop(first.thread or "")
    assert turn.state == "interrupted"
    assert rig.room.texts == ["half\n\n(Stopped at the computer.)", "next"]


async def test_cancel_stops_the_turn_drops_the_queue_and_is_final(tmp_path: Path) -> None:
    async with Rig(tmp_path) as rig:
        first = await rig.say("!hold for-ever")
        await rig.started(first.turn)
        behind = await rig.say("!text next", queue=True)
        view = await rig.engine.threads.cancel(first.thread or "")
        await rig.ended(first.turn)
        dropped = await rig.ended(behind.turn)
        refused = await rig.say("hello?")
        again = await rig.engine.threads.cancel(first.thread or "")
        with pytest.raises(Refused, match="cancelled"):
            await rig.engine.threads.resume(first.thread or "", "go on", rig.clock.ulid(), "ann")
    assert again.status == "cancelled" and view.completed_at == again.completed_at
    assert dropped.state == "interrupted"
    assert refused.fate is Fate.REFUSED and "fork" in refused.words


async def test_done_completes_a_chat_and_a_later_message_reopens_it(tmp_path: Path) -> None:
    async with Rig(tmp_path) as rig:
        first = await rig.say("!text one")
        await rig.ended(first.turn)
        done = await rig.engine.threads.done(first.thread or "")
        assert done.status == "completed" and done.completed_at
        assert (await rig.engine.threads.done(first.thread or "")).completed_at == done.completed_at
        again = await rig.say("!recall")
        turn = await rig.ended(again.turn)
        view = await rig.engine.threads.get(first.thread or "")
    assert again.thread == first.thread and turn.text.startswith("I know 2 messages")
    assert (view.status, view.completed_at) == ("idle", None)


async def test_resume_is_refused_with_a_reason_in_other_states(tmp_path: Path) -> None:
    async with Rig(tmp_path) as rig:
        first = await rig.say("!hold door")
        await rig.started(first.turn)
        for words in ("running", "idle"):
            with pytest.raises(Refused, match=words):
                await rig.engine.threads.resume(first.thread or "", "go on", rig.clock.ulid(), "ann")
            rig.scripted.holds.release("door")
            await rig.ended(first.turn)
        with pytest.raises(NotFound):
            await rig.engine.threads.resume("01NOPE", "go on", rig.clock.ulid(), "ann")


async def test_a_fork_shares_history_and_then_diverges(tmp_path: Path) -> None:
    async with Rig(tmp_path) as rig:
        first = await rig.say("!text one")
        await rig.ended(first.turn)
        second = await rig.say("!text two")
        await rig.ended(second.turn)
        fork = await rig.engine.threads.fork(first.thread or "", first.turn, None)
        said = await rig.send(fork.id, "!recall")
        turn = await rig.ended(said.turn)
        old = await rig.engine.threads.transcript(first.thread or "", 50)
        new = await rig.engine.threads.transcript(fork.id, 50)
        verdicts = [verdict async for verdict in rig.engine.threads.verify(None)]
    assert turn.text == "I know 2 messages. The first: !text one"
    assert [p.text for p in old] == ["!text one", "one", "!text two", "two"]
    assert [p.text for p in new][:2] == ["!text one", "one"] and "!text two" not in [p.text for p in new]
    assert all(verdict.sound for verdict in verdicts) and len(verdicts) == 2


async def test_a_fork_before_the_first_end_starts_at_the_first_node(tmp_path: Path) -> None:
    async with Rig(tmp_path) as rig:
        first = await rig.say("!hold door")
        await rig.started(first.turn)
        with pytest.raises(Refused, match="has not ended"):
            await rig.engine.threads.fork(first.thread or "", first.turn, None)
        fork = await rig.engine.threads.fork(first.thread or "", None, "another way")
        said = await rig.send(fork.id, "!recall")
        turn = await rig.ended(said.turn)
        rig.scripted.holds.release("door")
        await rig.ended(first.turn)
    assert turn.text.startswith("I know 1 messages") and fork.title == "another way"


async def test_as_many_threads_run_in_parallel_as_configured(tmp_path: Path) -> None:
    async with Rig(tmp_path, config=patient(parallel=2)) as rig:
        held = [await rig.say(f"!hold door-{n}", room=str(n)) for n in range(3)]
        await rig.started(held[0].turn)
        await rig.started(held[1].turn)
        assert rig.kinds(held[2].thread).count("turn.claimed") == 0
        rig.scripted.holds.release("door-0")
        await rig.started(held[2].turn)
        for number in (1, 2):
            rig.scripted.holds.release(f"door-{number}")
        for accepted in held:
            await rig.ended(accepted.turn)


async def test_a_silent_runtime_fails_the_turn_with_a_reason(tmp_path: Path) -> None:
    async with Rig(tmp_path, config=patient(silence=60)) as rig:
        accepted = await rig.say("!text half\n!hold for-ever")
        await rig.held("for-ever")
        rig.fall_silent(accepted.turn)
        turn = await rig.ended(accepted.turn)
        await rig.delivered(f"{accepted.turn}:final")
        row = await rig.store.read(lambda tx: turns.get(tx, accepted.turn or ""))
        ended = (await rig.saw("turn.ended")).data
    assert turn.state == "failed" and "no sign of life" in (turn.error or "")
    assert row is not None and row.problem is not None and row.problem.said == Coded("turns.silence", {"minutes": "1"})
    assert turn.texts["error"] == ended["texts"]["error"] == row.problem.said
    assert rig.room.texts[0].startswith("half\n\n⚠ The model gave no sign of life")


async def test_an_empty_message_is_refused_with_a_reason(tmp_path: Path) -> None:
    async with Rig(tmp_path) as rig:
        accepted = await rig.say("   ")
        again = await rig.say("!text hi")
        await rig.ended(again.turn)
    assert accepted.fate is Fate.REFUSED and accepted.words


async def test_ids_may_be_shortened_to_a_unique_prefix(tmp_path: Path) -> None:
    async with Rig(tmp_path) as rig:
        one = await rig.start("!text one")
        two = await rig.start("!text two")
        assert await rig.engine.threads.find((one.thread or "").lower()) == one.thread
        with pytest.raises(Ambiguous):
            await rig.engine.threads.find((one.thread or "")[:4])
        for name in ("7ZZZZ", "../etc"):
            with pytest.raises(NotFound):
                await rig.engine.threads.find(name)
        await rig.ended(two.turn)


async def test_a_list_shows_pages_newest_first_and_two_views_of_one_table(tmp_path: Path) -> None:
    async with Rig(tmp_path) as rig:
        for n in range(5):
            await rig.ended((await rig.start(f"!text {n}", title=f"task {n}")).turn)
        chat = await rig.say("!text hi")
        await rig.ended(chat.turn)
        active = await rig.engine.threads.page(ThreadFilter())
        first = await rig.engine.threads.page(ThreadFilter(history=True, limit=3))
        position = await rig.engine.threads.position(first.next or "")
        rest = await rig.engine.threads.page(ThreadFilter(history=True, limit=3, before=position))
        found = await rig.engine.threads.page(ThreadFilter(history=True, text="TASK 3"))
    assert [view.id for view in active.threads] == [chat.thread]
    assert [view.title for view in (*first.threads, *rest.threads)] == [f"task {n}" for n in (4, 3, 2, 1, 0)]
    assert rest.next is None and [view.title for view in found.threads] == ["task 3"]


async def test_a_thread_in_which_something_happens_comes_first_in_lists(tmp_path: Path) -> None:
    async with Rig(tmp_path) as rig:
        older = await rig.start("!text one", kind=ThreadKind.CHAT)
        await rig.ended(older.turn)
        newer = await rig.start("!text two", kind=ThreadKind.CHAT)
        await rig.ended(newer.turn)
        first = await rig.engine.threads.page(ThreadFilter(limit=1))
        assert [view.id for view in first.threads] == [newer.thread]
        again = await rig.send(older.thread, "!text again")
        await rig.ended(again.turn)
        both = await rig.engine.threads.page(ThreadFilter())
        assert [view.id for view in both.threads] == [older.thread, newer.thread]
        assert both.threads[0].active_at > both.threads[1].active_at
        position = await rig.engine.threads.position(first.next or "")
        rest = await rig.engine.threads.page(ThreadFilter(limit=1, before=position))
        assert rest.threads == ()  # what came first meanwhile is no part of the next page


async def test_failed_deliveries_are_retried_or_reported_if_permanent(tmp_path: Path) -> None:
    room = Room(can=SurfaceCan(idempotency_window=float("inf")))
    room.troubles = [TryAgain("busy", 0.0), Down("no network", 0.0)]
    async with Rig(tmp_path, room=room) as rig:
        accepted = await rig.say("!text hello")
        await rig.delivered(f"{accepted.turn}:final")
        rows = await rig.engine.threads.where(accepted.thread or "")
        assert [(row.state, row.attempts) for row in rows] == [("sent", 2)]  # being out of reach costs no attempt
        room.troubles = [Never("no such channel")]
        again = await rig.say("!text two")
        await rig.saw("delivery.failed")
        view = await rig.engine.threads.get(accepted.thread or "")
        assert (view.notification_status, view.notification_error) == ("failed", "no such channel")
        assert await rig.engine.deliveries.notify() == []
        would = await rig.engine.deliveries.notify(dry_run=True, retry_failed=True)
        done = await rig.engine.deliveries.notify(retry_failed=True)
    assert [(row.delivery, row.state) for row in would] == [(f"{again.turn}:final", "would send")]
    assert [(row.delivery, row.state) for row in done] == [(f"{again.turn}:final", "sent")]
    assert room.texts == ["hello", "two"]


async def test_a_title_can_be_changed_and_not_emptied(tmp_path: Path) -> None:
    async with Rig(tmp_path) as rig:
        accepted = await rig.start("!text x", title="first")
        assert (await rig.engine.threads.retitle(accepted.thread or "", "  second \0")).title == "second \ufffd"
        with pytest.raises(BadInput):
            await rig.engine.threads.retitle(accepted.thread or "", " ")
        await rig.ended(accepted.turn)


async def test_text_that_no_database_can_store_is_cleaned(tmp_path: Path) -> None:
    async with Rig(tmp_path) as rig:
        accepted = await rig.say("!text a\ud800b\0c")
        turn = await rig.ended(accepted.turn)
        await rig.delivered(f"{accepted.turn}:final")
    assert turn.text == "a\ufffdb\ufffdc" and rig.room.texts == ["a\ufffdb\ufffdc"]


async def test_a_missing_runtime_fails_the_turn_with_a_reason(tmp_path: Path) -> None:
    async with Rig(tmp_path) as rig:
        accepted = await rig.start("!text x", kind=ThreadKind.CHAT)
        await rig.ended(accepted.turn)
        await rig.scripted.close()
        other = await rig.engine.threads.start(NewThread(rig.clock.ulid(), "!text y"))
        turn = await rig.ended(other.turn)
    assert turn.state == "failed" and "closed" in (turn.error or "")


async def test_two_subscribers_see_the_same_open_text(tmp_path: Path) -> None:
    async with Rig(tmp_path) as rig:
        accepted = await rig.say("!text one\n!hold door\n!say 50 words")
        await rig.started(accepted.turn)
        with rig.engine.live.subscribe(accepted.thread) as one, rig.engine.live.subscribe(None) as all_:
            rig.scripted.holds.release("door")
            texts = await asyncio.gather(*(_text_of(watcher) for watcher in (one, all_)))
        turn = await rig.ended(accepted.turn)
    assert texts[0] == texts[1] and turn.text in texts[0]


async def _text_of(subscription: object) -> str:
    import json

    text = ""
    while True:
        for frame in await subscription.batch():  # type: ignore[attr-defined]
            if frame.kind == "text":
                text += json.loads(frame.data)["text"]
            if frame.kind == "turn.ended":
                return text


async def test_an_untaken_steer_of_a_cancelled_thread_is_dropped(tmp_path: Path) -> None:
    async with Rig(tmp_path) as rig:
        first = await rig.say("!hold door")
        await rig.started(first.turn)
        late = await rig.say("too late")
        await rig.saw("steer.sent")
        ledger, session = rig.scripted.ledger, f"scripted-{first.thread}"
        ledger.save(session, [replace(played, steers=()) for played in ledger.load(session)])  # it was lost there
        await rig.engine.threads.cancel(first.thread or "")
        await rig.ended(first.turn)
        left = await rig.store.read(audit.unfinished)
        owed = await rig.engine.threads.where(first.thread or "")
    assert late.fate is Fate.STEER
    assert [line for line in left if not line.startswith("delivery")] == []
    assert [row.delivery.rpartition(":")[2] for row in owed if row.kind == "notice"] == ["dropped"]


async def test_the_end_of_a_turn_is_retried_on_a_full_disk(tmp_path: Path) -> None:
    clock = HurriedClock()
    async with Rig(tmp_path, clock=clock) as rig:
        accepted = await rig.say("!hold door\n!say 3000 words")
        await rig.started(accepted.turn)
        pages = await rig.store.write(lambda tx: tx.all("PRAGMA page_count")[0]["page_count"])
        await rig.store.write(lambda tx: tx.all(f"PRAGMA max_page_count = {pages}"))
        rig.scripted.holds.release("door")
        await clock.slept.wait()  # it has met the full disk
        await rig.store.write(lambda tx: tx.all("PRAGMA max_page_count = 1000000"))
        turn = await rig.ended(accepted.turn)
        await rig.delivered(f"{accepted.turn}:final")
    assert turn.state == "completed" and len(rig.room.texts[0].split()) == 3000


class HurriedClock(SystemClock):
    """Does not wait, and signals when somebody wanted to."""

    def __init__(self) -> None:
        super().__init__()
        self.slept = asyncio.Event()

    async def sleep(self, seconds: float) -> None:
        if seconds >= 1:
            self.slept.set()
        await asyncio.sleep(0)
