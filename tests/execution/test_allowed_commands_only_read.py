"""Runs the commands that clew allows because "it only reads inside the workspace", in hostile workspaces, and checks
that they only read. Run it alone with `./check tests/execution`, or with all commands: `./check --all tests/execution`.
"""

from __future__ import annotations

import re
import shutil
import sys
from collections.abc import Iterable
from itertools import cycle
from pathlib import Path

import pytest

from tests.execution.corpus import SHELLS, useful
from tests.execution.judging import allowed, gather, installed, programs
from tests.execution.watching import Run, watch
from tests.execution.workspaces import build, build_all

pytestmark = [pytest.mark.process, pytest.mark.skipif(sys.platform != "linux", reason="only tried on Linux")]
NEEDED = ("rg", "tree", "zsh", "file")  # may be missing on a machine
WANTED, FAST_SLICES = 200, 6  # 1,200 commands, and a sixth of all attacks with each, in ./check
WANTED_HEAVY, SLICES = 2_000, 31  # and 50,000 more by --all


@pytest.mark.parametrize("program", ["strace", *NEEDED])
def test_the_programs_that_these_tests_need_are_installed(program: str) -> None:
    """Without them the other tests here see less; in CI a skip counts as a failure."""
    if shutil.which(program) is None:
        pytest.skip(f"{program} is not installed")


@pytest.mark.timeout(1200)
@pytest.mark.parametrize(
    "slice_",
    [*range(FAST_SLICES), *(pytest.param(each, marks=pytest.mark.heavy) for each in range(FAST_SLICES, SLICES))],
)
def test_commands_allowed_without_asking_only_read_in_the_workspace(slice_: int, tmp_path: Path) -> None:
    wanted = WANTED if slice_ < FAST_SLICES else WANTED_HEAVY
    gathered = gather(build_all(tmp_path), slice_, FAST_SLICES, wanted)
    faults = watch(list(gathered.watched))
    assert [str(fault) for fault in faults] == []
    assert len(gathered.watched) >= wanted, "clew allows too little for this test to mean anything"
    assert set(installed()) <= programs(list(gathered.watched))
    composed = [run for _, run in gathered.watched if re.search(r"[|;&*?]", run.command)]
    assert len(composed) >= wanted // 10, (
        "clew allows too few pipes, sequences and globs for this test to mean anything"
    )


def installed_only(lines: Iterable[str]) -> list[str]:
    return [line for line in lines if all(shutil.which(name) for name in NEEDED if re.search(rf"\b{name}\b", line))]


def test_common_commands_of_agents_are_allowed_and_only_read(tmp_path: Path) -> None:
    """In an ordinary repository none of these may ask a person."""
    place = build(tmp_path, "ordinary")
    runs = [Run(line, str(place.work), terminal=terminal) for line in useful() for terminal in (False, True)]
    assert [run.command for run in runs if not allowed(place, run)] == []
    runs = [run for run in runs if installed_only([run.command])]
    assert [str(fault) for fault in watch([(place, run) for run in runs])] == []


def test_an_ordinary_repository_shows_no_fault_by_itself(tmp_path: Path) -> None:
    """The watcher reports nothing about harmless commands, whether clew allows them or not."""
    place = build(tmp_path, "ordinary")
    runs = [
        Run(line, str(place.work), shell) for line, shell in zip(installed_only(useful()), cycle(SHELLS), strict=False)
    ]
    assert [str(fault) for fault in watch([(place, run) for run in runs])] == []
