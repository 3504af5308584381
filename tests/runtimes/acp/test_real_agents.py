"""Real ACP agents with our scripted model: they pass the kit, and the quirks of Hermes are handled."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from clew.model.events import GateClosed, GateOpened
from clew.model.gate_views import AnswerGate
from clew.model.gates import Decision
from clew.model.turns import TurnState
from clew.process.scan import Marks
from clew.support.clock import SystemClock
from clew.testing import runtime_kit
from clew.testing.runtime_kit import Check
from clew.testing.runtime_stage import YES, RuntimeRig
from clew.testing.scripted_model import ScriptedModel
from tests.helpers.rig import Rig
from tests.runtimes.real_agents import AGENTS, RealStage

pytestmark = [pytest.mark.process, pytest.mark.heavy, pytest.mark.timeout(1200)]


@pytest.mark.parametrize(
    ("name", "check"),
    [
        pytest.param(name, check, id=f"{name}-{runtime_kit.named(check)}")
        for name, agent in AGENTS.items()
        for check in runtime_kit.CHECKS
        if check.__name__ not in agent.fails
    ],
)
async def test_a_real_agent_conforms(name: str, check: Check, tmp_path: Path, own_model: ScriptedModel) -> None:
    await check(RealStage(tmp_path, name, own_model))


@pytest.mark.parametrize("name", AGENTS)
async def test_no_agent_reads_a_file_that_a_message_names(name: str, tmp_path: Path, own_model: ScriptedModel) -> None:
    """Claude's adapter would, if clew did not break the `@` for it. To those that do not, it is given as it is."""
    (tmp_path / "secret.txt").write_text("a secret outside of the workspace")
    async with RuntimeRig(RealStage(tmp_path, name, own_model)) as rig:
        session = await rig.open()
        for text in (f"see @{tmp_path}/secret.txt", f'see @"{tmp_path}/secret.txt"'):
            assert (await rig.run(session, f"{text}\n!text fine")).text == "fine"
        assert own_model.requests and not any("a secret outside" in str(each.body) for each in own_model.requests)


async def test_an_error_of_hermes_model_is_a_failure(tmp_path: Path, own_model: ScriptedModel) -> None:
    async with RuntimeRig(RealStage(tmp_path, "hermes", own_model)) as rig:
        session = await rig.open()
        ended = await rig.run(session, "!status 401")
        assert ended.state is TurnState.FAILED and ended.problem is not None and "401" in ended.problem.message
        assert ended.problem.code == "not_logged_in"
        await rig.assert_still_works(session)


async def test_hermes_titles_and_judgements_are_not_shown(tmp_path: Path, own_model: ScriptedModel) -> None:
    stage = RealStage(tmp_path, "hermes", own_model)
    async with RuntimeRig(stage) as rig:
        session = await rig.open()
        turn = rig.start(session, f"!approve {stage.command('one')}\n!text done")
        await session.answer((await turn.gate()).ref, YES)
        assert (await turn.end()).text == "done"
        assert own_model.count("!approve") == 2, "it asked its model more often than once before and once after"


async def test_a_hermes_that_forgot_a_session_gets_the_history(tmp_path: Path, own_model: ScriptedModel) -> None:
    """Hermes claims that it loaded the session."""
    stage = RealStage(tmp_path, "hermes", own_model)
    async with RuntimeRig(stage) as rig:
        session = await rig.open()
        await rig.run(session, "!text alpha")
        kept, past = session.continuity(), rig.past
    for file in (tmp_path / "home").glob("state.db*"):
        file.unlink()
    async with RuntimeRig(stage) as rig:
        rig.past = past
        again = await rig.open(kept)
        assert again.continuity() != kept
        assert "alpha" in (await rig.run(again, "!recall")).text


async def test_a_request_that_hermes_gave_up_is_withdrawn(tmp_path: Path, own_model: ScriptedModel) -> None:
    """The turn is cut before Hermes denies by itself, so that the person can be asked again."""
    stage = RealStage(tmp_path, "hermes", own_model)
    async with RuntimeRig(stage) as rig:
        session = await rig.open()
        turn = rig.start(session, f"!approve {stage.command('one')}\n!text done")
        gate = await turn.gate()
        assert (await turn.end()).state is TurnState.INTERRUPTED
        assert GateClosed(gate.ref, ran_out=True) in turn.events
        assert not await session.answer(gate.ref, YES)
        await rig.assert_still_works(session)
        assert stage.runs("one") == 0


