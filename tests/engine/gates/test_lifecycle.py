"""Gates on the real engine and the real database, with the scripted runtime: who is asked, what an answer does, and
what is left after a crash."""

from __future__ import annotations

import asyncio
import dataclasses
from pathlib import Path

import pytest
from msgspec.structs import replace

from clew.config.settings import ChatsConfig, Config, GatesConfig, ThreadsConfig
from clew.engine.gates import cards
from clew.engine.gates.lifecycle import open_gate
from clew.engine.gates.requests.inspection import NOT_INSPECTED, RequestInspection, inspect_request
from clew.engine.progress import GATE, gate_item
from clew.model.events import GateOpened, Phase
from clew.model.gate_views import AnswerGate, GateView, NewRuleView
from clew.model.gates import Asked, Decision, GateKind, Policy
from clew.model.messages import Accepted, Fate
from clew.model.surface import SurfaceCan
from clew.model.threads import ThreadKind
from clew.model.turns import Item
from clew.store import Tx
from clew.store.tables import gates, threads, turns
from clew.support.errors import BadInput, NotFound, Refused
from clew.testing.scripted_runtime.ledger import Played
from tests.helpers.clocks import Ahead
from tests.helpers.rig import Rig, Room, patient

YES = AnswerGate(Decision.ACCEPT)
NO = AnswerGate(Decision.DECLINE)
COMMAND = "deploy --now"


async def asked(rig: Rig, count: int = 1) -> list[GateView]:
    """The open gates, once this many were opened."""
    await rig.until(lambda entry: rig.kinds().count("gate.opened") >= count)
    return await rig.engine.gates.all()


async def shown(rig: Rig, count: int = 1) -> list[GateView]:
    """The open gates, once this many were opened and are shown."""
    found = await asked(rig, count)
    for view in found:
        gate = await rig.store.read(lambda tx, id=view.id: gates.get(tx, id))  # type: ignore[misc]
        if gate is not None and gate.card is not None:
            await rig.delivered(gate.card)
    return found


def entries(rig: Rig) -> list[Played]:
    """What the scripted runtime has recorded of all its turns."""
    names = [path.stem for path in sorted(rig.folder.glob("scripted/*.json"))]
    return [entry for name in names for entry in rig.scripted.ledger.load(name)]


def executions(rig: Rig) -> list[str]:
    """Every command that the scripted runtime was allowed to run, over all its turns."""
    return [command for entry in entries(rig) for command in entry.executions]


async def test_a_gate_is_stored_with_its_delivery_and_the_turn_waits(tmp_path: Path) -> None:
    async with Rig(tmp_path) as rig:
        accepted = await rig.say(f"!approve {COMMAND}\n!text done")
        (gate,) = await asked(rig)
        turn = await rig.engine.threads.turn(accepted.turn or "")
        await rig.delivered(f"{gate.id}:ask")
        assert (gate.kind, gate.title, gate.state, turn.state) == ("command", COMMAND, "open", "waiting")
        assert gate.code in rig.room.texts[0] and COMMAND in rig.room.texts[0]
        assert (await rig.engine.threads.get(accepted.thread or "")).gates == (gate.code,)
        await rig.engine.gates.answer(gate.code, YES)
        ended = await rig.ended(accepted.turn)
        assert ended.state == "completed" and executions(rig) == [COMMAND]
        assert (await rig.engine.gates.one(gate.id)).state == "taken"


async def test_the_first_answer_counts_and_a_second_one_is_told_who_gave_it(tmp_path: Path) -> None:
    async with Rig(tmp_path) as rig:
        accepted = await rig.say(f"!approve {COMMAND}")
        (gate,) = await asked(rig)
        answers = [replace(YES, sender="ann"), replace(NO, sender="bob")]
        results = await asyncio.gather(
            *(rig.engine.gates.answer(gate.code, answer) for answer in answers), return_exceptions=True
        )
        assert isinstance(results[0], GateView) and isinstance(results[1], Refused)
        assert "answered by ann" in results[1].message and "yes" in results[1].message
        await rig.ended(accepted.turn)
        assert executions(rig) == [COMMAND]


