"""Finding `claude`: missing, too old, logged out; and the command line that it gets."""

from __future__ import annotations

import json
import stat
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path

import pytest

from clew.model.runtime import Seat
from clew.process.scan import Marks
from clew.runtimes.claude import problems
from clew.runtimes.claude.program import arguments, binary
from clew.runtimes.claude.program.arguments import Begin
from clew.runtimes.claude.runtime import ClaudeRuntime
from clew.runtimes.claude.settings import ClaudeConfig
from clew.support.clock import SystemClock

Make = Callable[[str], ClaudeConfig]


@pytest.fixture
def program(tmp_path: Path) -> Make:
    def make(script: str) -> ClaudeConfig:
        path = tmp_path / "claude"
        path.write_text(f"#!/bin/sh\n{script}\n")
        path.chmod(0o755)
        return ClaudeConfig(str(path))

    return make


def test_a_program_that_cannot_be_run_says_why_and_what_to_do(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "claude"
    path.write_text("")
    path.chmod(stat.S_IRUSR)
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(problems.ClaudeMissing, match="not executable"):
        binary.locate(ClaudeConfig())
    with pytest.raises(problems.ClaudeMissing, match="npm install -g @anthropic-ai/claude-code"):
        binary.locate(ClaudeConfig(str(tmp_path / "nothing")))


@pytest.mark.process
async def test_an_old_or_strange_program_is_refused(program: Make, clock: SystemClock, marks: Marks) -> None:
    with pytest.raises(problems.ClaudeTooOld, match=r"2\.1\.326 or newer"):
        await binary.find(program("echo '2.0.1 (Claude Code)'"), clock, marks)
    with pytest.raises(problems.ClaudeExits, match="does not say that it is Claude Code"):
        await binary.find(program("echo hello"), clock, marks)


@pytest.mark.process
async def test_a_missing_login_is_told_before_any_turn(program: Make, clock: SystemClock, marks: Marks) -> None:
    script = '[ "$1" = auth ] && { echo \'{"loggedIn": false, "authMethod": "none"}\'; exit 1; }\necho 9.0.0'
    with pytest.raises(problems.ClaudeNotLoggedIn, match="claude auth login"):
        await ClaudeRuntime(program(script), clock, marks).look()
    found = await ClaudeRuntime(program(script.replace("false", "true")), clock, marks).look()
    assert (found.version, found.logged_in) == ("9.0.0", True)


def test_every_policy_asks_about_everything_and_names_the_mode() -> None:
    argv = arguments.command_line("claude", Begin("id"), Seat("t", "/w", model="m", effort="low"), ClaudeConfig())
    given = dict(pairwise(argv))
    assert json.loads(given["--settings"])["permissions"] == {"ask": ["*"]}
    assert (given["--permission-mode"], given["--permission-prompt-tool"]) == ("default", "stdio")
    assert (given["--session-id"], given["--model"], given["--effort"]) == ("id", "m", "low")
    assert not any("skip-permissions" in word for word in argv)


def test_a_session_is_begun_resumed_or_copied() -> None:
    def words(begin: Begin) -> list[str]:
        return arguments.command_line("claude", begin, Seat("t", "/w"), ClaudeConfig())[-6:]

    assert words(Begin("a", is_known=True))[-2:] == ["--resume", "a"]
    copied = words(Begin("b", source="a", at="row"))
    assert copied[-6:] == ["a", "--fork-session", "--session-id", "b", "--resume-session-at", "row"]