async def test_opencode_reads_unasked_in_the_workspace_and_asks_elsewhere(
    tmp_path: Path, own_model: ScriptedModel, clock: SystemClock, marks: Marks
) -> None:
    """It asks before or after it names the folder, at random, so this is repeated."""
    stage = RealStage(tmp_path, "opencode", own_model)
    runtime = stage.runtime(clock, marks)
    assert runtime is not None
    async with Rig(stage.workspace, runtime=runtime) as rig:
        elsewhere = json.dumps({"command": "cat passwd", "workdir": "/etc", "description": "look"})
        for _ in range(3):
            said = await rig.say("!approve ls\n!text done")
            assert (await rig.ended(said.turn)).text == "done"
            await asks_in_etc(rig, (await rig.say(f"!tool x.bash {elsewhere}\n!text done")).turn)
    await runtime.close()


async def asks_in_etc(rig: Rig, turn: str | None) -> None:
    opened = await rig.until(lambda entry: entry.kind == "gate.opened" and entry.turn == turn)
    gate = await rig.engine.gates.one(opened.data["gate"])
    assert (gate.title, gate.folder, gate.state) == ("cat passwd", "/etc", "open")
    await rig.engine.gates.answer(gate.code, AnswerGate(Decision.DECLINE))
    await rig.ended(turn)


OPENCODE_PROJECTS = {
    "rules": {"permission": {"bash": {"*": "allow", "touch *": "allow"}, "edit": "allow"}},
    "agent": {"agent": {"build": {"permission": {"bash": "allow"}}}},
    "another-agent": {"default_agent": "x", "agent": {"x": {"mode": "primary", "permission": {"bash": "allow"}}}},
}


@pytest.mark.parametrize("project", OPENCODE_PROJECTS)
async def test_a_project_cannot_switch_off_that_opencode_asks(
    project: str, tmp_path: Path, own_model: ScriptedModel
) -> None:
    stage = RealStage(tmp_path, "opencode", own_model)
    (stage.workspace / "opencode.json").write_text(json.dumps(OPENCODE_PROJECTS[project]))
    async with RuntimeRig(stage) as rig:
        session = await rig.open()
        turn = rig.start(session, f"!approve {stage.command('one')}\n!text done")
        gate = await turn.gate()
        assert stage.runs("one") == 0
        await session.answer(gate.ref, YES)
        await turn.end()
        assert stage.runs("one") == 1


async def test_opencode_writes_what_was_approved_without_asking_twice(tmp_path: Path, own_model: ScriptedModel) -> None:
    """It lets clew write the text of its diff, and then writes it itself."""
    stage = RealStage(tmp_path, "opencode", own_model)
    async with RuntimeRig(stage) as rig:
        session = await rig.open()
        turn = rig.start(session, f"!patch {stage.workspace}/a.txt hello\n!text done")
        await session.answer((await turn.gate()).ref, YES)
        assert (await turn.end()).text == "done" and (stage.workspace / "a.txt").read_text() == "hello"
        assert len([event for event in turn.events if isinstance(event, GateOpened)]) == 1


async def test_hermes_does_not_say_where_and_so_no_folder_is_shown(tmp_path: Path, own_model: ScriptedModel) -> None:
    stage = RealStage(tmp_path, "hermes", own_model)
    (stage.workspace / "sub").mkdir()
    given = json.dumps({"command": stage.command("one"), "workdir": str(stage.workspace / "sub")})
    async with RuntimeRig(stage) as rig:
        session = await rig.open()
        turn = rig.start(session, f"!tool x.terminal {given}\n!text done")
        gate = await turn.gate()
        assert gate.asked.folder is None and gate.asked.unjudged and "in which folder" in gate.asked.detail
        await session.answer(gate.ref, YES)
        await turn.end()
        assert stage.folders("one") == [str(stage.workspace / "sub")]