async def test_a_no_with_a_reason_reaches_the_agent(tmp_path: Path) -> None:
    async with Rig(tmp_path) as rig:
        accepted = await rig.say(f"!approve {COMMAND}")
        (gate,) = await asked(rig)
        await rig.engine.gates.answer(gate.code, replace(NO, reason="not on a Friday"))
        turn = await rig.ended(accepted.turn)
        assert "not on a Friday" in turn.text and executions(rig) == []


async def test_cancel_stops_the_turn_and_every_other_gate_of_it(tmp_path: Path) -> None:
    async with Rig(tmp_path) as rig:
        accepted = await rig.say("!both one | two\n!text never")
        first, second = await asked(rig, 2)
        await rig.engine.gates.answer(first.code, AnswerGate(Decision.CANCEL))
        turn = await rig.ended(accepted.turn)
        states = [(await rig.engine.gates.one(gate.id)).state for gate in (first, second)]
        assert turn.state == "interrupted" and states == ["taken", "taken"] and executions(rig) == []


async def test_stop_answers_open_gates_first_and_a_late_yes_has_no_effect(tmp_path: Path) -> None:
    async with Rig(tmp_path) as rig:
        accepted = await rig.say(f"!approve {COMMAND}")
        (gate,) = await asked(rig)
        await rig.engine.threads.stop(accepted.thread or "")
        with pytest.raises(Refused, match="to stop"):
            await rig.engine.gates.answer(gate.code, YES)
        await rig.ended(accepted.turn)
        assert executions(rig) == []


@pytest.mark.parametrize(
    ("word", "ran"),
    [("y", True), ("同意", True), ("1", True), ("n", False), ("拒绝", False), ("CODE y", True), ("CODE n", False)],
)
async def test_a_short_reply_answers_the_gate_that_is_open_there(tmp_path: Path, word: str, ran: bool) -> None:
    async with Rig(tmp_path) as rig:
        accepted = await rig.say(f"!approve {COMMAND}")
        (gate,) = await shown(rig)
        answer = await rig.say(word.replace("CODE", gate.code.lower()))
        assert answer.fate is Fate.ANSWER and gate.code in answer.words
        await rig.ended(accepted.turn)
        assert bool(executions(rig)) is ran


async def test_other_text_is_for_the_agent_and_the_gate_stays_open(tmp_path: Path) -> None:
    async with Rig(tmp_path) as rig:
        accepted = await rig.say(f"!approve {COMMAND}")
        (gate,) = await asked(rig)
        for words in ("yes please, but first look at the tests", "no idea", "y?", "12 of them"):
            said = await rig.say(words)
            assert said.fate is Fate.STEER and gate.code in said.words
        wrong = await rig.say("7")
        assert wrong.fate is Fate.REFUSED and f"no answer 7 to {gate.code}" in wrong.words and "1 allow" in wrong.words
        assert (await rig.engine.gates.one(gate.id)).state == "open"
        await rig.say("n")
        turn = await rig.ended(accepted.turn)
        assert "y?" in turn.text


async def test_with_several_open_gates_yes_asks_which_and_yes_all_accepts_all(tmp_path: Path) -> None:
    async with Rig(tmp_path) as rig:
        accepted = await rig.say("!both one | two")
        first, second = await shown(rig, 2)
        which = await rig.say("y")
        assert which.fate is Fate.REFUSED and first.code in which.words and second.code in which.words
        everything = await rig.say("yes all")
        assert everything.fate is Fate.ANSWER
        await rig.ended(accepted.turn)
        assert sorted(executions(rig)) == ["one", "two"]


