"""The promises of docs/reference/promises.md, one by one, with the real engine and database.

Tests with a real SIGKILL are in tests/crash, random ones in tests/simulation."""

from __future__ import annotations

import asyncio
import logging
import math
import sqlite3
from pathlib import Path

import pytest
from msgspec.structs import replace

from clew.model.gate_views import GateView
from clew.model.messages import Conversation, Fate
from clew.model.surface import InDoubt, Never, Outgoing, Receipt, SurfaceCan, TryAgain
from clew.model.threads import Continuity, SessionKey, ThreadFilter
from clew.model.turns import Problem, TurnState
from clew.store import audit
from clew.store.tables import continuity, inbox, turns
from clew.support.clock import SystemClock
from clew.support.errors import Refused
from clew.testing.scripted_runtime import FileLedger
from tests.helpers.rig import TIMEOUT, Rig, Room, patient


async def test_01_never_silent(tmp_path: Path) -> None:
    """Every inbound message has exactly one recorded fate, and the counts add up."""
    async with Rig(tmp_path) as rig:
        first = await rig.say("!hold door\n!text done", id="m1")
        await rig.started(first.turn)
        for number, text in enumerate(("steered", " ", "!text queued"), 2):
            await rig.say(text, id=f"m{number}", queue=text.startswith("!"))
        await rig.saw("steer.sent")
        rig.scripted.holds.release("door")
        await rig.ended(first.turn)
        await rig.engine.threads.cancel(first.thread or "")
        await rig.say("too late", id="m5")
        fates = await rig.engine.status.fates()
        rows = await rig.store.read(inbox.count_rows)
        each = await rig.store.read(lambda tx: [audit.fates_of(tx, f"m{number}") for number in range(1, 6)])
    assert each == [["turn"], ["steer"], ["refused"], ["turn"], ["refused"]]
    assert fates == rows and sum(fates.values()) == 5


async def test_02_accepted_once(tmp_path: Path) -> None:
    """A (conversation, message id) is accepted once, across restarts; a repeat gets the first turn and state."""
    async with Rig(tmp_path) as rig:
        first = await rig.say("!text once", id="m1")
        elsewhere = await rig.say("!text once", id="m1", room="b")
        again = await rig.say("!text once", id="m1")
        await rig.ended(first.turn)
        await rig.ended(elsewhere.turn)
    async with Rig(tmp_path) as rig:
        later = await rig.say("!text once", id="m1")
        asked = await rig.store.read(audit.times_asked)
    assert (again.turn, again.repeated, first.repeated) == (first.turn, True, False)
    assert (later.turn, later.thread, later.repeated, later.state) == (first.turn, first.thread, True, "completed")
    assert elsewhere.turn != first.turn and asked["m1"] == 2  # another conversation is another message


@pytest.mark.parametrize(
    ("answer", "answered"),
    [("run all", ["one", "two"]), ("merge", ["two"]), ("skip", []), ("合并", ["two"])],
)
async def test_02_a_backlog_is_kept_and_asked_about_once(tmp_path: Path, answer: str, answered: list[str]) -> None:
    """Messages that waited too long are neither dropped nor all run at once."""
    rig = Rig(tmp_path)  # it accepts, and dies before it runs anything
    first = await rig.say("!text one")
    await rig.say("!text two")
    await rig.kill()
    async with Rig(tmp_path, config=patient(stale_after=-1)) as rig:
        await rig.until(lambda entry: entry.kind == "delivery.sent" and entry.data["delivery"].endswith(":backlog"))
        view = await rig.engine.threads.get(first.thread or "")
        assert (view.status, view.suspended_by, view.queued) == ("suspended", "backlog", 2)
        assert [sent.text for sent in rig.room.sent if sent.kind == "ask"] == [
            "clew was away, and 2 messages waited here. Reply `run all`, `merge` (into one) or `skip`."
        ]
        reply = await rig.say(answer)
        assert reply.fate is Fate.ANSWER
        last = await rig.say("!text last", queue=True)
        await rig.ended(last.turn)
        await rig.delivered(f"{last.turn}:final")
    finals = [sent.text for sent in rig.room.sent if sent.kind == "final"]
    assert finals == [*answered, "last"]


async def _cut(folder: Path, text: str, *, task: bool = False, outlives: bool = False) -> tuple[str, str]:
    """A turn that runs when its daemon is killed: its thread and its id."""
    async with Rig(folder, outlives=outlives) as rig:
        if task:
            accepted = await rig.start(text, notify="room:a")
        else:
            accepted = await rig.say(text)
        await rig.held("door")
        await rig.kill()
    return accepted.thread or "", accepted.turn or ""


