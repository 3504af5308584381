"""What a repository brings along runs nothing by itself: its hooks, servers and helpers are programs."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from clew.model.events import Notice
from clew.model.runtime import Seat
from clew.process.scan import Marks
from clew.runtimes.claude.program import trust
from clew.runtimes.claude.runtime import ClaudeRuntime
from clew.runtimes.claude.settings import ClaudeConfig
from clew.support.clock import SystemClock
from clew.testing.scripted_model import ScriptedModel
from tests.runtimes.claude.turns import ended, only, play


@pytest.fixture
def marks_of_programs(seat: Seat, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the programs of the repository leave a file each."""
    folder, workspace = tmp_path_factory.mktemp("ran"), Path(seat.workspace)
    hook = {"hooks": [{"type": "command", "command": f"touch {folder}/hook"}]}
    events = ("SessionStart", "UserPromptSubmit", "Stop")
    settings = {
        "hooks": {event: [hook] for event in events},
        "apiKeyHelper": f"touch {folder}/helper",
        "enableAllProjectMcpServers": True,
    }
    server = {"command": "sh", "args": ["-c", f"touch {folder}/server"]}
    (workspace / ".claude").mkdir()
    (workspace / ".claude/settings.json").write_text(json.dumps(settings))
    (workspace / ".mcp.json").write_text(json.dumps({"mcpServers": {"box": server}}))
    (workspace / "CLAUDE.md").write_text("The word is xylophone.\n")
    return folder


@pytest.mark.process
async def test_programs_of_a_repository_do_not_run_and_its_instructions_count(
    runtime: ClaudeRuntime, seat: Seat, marks_of_programs: Path, model: ScriptedModel
) -> None:
    session = await runtime.open(seat)
    events = await play(session, "!text hello")
    assert ended(events).text == "hello" and list(marks_of_programs.iterdir()) == []
    assert "xylophone" in json.dumps(model.requests[-1].body)
    assert [notice.text[:34] for notice in only(events, Notice)] == ["The settings, hooks and MCP server"]
    assert not only(await play(session, "!text again", "second"), Notice), "it is told once"


@pytest.mark.heavy
@pytest.mark.process
async def test_hooks_of_a_folder_that_its_person_trusts_run(
    config: ClaudeConfig, clock: SystemClock, marks: Marks, seat: Seat, marks_of_programs: Path
) -> None:
    runtime = ClaudeRuntime(replace(config, trust_projects=True), clock, marks)
    try:
        events = await play(await runtime.open(seat), "!text hello")
    finally:
        await runtime.close()
    assert (marks_of_programs / "hook").exists() and not only(events, Notice)


def test_a_folder_is_trusted_if_claude_knows_it_or_one_above(tmp_path: Path) -> None:
    home, config = tmp_path / "home", ClaudeConfig(home=str(tmp_path / "home"))
    home.mkdir()
    inside = tmp_path / "project" / "part"
    inside.mkdir(parents=True)
    assert not trust.is_trusted(config, str(inside))
    for damaged in ("", "[]", '{"projects": 7}'):
        (home / ".claude.json").write_text(damaged)
        assert not trust.is_trusted(config, str(inside))
    known = {str(tmp_path / "project"): {"hasTrustDialogAccepted": True, "more": 1}, str(tmp_path): {}}
    (home / ".claude.json").write_text(json.dumps({"projects": known}))
    assert trust.is_trusted(config, str(inside)) and not trust.is_trusted(config, str(home))


def test_instructions_that_lead_out_of_the_folder_are_not_followed(tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("s")
    (tmp_path / "project").mkdir()
    (tmp_path / "project/CLAUDE.md").symlink_to(tmp_path / "secret")
    assert trust.arguments(ClaudeConfig(home=str(tmp_path)), str(tmp_path / "project")) == (
        "--setting-sources",
        "user",
    )
