"""`clew diff`: the changes that an agent reported."""

from __future__ import annotations

import subprocess
import time
from pathlib import Path

import pytest

from clew.cli.commands.diff import overwritten
from tests.cli.terminal import Terminal
from tests.helpers.daemons import Clew

pytestmark = pytest.mark.process


def test_diff_shows_the_changes_of_a_thread(clew: Clew) -> None:
    thread = clew.json("run", "!patch a.txt one\n!text done", "--policy", "yolo")["thread"]
    clew.wait_ended(clew.json("send", thread, "!patch b.txt two\n!text done"))
    both, last = clew.json("diff", thread), clew.json("diff", thread, "--last")
    assert [change["paths"] for change in both] == ["a.txt", "b.txt"] and last == both[1:]
    shown = clew("diff", thread)
    assert shown.index("diff a.txt") < shown.index("diff b.txt") and "+one" in shown
    with Terminal(clew, ["diff", thread]) as terminal:
        assert terminal.wait() == 0
    assert "\x1b[32m+one" in terminal.raw


def test_a_thread_without_changes_says_so(clew: Clew) -> None:
    thread = clew.json("run", "!text hi")["thread"]
    result = clew.run("diff", thread)
    assert (result.code, result.out) == (0, "") and "no changes to files" in result.err


def test_a_file_that_git_had_before_is_no_new_file(tmp_path: Path) -> None:
    def git(*words: str) -> None:
        subprocess.run(["git", "-C", str(tmp_path), "-c", "user.name=x", "-c", "user.email=x", *words], check=True)

    git("init", "-q")
    (tmp_path / "a.txt").write_text("one")
    git("add", "a.txt")
    git("commit", "-q", "-m", "first")
    diff = "--- /dev/null\n+++ a.txt\n+two\n--- /dev/null\n+++ b.txt\n+two\n"
    [note] = overwritten(str(tmp_path), diff, time.time() + 1)
    assert note.startswith("(the agent says that a.txt is new, but commit ")
    assert list(overwritten(str(tmp_path), diff, 1_000_000_000)) == []
    assert list(overwritten(str(tmp_path / "gone"), diff, time.time())) == []
