"""What a person denies or wants to be asked about holds: in Claude's own settings, in those of a folder, in clew."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from clew.model.events import Activity, GateOpened, Outcome, Phase
from clew.model.gates import Asked
from clew.model.runtime import Seat
from clew.runtimes.claude.program import folder_rules
from clew.runtimes.claude.program.folder_rules import FolderRules
from clew.runtimes.claude.runtime import ClaudeRuntime
from tests.runtimes.claude.turns import only, play

RULES = {
    "ask": ["Read(./asked.txt)", "Agent", "Bash(ls:*)"],
    "deny": ["Bash(touch:*)", "Read(./hidden.txt)"],
}


@pytest.fixture
def persons_rules(home: Path) -> Iterator[None]:
    before = (home / "settings.json").read_text()
    (home / "settings.json").write_text(json.dumps({**json.loads(before), "permissions": RULES}))
    yield
    (home / "settings.json").write_text(before)


@pytest.fixture
def folders_rules(tmp_path: Path) -> None:
    write(tmp_path, permissions={**RULES, "allow": ["Bash", "Read"], "defaultMode": "bypassPermissions"})


def write(folder: Path, name: str = "settings.json", **settings: Any) -> None:
    (folder / ".claude").mkdir(exist_ok=True)
    (folder / ".claude" / name).write_text(json.dumps(settings))


def script(folder: Path) -> str:
    for name in ("asked.txt", "free.txt", "hidden.txt"):
        (folder / name).write_text(name)
    reads = [f"!tool Read {json.dumps({'file_path': str(folder / name)})}" for name in ("asked.txt", "free.txt")]
    hidden = f"!tool Read {json.dumps({'file_path': str(folder / 'hidden.txt')})}"
    agent = {"description": "look", "subagent_type": "general-purpose", "run_in_background": False}
    call = f"!tool Agent {json.dumps({**agent, 'prompt': '!text below'})}"
    return "\n".join((*reads, hidden, "!approve touch made", "!approve ls", call, "!text ok"))


async def check(runtime: ClaudeRuntime, seat: Seat, folder: Path) -> None:
    events = await play(await runtime.open(seat), script(folder))
    gates = [gate.asked for gate in only(events, GateOpened)]
    assert [gate.title for gate in gates] == ["Read", "ls", "Agent"]
    assert all("ask rule" in gate.unjudged for gate in gates), "no policy but yolo allows it"
    refused = [act.title for act in only(events, Activity) if act.phase is Phase.DONE and act.outcome is not Outcome.OK]
    assert refused == [f"Read {folder / 'hidden.txt'}", "touch made"] and not (folder / "made").exists()


@pytest.mark.process
async def test_rules_of_the_persons_settings_hold(
    runtime: ClaudeRuntime, seat: Seat, tmp_path: Path, persons_rules: None
) -> None:
    await check(runtime, seat, tmp_path)


@pytest.mark.process
async def test_rules_of_an_untrusted_folder_that_restrict_hold(
    runtime: ClaudeRuntime, seat: Seat, tmp_path: Path, folders_rules: None
) -> None:
    await check(runtime, seat, tmp_path)


@pytest.mark.process
async def test_what_is_free_is_a_gate_if_a_rule_of_clew_is_about_it(
    runtime: ClaudeRuntime, seat: Seat, tmp_path: Path
) -> None:
    async def is_restricted(asked: Asked) -> bool:
        return asked.title == "Agent"

    events = await play(await runtime.open(replace(seat, is_restricted=is_restricted)), script(tmp_path))
    assert [gate.asked.title for gate in only(events, GateOpened)][-1] == "Agent"
    assert "Read" not in [gate.asked.title for gate in only(events, GateOpened)]


def test_rules_of_both_files_count_and_paths_of_the_folder_are_absolute(tmp_path: Path) -> None:
    write(tmp_path, permissions={"ask": ["Edit(/src/**)", "Bash(/bin/x)"], "deny": ["Read(//etc/**)", "Read(~/x)"]})
    write(
        tmp_path, "settings.local.json", permissions={"ask": ["WebFetch", "WebFetch"], "deny": "Bash", "allow": ["*"]}
    )
    assert folder_rules.read(str(tmp_path)) == FolderRules(
        (f"Edit(/{tmp_path}/src/**)", "Bash(/bin/x)", "WebFetch"), ("Read(//etc/**)", "Read(~/x)")
    )
    assert folder_rules.read(str(tmp_path)).asked_tools == {"WebFetch"}


@pytest.mark.parametrize(
    "text",
    ["", "[]", "{", "[" * 100_000, '{"permissions": 7}', '{"permissions": {"ask": {}, "deny": [7, "", "((", "x y"]}}'],
)
def test_settings_that_cannot_be_read_have_no_rules(tmp_path: Path, text: str) -> None:
    (tmp_path / ".claude").mkdir()
    (tmp_path / ".claude/settings.json").write_text(text)
    assert folder_rules.read(str(tmp_path)) == FolderRules()


def test_settings_behind_a_link_out_of_the_folder_are_not_read(tmp_path: Path) -> None:
    project = tmp_path / "project"
    (project / ".claude").mkdir(parents=True)
    write(tmp_path, permissions={"deny": ["Bash"]})
    (project / ".claude/settings.json").symlink_to(tmp_path / ".claude/settings.json")
    assert folder_rules.read(str(project)) == FolderRules()


@pytest.mark.parametrize("size", [folder_rules.MOST, folder_rules.LARGEST])
def test_rules_of_a_folder_that_are_too_many_make_claude_ask_about_everything(tmp_path: Path, size: int) -> None:
    (tmp_path / ".claude").mkdir()
    rules = {"permissions": {"deny": [f"Read(./{'x' * size})"]}}
    (tmp_path / ".claude" / "settings.json").write_text(json.dumps(rules))
    assert folder_rules.read(str(tmp_path)).asked_tools == {"*"}
