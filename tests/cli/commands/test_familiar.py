"""Commands that people know from other programs, and what is said about one that does not exist."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from click.testing import CliRunner

from clew.cli.command_list import COMMANDS, SECTIONS
from clew.cli.main import cli
from clew.cli.output import Out
from clew.support.version import __version__
from tests.helpers.daemons import SCRIPTED, Clew

pytestmark = pytest.mark.process


def test_version_and_ls_do_what_one_expects(clew: Clew) -> None:
    assert clew("version") == f"clew {__version__}\n" and clew.json("version") == {"version": __version__}
    clew("run", "!text hi", "--title", "one of them")
    assert clew("ls") == clew("list") and "one of them" in clew("ls")


def test_login_logs_in_to_codex_and_names_the_way_of_another_agent(tmp_path: Path) -> None:
    program = tmp_path / "codex"
    program.write_text('#!/bin/sh\necho "logs in: $*"\n')
    program.chmod(0o755)
    with Clew(tmp_path / "home", f'{SCRIPTED}[runtimes.codex]\ncommand = "{program}"\n') as clew:
        assert clew("login", "codex") == "logs in: login\n"
        other = clew.run("login", "goose")
        assert other.code == 2 and "goose" in other.err


def test_help_shows_what_dash_dash_help_shows() -> None:
    def shown(*words: str) -> str:
        return CliRunner().invoke(cli, list(words), obj=Out(), prog_name="clew").output

    assert shown("help") == shown("--help") and shown("help", "run") == shown("run", "--help")
    assert all(re.search(rf"^  {name} ", shown("help", "--all"), re.MULTILINE) for name in COMMANDS)


def test_at_most_eight_commands_are_described_at_first() -> None:
    described = re.findall(r"^  (\w+)  +\w.*\.$", CliRunner().invoke(cli, ["--help"], obj=Out()).output, re.MULTILINE)
    first, *_ = SECTIONS.values()
    assert [name for name in described if name in COMMANDS] == list(first) and len(first) <= 8


@pytest.mark.parametrize(("typed", "meant"), [("thread", "threads"), ("aprove", "approve"), ("exti", None)])
def test_a_mistyped_command_names_the_nearest(clew: Clew, typed: str, meant: str | None) -> None:
    result = clew.run(typed)
    assert result.code == 2 and f"There is no command '{typed}'" in result.err
    assert (f"Did you mean `clew {meant}`" in result.err) if meant else ("Did you mean" not in result.err)


@pytest.mark.parametrize("typed", ["search", "find", "grep"])
def test_a_command_that_searches_elsewhere_names_the_list_of_threads(clew: Clew, typed: str) -> None:
    result = clew.run(typed, "staging")
    assert result.code == 2 and "Did you mean `clew threads WORDS`?" in result.err
