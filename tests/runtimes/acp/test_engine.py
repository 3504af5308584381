"""ACP agents with the real engine: history is kept and replayed, a crash does not end a turn, and nobody waits for
ever."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from msgspec.structs import replace

from clew.model.threads import SessionBegan
from clew.process.scan import Marks
from clew.runtimes.acp.agents.known import KNOWN, Entry, Quirks
from clew.runtimes.acp.agents.settings import AcpConfig
from clew.runtimes.acp.runtime import AcpRuntime
from clew.store.tables import continuity
from clew.support.clock import SystemClock
from tests.helpers.rig import Rig
from tests.runtimes.stages import PipeStage, acp_config

pytestmark = pytest.mark.process


class World:
    """Daemons in one folder, each with its own agent."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.clock = SystemClock()
        self.marks = Marks(f"acp{self.clock.token()[:10]}", "now")
        self.runtimes: list[AcpRuntime] = []

    def daemon(self, *what: str, quirks: Quirks = Quirks(), config: AcpConfig | None = None) -> Rig:  # noqa: B008
        config = config or acp_config(self.folder, *what)
        entry = Entry("player", "Player", config.command, quirks=quirks)
        self.runtimes.append(AcpRuntime(entry, config, self.clock, self.marks))
        return Rig(self.folder, runtime=self.runtimes[-1])


@pytest.fixture
async def world(tmp_path: Path) -> AsyncIterator[World]:
    world = World(tmp_path)
    yield world
    for runtime in world.runtimes:
        await runtime.close()


async def test_a_thread_goes_on_with_an_agent_that_has_forgotten_it(world: World) -> None:
    async with world.daemon() as rig:
        first = await rig.say("!text one")
        assert (await rig.ended(first.turn)).text == "one"
    await world.runtimes[0].close()
    async with world.daemon() as rig:
        again = await rig.say("!recall")
        text = (await rig.ended(again.turn)).text
        assert "ann said:\n> !text one" in text and "You answered:\n> one" in text and text.count("!recall") == 1
        [bond] = await rig.store.read(lambda tx: continuity.links(tx, again.thread or ""))
        assert (bond.status, bond.restarts, bond.trouble) == ("cold", 0, None) and bond.used_at
        assert bond.began is SessionBegan.REBUILT


async def test_the_turn_of_an_agent_that_dies_is_continued_with_a_note(world: World) -> None:
    async with world.daemon() as rig:
        said = await rig.say("!text one\n!die")
        ended = await rig.ended(said.turn)
        assert ended.state == "interrupted"
        await rig.until(lambda entry: entry.kind == "turn.queued" and entry.data.get("origin") == "continuation")


async def test_a_timed_out_question_is_asked_again_then_left_to_the_person(world: World) -> None:
    """The second time the person decides whether to continue."""
    quirks = replace(KNOWN["hermes"].quirks, gate_timeout=0.3)
    async with world.daemon(quirks=quirks) as rig:
        said = await rig.say("!approve touch ran\n!text done")
        await rig.until(lambda entry: entry.kind == "gate.void" and "asks anew" in str(entry.data.get("why")))
        await rig.until(lambda entry: entry.kind == "gate.opened" and entry.turn != said.turn)
        await rig.until(lambda entry: entry.kind == "thread.status" and entry.data.get("status") == "suspended")
        assert not (world.folder / "ran").exists()


async def test_a_missing_agent_fails_the_turn_and_keeps_the_message(world: World) -> None:
    async with world.daemon(config=AcpConfig(("no-such-agent",))) as rig:
        said = await rig.say("!text one")
        ended = await rig.ended(said.turn)
        assert ended.state == "failed" and "no no-such-agent on the PATH" in str(ended)
        [bond] = await rig.store.read(lambda tx: continuity.links(tx, said.thread or ""))
        assert bond.status == "error" and "no-such-agent" in (bond.trouble or "")
    async with world.daemon() as rig:
        assert "!text one" in (await rig.ended((await rig.say("!recall")).turn)).text


async def test_after_a_daemon_died_in_a_turn_it_is_cut_and_not_absent(world: World) -> None:
    """It is unknown how far it got, so it is not simply sent again."""
    pipes = PipeStage(world.folder)
    async with world.daemon() as rig:
        said = await rig.say("!text one\n!hold here\n!text two")
        await pipes.wait_held("here")
        await rig.kill()
    await world.runtimes[0].close()
    async with world.daemon() as rig:
        assert (await rig.ended(said.turn)).state == "interrupted"
        await pipes.wait_held("here")
        pipes.release("here")
        entry = await rig.until(lambda entry: entry.kind == "turn.queued" and entry.turn != said.turn)
        assert (await rig.ended(entry.turn)).text == "onetwo"
