"""Questions that do not block a turn: which answer is for which."""

from __future__ import annotations

from pathlib import Path

import pytest

from clew.model.gate_views import AnswerGate
from clew.model.gates import Decision
from clew.model.messages import Fate
from clew.model.threads import ThreadKind
from clew.support.errors import Refused
from clew.texts import gate_messages
from tests.engine.gates.test_lifecycle import asked, shown
from tests.helpers.rig import Rig


async def test_the_answer_to_a_tasks_nonblocking_question_goes_to_that_task(tmp_path: Path) -> None:
    async with Rig(tmp_path) as rig:
        task = await rig.start("!aside Shall I also? | yes | no", notify="room:a", kind=ThreadKind.CHAT)
        await rig.ended(task.turn)
        await shown(rig)
        answer = await rig.say("1")
        assert answer.thread == task.thread and "yes" in (await rig.ended(answer.turn)).request


async def test_an_answer_to_a_nonblocking_question_never_answers_another_one(tmp_path: Path) -> None:
    async with Rig(tmp_path) as rig:
        accepted = await rig.say("!aside Shall I also? | yes | no\n!ask What is it called?")
        aside, question = await shown(rig, 2)
        assert not aside.blocking and question.blocking
        await rig.engine.gates.answer(aside.code, AnswerGate(Decision.REPLY, replies=(("1",),)))
        assert (await rig.engine.gates.one(question.id)).state == "open"
        await rig.say(f"{question.code} Ariadne")
        assert "Shall I also?" in (await rig.ended(accepted.turn)).text


async def test_stop_at_a_nonblocking_question_sends_nothing_to_the_agent(tmp_path: Path) -> None:
    async with Rig(tmp_path) as rig:
        accepted = await rig.say("!aside Shall I also? | yes | no")
        await rig.ended(accepted.turn)
        (gate,) = await rig.engine.gates.all()
        stopped = await rig.say(f"{gate.code} stop")
        assert stopped.fate is Fate.ANSWER and await rig.engine.gates.all() == []
        assert (await rig.engine.threads.get(accepted.thread or "")).turn == accepted.turn


async def test_short_answers_in_a_suspended_thread_answer_the_suspension(tmp_path: Path) -> None:
    async with Rig(tmp_path) as rig:
        accepted = await rig.say("!aside Shall I also?\n!shell make\n!hold here")
        await rig.held("here")
        rig.scripted.lose()
        await rig.until(lambda entry: entry.kind == "thread.status" and entry.data["status"] == "suspended")
        stopped = await rig.say("stop")
        assert stopped.fate is Fate.ANSWER and "Stopped" in stopped.words
        assert (await rig.engine.threads.get(accepted.thread or "")).status == "idle"


async def test_cancel_closes_nonblocking_questions(tmp_path: Path) -> None:
    async with Rig(tmp_path) as rig:
        first = await rig.say("!aside Shall I also? | yes | no")
        await rig.ended(first.turn)
        await rig.engine.threads.cancel(first.thread or "")
        (gate,) = await rig.engine.gates.of_thread(first.thread or "")
        assert (gate.state, gate.why) == ("void", gate_messages.THREAD_OVER)
        with pytest.raises(Refused, match="is void"):
            await rig.engine.gates.answer(gate.code, AnswerGate(Decision.REPLY, replies=(("1",),)))


async def test_a_nonblocking_question_asked_again_after_a_cut_is_open_once(tmp_path: Path) -> None:
    async with Rig(tmp_path) as rig:
        await rig.say("!aside Shall I also? | yes | no\n!hold here")
        await rig.held("here")
        rig.scripted.lose()
        await rig.saw("gate.void")
        rig.scripted.holds.release("here")
        (again,) = await asked(rig, 2)
        old = (await rig.engine.gates.of_thread(again.thread))[-1]
        assert (old.state, old.why) == ("void", gate_messages.ASKED_AGAIN)
