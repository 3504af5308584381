"""The complete `clew demo`, with real processes, as on a fresh installation."""

from __future__ import annotations

import json
import os
import re
import select
import signal
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.helpers.daemons import carrying

pytestmark = pytest.mark.process

STEPS = ["prepare", "start", "stream", "kill", "back", "continue", "deliver", "asks", "approve", "resume"]
STEPS += ["handoff", "reply", "return", "verify", "down"]
PATIENCE = 240.0


@dataclass(frozen=True, slots=True)
class Place:
    """The folder of the demo's home; its path is in the environment of all processes that the demo starts."""

    folder: Path

    def environ(self, extra: Mapping[str, str]) -> dict[str, str]:
        return {**os.environ, "TMPDIR": str(self.folder), **extra}

    def begin(self, *words: str, **extra: str) -> subprocess.Popen[str]:
        argv = [sys.executable, "-m", "clew.cli.main", "demo", *words]
        return subprocess.Popen(
            argv, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=self.environ(extra)
        )

    def demo(self, *words: str, **extra: str) -> tuple[int, str]:
        """The exit code and the output."""
        process = self.begin(*words, **extra)
        out, err = process.communicate(timeout=PATIENCE)
        return process.returncode, out + err

    def left(self) -> list[str]:
        """Processes and folders that are left."""
        return [*map(str, carrying(f"TMPDIR={self.folder}")), *(path.name for path in self.folder.iterdir())]


@pytest.fixture
def place(tmp_path: Path) -> Place:
    folder = tmp_path / "tmp"
    folder.mkdir()
    return Place(folder)


@pytest.fixture
def without_codex(tmp_path: Path) -> dict[str, str]:
    """An environment without Codex: neither on the PATH nor bundled."""
    (tmp_path / "modules").mkdir()
    (tmp_path / "modules" / "codex_cli_bin.py").write_text("raise ImportError\n")
    return {"PYTHONPATH": str(tmp_path / "modules"), "PATH": str(tmp_path)}


def ticks(printed: str) -> list[str]:
    return [line for line in printed.splitlines() if line.startswith(("✔", "✘"))]


def test_demo_runs_with_real_codex_and_leaves_nothing(place: Place) -> None:
    code, printed = place.demo()
    assert code == 0, printed
    lines = ticks(printed)
    assert len(lines) == len(STEPS) and all(line.startswith("✔") for line in lines)
    assert "the real Codex" in lines[0]
    assert "“never lose the thread that leads you back out of the maze”" in lines[2]
    assert "arrived exactly once, at webhook:demo; receipt received-1" in lines[6]
    assert "The first was: Lead me out of the labyrinth" in lines[9]
    assert "handed to a phone, into its own topic: telegram:4711/" in lines[10]
    assert "the phone shows: “This goes on at the computer." in lines[12]
    assert "\x1b" not in printed
    assert place.left() == []


def test_demo_without_codex_says_so_and_still_runs(place: Place, without_codex: dict[str, str]) -> None:
    code, printed = place.demo(**without_codex)
    assert code == 0, printed
    assert "Codex cannot be used here" in printed and "Install Codex" in printed
    assert [line[0] for line in ticks(printed)] == ["✔"] * len(STEPS)
    assert printed.endswith(  # there is no clew on the PATH either
        "  ./clew doctor\n  ./clew link\n  cd your-project && clew run 'what does this repo do?'\n"
    )
    assert place.left() == []


def test_demo_prints_json_steps_and_keep_leaves_a_usable_home(place: Place) -> None:
    path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    code, printed = place.demo("--runtime", "scripted", "--keep", "--json", PATH=path)
    assert code == 0, printed
    told = json.loads(printed)
    assert [step["step"] for step in told] == [*STEPS[:-1], "page", "keep"]
    assert all(step["ok"] for step in told)
    assert all(set(step) == {"step", "ok", "seconds", "words"} for step in told)
    (home,) = place.folder.glob("clew-demo-*")
    assert (home / "config.toml").stat().st_mode & 0o777 == 0o600
    here = place.environ({"CLEW_HOME": str(home), "PATH": path})
    asked = subprocess.run(["clew", "run", "!text still here"], capture_output=True, text=True, env=here)
    assert asked.stdout == "still here\n"
    helpers = [os.pidfd_open(int(pid)) for pid in re.search(r"kill ([\d ]+);", told[-1]["words"])[1].split()]  # type: ignore[index]
    subprocess.run(["sh", "-c", told[-1]["words"]], check=True, capture_output=True, env=here)
    for helper in helpers:
        select.select([helper], [], [], PATIENCE)
        os.close(helper)
    assert place.left() == []


def test_a_failed_demo_step_is_reported_and_everything_is_cleaned_up(place: Place) -> None:
    code, printed = place.demo("--runtime", "scripted", CLEW_CRASH="store.migrated-not-committed")
    (line,) = ticks(printed)
    assert code == 1
    assert line.startswith("✘") and "expected a daemon that starts, but the daemon ended while it started" in line
    assert place.left() == []


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_an_interrupted_demo_cleans_up_everything(place: Place, number: signal.Signals) -> None:
    process = place.begin("--runtime", "scripted")
    assert process.stdout is not None
    while "a task is started" not in (line := process.stdout.readline()):
        assert line, "it ended before that"
    process.send_signal(number)
    process.communicate(timeout=PATIENCE)
    assert process.returncode == 130
    assert place.left() == []
