"""Gates where it is narrow: what waits too long, what is lost on the way, what looks like an answer and is none."""

from __future__ import annotations

import dataclasses
from collections.abc import AsyncIterator
from functools import partial
from pathlib import Path

import pytest
from msgspec.structs import replace

from clew.config.settings import GatesConfig, TurnsConfig
from clew.engine.core import Core
from clew.engine.delivery.enqueue import enqueue_delivery
from clew.engine.gates import dispatch
from clew.engine.gates.choices import reply
from clew.engine.gates.gates import _cleaned, answer_gate, ask_once_more, expire, open_gate
from clew.engine.progress import GATE, gate_item
from clew.model.delivery import DeliveryKind
from clew.model.events import GateOpened, Phase
from clew.model.gate_views import AnswerGate, GateView, NewRuleView
from clew.model.gates import Answer, Asked, Decision, Gate, GateKind, Question
from clew.model.messages import Fate, Inbound
from clew.model.runtime import Session
from clew.model.surface import SurfaceCan
from clew.model.threads import ThreadKind
from clew.store import Tx
from clew.store.tables import deliveries, gates, items, threads, turns
from clew.store.tables.items import Item
from clew.support.errors import BadInput, Refused
from clew.texts import gate_messages
from tests.engine.gates.test_gates import COMMAND, NO, YES, asked, executions, shown
from tests.helpers.rig import Rig, Room, patient


async def test_turns_that_wait_for_a_person_leave_their_place_to_others(tmp_path: Path) -> None:
    config = dataclasses.replace(patient(), turns=TurnsConfig(parallel=1))
    async with Rig(tmp_path, config=config) as rig:
        await rig.say(f"!approve {COMMAND}")
        await asked(rig)
        other = await rig.say("!text done", room="b")
        assert (await rig.ended(other.turn)).text == "done"


async def test_free_words_to_a_task_shown_in_a_room_are_for_the_room_unless_they_bear_the_code(tmp_path: Path) -> None:
    async with Rig(tmp_path) as rig:
        task = await rig.start("!ask What is it called?", notify="room:a")
        (gate,) = await shown(rig)
        chat = await rig.say("!text hello")
        assert chat.fate is Fate.TURN and chat.thread != task.thread
        named = await rig.say(f"{gate.code} Ariadne")
        assert named.fate is Fate.ANSWER and "Ariadne" in (await rig.ended(task.turn)).text


@pytest.mark.parametrize(("bound", "word"), [(False, "y"), (False, "CODE y"), (False, "yes all"), (True, "CODE y")])
async def test_a_gate_of_a_task_is_answered_where_it_is_shown(tmp_path: Path, word: str, bound: bool) -> None:
    async with Rig(tmp_path) as rig:
        if bound:
            await rig.ended((await rig.say("!text hello")).turn)
        task = await rig.start(f"!approve {COMMAND}", notify="room:a")
        (gate,) = await shown(rig)
        answer = await rig.say(word.replace("CODE", gate.code))
        assert (answer.fate, answer.thread) == (Fate.ANSWER, task.thread)
        await rig.ended(task.turn)
        assert executions(rig) == [COMMAND]


async def test_a_question_in_passing_of_a_task_is_answered_to_that_task(tmp_path: Path) -> None:
    async with Rig(tmp_path) as rig:
        task = await rig.start("!aside Shall I also? | yes | no", notify="room:a", kind=ThreadKind.CHAT)
        await rig.ended(task.turn)
        await shown(rig)
        answer = await rig.say("1")
        assert answer.thread == task.thread and "yes" in (await rig.ended(answer.turn)).request


@pytest.mark.parametrize("word", ["y", "1", "yes all", "stop"])
async def test_a_bare_word_said_before_the_gate_was_asked_is_no_answer_to_it(tmp_path: Path, word: str) -> None:
    async with Rig(tmp_path) as rig:
        accepted = await rig.say(f"!approve {COMMAND}")
        (gate,) = await shown(rig)
        early = await rig.say(word, sent_at=gate.asked_at - 5_000)
        assert early.fate is Fate.REFUSED and f"`{gate.code} {'y' if word == 'yes all' else word}`" in early.words
        assert (await rig.engine.gates.one(gate.id)).state == "open"
        by_code = await rig.say(f"{gate.code} y", sent_at=gate.asked_at - 5_000)
        assert by_code.fate is Fate.ANSWER
        await rig.ended(accepted.turn)