async def test_yes_all_accepts_only_gates_that_were_shown(tmp_path: Path) -> None:
    async with Rig(tmp_path) as rig:
        accepted = await rig.say("!both one | two")
        first, second = await asked(rig, 2)
        assert accepted.thread is not None
        allowed = await rig.engine.gates.accept_all(accepted.thread, "ann", (first.code,))
        assert [gate.code for gate in allowed] == [first.code]
        assert [gate.code for gate in await rig.engine.gates.all()] == [second.code]
        await rig.engine.gates.accept_all(accepted.thread, "ann")
        await rig.ended(accepted.turn)


async def test_a_short_answer_means_what_its_sender_sees_not_what_just_arrived(tmp_path: Path) -> None:
    async with Rig(tmp_path) as rig:
        accepted = await rig.say("!both one | two")
        first, second = await shown(rig, 2)
        unseen = await rig.say("y", sees=())
        seen = await rig.say("n", sees=(first.code,))
        late = await rig.say("y", sees=(first.code,))
        both = await rig.say("y", sees=(first.code, second.code))
        assert (unseen.fate, seen.fate, late.fate, both.fate) == (Fate.STEER, Fate.ANSWER, Fate.REFUSED, Fate.REFUSED)
        assert "was answered by ann" in late.words and "Which one?" in both.words
        assert (await rig.say("yes all", sees=(first.code,))).fate is Fate.REFUSED
        assert (await rig.engine.gates.one(second.id)).state == "open"
        assert (await rig.say("yes all", sees=(first.code, second.code))).fate is Fate.ANSWER
        await rig.ended(accepted.turn)
        assert executions(rig) == ["two"]


async def test_a_message_to_queue_is_not_an_answer(tmp_path: Path) -> None:
    async with Rig(tmp_path) as rig:
        accepted = await rig.say(f"!approve {COMMAND}")
        (gate,) = await asked(rig)
        assert (await rig.say("y", queue=True)).fate is Fate.TURN
        assert (await rig.engine.gates.one(gate.id)).state == "open"
        await rig.say("n")
        await rig.ended(accepted.turn)


async def test_gates_that_open_together_come_on_one_card(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cards, "JOIN_WINDOW", 10**6)
    async with Rig(tmp_path) as rig:
        await rig.say("!both one | two")
        first, second = await asked(rig, 2)
        await rig.hasten()
        await rig.saw("delivery.sent")
        assert len(rig.room.sent) == 1
        assert first.code in rig.room.texts[0] and second.code in rig.room.texts[0] and "yes all" in rig.room.texts[0]


async def test_every_copy_is_redrawn_and_says_allowed_once_the_agent_took_it(tmp_path: Path) -> None:
    async with Rig(tmp_path, room=Room(SurfaceCan(edit=True))) as rig:
        accepted = await rig.say(f"!approve {COMMAND}")
        (gate,) = await asked(rig)
        await rig.delivered(f"{gate.id}:ask")
        await rig.engine.gates.answer(gate.code, replace(YES, sender="ann"))
        await rig.ended(accepted.turn)
        await rig.delivered(f"{gate.id}:ask:{gate.code}:taken")
        edits = [outgoing.text for _, outgoing in rig.room.edits if gate.code in outgoing.text]
        assert "allowed by ann" in edits[-1] and all("allowed" not in text for text in edits[:-1])


async def test_the_reason_of_a_void_gate_is_shown(tmp_path: Path) -> None:
    async with Rig(tmp_path) as rig:
        accepted = await rig.say(f"!approve {COMMAND}\n!text done")
        (gate,) = await asked(rig)
        await rig.delivered(f"{gate.id}:ask")
        rig.scripted.lose()
        await rig.saw("gate.void")
        (again,) = await asked(rig, 2)
        await rig.delivered(f"{gate.id}:void")
        assert again.id != gate.id and again.title == gate.title
        assert any("void" in text and gate.code in text for text in rig.room.texts)
        await rig.engine.gates.answer(again.code, YES)
        await rig.ended(again.turn)
        assert executions(rig) == [COMMAND]
        assert accepted.turn == gate.turn != again.turn


