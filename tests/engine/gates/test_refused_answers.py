"""Answers that are refused because they contradict themselves."""

from __future__ import annotations

from pathlib import Path

import pytest

from clew.model.gate_views import AnswerGate
from clew.model.gates import Decision
from clew.support.errors import BadInput
from clew.texts.bilingual import zh
from tests.engine.gates.test_lifecycle import COMMAND, asked
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


@pytest.mark.parametrize(
    ("command", "pattern"),
    [
        ("node -e 'console.log(2*3)'", "node -e 'console.log(2*3)'"),
        ("node -e 'console.log(2*3)'", ' node  -e "console.log(2*3)"'),
        ("bash -lc \"node -e '2*3'\"", "node -e '2*3'"),
        ("make x[1]", "make x[1]"),
        ("make 'a?'", "make 'a?'"),
    ],
)
async def test_a_rule_is_not_made_from_a_commands_own_text_if_it_has_wildcards(
    tmp_path: Path, command: str, pattern: str
) -> None:
    """In the command, quoted, they mean themselves; in a pattern they mean anything."""
    async with Rig(tmp_path) as rig:
        await rig.say(f"!approve {command}")
        (gate,) = await asked(rig)
        with pytest.raises(BadInput, match="would match anything") as refused:
            await rig.engine.gates.answer(gate.code, AnswerGate(Decision.ACCEPT, extent="rule", pattern=pattern))
        assert "任何内容" in zh(refused.value.words) and "write `[*]`" in refused.value.message
        assert (await rig.engine.gates.one(gate.id)).state == "open" and not await rig.engine.gates.rules()


async def test_a_sign_in_brackets_means_itself_in_a_rule(tmp_path: Path) -> None:
    async with Rig(tmp_path) as rig:
        await rig.say("!approve node -e 'console.log(2*3)'\n!approve node -e 'console.log(2**3)'")
        (gate,) = await asked(rig)
        pattern = "node -e 'console.log(2[*]3)'"
        await rig.engine.gates.answer(gate.code, AnswerGate(Decision.ACCEPT, extent="rule", pattern=pattern))
        (second,) = await asked(rig, 2)
        assert second.title == "node -e 'console.log(2**3)'"
