"""Forks: whose history a new thread has."""

from __future__ import annotations

from pathlib import Path

from clew.model.threads import ThreadKind
from tests.helpers.rig import Rig


async def test_a_fork_of_a_fresh_fork_has_the_same_history(tmp_path: Path) -> None:
    async with Rig(tmp_path) as rig:
        accepted = await rig.start("!text hi", kind=ThreadKind.CHAT)
        await rig.ended(accepted.turn)
        one = await rig.engine.threads.fork(accepted.thread or "", None, None)
        two = await rig.engine.threads.fork(one.id, None, None)
        told = [passage.text for passage in await rig.engine.threads.transcript(two.id, 50)]
        said = await rig.send(two.id, "!recall")
        turn = await rig.ended(said.turn)
    assert told[:2] == ["!text hi", "hi"] and turn.text.startswith("I know 2 messages")
