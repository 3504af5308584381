"""Messages that were sent before a gate was asked do not answer it."""

from __future__ import annotations

from pathlib import Path

import pytest

from clew.model.messages import Fate
from clew.store.tables import deliveries
from tests.engine.gates.test_lifecycle import COMMAND, shown
from tests.helpers.rig import Rig


@pytest.mark.parametrize("word", ["y", "1", "yes all", "stop"])
async def test_a_short_answer_sent_before_the_gate_was_asked_is_refused(tmp_path: Path, word: str) -> None:
    async with Rig(tmp_path) as rig:
        accepted = await rig.say(f"!approve {COMMAND}")
        (gate,) = await shown(rig)
        early = await rig.say(word, sent_at=gate.asked_at - 5_000)
        assert early.fate is Fate.REFUSED and f"`{gate.code} {'y' if word == 'yes all' else word}`" in early.words
        assert (await rig.engine.gates.one(gate.id)).state == "open"
        by_code = await rig.say(f"{gate.code} y", sent_at=gate.asked_at - 5_000)
        assert by_code.fate is Fate.ANSWER
        await rig.ended(accepted.turn)


@pytest.mark.parametrize(("second", "fate"), [(0, Fate.REFUSED), (1, Fate.REFUSED), (2, Fate.ANSWER)])
async def test_a_platform_that_gives_only_seconds_makes_no_early_answer_valid(
    tmp_path: Path, second: int, fate: Fate
) -> None:
    """Times are rounded down: in the second after the card nobody may have had time to read it."""
    async with Rig(tmp_path) as rig:
        accepted = await rig.say(f"!approve {COMMAND}")
        (gate,) = await shown(rig)
        card = await rig.store.read(lambda tx: deliveries.get(tx, f"{gate.id}:ask"))
        assert card is not None and card.first_sent_at is not None
        left = card.first_sent_at // 1000 * 1000 + 980
        sql = "UPDATE deliveries SET first_sent_at = ? WHERE id = ?"
        await rig.store.write(lambda tx: tx.run(sql, left, card.id))
        assert (await rig.say("y", sent_at=(left // 1000 + second) * 1000)).fate is fate
        if fate is Fate.REFUSED:
            await rig.say(f"{gate.code} y")
        await rig.ended(accepted.turn)


async def test_text_sent_before_an_open_question_was_asked_is_for_the_agent(tmp_path: Path) -> None:
    async with Rig(tmp_path) as rig:
        accepted = await rig.say("!ask What is it called?")
        (gate,) = await shown(rig)
        early = await rig.say("look at the tests first", sent_at=gate.asked_at - 5_000)
        assert early.fate is Fate.STEER and gate.code in early.words
        await rig.say("Ariadne")
        await rig.ended(accepted.turn)
