"""Answers that are refused because they contradict themselves."""

from __future__ import annotations

from pathlib import Path

import pytest

from clew.model.gate_views import AnswerGate
from clew.model.gates import Decision
from clew.support.errors import BadInput
from tests.engine.gates.test_gates import COMMAND, asked
from tests.helpers.rig import Rig

BAD_YES = {
    "rm *": ("does not cover", AnswerGate(Decision.ACCEPT, extent="rule", pattern="rm *")),
    "reason": ("A reason belongs to a no", AnswerGate(Decision.ACCEPT, reason="but not twice")),
}


@pytest.mark.parametrize("name", BAD_YES)
async def test_a_contradictory_answer_is_refused_and_answers_nothing(tmp_path: Path, name: str) -> None:
    async with Rig(tmp_path) as rig:
        await rig.say(f"!approve {COMMAND}")
        (gate,) = await asked(rig)
        told, given = BAD_YES[name]
        with pytest.raises(BadInput, match=told):
            await rig.engine.gates.answer(gate.code, given)
        assert (await rig.engine.gates.one(gate.id)).state == "open" and not await rig.engine.gates.rules()


async def test_a_rule_as_the_answer_to_a_question_is_refused(tmp_path: Path) -> None:
    async with Rig(tmp_path) as rig:
        await rig.say("!ask Which? | red | green")
        (gate,) = await asked(rig)
        for pattern in ("rm *", None):
            given = AnswerGate(Decision.ACCEPT, extent="rule", pattern=pattern)
            with pytest.raises(BadInput, match="is a question"):
                await rig.engine.gates.answer(gate.code, given)