async def test_03_a_turn_missing_in_the_record_is_sent_again_silently(tmp_path: Path) -> None:
    thread, turn = await _cut(tmp_path, "!hold door\n!text hello")
    FileLedger(tmp_path / "scripted").save(f"scripted-{thread}", [])
    async with Rig(tmp_path) as rig:
        rig.scripted.holds.release("door")
        view = await rig.ended(turn)
        await rig.delivered(f"{turn}:final")
    assert view.text == "hello" and rig.room.texts == ["hello"]


async def test_03_alive_it_is_attached_again(tmp_path: Path) -> None:
    thread, turn = await _cut(tmp_path, "!shell make\n!hold door\n!text hello", outlives=True)
    async with Rig(tmp_path, outlives=True) as rig:
        await rig.started(turn)
        steered = await rig.send(thread, "still there?")
        assert steered.fate is Fate.STEER
        await rig.saw("steer.sent")
        rig.scripted.holds.release("door")
        view = await rig.ended(turn)
    assert view.text == "hello (heard: still there?)" and view.continued_by is None


async def test_03_a_completed_turn_is_ended_and_delivered_normally(tmp_path: Path) -> None:
    thread, turn = await _cut(tmp_path, "!hold door\n!text hello")
    ledger = FileLedger(tmp_path / "scripted")
    [played] = ledger.load(f"scripted-{thread}")
    ledger.save(f"scripted-{thread}", [replace(played, state=TurnState.COMPLETED, texts=("hello",))])
    async with Rig(tmp_path) as rig:
        view = await rig.ended(turn)
        await rig.delivered(f"{turn}:final")
    assert (view.state, view.text, rig.room.texts, rig.room.sent[0].note) == ("completed", "hello", ["hello"], "")


async def test_03_cut_off_after_words_only_it_continues_by_itself_and_says_so(tmp_path: Path) -> None:
    thread, turn = await _cut(tmp_path, "!text so far\n!hold door\n!text hello")
    async with Rig(tmp_path) as rig:
        cut = await rig.ended(turn)
        assert cut.state == "interrupted" and cut.continued_by
        rig.scripted.holds.release("door")
        view = await rig.ended(cut.continued_by)
        await rig.delivered(f"{view.id}:final")
        told = await rig.engine.threads.transcript(thread, 50)
    assert (view.text, rig.room.texts) == ("hello", ["hello"])
    assert "continued" in rig.room.sent[0].note
    assert [p.text for p in told if p.role == "person"] == ["!text so far\n!hold door\n!text hello"], "said once"
    assert "cut off" in next(p.text for p in told if p.role == "clew")


async def test_03_cut_off_after_a_command_a_chat_asks_once(tmp_path: Path) -> None:
    thread, turn = await _cut(tmp_path, "!shell make\n!hold door\n!text hello")
    async with Rig(tmp_path) as rig:
        await rig.delivered(f"{turn}:ask")
        view = await rig.engine.threads.get(thread)
        assert (view.status, view.suspended_by) == ("suspended", "cut")
        reply = await rig.say("continue")
        rig.scripted.holds.release("door")
        done = await rig.ended(reply.turn)
    assert (done.text, done.continues) == ("hello", turn)


async def test_03_cut_off_after_a_command_a_task_continues_once_and_then_asks(tmp_path: Path) -> None:
    thread, turn = await _cut(tmp_path, "!shell make\n!hold door\n!text hello", task=True)
    async with Rig(tmp_path) as rig:
        cut = await rig.ended(turn)
        await rig.started(cut.continued_by)
        await rig.held("door")
        await rig.kill()
    async with Rig(tmp_path) as rig:
        again = await rig.ended(cut.continued_by)
        view = await rig.engine.threads.get(thread)
        stopped = await rig.engine.threads.resume(thread, "stop", rig.clock.ulid(), "ann")
        after = await rig.engine.threads.get(thread)
    assert again.state == "interrupted" and again.continued_by is None
    assert (view.status, view.suspended_by) == ("suspended", "cut")
    assert (stopped.fate, after.status) == (Fate.ANSWER, "idle")


