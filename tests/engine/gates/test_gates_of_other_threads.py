"""A short answer without a code, a quote or a button means the gates of the conversation's thread, not those of other
threads that are shown in the same conversation."""

from __future__ import annotations

from pathlib import Path

import pytest

from clew.model.gate_views import AnswerGate, GateView
from clew.model.gates import Decision
from clew.model.messages import Accepted, Fate
from clew.model.surface import SurfaceCan
from clew.store.tables import places
from clew.testing.scripted_model import script
from tests.engine.gates.test_lifecycle import asked, executions, shown
from tests.engine.gates.test_quoted_answers import _asks_one_by_one, _quote
from tests.engine.gates.test_visibility import PHONE, Chat
from tests.helpers.rig import Rig, Room

BARE = ["yes", "y", "1", "2", "n", "stop", "yes all", "同意", "allow"]


async def _state(rig: Rig, view: GateView) -> str:
    return (await rig.engine.gates.one(view.id)).state


async def _asks_beside(rig: Rig) -> tuple[Chat, GateView, Accepted]:
    """The chat shows a gate of one thread; the next thread there has asked something as plain text."""
    chat = Chat(rig)
    (view,) = await chat.asks("make deploy")
    await chat.says("/new")
    rig.scripted.play = lambda request: (script.Say("Shall I also spell-check them?"),)
    said = await chat.says("write the docs please")
    await rig.delivered(f"{said.turn}:final")
    return chat, view, said


@pytest.mark.parametrize("word", BARE)
async def test_a_short_answer_does_not_answer_a_gate_of_another_thread(tmp_path: Path, word: str) -> None:
    async with Rig(tmp_path, room=Room(PHONE)) as rig:
        chat, view, _ = await _asks_beside(rig)
        said = await chat.says(word)
        assert said.fate is Fate.REFUSED and f"`{view.code} {'y' if word == 'yes all' else word}`" in said.words
        assert await _state(rig, view) == "open" and executions(rig) == []


async def test_it_reaches_the_agent_by_a_quote_or_as_longer_text(tmp_path: Path) -> None:
    async with Rig(tmp_path, room=Room(PHONE)) as rig:
        chat, view, before = await _asks_beside(rig)
        quoting = await chat.says("yes", quoted=_quote(rig, f"{before.turn}:final"))
        longer = await chat.says("yes, please")
        assert {said.thread for said in (quoting, longer)} == {before.thread}
        assert Fate.REFUSED not in (quoting.fate, longer.fate) and await _state(rig, view) == "open"


@pytest.mark.parametrize("how", ["code", "quote", "button"])
async def test_another_threads_gate_is_answered_by_code_quote_or_button(tmp_path: Path, how: str) -> None:
    async with Rig(tmp_path, room=Room(PHONE)) as rig:
        chat, view, _ = await _asks_beside(rig)
        if how == "button":
            said = await chat.presses(chat.card(view), f"{view.code} y")
        elif how == "quote":
            said = await chat.says("y", quoted=_quote(rig, f"{view.id}:ask"))
        else:
            said = await chat.says(f"{view.code} y")
        assert said.fate is Fate.ANSWER
        await rig.ended(view.turn)
        assert executions(rig) == ["make deploy"]


