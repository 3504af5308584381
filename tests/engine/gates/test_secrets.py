"""A secret that is typed in a chat is refused and stored nowhere."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from clew.engine.gates.choices import make_reply
from clew.model.gate_views import AnswerGate, GateView
from clew.model.gates import Asked, Decision, GateKind, Question
from clew.model.messages import Fate
from clew.support.errors import BadInput
from tests.helpers.rig import Rig


@pytest.mark.parametrize("said", ["hunter-forty-two", "CODE hunter-forty-two", "CODE 1 hunter-forty-two"])
@pytest.mark.parametrize("is_local", [False, True])
async def test_a_typed_secret_is_refused_everywhere_and_stored_nowhere(
    tmp_path: Path, said: str, is_local: bool
) -> None:
    async with Rig(tmp_path) as rig:
        for script in ("!secret The password?", "!secret The password? | none | old"):
            accepted = await rig.say(script)
            (gate,) = [gate async for gate in _opened_by(rig, accepted.turn)]
            text = said.replace("CODE", gate.code)
            refused = await (rig.send(accepted.thread, text) if is_local else rig.say(text))
            assert refused.fate is Fate.REFUSED and "hunter" not in refused.words
            assert f"clew answer {gate.code}" in refused.words
            await rig.engine.gates.answer(gate.code, AnswerGate(Decision.REPLY, replies=(("hunter-forty-two",),)))
            await rig.ended(accepted.turn)
    files = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert files and not [path for path in files if b"hunter-forty-two" in path.read_bytes()]


async def _opened_by(rig: Rig, turn: str | None) -> AsyncIterator[GateView]:
    await rig.until(lambda entry: entry.kind == "gate.opened" and entry.turn == turn)
    for gate in await rig.engine.gates.all():
        yield gate


def test_a_secret_that_fits_no_option_is_not_repeated_in_the_refusal() -> None:
    question = Question("q", "The password?", ("old", "new"), free=False, secret=True)
    with pytest.raises(BadInput) as refused:
        make_reply(Asked(GateKind.QUESTION, "The password?", questions=(question,)), (("hunter-forty-two",),))
    assert "hunter" not in str(refused.value)
