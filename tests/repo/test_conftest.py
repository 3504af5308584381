"""The guards of tests/conftest.py, tried in a pytest of their own."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.process

CONFTEST = Path(__file__).parents[1] / "conftest.py"

SKIPS = """
import pytest

def test_said_in_the_test():
    pytest.skip("no display")

@pytest.mark.skip(reason="not today")
def test_said_on_the_test():
    pass

@pytest.mark.xfail
def test_expected_to_fail():
    assert False

def test_that_passes():
    pass
"""

STARTS = """
import subprocess

import pytest

@pytest.mark.process
def test_with_the_mark():
    subprocess.run(["true"])

def test_without_it():
    subprocess.run(["true"])
"""

LEAVES = """
import subprocess

import pytest

pytestmark = pytest.mark.process
children = []

def test_a_child_that_stays():
    children.append(subprocess.Popen(["sleep", "60"]))

def test_a_child_that_ends():
    children.append(subprocess.Popen(["true"]))

def test_no_child():
    for child in children:
        child.wait()
"""

OUTSIDE = """
import socket

def test_somewhere_else():
    with socket.socket() as there:
        there.settimeout(0.01)
        there.connect(("192.0.2.1", 80))

def test_here():
    with socket.create_server(("127.0.0.1", 0)) as here:
        socket.create_connection(here.getsockname()).close()
"""


def run(folder: Path, test: str, *arguments: str, **environ: str) -> subprocess.CompletedProcess[str]:
    shutil.copy(CONFTEST, folder / "conftest.py")
    (folder / "test_it.py").write_text(test)
    (folder / "pytest.ini").write_text("[pytest]\nmarkers = process: starts a process")
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", f"--rootdir={folder}", "test_it.py"]
    kept = {key: value for key, value in os.environ.items() if key != "CLEW_NO_SKIPS" and "PYTEST" not in key}
    return subprocess.run([*command, *arguments], cwd=folder, env=kept | environ, capture_output=True, text=True)


def last(done: subprocess.CompletedProcess[str]) -> str:
    return done.stdout.splitlines()[-1].partition(" in ")[0]


def test_a_skip_is_allowed_at_home(tmp_path: Path) -> None:
    done = run(tmp_path, SKIPS)
    assert (done.returncode, last(done)) == (0, "1 passed, 2 skipped, 1 xfailed")


@pytest.mark.parametrize("workers", ["0", "1"])
def test_a_skip_is_a_failure_in_ci(tmp_path: Path, workers: str) -> None:
    done = run(tmp_path, SKIPS, "-n", workers, CLEW_NO_SKIPS="1")
    assert (done.returncode, last(done)) == (1, "1 failed, 1 passed, 1 xfailed, 1 error")
    assert "a skipped test counts as a failure here: Skipped: no display" in done.stdout


def test_a_module_that_skips_itself_is_a_failure_in_ci(tmp_path: Path) -> None:
    done = run(tmp_path, 'import pytest\npytest.importorskip("no_such_module")', CLEW_NO_SKIPS="1")
    assert (done.returncode, last(done)) == (2, "1 error")


def test_no_tests_at_all_is_a_failure(tmp_path: Path) -> None:
    assert run(tmp_path, "").returncode == 5


if sys.platform == "linux":  # where the guard can look

    def test_a_test_that_leaves_a_child_behind_fails_and_the_child_is_ended(tmp_path: Path) -> None:
        done = run(tmp_path, LEAVES, CLEW_TEST_GRACE="3")
        assert (done.returncode, last(done)) == (1, "3 passed, 1 error")
        assert "left a child process behind" in done.stdout


def test_a_test_that_leaves_this_machine_fails(tmp_path: Path) -> None:
    done = run(tmp_path, OUTSIDE)
    assert "a test may not leave this machine, and 192.0.2.1 is not on it" in done.stdout
    assert last(done) == "1 failed, 1 passed"


def test_a_test_that_starts_a_process_without_its_mark_fails(tmp_path: Path) -> None:
    done = run(tmp_path, STARTS)
    assert "it starts a process (subprocess.Popen" in done.stdout and "@pytest.mark.process" in done.stdout
    assert last(done) == "2 passed, 1 error"
