"""A daemon of an earlier version, whose lock is in `run/`, still runs while a newer clew is used."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.helpers.daemons import Clew

pytestmark = pytest.mark.process
HOLDER = """
import fcntl, json, os, sys, time
handle = os.open(sys.argv[1], os.O_RDWR | os.O_CREAT, 0o600)
fcntl.flock(handle, fcntl.LOCK_EX)
os.write(handle, json.dumps({"pid": os.getpid(), "started": "", "since": 0}).encode())
print("held", flush=True)
sys.stdin.read()
"""


@pytest.fixture
def former(tmp_path: Path) -> Iterator[subprocess.Popen[str]]:
    run = tmp_path / "home" / "run"
    run.mkdir(parents=True)
    command = [sys.executable, "-c", HOLDER, str(run / "clew.lock")]
    pipe = subprocess.PIPE
    with subprocess.Popen(command, stdin=pipe, stdout=pipe, text=True) as process:
        assert process.stdout is not None and process.stdout.readline() == "held\n"
        yield process
        process.kill()


def test_no_second_daemon_starts_beside_it(tmp_path: Path, former: subprocess.Popen[str]) -> None:
    with Clew(tmp_path / "home") as clew:
        result = clew.run("up")
        assert result.code != 0 and str(former.pid) in result.err
        assert former.poll() is None


def test_down_ends_it(tmp_path: Path, former: subprocess.Popen[str]) -> None:
    with Clew(tmp_path / "home") as clew:
        assert clew.run("down").code == 0
        assert former.wait(20) != 0
        clew.up()
