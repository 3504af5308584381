"""The answer of a turn after a no: it does not claim that nobody could be asked."""

from __future__ import annotations

import dataclasses
from pathlib import Path

from clew.config.settings import GatesConfig
from clew.model.gate_views import AnswerGate, NewRuleView
from clew.model.gates import Decision
from clew.model.messages import Accepted
from tests.helpers.clocks import Ahead
from tests.helpers.rig import Rig, patient

REQUEST = "!approve deploy --now\n!text done"


async def plain_answer(rig: Rig, accepted: Accepted) -> None:
    """The answer has no footnote, and the declined command is in the history."""
    turn = await rig.ended(accepted.turn)
    await rig.delivered(f"{accepted.turn}:final")
    assert ("command", "declined") in [(item.kind, item.outcome) for item in turn.items]
    assert [(sent.text, sent.note) for sent in rig.room.sent if sent.id == f"{accepted.turn}:final"] == [("done", "")]


async def test_the_answer_after_a_persons_no_has_no_footnote(tmp_path: Path) -> None:
    async with Rig(tmp_path) as rig:
        accepted = await rig.say(REQUEST)
        await rig.saw("gate.opened")
        (gate,) = await rig.engine.gates.all()
        await rig.engine.gates.answer(gate.code, AnswerGate(Decision.DECLINE))
        await plain_answer(rig, accepted)


async def test_the_answer_after_a_rules_no_has_no_footnote(tmp_path: Path) -> None:
    async with Rig(tmp_path) as rig:
        await rig.engine.gates.add_rule(NewRuleView(effect="deny", pattern="deploy *"))  # type: ignore[arg-type]
        await plain_answer(rig, await rig.say(REQUEST))


async def test_the_answer_after_an_expired_gate_has_no_footnote(tmp_path: Path) -> None:
    clock = Ahead()
    config = dataclasses.replace(patient(), gates=GatesConfig(expire_after=3600))
    async with Rig(tmp_path, clock=clock, config=config) as rig:
        accepted = await rig.say(REQUEST)
        await rig.saw("gate.opened")
        clock.ahead = 3_601_000
        rig.engine._gate_expiry._wake.set()
        await plain_answer(rig, accepted)