async def test_a_turn_that_waited_at_a_gate_is_continued_after_a_crash(tmp_path: Path) -> None:
    """It never got a yes, so nothing can have been done twice; also in a chat."""
    async with Rig(tmp_path) as rig:
        await rig.say(f"!approve {COMMAND}\n!text done")
        await asked(rig)
    async with Rig(tmp_path) as rig:
        (gate,) = await asked(rig)
        await rig.engine.gates.answer(gate.code, YES)
        await rig.ended(gate.turn)
        assert executions(rig) == [COMMAND] and gate.warning == ""


async def test_an_unsent_yes_applies_once_to_the_same_request(tmp_path: Path) -> None:
    async with Rig(tmp_path) as rig:
        accepted = await rig.say(f"!approve {COMMAND}\n!approve {COMMAND}\n!text done")
        (gate,) = await asked(rig)
        await answered_and_cut(rig, gate)
    async with Rig(tmp_path) as rig:
        (second,) = await asked(rig)  # the first was answered by the earlier yes
        assert executions(rig) == [COMMAND] and second.turn != accepted.turn
        await rig.engine.gates.answer(second.code, NO)
        await rig.ended(second.turn)
        assert executions(rig) == [COMMAND]


async def test_a_sent_yes_is_never_applied_again_and_the_card_warns(tmp_path: Path) -> None:
    async with Rig(tmp_path) as rig:
        await rig.start(f"!approve {COMMAND}\n!text done")
        (gate,) = await asked(rig)
        await answered_and_cut(rig, gate, sent=True)
    async with Rig(tmp_path) as rig:
        (again,) = await asked(rig)
        assert "may already have run" in again.warning and again.state == "open"
        await rig.engine.gates.answer(again.code, YES)
        await rig.ended(again.turn)


async def test_a_chat_whose_yes_was_being_sent_asks_before_it_continues(tmp_path: Path) -> None:
    async with Rig(tmp_path) as rig:
        accepted = await rig.say(f"!shell first\n!approve {COMMAND}\n!text done")
        (gate,) = await asked(rig)
        await answered_and_cut(rig, gate, sent=True)
    async with Rig(tmp_path) as rig:
        await rig.saw("thread.status")
        thread = await rig.engine.threads.get(accepted.thread or "")
        assert thread.status == "suspended" and (await rig.engine.gates.one(gate.id)).state == "void"


async def answered_and_cut(rig: Rig, gate: GateView, *, sent: bool = False) -> None:
    """The daemon dies when the answer is stored, and perhaps while it is sent."""
    rig.hold_answers()  # the runner is not woken
    await rig.engine.gates.answer(gate.code, YES)
    row = await rig.store.read(lambda tx: gates.get(tx, gate.id))
    assert row is not None
    if sent:
        assert await rig.store.write(lambda tx: gates.mark_sending(tx, row, rig.clock.now()))
    await rig.kill()


async def test_an_agent_that_outlives_the_daemon_keeps_its_gates(tmp_path: Path) -> None:
    async with Rig(tmp_path, outlives=True) as rig:
        accepted = await rig.say(f"!approve {COMMAND}\n!text done")
        (gate,) = await asked(rig)
    async with Rig(tmp_path, outlives=True) as rig:
        assert [view.id for view in await rig.engine.gates.all()] == [gate.id]
        await rig.engine.gates.answer(gate.code, YES)
        await rig.ended(accepted.turn)
        assert executions(rig) == [COMMAND]


async def test_a_rule_answers_a_gate_and_adds_a_line_to_history(tmp_path: Path) -> None:
    async with Rig(tmp_path) as rig:
        await rig.engine.gates.add_rule(NewRuleView(effect="allow", pattern="deploy *"))  # type: ignore[arg-type]
        accepted = await rig.say(f"!approve {COMMAND}\n!text done")
        turn = await rig.ended(accepted.turn)
        assert executions(rig) == [COMMAND] and "gate.opened" not in rig.kinds()
        lines = [item.title for item in turn.items if item.kind == "gate"]
        assert len(lines) == 1 and "deploy *" in lines[0] and "allow" in lines[0]


