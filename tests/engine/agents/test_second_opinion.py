"""Asking another agent about a thread."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from clew.model.messages import Accepted, Fate
from clew.model.surface import SurfaceCan
from clew.support.errors import BadInput
from tests.engine.agents.test_switching import played, say, switch, two_agents
from tests.helpers.rig import Rig, Room


@pytest.fixture
async def rig(tmp_path: Path) -> AsyncIterator[Rig]:
    async with two_agents(tmp_path, room=Room(can=SurfaceCan(chat=True))) as rig:
        await rig.allow("1")
        yield rig


async def ask(rig: Rig, thread: str, question: str, *, id: str | None = None) -> Accepted:
    return await rig.engine.threads.ask(thread, "other", question, id or rig.clock.ulid(), "ann")


async def test_its_answer_is_quoted_into_the_thread_whose_agent_stays(rig: Rig) -> None:
    thread = await say(rig, "!text one")
    asked = await ask(rig, thread, "!text it is wrong")
    done = await rig.ended(asked.turn)
    fork = await rig.engine.threads.get(asked.thread or "")
    assert (fork.runtime, fork.policy, fork.forked_from, fork.status) == ("other", "read-only", thread, "completed")
    assert "> !text one" in played(rig, fork.id, "other")[0].prelude, "it is told what happened"
    assert done.text == "it is wrong"
    newest = (await rig.engine.threads.transcript(thread, 100))[-1]
    assert (newest.role, newest.author, newest.text) == ("agent", "other", "it is wrong")
    assert newest.asked is not None
    assert (newest.asked.by, newest.asked.question, newest.asked.thread) == ("ann", "!text it is wrong", fork.id)
    view = await rig.engine.threads.get(thread)
    assert (view.runtime, view.policy, view.status) == ("scripted", "careful", "idle")
    assert [each.sound async for each in rig.engine.threads.verify(thread)] == [True]


async def test_the_own_agent_learns_of_it_once(rig: Rig) -> None:
    thread = await say(rig, "!text one")
    await rig.ended((await ask(rig, thread, "!text it is wrong")).turn)
    await say(rig, "!text two")
    await say(rig, "!text three")
    told = [each.prelude for each in played(rig, thread, "scripted")]
    assert [bool(each) for each in told] == [False, True, False]
    assert "ann asked Other for an opinion:\n> !text it is wrong\nOther answered:\n> it is wrong" in told[1]


async def test_an_answer_that_comes_while_a_turn_runs_is_told_to_the_next_one(rig: Rig) -> None:
    thread = await say(rig, "!text one")
    running = await rig.say("!hold door\n!text two", sender_id="1")
    await rig.held("door")
    await rig.ended((await ask(rig, thread, "!text it is wrong")).turn)
    rig.scripted.holds.release("door")
    await rig.ended(running.turn)
    await say(rig, "!text three")
    await say(rig, "!text four")
    told = [each.prelude.count("Other answered") for each in played(rig, thread, "scripted")]
    assert told == [0, 0, 1, 0]


async def test_the_same_question_sent_twice_is_asked_once(rig: Rig) -> None:
    thread = await say(rig, "!text one")
    first = await ask(rig, thread, "!text hm", id="q1")
    again = await ask(rig, thread, "!text hm", id="q1")
    assert (again.thread, again.turn, again.repeated) == (first.thread, first.turn, True)


async def test_in_a_chat_the_answer_comes_there_with_its_author(rig: Rig) -> None:
    thread = await say(rig, "!text one")
    reply = await rig.say("/ask other !text it is wrong", sender_id="1")
    assert reply.fate is Fate.COMMAND and "Other is asked" in reply.words
    await rig.saw("thread.opinion", thread)
    turn = (await rig.saw("thread.opinion", thread)).data["fork"]
    view = await rig.engine.threads.get(str(turn))
    await rig.delivered(f"{view.turn}:final")
    [sent] = [each for each in rig.room.sent if each.text == "it is wrong"]
    assert sent.note.startswith("Other · ") and sent.conversation == rig.where()
    assert (await rig.engine.threads.get(thread)).runtime == "scripted"


async def test_a_question_needs_an_agent_and_words(rig: Rig) -> None:
    thread = await say(rig, "!text one")
    with pytest.raises(BadInput, match="There is no question"):
        await ask(rig, thread, "  ")
    for text in ("/ask nobody is it right?", "/询问 other"):
        assert (await rig.say(text, sender_id="1")).fate is Fate.REFUSED


async def test_an_agent_that_was_here_before_answers_from_its_own_memory(rig: Rig) -> None:
    thread = await say(rig, "!text one")
    await switch(rig, thread, "other")
    await say(rig, "!text two")
    await switch(rig, thread, "scripted")
    asked = await ask(rig, thread, "!recall")
    done = await rig.ended(asked.turn)
    assert done.text == "I know 4 messages. The first: !text one" and done.prelude is None
