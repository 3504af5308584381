"""An answer counts only if its sender meant this gate: not a word between people, a second tap or a bare number."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from clew.model.gate_views import NewRuleView
from clew.model.gates import Effect
from clew.model.messages import Fate
from clew.model.threads import ThreadKind
from clew.store import Tx
from clew.store.tables import rules as rows
from clew.texts import gate_messages
from tests.engine.gates.test_lifecycle import asked, executions
from tests.engine.gates.test_visibility import PHONE, Chat
from tests.helpers.rig import Rig, Room

TOPIC: dict[str, Any] = {"in_group": True, "direct": False, "in_thread": True}


@pytest.mark.parametrize("word", ["y", "yes", "Yes!", "1", "2", "同意", "允许", "yes all", "no"])
async def test_a_bare_word_between_people_in_a_group_answers_nothing(tmp_path: Path, word: str) -> None:
    async with Rig(tmp_path, room=Room(PHONE)) as rig:
        chat = Chat(rig)
        (view,) = await chat.asks("make deploy")
        said = await chat.says(word, **TOPIC)
        assert said.fate is Fate.REFUSED and f"`{view.code} " in said.words
        assert (await chat.gate(view)).state == "open" and executions(rig) == []
        assert (await chat.says(f"{view.code} y", **TOPIC)).fate is Fate.ANSWER


@pytest.mark.parametrize(("word", "direct"), [("stop", False), ("y", True)])
async def test_in_a_group_stop_and_words_to_clew_count(tmp_path: Path, word: str, direct: bool) -> None:
    async with Rig(tmp_path, room=Room(PHONE)) as rig:
        await Chat(rig).asks("make deploy")
        assert (await Chat(rig).says(word, in_group=True, direct=direct, in_thread=True)).fate is Fate.ANSWER


@pytest.mark.parametrize("word", ["yes", "好", "continue"])
async def test_a_bare_word_in_a_group_does_not_continue_cut_work(tmp_path: Path, word: str) -> None:
    room = Room(replace(PHONE))
    async with Rig(tmp_path, room=room) as rig:
        await rig.allow("7")
        begun = await rig.say("!shell make\n!hold door", sender_id="7")
        await rig.held("door")
        await rig.kill()
    async with Rig(tmp_path, room=room) as rig:
        await rig.delivered(f"{begun.turn}:ask")
        said = await rig.say(word, sender_id="7", sent_at=rig.clock.now() + 600_000, **TOPIC)
        assert said.fate is Fate.REFUSED
        view = await rig.engine.threads.get(begun.thread or "")
        assert view.status == "suspended"


async def test_no_button_moves_while_a_gate_of_the_card_is_open(tmp_path: Path) -> None:
    async with Rig(tmp_path, room=Room(PHONE)) as rig:
        chat = Chat(rig)
        first, second = await chat.asks("make test", "make deploy")
        card = chat.card(first)
        assert (await chat.presses(card, f"{first.code} y")).fate is Fate.ANSWER
        await rig.until(lambda entry: entry.kind == "delivery.sent" and f"{first.code}:taken" in entry.data["delivery"])
        redrawn = [edit for _, edit in rig.room.edits][-1]
        assert [button.says for button in redrawn.buttons] == [button.says for button in card.buttons]
        hasty = await chat.presses(card, f"{second.code} y")
        assert hasty.fate is Fate.REFUSED and hasty.words == gate_messages.too_quick(second.code)
        assert (await chat.presses(card, f"{second.code} n")).fate is Fate.ANSWER  # a no needs no time
        assert executions(rig) == ["make test"]


@pytest.mark.parametrize("number", ["3", "4"])
async def test_a_bare_number_in_a_chat_makes_no_rule(tmp_path: Path, number: str) -> None:
    async with Rig(tmp_path, room=Room(PHONE)) as rig:
        (tmp_path / "tests").mkdir()
        (view,) = await Chat(rig).asks("pytest tests")
        said = await Chat(rig).says(number)
        assert said.fate is Fate.REFUSED and f"`{view.code} {number}`" in said.words
        assert await rig.engine.gates.rules() == []


async def test_the_answer_of_a_rule_that_is_gone_is_not_used_after_a_crash(tmp_path: Path) -> None:
    def remove_rules(tx: Tx) -> None:
        for rule in rows.all_rules(tx):
            rows.remove(tx, rule.id)

    async with Rig(tmp_path) as rig:
        await rig.engine.gates.add_rule(NewRuleView(Effect.ALLOW, "make *"))
        rig.hold_answers()
        said = await rig.start("!approve make deploy\n!text done", kind=ThreadKind.TASK)
        await rig.until(lambda entry: entry.kind == "gate.answered")
        await rig.kill()
    again = Rig(tmp_path)
    await again.store.write(remove_rules)
    async with again:
        (view,) = await asked(again)
        assert view.thread == said.thread and view.state == "open" and executions(again) == []


async def test_a_forwarded_command_is_not_run(tmp_path: Path) -> None:
    async with Rig(tmp_path, room=Room(PHONE)) as rig:
        await rig.allow("7")
        begun = await rig.say("!hold door", sender_id="7")
        await rig.started(begun.turn)
        assert (await rig.say("/stop", sender_id="7", relayed=True)).fate is Fate.STEER
        rig.scripted.holds.release("door")
        assert (await rig.ended(begun.turn)).state == "completed"


@pytest.mark.parametrize("says", ["CODE y", "yes all"])
async def test_a_button_of_a_card_that_does_not_show_the_new_warning_yet_allows_nothing(
    tmp_path: Path, says: str
) -> None:
    async with Rig(tmp_path, room=Room(PHONE)) as rig:
        chat = Chat(rig)
        _, second = await chat.asks("make test", "make deploy")
        card = chat.card(second)
        answered = await chat.gate(second)
        later = rig.clock.now() + 60_000
        sql = "UPDATE gates SET warning = 'It may already have run.', asked_at = ? WHERE id = ?"
        await rig.store.write(lambda tx: tx.run(sql, later, answered.id))
        pressed = await chat.presses(card, says.replace("CODE", second.code))
        assert pressed.fate is Fate.REFUSED and executions(rig) == []
