"""Forks: whose history a new thread has."""

from __future__ import annotations

from pathlib import Path

from clew.config.settings import Config, ThreadsConfig
from clew.model.threads import ThreadKind
from clew.testing.scripted_model import script
from clew.testing.scripted_runtime.session import from_prompt
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


async def test_a_fork_is_told_what_the_account_refused(tmp_path: Path) -> None:
    """Its agent may have kept nothing of the refused turn."""
    config = Config(threads=ThreadsConfig(runtime="scripted", on_limit="never"))
    async with Rig(tmp_path, config=config) as rig:
        rig.scripted.play = lambda request: (script.Error("insufficient_quota"),)
        refused = await rig.start("!text hi", kind=ThreadKind.CHAT)
        assert (await rig.ended(refused.turn)).state == "failed"
        rig.scripted.play = from_prompt
        fork = await rig.engine.threads.fork(refused.thread or "", None, None)
        await rig.ended((await rig.send(fork.id, "!text well")).turn)
        [*_, played] = rig.scripted.ledger.load(f"scripted-{fork.id}")
    assert "> !text hi" in played.prelude