async def test_a_deny_rule_wins_over_an_allow_and_over_yolo(tmp_path: Path) -> None:
    async with Rig(tmp_path) as rig:
        for effect in ("allow", "deny"):
            await rig.engine.gates.add_rule(NewRuleView(effect=effect, pattern="deploy *"))  # type: ignore[arg-type]
        accepted = await rig.start(f"!approve {COMMAND}\n!text done")
        turn = await rig.ended(accepted.turn)
        assert executions(rig) == [] and turn.state == "completed"


async def test_yes_for_this_thread_applies_only_to_the_same_command_there(tmp_path: Path) -> None:
    async with Rig(tmp_path) as rig:
        accepted = await rig.say(f"!approve {COMMAND}\n!approve {COMMAND}\n!approve deploy --later")
        (gate,) = await asked(rig)
        await rig.engine.gates.answer(gate.code, replace(YES, extent="thread"))
        (other,) = await asked(rig, 2)
        assert other.title == "deploy --later" and executions(rig) == [COMMAND, COMMAND]
        await rig.engine.gates.answer(other.code, NO)
        await rig.ended(accepted.turn)
        elsewhere = await rig.say(f"!approve {COMMAND}", room="b")
        (gate,) = await asked(rig, 3)
        assert gate.thread == elsewhere.thread


async def test_a_yes_with_the_offered_rule_also_answers_other_open_gates(tmp_path: Path) -> None:
    async with Rig(tmp_path) as rig:
        accepted = await rig.say("!both pytest -q | pytest -x")
        first, _ = await asked(rig, 2)
        assert any("`pytest …`" in option for option in first.options)
        await rig.engine.gates.answer(first.code, replace(YES, extent="rule"))
        await rig.ended(accepted.turn)
        (rule,) = await rig.engine.gates.rules()
        assert len(executions(rig)) == 2
        assert (rule.effect, rule.pattern, rule.scope) == ("allow", "pytest …", "workspace") and rule.until


async def test_a_question_is_answered_by_number_or_words(tmp_path: Path) -> None:
    async with Rig(tmp_path) as rig:
        for reply, text in (("2", "green"), ("RED", "red"), ("CODE blue", "blue")):
            accepted = await rig.say("!ask Which? | red | green")
            await rig.until(lambda entry, turn=accepted.turn: entry.kind == "gate.opened" and entry.turn == turn)  # type: ignore[misc]
            (gate,) = await shown(rig)
            answer = await rig.say(reply.replace("CODE", gate.code))
            assert answer.fate is Fate.ANSWER, answer
            assert text in (await rig.ended(accepted.turn)).text


async def test_a_question_without_options_takes_the_next_text_as_its_answer(tmp_path: Path) -> None:
    async with Rig(tmp_path) as rig:
        accepted = await rig.say("!ask What is it called?")
        await shown(rig)
        assert (await rig.say("Ariadne")).fate is Fate.ANSWER
        assert "Ariadne" in (await rig.ended(accepted.turn)).text


async def test_a_secret_answer_is_kept_only_in_memory(tmp_path: Path) -> None:
    async with Rig(tmp_path) as rig:
        accepted = await rig.say("!secret The password?")
        (gate,) = await asked(rig)
        refused = await rig.say("hunter-forty-two")
        assert refused.fate is Fate.REFUSED and "clew answer" in refused.words
        reply = AnswerGate(Decision.REPLY, replies=(("hunter-forty-two",),))
        await rig.engine.gates.answer(gate.code, reply)
        turn = await rig.ended(accepted.turn)
        assert "16 characters" in turn.text
    files = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert files and not [path for path in files if b"hunter-forty-two" in path.read_bytes()]


