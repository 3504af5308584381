from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from clew.support import crash

PASS_TWICE_EACH = """
from clew.support import crash
for _ in range(2):
    for name in ("inbox.stored", "outbox.sent"):
        crash.point(name)
        print(name, flush=True)
"""


def run(armed: str | None) -> subprocess.CompletedProcess[str]:
    environ = {key: value for key, value in os.environ.items() if key != "CLEW_CRASH"}
    if armed is not None:
        environ["CLEW_CRASH"] = armed
    return subprocess.run([sys.executable, "-c", PASS_TWICE_EACH], env=environ, capture_output=True, text=True)


@pytest.mark.process
def test_a_point_that_is_not_armed_does_nothing() -> None:
    done = run(None)
    assert (done.returncode, len(done.stdout.split())) == (0, 4)


@pytest.mark.process
@pytest.mark.parametrize(
    ("armed", "passed"),
    [
        ("inbox.stored", []),
        ("outbox.sent", ["inbox.stored"]),
        ("inbox.stored:2", ["inbox.stored", "outbox.sent"]),
        ("outbox.sent:2", ["inbox.stored", "outbox.sent", "inbox.stored"]),
    ],
)
def test_an_armed_point_kills_at_the_passing_it_names(armed: str, passed: list[str]) -> None:
    done = run(armed)
    assert (done.returncode, done.stdout.split()) == (-signal.SIGKILL, passed)


@pytest.mark.process
def test_a_point_that_is_never_passed_kills_nobody() -> None:
    assert run("handoff.bound").returncode == 0
    assert run("inbox.stored:3").returncode == 0


@pytest.mark.process
def test_a_recording_kills_nobody_and_writes_down_what_was_passed(tmp_path: Path) -> None:
    assert run(f"record:{tmp_path / 'passed'}").returncode == 0
    assert (tmp_path / "passed").read_text().split() == ["inbox.stored", "outbox.sent"] * 2


def test_a_simulation_puts_its_own_function_in_the_hook(monkeypatch: pytest.MonkeyPatch) -> None:
    passed: list[str] = []
    monkeypatch.setattr(crash, "hook", passed.append)
    crash.point("outbox.sent")
    assert passed == ["outbox.sent"]