async def test_a_platform_that_tells_whole_seconds_does_not_make_an_answer_early(tmp_path: Path) -> None:
    async with Rig(tmp_path) as rig:
        accepted = await rig.say(f"!approve {COMMAND}")
        (gate,) = await shown(rig)
        card = await rig.store.read(lambda tx: deliveries.get(tx, f"{gate.id}:ask"))
        assert card is not None and card.first_sent_at is not None
        assert (await rig.say("y", sent_at=card.first_sent_at // 1000 * 1000)).fate is Fate.ANSWER
        await rig.ended(accepted.turn)


async def test_words_said_before_an_open_question_was_asked_are_for_the_agent(tmp_path: Path) -> None:
    async with Rig(tmp_path) as rig:
        accepted = await rig.say("!ask What is it called?")
        (gate,) = await shown(rig)
        early = await rig.say("look at the tests first", sent_at=gate.asked_at - 5_000)
        assert early.fate is Fate.STEER and gate.code in early.words
        await rig.say("Ariadne")
        await rig.ended(accepted.turn)


@pytest.mark.parametrize("said", ["hunter-forty-two", "CODE hunter-forty-two", "CODE 1 hunter-forty-two"])
@pytest.mark.parametrize("from_desk", [False, True])
async def test_a_typed_secret_is_refused_everywhere_and_kept_nowhere(
    tmp_path: Path, said: str, from_desk: bool
) -> None:
    async with Rig(tmp_path) as rig:
        for script in ("!secret The password?", "!secret The password? | none | old"):
            accepted = await rig.say(script)
            (gate,) = [gate async for gate in _opened_by(rig, accepted.turn)]
            text = said.replace("CODE", gate.code)
            refused = await (rig.send(accepted.thread, text) if from_desk else rig.say(text))
            assert refused.fate is Fate.REFUSED and "hunter" not in refused.words
            assert f"clew answer {gate.code}" in refused.words
            await rig.engine.gates.answer(gate.code, AnswerGate(Decision.REPLY, replies=(("hunter-forty-two",),)))
            await rig.ended(accepted.turn)
    files = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert files and not [path for path in files if b"hunter-forty-two" in path.read_bytes()]


async def _opened_by(rig: Rig, turn: str | None) -> AsyncIterator[GateView]:
    await rig.until(lambda entry: entry.kind == "gate.opened" and entry.turn == turn)
    for gate in await rig.engine.gates.all():
        yield gate


def test_a_secret_that_fits_no_option_is_not_repeated_in_the_refusal() -> None:
    question = Question("q", "The password?", ("old", "new"), free=False, secret=True)
    with pytest.raises(BadInput) as refused:
        reply(Asked(GateKind.QUESTION, "The password?", questions=(question,)), (("hunter-forty-two",),))
    assert "hunter" not in str(refused.value)


async def test_an_answer_in_passing_is_never_taken_for_the_answer_to_another_question(tmp_path: Path) -> None:
    async with Rig(tmp_path) as rig:
        accepted = await rig.say("!aside Shall I also? | yes | no\n!ask What is it called?")
        aside, question = await shown(rig, 2)
        assert not aside.blocking and question.blocking
        await rig.engine.gates.answer(aside.code, AnswerGate(Decision.REPLY, replies=(("1",),)))
        assert (await rig.engine.gates.one(question.id)).state == "open"
        await rig.say(f"{question.code} Ariadne")
        assert "Shall I also?" in (await rig.ended(accepted.turn)).text


async def test_stop_at_a_question_in_passing_says_nothing_to_the_agent(tmp_path: Path) -> None:
    async with Rig(tmp_path) as rig:
        accepted = await rig.say("!aside Shall I also? | yes | no")
        await rig.ended(accepted.turn)
        (gate,) = await rig.engine.gates.all()
        stopped = await rig.say(f"{gate.code} stop")
        assert stopped.fate is Fate.ANSWER and await rig.engine.gates.all() == []
        assert (await rig.engine.thread(accepted.thread or "")).turn == accepted.turn


async def test_in_a_suspended_thread_bare_words_answer_the_suspension_not_a_question_in_passing(tmp_path: Path) -> None:
    async with Rig(tmp_path) as rig:
        accepted = await rig.say("!aside Shall I also?\n!shell make\n!hold here")
        await rig.held("here")
        rig.scripted.lose()
        await rig.until(lambda entry: entry.kind == "thread.status" and entry.data["status"] == "suspended")
        stopped = await rig.say("stop")
        assert stopped.fate is Fate.ANSWER and "Stopped" in stopped.words
        assert (await rig.engine.thread(accepted.thread or "")).status == "idle"


async def test_cancel_leaves_no_question_in_passing_open(tmp_path: Path) -> None:
    async with Rig(tmp_path) as rig:
        first = await rig.say("!aside Shall I also? | yes | no")
        await rig.ended(first.turn)
        await rig.engine.cancel(first.thread or "")
        (gate,) = await rig.engine.gates.of_thread(first.thread or "")
        assert (gate.state, gate.why) == ("void", gate_messages.THREAD_OVER)
        with pytest.raises(Refused, match="is void"):
            await rig.engine.gates.answer(gate.code, AnswerGate(Decision.REPLY, replies=(("1",),)))


async def test_words_behind_the_code_of_something_settled_are_for_the_agent(tmp_path: Path) -> None:
    async with Rig(tmp_path) as rig:
        accepted = await rig.say(f"!approve {COMMAND}")
        (gate,) = await shown(rig)
        await rig.say("y")
        await rig.ended(accepted.turn)
        about = await rig.say(f"{gate.code} was a mistake, take it back")
        assert about.fate is Fate.TURN
        late = await rig.say(f"{gate.code} y")
        assert late.fate is Fate.REFUSED and "answered by ann" in late.words


async def test_an_answer_that_left_and_did_not_arrive_is_asked_for_again_aloud(tmp_path: Path) -> None:
    """The daemon died as the yes was leaving, and the agent, which outlives it, still asks."""
    async with Rig(tmp_path, outlives=True) as rig:
        accepted = await rig.say(f"!approve {COMMAND}")
        (gate,) = await asked(rig)
        await rig.delivered(f"{gate.id}:ask")
        await _left_and_lost(rig, gate)
    async with Rig(tmp_path, outlives=True) as rig:
        await rig.until(lambda entry: entry.kind == "gate.opened")
        await rig.delivered(f"{gate.id}:again")
        assert "did not reach the agent" in rig.room.texts[-1] and f"({gate.code})" in rig.room.texts[-1]
        await rig.say("y")
        await rig.ended(accepted.turn)
        assert executions(rig) == [COMMAND]


async def test_a_rules_yes_that_did_not_arrive_is_given_again_and_nobody_is_asked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with Rig(tmp_path, outlives=True) as rig:
        await rig.engine.gates.add_rule(NewRuleView(effect="allow", pattern="deploy *"))  # type: ignore[arg-type]
        monkeypatch.setattr(dispatch, "_send_one", _mute)
        accepted = await rig.say(f"!approve {COMMAND}")
        await rig.saw("gate.answered")
        (row,) = await rig.store.read(lambda tx: gates.of_turn(tx, accepted.turn or ""))
        assert await rig.store.write(lambda tx: gates.mark_sending(tx, row, rig.clock.now()))
        await rig.kill()
        monkeypatch.undo()
    async with Rig(tmp_path, outlives=True) as rig:
        await rig.ended(accepted.turn)
        assert executions(rig) == [COMMAND] and "gate.opened" not in rig.kinds()


async def _mute(core: Core, session: Session, gate: Gate) -> None:
    return


async def test_that_nobody_answered_is_told_again_where_it_did_not_arrive(tmp_path: Path) -> None:
    async with Rig(tmp_path, outlives=True) as rig:
        accepted = await rig.say(f"!approve {COMMAND}\n!text done")
        (gate,) = await asked(rig)
        rig.engine._runner.signal = lambda turn, kind: None  # type: ignore[method-assign]
        await rig.store.write(lambda tx: _expired_and_left(tx, rig, gate))
        await rig.kill()
    async with Rig(tmp_path, outlives=True) as rig:
        turn = await rig.ended(accepted.turn)
        assert turn.state == "completed" and executions(rig) == []
        assert (await rig.engine.gates.one(gate.id)).state == "expired"


def _expired_and_left(tx: Tx, rig: Rig, gate: GateView) -> None:
    row = gates.get(tx, gate.id)
    assert row is not None
    expire(tx, rig.engine._core, row)
    assert gates.mark_sending(tx, row, rig.clock.now())


async def _left_and_lost(rig: Rig, gate: GateView) -> None:
    rig.engine._runner.signal = lambda turn, kind: None  # type: ignore[method-assign]  # nobody hears of it any more
    await rig.engine.gates.answer(gate.code, YES)
    row = await rig.store.read(lambda tx: gates.get(tx, gate.id))
    assert row is not None and await rig.store.write(lambda tx: gates.mark_sending(tx, row, rig.clock.now()))
    await rig.kill()


async def test_an_answer_that_comes_twice_to_the_same_state_is_drawn_twice(tmp_path: Path) -> None:
    """Asked, answered, lost, asked, answered: the card goes along."""
    async with Rig(tmp_path, room=Room(SurfaceCan(edit=True)), outlives=True) as rig:
        accepted = await rig.say(f"!approve {COMMAND}")
        (gate,) = await asked(rig)
        await rig.delivered(f"{gate.id}:ask")
        await rig.store.write(lambda tx: _answered_and_reopened(tx, rig, gate))
        await rig.store.write(lambda tx: _answered_and_reopened(tx, rig, gate))
        await rig.delivered(f"{gate.id}:ask:{gate.code}:open:2")
        assert f"({gate.code})" in rig.room.edits[-1][1].text
        await rig.say("y")
        await rig.ended(accepted.turn)


def _answered_and_reopened(tx: Tx, rig: Rig, gate: GateView) -> None:
    row = gates.get(tx, gate.id)
    assert row is not None
    answered = answer_gate(tx, rig.engine._core, row, Answer(Decision.ACCEPT), "ann")
    ask_once_more(tx, rig.engine._core, answered, gate_messages.DID_NOT_ARRIVE)


async def test_a_yes_that_was_on_its_way_when_a_person_stopped_the_turn_is_not_called_allowed(tmp_path: Path) -> None:
    async with Rig(tmp_path) as rig:
        accepted = await rig.say(f"!approve {COMMAND}")
        (gate,) = await asked(rig)
        await rig.store.write(lambda tx: turns.request_stop(tx, accepted.turn or ""))
        await _left_and_lost(rig, gate)
    async with Rig(tmp_path) as rig:
        await rig.ended(accepted.turn)
        view = await rig.engine.gates.one(gate.id)
        assert view.state == "void" and view.why


async def test_what_is_owed_within_one_millisecond_leaves_in_the_order_in_which_it_was_owed(tmp_path: Path) -> None:
    """Else an older drawing of a card could come after a newer one, for good."""
    async with Rig(tmp_path) as rig:
        accepted = await rig.say("!hold here")
        await rig.started(accepted.turn)

        def body(tx: Tx) -> list[int]:
            turn = turns.get(tx, accepted.turn or "")
            assert turn is not None
            for name in ("z", "y", "x"):
                enqueue_delivery(tx, rig.engine._core, turn, DeliveryKind.NOTICE, rig.where(), name, id=name)
            found = [deliveries.get(tx, name) for name in ("z", "y", "x")]
            return [each.created_at for each in found if each is not None]

        first, second, third = await rig.store.write(body)
        assert first < second < third


async def test_a_reminder_is_redrawn_too(tmp_path: Path) -> None:
    config = dataclasses.replace(patient(), gates=GatesConfig(remind_after=0.01))
    async with Rig(tmp_path, room=Room(SurfaceCan(edit=True)), config=config) as rig:
        accepted = await rig.say(f"!approve {COMMAND}")
        (gate,) = await asked(rig)
        await rig.delivered(f"{gate.id}:remind")
        await rig.engine.gates.answer(gate.code, NO)
        await rig.ended(accepted.turn)
        await rig.delivered(f"{gate.id}:remind:{gate.code}:taken")


async def test_what_a_cut_off_agent_asks_in_passing_again_is_open_once(tmp_path: Path) -> None:
    async with Rig(tmp_path) as rig:
        await rig.say("!aside Shall I also? | yes | no\n!hold here")
        await rig.held("here")
        rig.scripted.lose()
        await rig.saw("gate.void")
        rig.scripted.holds.release("here")
        (again,) = await asked(rig, 2)
        old = (await rig.engine.gates.of_thread(again.thread))[-1]
        assert (old.state, old.why) == ("void", gate_messages.ASKED_AGAIN)


@pytest.mark.parametrize("told", [True, False], ids=["while it is followed", "after a restart"])
async def test_another_request_under_the_reference_of_a_gate_is_judged_by_itself(tmp_path: Path, told: bool) -> None:
    async with Rig(tmp_path) as rig:
        accepted = await rig.say("!hold here")
        await rig.started(accepted.turn)

        def ask(tx: Tx, title: str) -> None:
            turn, thread = turns.get(tx, accepted.turn or ""), threads.get(tx, accepted.thread or "")
            assert turn is not None and thread is not None
            opened = GateOpened("x:1", Asked(GateKind.COMMAND, title))
            item = Item(gate_item("x:1"), GATE, Phase.STARTED, title)
            open_gate(tx, rig.engine._core, thread, turn, opened, item, told=told)

        for title in ("make one", "make one", "make two"):
            await rig.store.write(partial(ask, title=title))
        (gate,) = await rig.engine.gates.all()
        old = (await rig.engine.gates.of_thread(gate.thread))[-1]
        assert (gate.title, old.title, old.state, old.why) == ("make two", "make one", "void", gate_messages.CHANGED)
        lines = await rig.store.read(lambda tx: items.of_turn(tx, accepted.turn or ""))
        assert len([line for line in lines if line.kind == GATE]) == 2, "history has both"


async def test_a_gate_of_a_turn_that_somebody_else_holds_by_now_is_not_opened(tmp_path: Path) -> None:
    async with Rig(tmp_path) as rig:
        accepted = await rig.say("!hold here")
        await rig.started(accepted.turn)

        def late(tx: Tx) -> None:
            turn, thread = turns.get(tx, accepted.turn or ""), threads.get(tx, accepted.thread or "")
            assert turn is not None and thread is not None
            old = replace(turn, generation=turn.generation - 1)
            opened = GateOpened("x:1", Asked(GateKind.COMMAND, COMMAND))
            open_gate(tx, rig.engine._core, thread, old, opened, Item(gate_item("x:1"), GATE, Phase.STARTED, COMMAND))

        await rig.store.write(late)
        assert await rig.engine.gates.all() == []


async def test_a_question_with_what_no_database_holds_is_asked_all_the_same(tmp_path: Path) -> None:
    question = Question("\ud800", "Which\0?", ("\ud800", "b"))
    async with Rig(tmp_path) as rig:
        accepted = await rig.say("!hold here")
        await rig.started(accepted.turn)

        def body(tx: Tx) -> None:
            turn, thread = turns.get(tx, accepted.turn or ""), threads.get(tx, accepted.thread or "")
            assert turn is not None and thread is not None
            opened = GateOpened("x:1", Asked(GateKind.QUESTION, "Which?", questions=(question,)))
            open_gate(tx, rig.engine._core, thread, turn, opened, Item(gate_item("x:1"), GATE, Phase.STARTED, "Which?"))

        await rig.store.write(body)
        (gate,) = await rig.engine.gates.all()
        assert gate.options == ("�", "b")


BAD_YES = {
    "rm *": ("does not cover", AnswerGate(Decision.ACCEPT, extent="rule", pattern="rm *")),
    "reason": ("A reason belongs to a no", AnswerGate(Decision.ACCEPT, reason="but not twice")),
}


@pytest.mark.parametrize("name", BAD_YES)
async def test_a_yes_that_says_something_else_is_refused_and_nothing_is_answered(tmp_path: Path, name: str) -> None:
    async with Rig(tmp_path) as rig:
        await rig.say(f"!approve {COMMAND}")
        (gate,) = await asked(rig)
        told, given = BAD_YES[name]
        with pytest.raises(BadInput, match=told):
            await rig.engine.gates.answer(gate.code, given)
        assert (await rig.engine.gates.one(gate.id)).state == "open" and not await rig.engine.gates.rules()


async def test_a_rule_in_answer_to_a_question_is_refused_in_words(tmp_path: Path) -> None:
    async with Rig(tmp_path) as rig:
        await rig.say("!ask Which? | red | green")
        (gate,) = await asked(rig)
        for pattern in ("rm *", None):
            given = AnswerGate(Decision.ACCEPT, extent="rule", pattern=pattern)
            with pytest.raises(BadInput, match="is a question"):
                await rig.engine.gates.answer(gate.code, given)


def test_diffs_that_are_stored_alike_are_two_requests() -> None:
    diffs = ("+a\0b\ufffd", "+a\ufffdb\0", "+a\ud800b\ufffd", "+a\ufffdb\ufffd")
    wanted = [_cleaned(Asked(GateKind.CHANGE, "a.txt", diff, paths=("a.txt",))) for diff in diffs]
    assert len({each.detail for each in wanted}) == 1 and len({each.subject for each in wanted}) == len(diffs)
    assert [bool(each.unjudged) for each in wanted] == [True, True, True, False]


@pytest.mark.parametrize("word", ["y", "n", "stop", "/stop"])
async def test_no_person_passes_for_a_rule(tmp_path: Path, word: str) -> None:
    async with Rig(tmp_path, room=Room(SurfaceCan(chat=True))) as rig:
        await rig.allow("7")
        await rig.say(f"!approve {COMMAND}", sender_id="7")
        (gate,) = await shown(rig)
        await rig.engine.say(Inbound(rig.where(), "m2", "clew (the rule `rm *`)", word, sender_id="7"))
        by = (await rig.engine.gates.one(gate.id)).answered_by
        assert by == '"clew (the rule `rm *`)"' and not gate_messages.is_by_rule(by)
