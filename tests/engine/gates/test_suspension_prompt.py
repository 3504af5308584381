"""The question of a suspended thread is edited once it is settled."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
from msgspec.structs import replace

from clew.config.settings import ChatsConfig, Config, ThreadsConfig
from clew.engine.core import Core
from clew.engine.gates import cards
from clew.engine.threads.import_turns import import_turns
from clew.model.events import TurnEnded
from clew.model.gate_views import AnswerGate
from clew.model.gates import Decision
from clew.model.messages import LOCAL_CLIENT, Accepted, Fate, Inbound, Person, PromptMessage, Role
from clew.model.shared_sessions import PastTurn
from clew.model.surface import SurfaceCan
from clew.model.threads import ThreadKind
from clew.model.turns import TurnState
from clew.store import Tx
from clew.store.tables import deliveries, people, threads, turns
from clew.support.clock import SystemClock
from clew.texts import chat_messages
from clew.texts.bilingual import zh
from tests.helpers.rig import Rig, Room, patient

CAN = SurfaceCan(edit=True, buttons=8)
CHINESE = Config(threads=ThreadsConfig(runtime="scripted"), chats=ChatsConfig("zh"))


async def _cut(folder: Path) -> tuple[str, str]:
    async with Rig(folder) as rig:
        accepted = await rig.say("!shell make\n!hold door\n!text hello")
        await rig.held("door")
        await rig.kill()
    return accepted.thread or "", accepted.turn or ""


@pytest.mark.parametrize(
    ("said", "outcome"),
    [
        ("continue", "continued by ann"),
        ("stop", "stopped by ann"),
        ("but mind the tests", "put aside: ann said something else"),
    ],
)
async def test_the_question_about_a_cut_turn_is_edited_to_show_the_outcome(
    tmp_path: Path, said: str, outcome: str
) -> None:
    _, turn = await _cut(tmp_path)
    async with Rig(tmp_path, room=Room(can=CAN)) as rig:
        await rig.delivered(f"{turn}:ask")
        [asked] = [sent for sent in rig.room.sent if sent.kind == "ask"]
        assert [button.says for button in asked.buttons] == ["continue", "stop"]
        await rig.say(said)
        await rig.delivered(f"{turn}:ask:over")
    [(message, redrawn)] = [(id, edit) for id, edit in rig.room.edits if edit.id == f"{turn}:ask:over"]
    assert message == f"message-{rig.room.sent.index(asked) + 1}" and not redrawn.buttons
    assert redrawn.text.startswith("This turn was cut off") and redrawn.text.endswith(f"→ {outcome}")
    assert "Reply" not in redrawn.text


STOPS = ["n", "no.", "No!", "cancel", "拒绝", "不同意", "取消", "停", "停止。", "不", "不要", "别", "`stop`", "STOP"]
UNCLEAR = ["不要继续", "好的，不过先等一下", "no thanks", "don't", "wait", "stop please", "please stop", "ok, not yet"]
UNCLEAR += ["算了", "forget it", "!", "。", "what happened?", "continue? no", "continue, but not the last step"]
GOES_ON = ["y", "Yes.", "同意", "继续。", "go on"]


@pytest.mark.parametrize("said", STOPS)
async def test_every_negative_answer_stops_a_cut_turn(tmp_path: Path, said: str) -> None:
    thread, turn = await _cut(tmp_path)
    async with Rig(tmp_path) as rig:
        await rig.delivered(f"{turn}:ask")
        assert (await rig.say(said)).words in (chat_messages.STOPPED, zh(chat_messages.STOPPED))
        assert (await rig.engine.threads.get(thread)).status == "idle"


@pytest.mark.parametrize("said", UNCLEAR)
async def test_anything_but_a_clear_yes_is_for_the_agent_and_continues_nothing(tmp_path: Path, said: str) -> None:
    """The cut turn may have had effects: the agent gets the message, and the request is not sent again."""
    thread, turn = await _cut(tmp_path)
    async with Rig(tmp_path) as rig:
        await rig.delivered(f"{turn}:ask")
        await _is_put_aside(rig, thread, await rig.say(said))


async def _is_put_aside(rig: Rig, thread: str, heard: Accepted) -> None:
    row = await rig.store.read(lambda tx: turns.get(tx, heard.turn or ""))
    assert heard.fate is Fate.TURN and row is not None
    assert [each.author for each in row.request] == ["clew", "ann"] and "cut off" in row.request[0].text
    assert (await rig.engine.threads.get(thread)).status != "suspended"


async def test_a_yes_sent_before_the_question_does_not_continue(tmp_path: Path) -> None:
    thread, turn = await _cut(tmp_path)
    async with Rig(tmp_path) as rig:
        await rig.delivered(f"{turn}:ask")
        await _is_put_aside(rig, thread, await rig.say("y", sent_at=rig.clock.now() - 60_000))


async def test_a_yes_to_a_question_that_was_not_sent_yet_continues_nothing(tmp_path: Path) -> None:
    """The platform is down; and some platforms give no time for a message."""
    thread, _ = await _cut(tmp_path)
    room = Room()
    room.hold = asyncio.Event()
    async with Rig(tmp_path, room=room) as rig:
        await rig.until(lambda entry: entry.kind == "thread.status" and entry.data.get("status") == "suspended")
        assert room.texts == []
        await _is_put_aside(rig, thread, await rig.say("y"))
        room.hold.set()


@pytest.mark.parametrize(("later", "goes_on"), [(-1, False), (1, False), (599, False), (600, True), (60_000, True)])
async def test_a_yes_continues_if_there_was_time_to_read_the_question(
    tmp_path: Path, later: int, goes_on: bool
) -> None:
    thread, turn = await _cut(tmp_path)
    async with Rig(tmp_path) as rig:
        await rig.delivered(f"{turn}:ask")
        left = await _left(rig, thread)
        heard = await rig.say("y", sent_at=left + later)
        if not goes_on:
            await _is_put_aside(rig, thread, heard)
        row = await rig.store.read(lambda tx: turns.get(tx, heard.turn or ""))
        assert row is not None and (row.continues == turn) is goes_on


async def _left(rig: Rig, thread: str) -> int:
    asked = await rig.store.read(lambda tx: deliveries.newest_ask(tx, thread))
    assert asked is not None and asked.first_sent_at is not None
    return asked.first_sent_at


@pytest.mark.parametrize(("later", "goes_on"), [(0, False), (1, False), (2, True)])
async def test_with_times_in_seconds_only_a_later_second_continues(tmp_path: Path, later: int, goes_on: bool) -> None:
    """Seconds are rounded down: a second in which nobody can have read the question is too early."""
    thread, turn = await _cut(tmp_path)
    async with Rig(tmp_path) as rig:
        await rig.delivered(f"{turn}:ask")
        left = await _left(rig, thread) // 1000 * 1000 + 980

        def put(tx: Tx) -> None:
            tx.run("UPDATE deliveries SET first_sent_at = ? WHERE id = ?", left, f"{turn}:ask")

        await rig.store.write(put)
        heard = await rig.say("y", sent_at=left // 1000 * 1000 + later * 1000)
        row = await rig.store.read(lambda tx: turns.get(tx, heard.turn or ""))
        assert row is not None and (row.continues == turn) is goes_on


@pytest.mark.parametrize("named", [True, False])
async def test_a_yes_of_a_local_client_continues_only_if_it_names_the_question(tmp_path: Path, named: bool) -> None:
    thread, turn = await _cut(tmp_path)
    async with Rig(tmp_path) as rig:
        await rig.delivered(f"{turn}:ask")
        asks = (await rig.engine.threads.get(thread)).asks if named else None
        inbound = Inbound(LOCAL_CLIENT, rig.clock.ulid(), "ann", "y", thread=thread, answers=asks)
        heard = await rig.engine.inbox.accept(inbound)
        row = await rig.store.read(lambda tx: turns.get(tx, heard.turn or ""))
        assert row is not None and (row.continues == turn) is named


@pytest.mark.parametrize("is_told", [True, False])
async def test_a_yes_of_a_front_end_continues_only_if_it_was_sent_the_question(tmp_path: Path, is_told: bool) -> None:
    async with Rig(tmp_path) as rig:
        where = rig.engine.conversations.place("front-1")
        begun = await rig.engine.inbox.accept(
            Inbound(where, "m1", "ann", "!shell make\n!hold door", begins=rig.clock.ulid())
        )
        await rig.held("door")
        await rig.kill()
    async with Rig(tmp_path) as rig:
        await rig.until(lambda entry: entry.kind == "thread.status" and entry.data.get("status") == "suspended")
        if is_told:
            rig.engine.conversations.has_told("front-1", begun.turn or "")
        heard = await rig.engine.inbox.accept(Inbound(where, "m2", "ann", "y"))
        row = await rig.store.read(lambda tx: turns.get(tx, heard.turn or ""))
        assert row is not None and (row.continues == begun.turn) is is_told


async def test_an_answer_sent_before_the_backlog_question_runs_nothing(tmp_path: Path) -> None:
    async with Rig(tmp_path) as rig:
        first = await rig.say("!text first")
        await rig.ended(first.turn)
        await rig.say("!text stale", sent_at=rig.clock.now() - 3_600_000)
        early = await rig.say("run all", sent_at=rig.clock.now() - 3_000_000)
        assert early.fate is Fate.TURN
        assert (await rig.engine.threads.get(first.thread or "")).status == "suspended"
        assert (await rig.say("run all")).fate is Fate.ANSWER


@pytest.mark.parametrize("said", GOES_ON)
async def test_a_clear_yes_continues_a_cut_turn(tmp_path: Path, said: str) -> None:
    _, turn = await _cut(tmp_path)
    async with Rig(tmp_path) as rig:
        await rig.delivered(f"{turn}:ask")
        assert (await rig.say(said)).fate is Fate.TURN


async def test_a_turn_that_a_person_continues_includes_its_steers(tmp_path: Path) -> None:
    async with Rig(tmp_path) as rig:
        first = await rig.say("!shell make\n!hold door")
        await rig.held("door")
        steered = await rig.say("the other branch")
        await rig.saw("steer.sent")
        assert steered.fate is Fate.STEER
    async with Rig(tmp_path) as rig:
        await rig.delivered(f"{first.turn}:ask")
        on = await rig.say("continue")
        row = await rig.store.read(lambda tx: turns.get(tx, on.turn or ""))
    assert row is not None
    own = [each.text for each in row.request if each.author != "clew"]
    assert own == ["!shell make\n!hold door", "the other branch"]


async def test_a_backlog_that_was_withdrawn_is_not_asked_about_any_more(tmp_path: Path) -> None:
    async with Rig(tmp_path, room=Room(can=CAN)) as rig:
        first = await rig.say("!text one")
        await rig.ended(first.turn)
        old = await rig.say("!text two", sent_at=rig.clock.now() - 3_600_000)
        await rig.delivered(f"{old.turn}:backlog")
        await rig.engine.threads.unqueue(old.turn or "")
        await rig.delivered(f"{old.turn}:backlog:over")
        new = await rig.say("!text three")
        assert (await rig.ended(new.turn)).text == "three"
    assert rig.room.edits[-1][1].text.endswith("→ it was taken back")


@pytest.mark.parametrize(
    ("said", "outcome"),
    [("run all", "run in their order, by ann"), ("merge", "merged into one by ann"), ("skip", "skipped by ann")],
)
async def test_the_question_about_a_backlog_is_edited_to_show_the_outcome(
    tmp_path: Path, said: str, outcome: str
) -> None:
    rig = Rig(tmp_path)
    first = await rig.say("!text one")
    await rig.kill()
    async with Rig(tmp_path, config=patient(stale_after=-1), room=Room(can=CAN)) as rig:
        await rig.delivered(f"{first.turn}:backlog")
        await rig.say(said)
        await rig.delivered(f"{first.turn}:backlog:over")
    [redrawn] = [edit for _, edit in rig.room.edits if edit.id.endswith(":backlog:over")]
    assert redrawn.text == f"clew was away, and 1 message waited here.\n→ {outcome}" and not redrawn.buttons


async def test_threads_that_wait_for_a_person_do_not_block_others_after_a_restart(tmp_path: Path) -> None:
    rig = Rig(tmp_path)
    waiting = [await rig.say("!text one", room=room) for room in ("a", "b")]
    await rig.kill()
    async with Rig(tmp_path, config=patient(stale_after=-1)) as rig:
        for asked in waiting:
            await rig.delivered(f"{asked.turn}:backlog")
    rig = Rig(tmp_path)
    last = await rig.say("!text two", room="c")
    await rig.kill()
    async with Rig(tmp_path, config=patient(parallel=1)) as rig:
        assert (await rig.ended(last.turn)).text == "two"


async def test_an_unsent_question_is_asked_when_its_thread_comes_back(tmp_path: Path) -> None:
    rig = Rig(tmp_path, room=Room(can=replace(CAN, chat=True)))
    await rig.allow("7")
    waits = await rig.say("!text one", sender_id="7", sent_at=1)
    await rig.engine.threads.drive_locally(waits.thread or "")
    await rig.say("/resume 1", sender_id="7")
    async with rig:
        asked = await rig.until(lambda entry: entry.kind == "delivery.sent" and ":backlog" in entry.data["delivery"])
        await rig.say("skip", sender_id="7")
        await rig.delivered(f"{asked.data['delivery']}:over")
    assert [sent.text.split(".")[0] for sent in rig.room.sent if sent.kind == "ask"] == [
        "clew was away, and 1 message waited here"
    ]


async def test_merging_messages_of_several_places_answers_in_each_place(tmp_path: Path) -> None:
    rig = Rig(tmp_path)
    first = await rig.say("!text one")
    second = await rig.say("!text two", thread=first.thread, room="b")
    third = await rig.say("!text three")
    await rig.kill()
    async with Rig(tmp_path, config=patient(stale_after=-1), room=Room(can=CAN)) as rig:
        await rig.delivered(f"{first.turn}:backlog")
        told = await rig.say("merge", thread=first.thread, room="b")
        await rig.delivered(f"{first.turn}:final")
        await rig.delivered(f"{second.turn}:final")
        asked = {
            turn: (await rig.engine.threads.turn(turn or "")).request for turn in (first.turn, second.turn, third.turn)
        }
    assert told.words.startswith("Merged 3 into 2, one for each chat")
    assert asked == {first.turn: "!text one\n\n!text three", second.turn: "!text two", third.turn: ""}
    answered = [(sent.conversation.address, sent.turn) for sent in rig.room.sent if sent.kind == "final"]
    assert answered == [("a", first.turn), ("b", second.turn)]


async def test_continue_means_the_turn_asked_about_not_an_outside_turn_since(
    tmp_path: Path,
) -> None:
    thread, turn = await _cut(tmp_path)
    async with Rig(tmp_path) as rig:
        await rig.delivered(f"{turn}:ask")
        await _work_outside(rig, thread)
        rig.scripted.holds.release("door")
        continued = await rig.say("continue")
        answer = await rig.ended(continued.turn)
    assert (answer.continues, answer.text) == (turn, "hello")


async def test_a_front_end_gets_the_cut_turn_not_an_outside_turn_since(
    tmp_path: Path,
) -> None:
    thread, turn = await _cut(tmp_path)
    async with Rig(tmp_path) as rig:
        await rig.delivered(f"{turn}:ask")
        outside = await _work_outside(rig, thread)
        cut, done = [await rig.engine.conversations.standing(each) for each in (turn, outside)]
    assert cut.problem is not None and cut.problem.code == "cut_off"
    assert (done.problem, done.text) == (None, "outside")


async def _work_outside(rig: Rig, thread: str) -> str:
    """Import a turn of another program; returns its id."""
    past = PastTurn(
        "o", (PromptMessage("m", "you", "!text outside"),), (), TurnEnded(TurnState.COMPLETED, "outside"), 1, 2
    )

    def body(tx: Tx) -> str:
        before = threads.get(tx, thread)
        assert before is not None and import_turns(tx, rig.engine._core, before, [past]) == 1
        after = threads.get(tx, thread)
        assert after is not None and after.last_turn is not None
        return after.last_turn

    return await rig.store.write(body)


async def test_ending_a_thread_settles_its_question(tmp_path: Path) -> None:
    thread, turn = await _cut(tmp_path)
    async with Rig(tmp_path, room=Room(can=CAN)) as rig:
        await rig.delivered(f"{turn}:ask")
        await rig.engine.threads.cancel(thread)
        await rig.delivered(f"{turn}:ask:over")
    assert rig.room.edits[-1][1].text.endswith("→ the thread was cancelled")


async def test_without_edits_the_outcome_is_not_sent_as_a_new_message(tmp_path: Path) -> None:
    _, turn = await _cut(tmp_path)
    async with Rig(tmp_path) as rig:
        await rig.delivered(f"{turn}:ask")
        await rig.say("stop")
        last = await rig.say("!text last")
        await rig.delivered(f"{last.turn}:final")
    assert [sent.kind for sent in rig.room.sent] == ["ask", "final"] and not rig.room.edits


async def _press(rig: Rig, says: str, asked: str, **more: object) -> Accepted:
    """Press a button of the card that was sent as this delivery."""
    [number] = [number for number, sent in enumerate(rig.room.sent, 1) if sent.id == asked]
    return await rig.say(says, pressed=True, quoted=f"message-{number}", **more)  # type: ignore[arg-type]


@pytest.mark.parametrize("late", ["continue", "stop"])
async def test_a_late_press_on_a_settled_card_answers_no_newer_question(tmp_path: Path, late: str) -> None:
    async with Rig(tmp_path) as rig:
        cut = await rig.say("!shell make\n!hold door\n!ask Which branch?\n!text done")
        await rig.held("door")
    async with Rig(tmp_path, room=Room(can=CAN)) as rig:
        await rig.delivered(f"{cut.turn}:ask")
        rig.scripted.holds.release("door")
        assert (await _press(rig, "continue", f"{cut.turn}:ask")).fate is Fate.TURN
        await rig.saw("gate.opened")
        second = await _press(rig, late, f"{cut.turn}:ask")
        assert (second.fate, second.words) == (Fate.REFUSED, chat_messages.SETTLED)
        [gate] = await rig.engine.gates.all()
        assert gate.state == "open"


async def test_a_press_on_the_question_about_an_earlier_turn_decides_nothing(tmp_path: Path) -> None:
    _, turn = await _cut(tmp_path)
    room = Room(can=CAN)
    async with Rig(tmp_path, room=room) as rig:
        await rig.delivered(f"{turn}:ask")
        again = await _press(rig, "continue", f"{turn}:ask")
        await rig.held("door")
    async with Rig(tmp_path, room=room) as rig:
        await rig.delivered(f"{again.turn}:ask")
        assert (await _press(rig, "stop", f"{turn}:ask")).words == chat_messages.SETTLED
        assert (await _press(rig, "stop", f"{again.turn}:ask")).fate is Fate.ANSWER


class Setting(SystemClock):
    ahead = 3_600_000

    def now(self) -> int:
        return super().now() + self.ahead


async def test_a_press_answers_the_newest_question_even_if_the_clock_was_set_back(tmp_path: Path) -> None:
    clock = Setting()
    async with Rig(tmp_path, room=Room(can=CAN), clock=clock) as rig:
        cut = await rig.say("!shell make\n!cut")
        await rig.delivered(f"{cut.turn}:ask")
        clock.ahead = 0
        again = await _press(rig, "continue", f"{cut.turn}:ask")
        await rig.delivered(f"{again.turn}:ask")
        assert (await _press(rig, "stop", f"{again.turn}:ask")).fate is Fate.ANSWER


async def test_yes_all_on_a_card_whose_gates_have_moved_allows_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cards, "JOIN_WINDOW", 10**6)
    room = Room(can=SurfaceCan(chat=True, edit=True, buttons=8))
    async with Rig(tmp_path, room=room) as rig:
        await rig.store.write(lambda tx: people.add(tx, Person("room", "7", "ann", Role.OWNER, 0, "me")))
        await rig.say("!both one | two", sender_id="7")
        await rig.until(lambda entry: rig.kinds().count("gate.opened") == 2)
        await rig.hasten()
        card = f"{(await rig.engine.gates.all())[0].id}:ask"
        await rig.delivered(card)
        await rig.say("/resume 1", sender_id="7", room="b")
        late = await _press(rig, "yes all", card, sender_id="7")
        assert (late.fate, late.words) == (Fate.REFUSED, chat_messages.SETTLED)
        assert len(await rig.engine.gates.all()) == 2


@pytest.mark.parametrize("by_api", [False, True])
async def test_a_no_to_a_nonblocking_question_does_not_answer_about_a_cut_turn(tmp_path: Path, by_api: bool) -> None:
    """It goes to the agent, with its question, like other free text."""
    async with Rig(tmp_path) as rig:
        accepted = await rig.say("!aside Shall I? | yes | no\n!shell make\n!hold door")
        await rig.held("door")
    async with Rig(tmp_path) as rig:
        await rig.delivered(f"{accepted.turn}:ask")
        (gate,) = await rig.engine.gates.all()
        if by_api:
            await rig.engine.gates.answer(gate.code, AnswerGate(Decision.REPLY, replies=(("no",),)))
        else:
            assert (await rig.say(f"{gate.code} no")).fate is Fate.TURN
        assert (await rig.engine.threads.get(gate.thread)).status in ("idle", "running")


@pytest.mark.parametrize("is_local", [True, False])
async def test_a_person_who_sees_no_edit_is_told_that_the_old_turn_is_dropped(tmp_path: Path, is_local: bool) -> None:
    """`clew send` prints it; in the chat the edited question says it."""
    thread, turn = await _cut(tmp_path)
    async with Rig(tmp_path, room=Room(SurfaceCan(edit=True))) as rig:
        await rig.delivered(f"{turn}:ask")
        said = await (rig.send(thread, "look at the docs") if is_local else rig.say("look at the docs"))
        assert said.words == (chat_messages.OLD_WORK_ASIDE if is_local else "")


@pytest.mark.parametrize(
    ("can", "hint"),
    [
        (replace(CAN, chat=True), "Press a button, or quote this message and reply `continue` or `stop`."),
        (SurfaceCan(chat=True, edit=True), "Quote this message and reply `continue` or `stop`."),
        (SurfaceCan(edit=True), "Answer it at the computer: `clew threads` lists it."),
    ],
)
async def test_a_question_in_a_chat_of_no_thread_says_what_works_there(
    tmp_path: Path, can: SurfaceCan, hint: str
) -> None:
    """A short answer would begin a new thread there."""
    room = Room(can=can)
    async with Rig(tmp_path, room=room) as rig:
        begun = await rig.start("!shell make\n!hold door\n!text hello", kind=ThreadKind.CHAT, notify="room:a")
        await rig.held("door")
        await rig.kill()
    async with Rig(tmp_path, room=room) as rig:
        await rig.allow("7")
        await rig.delivered(f"{begun.turn}:ask")
        [asked] = [sent for sent in room.sent if sent.kind == "ask"]
        assert asked.text.endswith(f" {hint}") or asked.text.endswith(f"\n{hint}")
        if not can.chat:
            return
        rig.scripted.holds.release("door")
        number = room.sent.index(asked) + 1
        heard = await rig.say("continue", sender_id="7", quoted=f"message-{number}")
        assert (heard.fate, heard.thread) == (Fate.TURN, begun.thread)
        assert (await rig.ended(heard.turn)).continues == begun.turn
        await rig.delivered(f"{begun.turn}:ask:over")
    [redrawn] = [edit for _, edit in room.edits if edit.id == f"{begun.turn}:ask:over"]
    assert hint not in redrawn.text and redrawn.text.endswith("→ continued by ann")


async def test_a_question_that_moves_to_a_chat_of_its_thread_asks_for_a_reply_there(tmp_path: Path) -> None:
    room = Room(can=replace(CAN, chat=True))
    async with Rig(tmp_path, room=room) as rig:
        begun = await rig.start("!shell make\n!hold door", kind=ThreadKind.CHAT, notify="room:a")
        await rig.held("door")
        await rig.kill()
    async with Rig(tmp_path, room=room, config=CHINESE) as rig:
        await rig.allow("7")
        await rig.delivered(f"{begun.turn}:ask")
        assert room.sent[-1].text.endswith("按下按钮，或引用这条消息，回复「继续」或「停止」。")
        await rig.say(f"/resume {begun.thread}", sender_id="7", room="b")
        await rig.delivered(f"{begun.turn}:ask:2")
    moved = next(sent for sent in room.sent if sent.id == f"{begun.turn}:ask:2")
    assert moved.text.endswith("。回复「继续」或「停止」。") or moved.text.endswith("\n回复「继续」或「停止」。")


@pytest.mark.parametrize("first", ["continue", "stop"])
@pytest.mark.parametrize("late", ["continue", "y", "stop"])
async def test_a_quote_of_a_question_that_was_answered_starts_nothing(tmp_path: Path, first: str, late: str) -> None:
    thread, turn = await _cut(tmp_path)
    async with Rig(tmp_path) as rig:
        await rig.delivered(f"{turn}:ask")
        await rig.say(first)
        before = len(await rig.store.read(turns.all_rows))
        [number] = [number for number, sent in enumerate(rig.room.sent, 1) if sent.id == f"{turn}:ask"]
        again = await rig.say(late, quoted=f"message-{number}")
        assert (again.fate, again.thread, again.words) == (Fate.REFUSED, thread, chat_messages.SETTLED)
        assert len(await rig.store.read(turns.all_rows)) == before


@pytest.mark.parametrize("steers", [True, False])
async def test_a_second_continue_starts_no_turn_of_its_own(
    tmp_path: Path, steers: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """While the work goes on; after its answer, the agent may have asked for that word."""
    monkeypatch.setattr(Core, "can_steer", lambda core, name: steers)
    _, turn = await _cut(tmp_path)
    async with Rig(tmp_path) as rig:
        await rig.delivered(f"{turn}:ask")
        on = await rig.say("continue")
        assert (await rig.say("continue")).words == chat_messages.SETTLED
        await rig.held("door")
        for word in ("continue", "继续", "y"):
            assert (await rig.say(word)).words == chat_messages.SETTLED
        other = await rig.say("continue with the docs")
        assert other.fate is (Fate.STEER if steers else Fate.TURN)
        rig.scripted.holds.release("door")
        ended = await rig.ended(on.turn)
        assert ended.ended_at is not None
        assert (await rig.say("continue", sent_at=ended.ended_at - 1_000)).words == chat_messages.SETTLED
        later = await rig.say("continue", sent_at=ended.ended_at + 1_000)
        assert later.fate in (Fate.TURN, Fate.STEER), "the other one may have become a turn of its own"
