"""The runtime kit for every runtime, with the real programs."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from clew.model.gates import Policy
from clew.runtimes.acp.approvals.grants import Grant, Grants
from clew.support.home import Home
from clew.testing import runtime_agent_checks, runtime_history_checks, runtime_kit, runtime_policy_checks
from clew.testing.runtime_kit import Check
from clew.testing.scripted_model import ScriptedModel, write_claude_home, write_codex_home
from tests.helpers.paths import ROOT
from tests.runtimes.stages import AcpStage, ClaudeStage, CodexStage, ScriptedStage

LONG = (runtime_kit.a_frozen_agent_is_given_up_in_time,)


ALWAYS = (  # the other checks are heavy for Codex; tests/runtimes/codex covers them too
    runtime_kit.an_accepted_command_runs_exactly_once,
    runtime_kit.an_agent_killed_while_idle_is_restarted,
    runtime_policy_checks.a_command_has_the_fate_of_its_policy,
    runtime_policy_checks.a_sandbox_is_left_only_by_a_yes_which_counts_once,
)


CLAUDE_ALWAYS = (  # the other checks are heavy for Claude; tests/runtimes/claude covers them too
    runtime_kit.an_accepted_command_runs_exactly_once,
    runtime_kit.a_killed_agent_leaves_the_turn_in_doubt,
    runtime_policy_checks.a_command_has_the_fate_of_its_policy,
)


def checks(heavy: Callable[[Check], bool]) -> list[object]:
    return [
        pytest.param(check, id=runtime_kit.named(check), marks=[pytest.mark.heavy] if heavy(check) else [])
        for check in runtime_kit.CHECKS
    ]


@pytest.mark.parametrize("check", runtime_kit.CHECKS, ids=runtime_kit.named)
async def test_scripted_conforms(check: Check, tmp_path: Path) -> None:
    await check(ScriptedStage(tmp_path))


@pytest.mark.process
@pytest.mark.parametrize("check", checks(lambda check: check not in ALWAYS))
async def test_codex_conforms(
    check: Check, tmp_path: Path, tmp_path_factory: pytest.TempPathFactory, own_model: ScriptedModel
) -> None:
    home = write_codex_home(tmp_path_factory.mktemp("codex"), own_model.url, stream_retries=1)
    await check(CodexStage(tmp_path, home, own_model))


@pytest.mark.process
@pytest.mark.parametrize("check", checks(lambda check: check not in CLAUDE_ALWAYS))
async def test_claude_conforms(
    check: Check, tmp_path: Path, tmp_path_factory: pytest.TempPathFactory, own_model: ScriptedModel
) -> None:
    home = write_claude_home(tmp_path_factory.mktemp("claude"), own_model.address, subscription=True)
    await check(ClaudeStage(tmp_path, home, own_model))


@pytest.mark.heavy
@pytest.mark.process
@pytest.mark.parametrize("check", runtime_kit.CHECKS, ids=runtime_kit.named)
async def test_a_kept_codex_conforms(
    check: Check, tmp_path: Path, tmp_path_factory: pytest.TempPathFactory, own_model: ScriptedModel
) -> None:
    home = write_codex_home(tmp_path_factory.mktemp("codex"), own_model.url, stream_retries=1)
    await check(CodexStage(tmp_path, home, own_model, Home(tmp_path_factory.mktemp("clew"))))


@pytest.mark.process
@pytest.mark.parametrize("check", checks(lambda check: check in LONG))
@pytest.mark.parametrize(
    "what", ["", pytest.param("load", marks=pytest.mark.heavy), pytest.param("wedges", marks=pytest.mark.heavy)]
)
async def test_an_acp_agent_conforms(check: Check, what: str, tmp_path: Path) -> None:
    """An agent that forgets everything, one that reopens its sessions, and one whose session is unusable after a
    stop."""
    await check(AcpStage(tmp_path, *filter(None, [what])))


ODD_AGENTS = [
    (runtime_agent_checks.a_gate_always_shows_the_command, ["shell"]),
    (runtime_agent_checks.one_command_is_asked_about_once, ["shell"]),
    (runtime_agent_checks.one_command_is_asked_about_once, ["shell=-lc", "name=fast-agent-acp"]),
    (runtime_kit.an_accepted_command_runs_exactly_once, ["texts", "name=Kimi Code CLI"]),
    (runtime_kit.an_accepted_command_runs_exactly_once, ["confirms", "name=OpenHands CLI ACP Agent"]),
    (runtime_kit.a_declined_command_does_not_run, ["confirms", "name=OpenHands CLI ACP Agent"]),
    (runtime_agent_checks.a_command_runs_in_the_folder_of_its_thread, ["here"]),
    (runtime_agent_checks.an_error_of_the_model_is_not_an_answer, ["name=Copilot"]),
    (runtime_agent_checks.a_session_that_was_resumed_is_the_stored_one, ["load", "unloads"]),
    (runtime_history_checks.a_session_says_how_it_began, ["load", "unloads"]),
    (runtime_agent_checks.each_offered_model_can_be_chosen, ["providers"]),
    (runtime_agent_checks.stopping_one_thread_leaves_the_others_alone, ["deaf"]),
    (runtime_kit.a_steer_is_in_the_turn_or_refused, ["steers"]),
    (runtime_agent_checks.the_reason_of_a_no_reaches_the_model, ["steers"]),
]


@pytest.mark.process
@pytest.mark.parametrize(
    ("check", "what"), ODD_AGENTS, ids=lambda given: runtime_kit.named(given) if callable(given) else None
)
async def test_an_acp_agent_that_is_odd_conforms(check: Check, what: list[str], tmp_path: Path) -> None:
    stage = AcpStage(tmp_path, *what)
    stage.deadline = 1.0 if "deaf" in what else stage.deadline
    await check(stage)


def test_the_docs_have_the_table_of_policies_that_the_kit_checks() -> None:
    lines = (ROOT / "docs/reference/rules.md").read_text().splitlines()
    for policy, (boxed, unboxed) in runtime_policy_checks.FATES.items():
        assert f"| `{policy}` | {boxed} | {unboxed} |" in lines
    assert set(runtime_policy_checks.FATES) == set(Policy)


def used_up_never(grants: Grants, wanted: Grant) -> bool:
    return wanted in grants._open


def careless_about(*names: str) -> Callable[[Grants, Grant], bool]:
    def use(grants: Grants, wanted: Grant) -> bool:
        alike = [each for each in grants._open if without(names, each) == without(names, wanted)]
        return bool(alike)

    return use


def without(names: tuple[str, ...], grant: Grant) -> list[object]:
    return [type(grant), *(getattr(grant, name) for name in grant.__struct_fields__ if name not in names)]


FAULTS = {
    "one yes for ever": used_up_never,
    "any command": careless_about("argv"),
    "any folder": careless_about("folder"),
    "any environment": careless_about("env"),
    "any text": careless_about("text"),
}


@pytest.mark.process
@pytest.mark.parametrize("fault", FAULTS)
async def test_the_kit_finds_a_runtime_that_a_hostile_agent_can_fool(
    fault: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Grants, "use", FAULTS[fault])
    with pytest.raises(AssertionError, match=r"it ran in|another text"):
        await runtime_kit.a_hostile_agent_gets_only_what_was_accepted(AcpStage(tmp_path))
