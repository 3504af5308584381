"""The bootstrap exits without interpreter teardown, but all output is written, or an error is reported."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from clew.cli.commands import service
from clew.cli.demo.stage import Helper
from clew.process import start
from clew.runtimes.codex.server import kept_server

pytestmark = pytest.mark.process

CLEW = [sys.executable, "-m", "clew.process.bootstrap", "clew.cli.main"]


def test_all_output_arrives_with_the_exit_code() -> None:
    done = subprocess.run([*CLEW, "--help"], capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.endswith("\n") and "Never lose the thread" in done.stdout
    assert subprocess.run([*CLEW, "no-such-command"], capture_output=True).returncode == 2


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="a device of Linux")
def test_output_that_cannot_be_written_is_reported() -> None:
    with Path("/dev/full").open("wb") as full:
        done = subprocess.run([*CLEW, "--version"], stdout=full, stderr=subprocess.PIPE, text=True)
    assert (done.returncode, done.stderr) == (1, "clew: the disk is full: the output cannot be written\n")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="a device of Linux")
@pytest.mark.parametrize("words", [["config", "get", "--json"], ["no-such-command", "--json"], ["completion", "bash"]])
def test_output_errors_are_reported_once_without_a_traceback(words: list[str], tmp_path: Path) -> None:
    env = {**os.environ, "CLEW_HOME": str(tmp_path)}
    with Path("/dev/full").open("wb") as full:
        done = subprocess.run([*CLEW, *words], stdout=full, stderr=subprocess.PIPE, text=True, env=env)
    assert done.returncode == 1
    assert "Traceback" not in done.stderr and done.stderr.count("cannot be written") == 1


@pytest.mark.parametrize("stream", [1, 2])
def test_a_closed_stream_changes_neither_the_work_nor_the_exit_code(stream: int, tmp_path: Path) -> None:
    for words, code in (("--version", 0), ("no-such-command", 2), ("status", 3)):
        script = f'"$@" {words} {stream}>&-'
        env = {**os.environ, "CLEW_HOME": str(tmp_path)}
        done = subprocess.run(["/bin/sh", "-c", script, "sh", *CLEW], capture_output=True, text=True, env=env)
        assert (done.returncode, "Traceback" in done.stderr) == (code, False)
        assert stream == 1 or "clew: " not in done.stdout


def test_a_closed_reader_of_the_output_is_no_error() -> None:
    reader, writer = os.pipe()
    os.close(reader)
    done = subprocess.run([*CLEW, "--version"], stdout=writer, stderr=subprocess.PIPE, text=True)
    os.close(writer)
    assert (done.returncode, done.stderr) == (1, "")


@pytest.mark.parametrize("command", [start._daemon_command(), service._command(), kept_server.LOOK])
def test_nothing_of_the_folder_it_is_started_in_is_run(command: Sequence[str], tmp_path: Path) -> None:
    (tmp_path / "clew.py").write_text("raise SystemExit('not ours')")
    done = subprocess.run([*command, "--help"], cwd=tmp_path, capture_output=True, text=True)
    assert "not ours" not in done.stderr


def test_nothing_of_the_folder_in_which_the_demo_is_played_is_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "clew.py").write_text("raise SystemExit('not ours')")
    monkeypatch.chdir(tmp_path)
    Helper("clew.cli.demo.receiver").end()