async def test_a_nonblocking_question_lets_the_turn_go_on_and_its_answer_is_a_message(tmp_path: Path) -> None:
    async with Rig(tmp_path) as rig:
        accepted = await rig.say("!aside Shall I also? | yes | no\n!text done")
        turn = await rig.ended(accepted.turn)
        (gate,) = await shown(rig)
        assert turn.state == "completed" and gate.state == "open" and not gate.blocking
        answer = await rig.say("1")
        assert answer.fate is Fate.TURN
        after = await rig.ended(answer.turn)
        assert "Shall I also?" in after.request and "yes" in after.request
        assert await rig.engine.gates.all() == []


async def test_unknown_foreign_and_closed_codes_get_their_own_refusals(tmp_path: Path) -> None:
    async with Rig(tmp_path) as rig:
        first = await rig.say(f"!approve {COMMAND}")
        (gate,) = await shown(rig)
        await rig.say("!approve other", room="b")
        await shown(rig, 2)
        foreign = await rig.say(f"{gate.code} y", room="b")
        unknown = await rig.say("Z9Z9 y", room="b")
        assert (foreign.fate, unknown.fate) == (Fate.REFUSED, Fate.REFUSED)
        assert "was not shown here" in foreign.words and "There is no gate Z9Z9" in unknown.words
        await rig.say("y")
        await rig.ended(first.turn)
        closed = await rig.say(f"{gate.code} y")
        assert closed.fate is Fate.REFUSED and "answered by ann" in closed.words
        for name, trouble in (("../etc", BadInput), ("Q9Q9", NotFound), ("", BadInput)):
            with pytest.raises(trouble):
                await rig.engine.gates.answer(name, YES)


async def test_only_approvers_answer_from_a_chat(tmp_path: Path) -> None:
    config = dataclasses.replace(patient(), gates=GatesConfig(approvers=("boss",)))
    async with Rig(tmp_path, config=config) as rig:
        accepted = await rig.say(f"!approve {COMMAND}")
        (gate,) = await asked(rig)
        refused = await rig.say("y")
        assert refused.fate is Fate.REFUSED and "ann may not" in refused.words
        await rig.engine.gates.answer(gate.code, YES)
        await rig.ended(accepted.turn)


async def test_a_display_name_does_not_make_an_approver(tmp_path: Path) -> None:
    """If the platform has no user ids, as with a webhook, the surface itself is the approver."""
    for approvers, fate in (("ann", "42"), Fate.REFUSED), (("room",), Fate.ANSWER):
        config = dataclasses.replace(patient(), gates=GatesConfig(approvers=approvers))
        (tmp_path / fate).mkdir()
        async with Rig(tmp_path / fate, config=config) as rig:
            await rig.say(f"!approve {COMMAND}")
            (gate,) = await asked(rig)
            await rig.delivered(f"{gate.id}:ask")
            assert (await rig.say(f"{gate.code} y")).fate is fate


async def test_an_answer_that_does_not_fit_is_refused_with_valid_choices(tmp_path: Path) -> None:
    async with Rig(tmp_path) as rig:
        await rig.say("!ask Which? | red | green")
        (question,) = await asked(rig)
        with pytest.raises(BadInput, match="is a question"):
            await rig.engine.gates.answer(question.code, YES)
        with pytest.raises(BadInput, match="1 questions and 2 answers"):
            await rig.engine.gates.answer(question.code, AnswerGate(Decision.REPLY, replies=(("1",), ("2",))))
        command = await rig.say(f"!approve {COMMAND}", room="b")
        (_, gate) = await asked(rig, 2)
        assert gate.thread == command.thread
        with pytest.raises(BadInput, match="a yes or a no"):
            await rig.engine.gates.answer(gate.code, AnswerGate(Decision.REPLY, replies=(("1",),)))
        wrong = await rig.say(f"{gate.code} 17", room="b")
        assert wrong.fate is Fate.REFUSED and "1 allow" in wrong.words