async def test_03_only_our_own_row_knows_that_a_person_stopped_it(tmp_path: Path) -> None:
    _, turn = await _cut(tmp_path, "!text so far\n!hold door")
    raw = sqlite3.connect(tmp_path / "clew.db")
    raw.execute("UPDATE turns SET stop_asked = 1 WHERE id = ?", (turn,))
    raw.commit()
    raw.close()
    async with Rig(tmp_path) as rig:
        view = await rig.ended(turn)
        await rig.delivered(f"{turn}:final")
    assert (view.state, view.continued_by) == ("interrupted", None)
    assert len(rig.room.texts) == 1 and rig.room.texts[0].endswith("(Stopped.)")


async def test_04_the_delivery_is_stored_with_the_end_of_the_turn(tmp_path: Path) -> None:
    """No turn ends without its delivery row in the same transaction: if that cannot be written, it has not ended."""
    heard = _Heard("cannot even be ended")
    logging.getLogger("clew.engine").addHandler(heard)
    async with Rig(tmp_path) as rig:
        first = await rig.say("!hold door\n!text hello")
        await rig.started(first.turn)
        await rig.store.write(
            lambda tx: tx.run(
                "CREATE TRIGGER no_owing BEFORE INSERT ON deliveries BEGIN SELECT RAISE(ABORT, 'not now'); END"
            )
        )
        rig.scripted.holds.release("door")
        async with asyncio.timeout(TIMEOUT):
            await heard.said.wait()
        state = (await rig.engine.threads.turn(first.turn or "")).state
        ended = await rig.store.read(audit.ended_without_delivery)
        await rig.store.write(lambda tx: tx.run("DROP TRIGGER no_owing"))
    assert (state, ended) == ("running", [])
    logging.getLogger("clew.engine").removeHandler(heard)
    async with Rig(tmp_path) as rig:
        await rig.delivered(f"{first.turn}:final")
    assert rig.room.texts == ["hello"]


class _Heard(logging.Handler):
    """Lets a test wait for a line of the log."""

    def __init__(self, words: str) -> None:
        super().__init__()
        self._words = words
        self.said = asyncio.Event()

    def emit(self, record: logging.LogRecord) -> None:
        if self._words in record.getMessage():
            self.said.set()


LADDER = {
    "the platform's own key, inside its window": (SurfaceCan(idempotency_window=3600), ["hello", "hello"], [""]),
    "its trace, where the conversation can be read": (SurfaceCan(read_back=True), ["hello"], [""]),
    "a placeholder that is edited": (SurfaceCan(edit=True), ["Working on it …", "hello"], []),
    "a placeholder in a chat, too": (SurfaceCan(edit=True, chat=True), ["Working on it …", "hello"], []),
    "a marked repeat, last of all": (SurfaceCan(), ["hello", "hello"], ["", "may be a repeat"]),
}


@pytest.mark.parametrize("rung", LADDER)
async def test_05_delivered_once(tmp_path: Path, rung: str) -> None:
    """A send in doubt is resolved by the first means that the surface has."""
    can, shown, notes = LADDER[rung]
    room = Room(can=can)
    async with Rig(tmp_path, room=room) as rig:
        await rig.allow("7")
        accepted = await rig.say("!hold door\n!text hello", sender_id="7")
        if can.edit:
            await rig.delivered(f"{accepted.turn}:placeholder")
        room.after = [InDoubt("the answer was lost", 0.0)]
        rig.scripted.holds.release("door")
        await rig.delivered(f"{accepted.turn}:final")
        [row] = [row for row in await rig.engine.threads.where(accepted.thread or "") if row.kind == "final"]
    assert room.texts == shown
    assert {sent.id for sent in room.sent if sent.kind == "final"} == {f"{accepted.turn}:final"}
    assert row.state == "sent" and row.message_id
    for sent, note in zip([sent for sent in room.sent if sent.kind == "final"], notes, strict=False):
        assert note in sent.note if note else sent.note == ""
    if can.edit:
        [(edited, outgoing)] = [edit for edit in room.edits if edit[1].kind == "final"]
        assert (edited, outgoing.text) == ("message-1", "hello") and "was not confirmed" in outgoing.note


class SetBack(SystemClock):
    """A clock that somebody sets back by an hour."""

    wrong = 0

    def now(self) -> int:
        return super().now() - self.wrong


async def test_05_a_clock_set_back_does_not_extend_the_idempotency_window(tmp_path: Path) -> None:
    clock = SetBack()

    class Slow(Room):
        async def send(self, outgoing: Outgoing) -> Receipt:
            clock.wrong = 3_600_000
            return await super().send(outgoing)

    room = Slow(after=[InDoubt("the answer was lost", 0.0)])
    async with Rig(tmp_path, room=room, clock=clock) as rig:
        accepted = await rig.say("!text hello")
        await rig.delivered(f"{accepted.turn}:final")
    assert [bool(sent.note) for sent in room.sent] == [False, True]