async def test_a_short_answer_sent_before_the_other_gate_is_for_the_agent(tmp_path: Path) -> None:
    async with Rig(tmp_path, room=Room(PHONE)) as rig:
        chat, view, before = await _asks_beside(rig)
        said = await chat.says("yes", sent_at=view.asked_at // 1000 * 1000 - 1000)
        assert said.fate is Fate.TURN and said.thread == before.thread


async def test_a_short_answer_means_the_gate_of_the_conversations_thread(tmp_path: Path) -> None:
    async with Rig(tmp_path, room=Room(PHONE)) as rig:
        chat, first, second = await _asks_one_by_one(rig)
        assert (await chat.says("y")).fate is Fate.ANSWER
        await rig.ended(second.turn)
        assert executions(rig) == ["deploy"] and await _state(rig, first) == "open"


async def _cut_beside(rig: Rig) -> tuple[Chat, GateView, Accepted]:
    """The conversation's thread was cut off, and asks whether to continue."""
    chat = Chat(rig)
    (view,) = await chat.asks("make deploy")
    await chat.says("/new")
    rig.scripted.play = lambda request: (script.Shell("make"), script.Cut())
    said = await chat.says("go on please")
    await rig.delivered(f"{said.turn}:ask")
    return chat, view, said


@pytest.mark.parametrize(("word", "fate"), [("y", Fate.TURN), ("stop", Fate.ANSWER), ("no", Fate.ANSWER)])
async def test_a_short_answer_answers_the_question_of_a_suspended_thread(tmp_path: Path, word: str, fate: Fate) -> None:
    async with Rig(tmp_path, room=Room(PHONE), outlives=True) as rig:
        chat, view, cut = await _cut_beside(rig)
        said = await chat.says(word)
        assert (said.fate, said.thread) == (fate, cut.thread) and await _state(rig, view) == "open"


@pytest.mark.parametrize("word", ["1", "2", "yes all", "allow"])
async def test_an_answer_that_it_does_not_ask_for_decides_nothing(tmp_path: Path, word: str) -> None:
    async with Rig(tmp_path, room=Room(PHONE), outlives=True) as rig:
        chat, view, cut = await _cut_beside(rig)
        said = await chat.says(word)
        assert said.fate is Fate.REFUSED and view.code in said.words and await _state(rig, view) == "open"
        assert (await rig.engine.threads.get(cut.thread or "")).status == "suspended"


@pytest.mark.parametrize("word", ["y", "stop"])
async def test_a_gate_after_its_question_makes_a_short_answer_ambiguous(tmp_path: Path, word: str) -> None:
    async with Rig(tmp_path, room=Room(PHONE), outlives=True) as rig:
        chat, view, cut = await _cut_beside(rig)
        sql = "UPDATE gates SET asked_at = ? WHERE id = ?"
        await rig.store.write(lambda tx: tx.run(sql, rig.clock.now() + 1, view.id))
        assert (await chat.says(word)).fate is Fate.REFUSED and await _state(rig, view) == "open"
        assert (await rig.engine.threads.get(cut.thread or "")).status == "suspended"
        assert (await chat.says("continue")).thread == cut.thread


@pytest.mark.parametrize("word", ["1", "y", "yes"])
async def test_text_after_new_begins_a_thread(tmp_path: Path, word: str) -> None:
    async with Rig(tmp_path, room=Room(PHONE)) as rig:
        chat = Chat(rig)
        (view,) = await chat.asks("make deploy")
        said = await chat.says(f"/new {word}")
        assert said.fate is Fate.TURN and said.thread != view.thread
        assert await _state(rig, view) == "open" and executions(rig) == []


@pytest.mark.parametrize("language", ["please do it", "请运行这个"])
async def test_the_reply_that_a_card_suggests_works_in_a_chat_of_another_thread(tmp_path: Path, language: str) -> None:
    async with Rig(tmp_path, room=Room(PHONE)) as rig:
        chat = Chat(rig)
        (view,) = await chat.asks("make deploy", language=language)
        await chat.says("/new")
        rig.scripted.play = lambda request: (script.Say("Fine."),)
        said = await chat.says(language)
        await rig.delivered(f"{said.turn}:final")
        _, _, how = chat.card(view).text.partition("1. ")
        first, _, second = how.partition("\n\n")
        told = [part for part in first.split("`") if part.startswith(view.code)]
        assert told[:2] == [f"{view.code} y", f"{view.code} n"] and "`y`" not in first and "「同意」" not in first
        assert ("talks to this thread" in second) or ("与本会话对话" in second)
        assert (await chat.says(told[0])).fate is Fate.ANSWER
        await rig.ended(view.turn)
        assert executions(rig) == ["make deploy"]


async def _asks_while_away(rig: Rig, *commands: str) -> list[GateView]:
    """Local threads ask in the chat of a person who is away."""
    await rig.allow("7")
    await rig.say("/away", sender_id="7")
    for number, command in enumerate(commands, 1):
        await rig.start(f"desk\n!approve {command}\n!text done")
        await asked(rig, number)
    found = await rig.engine.gates.all()
    for view in found:
        await rig.delivered(f"{view.id}:ask")
    return found


async def test_away_a_short_answer_means_the_only_gate_in_a_chat_without_a_thread(tmp_path: Path) -> None:
    async with Rig(tmp_path, room=Room(PHONE)) as rig:
        (view,) = await _asks_while_away(rig, "make deploy")
        assert (await Chat(rig).says("y")).fate is Fate.ANSWER
        await rig.ended(view.turn)
        assert executions(rig) == ["make deploy"]


@pytest.mark.parametrize("word", ["y", "yes all"])
async def test_away_gates_of_several_threads_need_their_code(tmp_path: Path, word: str) -> None:
    async with Rig(tmp_path, room=Room(PHONE)) as rig:
        first, second = await _asks_while_away(rig, "make deploy", "make test")
        said = await Chat(rig).says(word)
        assert said.fate is Fate.REFUSED and f"`{first.code} y`" in said.words and f"`{second.code} y`" in said.words
        assert executions(rig) == []


@pytest.mark.parametrize("word", ["y", "n", "yes all"])
async def test_away_a_gate_of_a_local_thread_needs_its_code_beside_a_thread(tmp_path: Path, word: str) -> None:
    async with Rig(tmp_path, room=Room(PHONE)) as rig:
        await rig.allow("7")
        said = await rig.say("!text hello", sender_id="7")
        await rig.delivered(f"{said.turn}:final")
        (view,) = await _asks_while_away(rig, "make deploy")
        assert (await Chat(rig).says(word)).fate is Fate.REFUSED
        assert await _state(rig, view) == "open"


async def test_yes_all_allows_no_gate_of_another_thread(tmp_path: Path) -> None:
    async with Rig(tmp_path, room=Room(PHONE)) as rig:
        chat = Chat(rig)
        (first,) = await chat.asks("rm -rf old")
        await chat.says("/new")
        rig.scripted.play = lambda request: (script.Approve(("make a", "make b")), script.Say("done"))
        said = await chat.says("go on please")
        await rig.until(lambda entry: rig.kinds().count("gate.opened") == 3)
        for view in await rig.engine.gates.all():
            await rig.delivered((await chat.gate(view)).card or "")
        assert (await chat.says("yes all")).fate is Fate.ANSWER
        await rig.ended(said.turn)
        assert sorted(executions(rig)) == ["make a", "make b"] and await _state(rig, first) == "open"


@pytest.mark.parametrize("word", ["thread", "Thread.", "rule", "Rule!"])
async def test_the_words_thread_and_rule_alone_are_not_a_yes(tmp_path: Path, word: str) -> None:
    async with Rig(tmp_path, room=Room(PHONE)) as rig:
        chat = Chat(rig)
        (view,) = await chat.asks("make test")
        assert (await chat.says(word)).fate is Fate.STEER
        assert await _state(rig, view) == "open" and await rig.engine.gates.rules() == []


@pytest.mark.parametrize("how", ["CODE thread", "CODE 3", "quote"])
async def test_a_yes_with_a_rule_names_its_gate(tmp_path: Path, how: str) -> None:
    async with Rig(tmp_path, room=Room(PHONE)) as rig:
        chat = Chat(rig)
        (view,) = await chat.asks("make test")
        quoted = _quote(rig, f"{view.id}:ask") if how == "quote" else None
        text = "thread" if how == "quote" else how.replace("CODE", view.code)
        assert (await chat.says(text, quoted=quoted)).fate is Fate.ANSWER
        await rig.ended(view.turn)
        assert len(await rig.engine.gates.rules()) == 1


@pytest.mark.parametrize("quotes", [False, True])
@pytest.mark.parametrize("word", ["y", "1", "2", "3", "n", "stop"])
async def test_an_answer_that_may_mean_a_settled_gate_decides_nothing(tmp_path: Path, word: str, quotes: bool) -> None:
    """Two were open when it was sent, and one when it arrived."""
    async with Rig(tmp_path, room=Room(PHONE)) as rig:
        chat = Chat(rig)
        first, second = await chat.asks("make test", "make deploy")
        card, other = [(await chat.gate(each)).card or "" for each in (first, second)]
        quoted = _quote(rig, card) if quotes else None
        said_at = rig.clock.now() + 600_001 - rig.clock.now() % 1000
        await rig.engine.gates.answer(first.code, AnswerGate(Decision.DECLINE))
        await rig.saw("gate.taken", first.thread)
        sql = "UPDATE gates SET answered_at = ?, closed_at = ? WHERE id = ?"  # on a fast machine the times may be equal
        await rig.store.write(lambda tx: tx.run(sql, said_at + 1500, said_at + 1500, first.id))
        said = await chat.says(word, sent_at=said_at, quoted=quoted)
        if quotes and card != other:  # the first card had left before the second gate came, so it means that gate alone
            assert said.fate is Fate.REFUSED and first.code in said.words
            return
        is_for_one = word == "3" and quotes  # "in this thread", of the gate that it quotes
        assert said.fate is Fate.REFUSED and (is_for_one or f"`{second.code} {word}`" in said.words)
        assert await _state(rig, second) == "open" and executions(rig) == []
        makes_rule = word == "3" and not quotes  # a bare number makes none
        again = await chat.says(word, sent_at=said_at + 9000, quoted=quoted)
        assert again.fate is (Fate.REFUSED if makes_rule else Fate.ANSWER)


async def test_away_an_answer_that_may_mean_a_settled_gate_decides_nothing(tmp_path: Path) -> None:
    async with Rig(tmp_path, room=Room(PHONE)) as rig:
        first, second = await _asks_while_away(rig, "make test", "make deploy")
        said_at = rig.clock.now() + 600_001 - rig.clock.now() % 1000
        await rig.engine.gates.answer(first.code, AnswerGate(Decision.DECLINE))
        await rig.ended(first.turn)
        sql = "UPDATE gates SET answered_at = ?, closed_at = ? WHERE id = ?"
        await rig.store.write(lambda tx: tx.run(sql, said_at + 1500, said_at + 1500, first.id))
        said = await Chat(rig).says("y", sent_at=said_at)
        assert said.fate is Fate.REFUSED and f"`{second.code} y`" in said.words
        assert await _state(rig, second) == "open"


async def test_an_answer_on_its_way_to_the_agent_is_one_that_a_bare_word_may_have_repeated(tmp_path: Path) -> None:
    """The chat has no thread. The gate that was answered first is not closed: its agent has not taken the answer."""
    async with Rig(tmp_path, room=Room(PHONE)) as rig:
        first, second = await _asks_while_away(rig, "make test", "make deploy")
        said_at = rig.clock.now() + 600_001 - rig.clock.now() % 1000
        rig.hold_answers()
        await rig.engine.gates.answer(first.code, AnswerGate(Decision.DECLINE))
        sql = "UPDATE gates SET answered_at = ? WHERE id = ?"
        await rig.store.write(lambda tx: tx.run(sql, said_at + 1500, first.id))
        assert await _state(rig, first) == "answered"
        said = await Chat(rig).says("同意", sent_at=said_at)
        assert said.fate is Fate.REFUSED and f"`{second.code} 同意`" in said.words
        assert await _state(rig, second) == "open"


async def test_a_bare_yes_without_a_time_means_no_gate_beside_one_that_was_just_settled(tmp_path: Path) -> None:
    """Two threads asked in one chat; what its person saw is settled elsewhere by now."""
    async with Rig(tmp_path, room=Room(SurfaceCan(chat=True, buttons=8))) as rig:
        await rig.allow("7")
        await rig.store.write(lambda tx: places.set_away(tx, rig.where(), 1))
        await rig.say("/gates", sender_id="7")
        for command in ("make test", "make deploy"):
            await rig.start(f"!approve {command}\n!text done")
        first, second = await shown(rig, 2)
        await rig.engine.gates.answer(first.code, AnswerGate(Decision.DECLINE))
        refused = await rig.say("同意", sender_id="7")
        assert refused.fate is Fate.REFUSED and f"`{second.code} 同意`" in refused.words
        assert (await rig.engine.gates.one(second.id)).state == "open"