async def test_a_gate_reminds_once_and_expires_only_if_configured(tmp_path: Path) -> None:
    clock = Ahead()
    config = dataclasses.replace(patient(), gates=GatesConfig(remind_after=60, expire_after=3600))
    async with Rig(tmp_path, clock=clock, config=config) as rig:
        accepted = await rig.say(f"!approve {COMMAND}\n!text done")
        (gate,) = await asked(rig)
        clock.ahead = 61_000
        rig.engine._gate_expiry._wake.set()
        await rig.delivered(f"{gate.id}:remind")
        clock.ahead = 3_601_000
        rig.engine._gate_expiry._wake.set()
        await rig.saw("gate.expired")
        turn = await rig.ended(accepted.turn)
        assert any("nobody answered" in item.body for item in turn.items) and executions(rig) == []
        [told] = [answer for entry in entries(rig) for _, answer in entry.answers]
        assert (told.decision, told.expired) == (Decision.DECLINE, True)  # no person declined it
        assert (await rig.engine.gates.one(gate.id)).state == "expired"
        assert rig.kinds().count("gate.reminded") == 1


async def test_a_diff_of_five_megabytes_is_shortened_and_complete_on_demand(tmp_path: Path) -> None:
    diff = "+ one more line\n" * 330_000
    async with Rig(tmp_path) as rig:
        accepted = await rig.say("!hold here")
        await rig.started(accepted.turn)
        await rig.store.write(lambda tx: _opened(tx, rig, accepted, Asked(GateKind.CHANGE, "a.txt", diff)))
        (gate,) = await asked(rig)
        await rig.delivered(f"{gate.id}:ask")
        whole = await rig.engine.gates.one(gate.code)
        assert len(rig.room.texts[0]) < 10_000 and len(gate.detail) < 10_000 and whole.detail == diff


def _opened(tx: Tx, rig: Rig, accepted: Accepted, wanted: Asked, inspection: RequestInspection = NOT_INSPECTED) -> None:
    turn, thread = turns.get(tx, accepted.turn or ""), threads.get(tx, accepted.thread or "")
    assert turn is not None and thread is not None
    item = Item(gate_item("x:1"), GATE, Phase.STARTED, wanted.title)
    open_gate(tx, rig.engine._core, thread, turn, GateOpened("x:1", wanted), item, inspection=inspection)


@pytest.mark.parametrize(
    ("language", "told"),
    [("en", "⚠ sub is another repository inside the workspace"), ("zh", "⚠ sub 是工作区里的另一个仓库")],
)
async def test_a_command_that_seems_read_only_says_why_it_is_asked_about(
    tmp_path: Path, language: str, told: str
) -> None:
    (tmp_path / "sub/.git").mkdir(parents=True)
    config = Config(threads=ThreadsConfig(runtime="scripted"), chats=ChatsConfig(language=language))
    async with Rig(tmp_path, room=Room(can=SurfaceCan(chat=True)), config=config) as rig:
        await rig.allow("1")
        accepted = await rig.say("!hold", sender_id="1")
        await rig.started(accepted.turn)
        wanted = Asked(GateKind.COMMAND, "git status", folder=str(tmp_path / "sub"))
        thread = await rig.store.read(lambda tx: threads.get(tx, accepted.thread or ""))
        assert thread is not None
        inspection = await inspect_request(rig.engine._core, wanted, thread)
        await rig.store.write(lambda tx: _opened(tx, rig, accepted, wanted, inspection))
        (gate,) = await asked(rig)
        await rig.delivered(f"{gate.id}:ask")
        assert told in rig.room.texts[0]
        assert gate.warning == "sub is another repository inside the workspace"


async def test_policies_are_kept_with_the_thread(tmp_path: Path) -> None:
    async with Rig(tmp_path) as rig:
        accepted = await rig.start(f"!approve {COMMAND}", policy=Policy.YOLO, kind=ThreadKind.CHAT)
        await rig.ended(accepted.turn)
        assert (await rig.engine.threads.get(accepted.thread or "")).policy == "yolo" and executions(rig) == [COMMAND]
        forked = await rig.engine.threads.fork(accepted.thread or "", None, None)
        assert forked.policy == "yolo"
