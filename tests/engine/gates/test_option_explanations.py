"""The explanation of a question's options is shown where they are chosen."""

from __future__ import annotations

from pathlib import Path

import pytest

from clew.model.gates import Asked, GateKind, Question
from clew.model.messages import Fate
from tests.engine.gates.test_visibility import PHONE, Chat, _opens
from tests.helpers.rig import Rig, Room

MEANS = "Proceed: drop all tables of production first\nWait: do nothing"


def asks(detail: str = MEANS, *, reason: str = "", secret: bool = False) -> Asked:
    question = Question("q", "How shall I go on?", ("Proceed", "Wait"), free=False, secret=secret)
    return Asked(GateKind.QUESTION, question.text, detail, reason=reason, questions=(question,))


async def test_a_card_says_what_the_options_mean(tmp_path: Path) -> None:
    async with Rig(tmp_path, room=Room(PHONE)) as rig:
        card = Chat(rig).card(await _opens(rig, asks()))
        assert f"1. Proceed\n2. Wait\n```\n{MEANS}\n```\n" in card.text
        assert (await rig.say("2", sender_id="7")).fate is Fate.ANSWER


async def test_a_long_explanation_comes_in_parts_before_the_card(tmp_path: Path) -> None:
    async with Rig(tmp_path, room=Room(PHONE)) as rig:
        detail = f"Proceed: {'a ' * 2500}drop all tables{' b' * 500}"
        await _opens(rig, asks(detail, reason="asked by the MCP server db"))
        parts = "\n".join(part.text for part in Chat(rig).parts())
        assert "drop all tables" in parts and "asked by the MCP server db" in parts
        assert (await rig.say("2", sender_id="7")).fate is Fate.ANSWER


async def test_a_question_too_long_to_explain_cannot_be_answered_there(tmp_path: Path) -> None:
    async with Rig(tmp_path, room=Room(PHONE)) as rig:
        await _opens(rig, asks("Proceed: " + "x" * 60_000))
        assert (await rig.say("1", sender_id="7")).fate is Fate.REFUSED


@pytest.mark.parametrize("long", ["", "x" * 5000])
async def test_the_options_of_a_secret_are_not_explained_in_a_chat(tmp_path: Path, long: str) -> None:
    async with Rig(tmp_path, room=Room(PHONE)) as rig:
        await _opens(rig, asks(MEANS + long, secret=True))
        assert not any("drop all" in sent.text for sent in rig.room.sent)
