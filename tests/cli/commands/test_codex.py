"""`clew codex`: the Codex that clew uses."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.helpers.daemons import Clew

pytestmark = pytest.mark.process


def test_codex_command_uses_the_configured_program_and_home(tmp_path: Path) -> None:
    program = tmp_path / "my codex"
    program.write_text('#!/bin/sh\necho "$CODEX_HOME: $*"\n')
    program.chmod(0o755)
    config = f'[runtimes.codex]\ncommand = "{program}"\nhome = "{tmp_path}"\n'
    with Clew(tmp_path / "home", config) as clew:
        assert clew("codex", "login", "--api-key", "--help") == f"{tmp_path}: login --api-key --help\n"


def test_login_runs_the_login_of_the_agent_that_is_named(tmp_path: Path) -> None:
    program = tmp_path / "agent"
    program.write_text('#!/bin/sh\necho "$CODEX_HOME$CLAUDE_CONFIG_DIR: $*"\n')
    program.chmod(0o755)
    table = f'command = "{program}"\nhome = "{tmp_path}"\n'
    work = f'[runtimes.work]\ntype = "codex"\ncommand = "{program}"\nhome = "/work"\n'
    with Clew(tmp_path / "home", f"[runtimes.codex]\n{table}[runtimes.claude]\n{table}{work}") as clew:
        assert clew("login") == clew("login", "codex") == f"{tmp_path}: login\n"
        assert clew("login", "work") == "/work: login\n"
        assert clew("login", "claude") == f"{tmp_path}: auth login\n"
        assert "own program" in clew.run("login", "gemini").err and clew.run("login", "nobody").code == 2


def test_codex_command_without_codex_says_what_to_do(tmp_path: Path) -> None:
    with Clew(tmp_path / "home", '[runtimes.codex]\ncommand = "/no/such/codex"\n') as clew:
        result = clew.run("codex", "login")
    assert result.code == 1 and "was not found" in result.err