async def test_05_an_unlimited_idempotency_window_survives_a_clock_set_back(tmp_path: Path) -> None:
    clock = SetBack()

    class Slow(Room):
        async def send(self, outgoing: Outgoing) -> Receipt:
            clock.wrong = 3_600_000
            return await super().send(outgoing)

    room = Slow(can=SurfaceCan(idempotency_window=math.inf), after=[InDoubt("the answer was lost", 0.0)])
    async with Rig(tmp_path, room=room, clock=clock) as rig:
        accepted = await rig.say("!text hello")
        await rig.delivered(f"{accepted.turn}:final")
    assert [(sent.id, sent.text, sent.note) for sent in room.sent] == 2 * [(f"{accepted.turn}:final", "hello", "")]


async def test_05_deliveries_of_a_thread_to_a_conversation_leave_in_order(tmp_path: Path) -> None:
    room = Room(troubles=[TryAgain("busy", 0.05)])
    async with Rig(tmp_path, room=room) as rig:
        first = await rig.say("!text one")
        await rig.ended(first.turn)
        second = await rig.say("!text two")
        await rig.delivered(f"{second.turn}:final")
    assert room.texts == ["one", "two"]


async def test_05_a_manual_send_does_not_overtake_earlier_deliveries(tmp_path: Path) -> None:
    leaving, arrives = asyncio.Event(), asyncio.Event()

    class Slow(Room):
        async def send(self, outgoing: Outgoing) -> Receipt:
            if outgoing.text == "one":
                leaving.set()
                await arrives.wait()
            return await super().send(outgoing)

    async with Rig(tmp_path, room=Slow()) as rig:
        await rig.say("!text one")
        await leaving.wait()
        second = await rig.say("!text two")
        await rig.ended(second.turn)
        assert [row.state for row in await rig.engine.deliveries.notify()] == ["pending"] and rig.room.texts == []
        arrives.set()
        await rig.delivered(f"{second.turn}:final")
    assert rig.room.texts == ["one", "two"]


async def test_05_a_manual_retry_does_not_overtake_earlier_failures(tmp_path: Path) -> None:
    async with Rig(tmp_path, room=Room(troubles=[Never("no such chat"), Never("no such chat")])) as rig:
        first = await rig.say("!text one")
        await rig.ended(first.turn)
        second = await rig.say("!text two")
        await rig.until(lambda entry: rig.kinds().count("delivery.failed") == 2)
        rig.room.troubles = [TryAgain("busy", 0.05)]
        assert [row.state for row in await rig.engine.deliveries.notify(retry_failed=True)] == ["pending", "pending"]
        await rig.delivered(f"{second.turn}:final")
    assert rig.room.texts == ["one", "two"]


async def test_06_a_waiting_state_always_has_something_to_act_on(tmp_path: Path) -> None:
    """After any number of crashes there is a gate that can be answered, and the answer counts once."""
    async with Rig(tmp_path) as rig:
        await rig.say("!approve deploy\n!text done")
        await rig.saw("gate.opened")
    for _ in range(3):
        async with Rig(tmp_path) as rig:
            gate = await _what_waits(rig)
            turn = await rig.engine.threads.turn(gate.turn)
            assert (turn.state, gate.title) == ("waiting", "deploy")
    async with Rig(tmp_path) as rig:
        gate = await _what_waits(rig)
        await rig.delivered(f"{gate.id}:ask")
        await rig.say("y")
        await rig.ended(gate.turn)
        states = [each.state for each in await rig.engine.gates.of_thread(gate.thread)]
    assert states[0] == "taken" and set(states[1:]) == {"void"}


async def _what_waits(rig: Rig) -> GateView:
    """The gate; if the thread first asks whether to continue, say yes."""
    happened = await rig.until(lambda entry: entry.kind in ("gate.opened", "thread.status"))
    if happened.kind == "thread.status":
        await rig.engine.threads.resume(happened.thread, "continue", rig.clock.ulid(), "ann")
        await rig.saw("gate.opened")
    (gate,) = await rig.engine.gates.all()
    return gate


async def test_07_running_is_never_stored(tmp_path: Path) -> None:
    """It is derived from a turn's live lease, so no thread can get stuck in it."""
    async with Rig(tmp_path) as rig:
        accepted = await rig.say("!hold for-ever")
        await rig.started(accepted.turn)
        view = await rig.engine.threads.get(accepted.thread or "")
        stored = await rig.store.read(lambda tx: tx.one("SELECT status FROM threads WHERE id = ?", accepted.thread))
    assert view.status == "running" and stored is not None and stored["status"] == "idle"


