"""A number, a button and `rule` mean what the card showed, even if the files change before the answer."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from clew.model.gate_views import AnswerGate, GateView
from clew.model.gates import Asked, Decision, GateKind
from clew.model.messages import Fate
from clew.store import Tx
from clew.store.tables import rules as rows
from tests.engine.gates.test_lifecycle import executions
from tests.engine.gates.test_visibility import PHONE, Chat, _opens
from tests.helpers.rig import Rig, Room

COMMAND = "pytest tests/test_a.py"
CHANGE = Asked(GateKind.CHANGE, "docs/a.txt", "+x", paths=("docs/a.txt",))
Answers = Callable[[Chat, GateView], Awaitable[object]]


async def _types(chat: Chat, view: GateView) -> object:
    return await chat.says(f"{view.code} rule")


async def _numbers(chat: Chat, view: GateView) -> object:
    return await chat.says(f"{view.code} 4")


async def _presses(chat: Chat, view: GateView) -> object:
    return await chat.presses(chat.card(view), f"{view.code} rule")


async def _approves(chat: Chat, view: GateView) -> object:
    return await chat.rig.engine.gates.answer(view.code, AnswerGate(Decision.ACCEPT, extent="rule"))


async def made(rig: Rig) -> list[str]:
    return [rule.pattern for rule in await rig.store.read(rows.all_rules)]


def leads_out(top: Path) -> Path:
    """A test file for which no rule is offered, since it links to a file outside the workspace."""
    outside, test = top.parent / f"{top.name}-outside.py", top / "tests/test_a.py"
    outside.write_text("")
    test.parent.mkdir()
    test.symlink_to(outside)
    return test


@pytest.mark.parametrize(("number", "ran"), [("2", []), ("5", []), ("1", [COMMAND])])
async def test_a_number_means_what_it_meant_on_the_card(tmp_path: Path, number: str, ran: list[str]) -> None:
    async with Rig(tmp_path, room=Room(PHONE)) as rig:
        chat, test = Chat(rig), leads_out(tmp_path)
        (view,) = await chat.asks(COMMAND)
        assert "\n2. decline\n" in (text := chat.card(view).text) and f"`{view.code} stop`" in text
        test.unlink()
        test.write_text("")
        assert (await chat.says(number)).fate is Fate.ANSWER
        await rig.ended(view.turn)
        assert executions(rig) == ran and await made(rig) == []


async def test_a_stop_keeps_its_number_if_the_files_change(tmp_path: Path) -> None:
    async with Rig(tmp_path, room=Room(PHONE)) as rig:
        chat, test = Chat(rig), tmp_path / "tests/test_a.py"
        test.parent.mkdir()
        test.write_text("")
        (view,) = await chat.asks(COMMAND)
        text = chat.card(view).text
        assert "5." not in text and f"`{view.code} stop` to decline and stop" in text
        test.unlink()
        test.symlink_to(tmp_path.parent)
        assert (await chat.says("5")).fate is Fate.ANSWER
        await rig.ended(view.turn)
        answered = await rig.engine.gates.one(view.id)
        assert answered.decision is Decision.CANCEL and executions(rig) == []


@pytest.mark.parametrize("answers", [_types, _numbers, _presses, _approves])
async def test_the_rule_that_was_shown_is_the_rule_that_is_created(tmp_path: Path, answers: Answers) -> None:
    async with Rig(tmp_path, room=Room(PHONE)) as rig:
        chat, docs = Chat(rig), tmp_path / "docs"
        docs.mkdir()
        (tmp_path / "src").mkdir()
        view = await _opens(rig, CHANGE)
        assert "4. allow `docs/…` here for 2 h" in chat.card(view).text
        docs.rmdir()
        docs.symlink_to("src")
        assert (await rig.engine.gates.one(view.id)).rule == "docs/…"
        await answers(chat, view)
        assert await made(rig) == ["docs/…"]


async def test_a_gate_stored_by_an_older_version_offers_no_rule(tmp_path: Path) -> None:
    def forget(tx: Tx) -> None:
        tx.run("UPDATE gates SET offer = NULL")

    async with Rig(tmp_path, room=Room(PHONE)) as rig:
        view = await _opens(rig, CHANGE)
        await rig.store.write(forget)
        found = await rig.engine.gates.one(view.id)
        assert found.rule is None and len(found.options) == 4
        assert (await Chat(rig).says(f"{view.code} rule")).fate is Fate.REFUSED
        assert await made(rig) == []
