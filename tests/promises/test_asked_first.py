"""Promises 6 and 13 with the real Codex: in a repository that an attacker prepared, clew asks a person about a command
that seems to only read, before anything runs; and a deny holds under every policy that promises it."""

from __future__ import annotations

import os
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.crash.conftest import System, open_system

pytestmark = pytest.mark.process


@pytest.fixture
def desk(tmp_path: Path) -> Iterator[System]:
    with open_system(tmp_path / "desk") as made:
        yield made


def test_6_a_deny_holds_under_the_policy_sandbox_and_the_sandbox_comes_back_without_it(
    desk: System, tmp_path: Path
) -> None:
    """Codex asks about nothing that runs inside its sandbox, so a deny would not see it."""
    work = tmp_path / "work"
    work.mkdir()
    rule = desk.clew.json("rules", "add", "deny", "touch denied", "--kind", "command")["id"]
    words = ("!shell touch denied; touch one\n!text the end", "--policy", "sandbox", "--workspace", str(work))
    thread = desk.clew.json("start", *words)["thread"]
    notice = desk.clew.wait_for(thread, "notice").data["data"]["text"]
    desk.clew.wait_for(thread, "thread.status", status="completed")
    assert "`careful`" in notice and list(work.iterdir()) == []
    desk.clew("rules", "remove", rule)
    with tempfile.TemporaryDirectory(dir="/var/tmp", prefix="clew-outside-") as outside:
        desk.clew("run", f"!shell touch denied; touch two; touch {outside}/three\n!text done", *words[1:])
        assert {path.name for path in work.iterdir()} == {"denied", "two"}
        assert list(Path(outside).iterdir()) == []


def git(folder: Path, *words: str) -> None:
    clean = {key: value for key, value in os.environ.items() if not key.startswith("GIT_")}
    subprocess.run(["git", "-C", folder, *words], check=True, env=clean, capture_output=True)


def with_prepared_submodule(work: Path) -> str:
    git(work, "update-index", "--add", "--cacheinfo", f"160000,{'1' * 40},sub")
    git(work, "init", "-q", "sub")
    git(work / "sub", "config", "core.fsmonitor", f"touch {work}/RAN; false")
    return "git status"


def with_file_named_like_an_option(work: Path) -> str:
    (work / "-c").write_text(f"[core]\n\tfsmonitor = touch {work}/RAN; false\n")
    return "uniq -- -c .git/config"


def with_prepared_config(work: Path) -> str:
    git(work, "config", "core.fsmonitor", f"touch {work}/RAN; false")
    return "git diff"


@pytest.mark.parametrize("prepare", [with_prepared_submodule, with_file_named_like_an_option, with_prepared_config])
@pytest.mark.parametrize(("policy", "how"), [("careful", "!shell"), ("trusted", "!beyond")])
def test_13_a_prepared_repository_runs_nothing_unasked(
    desk: System, tmp_path: Path, prepare: Callable[[Path], str], policy: str, how: str
) -> None:
    work = tmp_path / "work"
    work.mkdir()
    git(work, "init", "-q")
    command = prepare(work)
    before = (work / ".git/config").read_text()
    words = ("start", f"{how} {command}\n!text the end", "--policy", policy, "--workspace", str(work))
    thread = desk.clew.json(*words)["thread"]
    gate = desk.clew.json("gates", desk.clew.wait_for(thread, "gate.opened").data["data"]["gate"])
    assert gate["state"] == "open" and command in gate["title"]
    desk.clew("deny", gate["code"])
    desk.clew.wait_for(thread, "thread.status", status="completed")
    assert not (work / "RAN").exists() and (work / ".git/config").read_text() == before