async def test_08_one_turn_at_a_time_per_thread(tmp_path: Path) -> None:
    """Messages that arrive meanwhile are queued durably and in order; the database refuses a second live turn."""
    async with Rig(tmp_path) as rig:
        first = await rig.say("!hold door\n!text 0")
        await rig.started(first.turn)
        others = [await rig.say(f"!text {n}", queue=True) for n in range(1, 6)]
        second = await rig.store.write(lambda tx: turns.claim(tx, first.thread or "", "somebody else", 1))
        with pytest.raises(sqlite3.IntegrityError):
            await rig.store.write(lambda tx: tx.run("UPDATE turns SET state = 'running' WHERE id = ?", others[0].turn))
        rig.scripted.holds.release("door")
        await rig.ended(others[-1].turn)
        await rig.delivered(f"{others[-1].turn}:final")
    assert second is None
    assert rig.room.texts == ["0", "1", "2", "3", "4", "5"]


async def test_09_every_change_of_state_is_a_compare_and_set(tmp_path: Path) -> None:
    """Of two resumes one wins, and the other gets an error. A late write with an older generation changes nothing."""
    async with Rig(tmp_path) as rig:
        task = await rig.start("!text one")
        await rig.ended(task.turn)
        both = await asyncio.gather(
            *(rig.engine.threads.resume(task.thread or "", "!hold door", rig.clock.ulid(), "ann") for _ in range(2)),
            return_exceptions=True,
        )
        won = [result for result in both if not isinstance(result, BaseException)]
        assert len(won) == 1 and sum(isinstance(result, Refused) for result in both) == 1
        await rig.started(won[0].turn)
        row = await rig.store.read(lambda tx: turns.get(tx, won[0].turn or ""))
        assert row is not None
        old = replace(row, generation=row.generation - 1)
        late = await rig.store.write(
            lambda tx: turns.end(tx, old, TurnState.FAILED, 1, "node", Problem("late", "late"), None)
        )
        rig.scripted.holds.release("door")
        view = await rig.ended(won[0].turn)
    assert late is False and view.state == "completed"


async def test_11_history_is_append_only_and_verifiable(tmp_path: Path) -> None:
    """Any change of stored history is detected and named, and a damaged thread does not hide others."""
    async with Rig(tmp_path) as rig:
        damaged, sound = await rig.start("!text one"), await rig.start("!text two")
        for accepted in (damaged, sound):
            await rig.ended(accepted.turn)
        head = (await rig.engine.threads.turn(damaged.turn or "")).id
        node = await rig.store.read(lambda tx: tx.one("SELECT request_node FROM turns WHERE id = ?", head))
        assert node is not None
        await rig.store.write(
            lambda tx: tx.run(
                "UPDATE nodes SET content = replace(content, '!text one', '!text 0ne') WHERE hash = ?",
                node["request_node"],
            )
        )
        await rig.store.write(lambda tx: tx.run("UPDATE threads SET kind = 'nonsense' WHERE id = ?", damaged.thread))
        verdicts = {verdict.thread: verdict async for verdict in rig.engine.threads.verify(None)}
        page = await rig.engine.threads.page(ThreadFilter(history=True))
    assert verdicts[damaged.thread or ""].bad_node == node["request_node"]
    assert verdicts[sound.thread or ""].sound
    assert {view.id: view.status for view in page.threads} == {sound.thread: "completed", damaged.thread: "damaged"}


async def test_12_runtimes_do_not_touch_each_others_memory(tmp_path: Path) -> None:
    async with Rig(tmp_path) as rig:
        first = await rig.say("!text one")
        await rig.ended(first.turn)
        other = Continuity('{"codex": "of another runtime"}')
        await rig.store.write(lambda tx: continuity.save(tx, SessionKey(first.thread or "", "other"), other))
        second = await rig.say("!text two")
        await rig.ended(second.turn)
        kept, _ = await rig.store.read(lambda tx: continuity.get(tx, SessionKey(first.thread or "", "other")))
    assert kept == other


def test_13_a_conversation_is_opaque_and_comes_back_as_it_was() -> None:
    for address in ("", "x", "a:b", "a/b:c", "你好"):
        where = Conversation("webhook", address)
        assert Conversation.parse(str(where)) == where
