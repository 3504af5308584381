"""In which conversation a gate can be answered, and by whom."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import pytest

from clew.config.settings import TurnsConfig
from clew.model.gate_views import AnswerGate
from clew.model.gates import Decision
from clew.model.messages import Fate, Inbound
from clew.model.surface import SurfaceCan
from clew.texts import gate_messages
from tests.engine.gates.test_lifecycle import COMMAND, asked, executions, shown
from tests.helpers.rig import Rig, Room, patient


async def test_turns_that_wait_for_a_person_let_other_turns_run(tmp_path: Path) -> None:
    config = dataclasses.replace(patient(), turns=TurnsConfig(parallel=1))
    async with Rig(tmp_path, config=config) as rig:
        await rig.say(f"!approve {COMMAND}")
        await asked(rig)
        other = await rig.say("!text done", room="b")
        assert (await rig.ended(other.turn)).text == "done"


async def test_free_text_beside_a_tasks_gate_answers_it_only_with_the_code(tmp_path: Path) -> None:
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


async def test_text_after_the_code_of_a_settled_gate_is_for_the_agent(tmp_path: Path) -> None:
    async with Rig(tmp_path) as rig:
        accepted = await rig.say(f"!approve {COMMAND}")
        (gate,) = await shown(rig)
        await rig.say("y")
        await rig.ended(accepted.turn)
        about = await rig.say(f"{gate.code} was a mistake, take it back")
        assert about.fate is Fate.TURN
        late = await rig.say(f"{gate.code} y")
        assert late.fate is Fate.REFUSED and "answered by ann" in late.words


@pytest.mark.parametrize("word", ["y", "n", "stop", "/stop"])
async def test_a_person_cannot_pass_for_a_rule(tmp_path: Path, word: str) -> None:
    async with Rig(tmp_path, room=Room(SurfaceCan(chat=True))) as rig:
        await rig.allow("7")
        await rig.say(f"!approve {COMMAND}", sender_id="7")
        (gate,) = await shown(rig)
        await rig.engine.inbox.accept(Inbound(rig.where(), "m2", "clew (the rule `rm *`)", word, sender_id="7"))
        by = (await rig.engine.gates.one(gate.id)).answered_by
        assert by == '"clew (the rule `rm *`)"' and not gate_messages.is_by_rule(by)


async def test_a_chat_is_told_who_answered_and_what(tmp_path: Path) -> None:
    async with Rig(tmp_path, room=Room(SurfaceCan(chat=True, edit=True, buttons=8))) as rig:
        await rig.allow("7")
        turn = (await rig.say("!ask Which one? | red | blue\n!text 好的", sender_id="7")).turn
        (gate,) = await asked(rig)
        await rig.delivered(f"{gate.id}:ask")
        await rig.engine.gates.answer(gate.code, AnswerGate(Decision.REPLY, replies=(("blue",),)))
        await rig.ended(turn)
        await rig.delivered(f"{gate.id}:ask:{gate.code}:taken")
        drawn = [edit.text for _, edit in rig.room.edits]
        assert f"{gate.code}：电脑前的人 已回答：Which one? → blue" in drawn
        late = await rig.say(f"{gate.code} red", sender_id="7")
        assert late.fate is Fate.REFUSED and "已由电脑前的人在" in late.words


async def test_a_person_who_calls_themselves_you_is_not_the_one_at_the_computer(tmp_path: Path) -> None:
    async with Rig(tmp_path, room=Room(SurfaceCan(chat=True, edit=True))) as rig:
        await rig.allow("7")
        await rig.say("!approve make", sender_id="7")
        (gate,) = await asked(rig)
        await rig.delivered(f"{gate.id}:ask")
        said = Inbound(rig.where(), rig.clock.ulid(), "you", f"{gate.code} y", sender_id="7")
        assert (await rig.engine.inbox.accept(said)).fate is Fate.ANSWER
        assert (await rig.engine.gates.one(gate.code)).answered_by == '"you"'
