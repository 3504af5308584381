"""A real daemon with few file descriptors, and a client without a token that opens many silent connections."""

from __future__ import annotations

import json
import resource
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from urllib.request import Request, urlopen

import pytest

from clew.process import descriptors, lock
from clew.process.scan import Marks
from clew.runtimes.process import spawn
from clew.support.clock import SystemClock
from tests.helpers.daemons import SCRIPTED, TIMEOUT, Clew

pytestmark = [
    pytest.mark.process,
    pytest.mark.skipif(sys.platform != "linux", reason="looks into /proc and sets limits of a process"),
]
CONNECTIONS = 1200


@pytest.fixture
def clew(tmp_path: Path) -> Iterator[Clew]:
    with Clew(tmp_path / "home", f"{SCRIPTED}[http]\nport = 0\n") as clew:
        yield clew


@contextmanager
def soft_limit(wanted: int) -> Iterator[None]:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


def up_with(clew: Clew, flag: str, limit: int) -> None:
    """Start the daemon with this limit of descriptors: `-n` sets the hard limit, `-Sn` one that it may raise."""
    command = ["sh", "-c", f'ulimit {flag} {limit} && exec "$@"', "sh"]
    command += [sys.executable, "-m", "clew.process.bootstrap", "clew.cli.main", "up"]
    subprocess.run(command, env=clew._environ(), check=True, capture_output=True, timeout=TIMEOUT)


def limits(pid: int) -> tuple[int, int]:
    return resource.prlimit(pid, resource.RLIMIT_NOFILE)


def ask(clew: Clew, address: str) -> int:
    """A request with the token, on a new connection."""
    token = clew("token").strip()
    request = Request(f"{address}/api/status", headers={"Authorization": f"Bearer {token}"})
    with urlopen(request, timeout=TIMEOUT) as answer:
        return int(json.load(answer)["daemon"]["pid"])


@pytest.mark.parametrize("limit", [256, 1024])
def test_silent_connections_block_no_command_turn_or_token_holder(clew: Clew, limit: int) -> None:
    up_with(clew, "-n", limit)
    assert limits(clew.pid) == (limit, limit)
    address = clew.json("status")["daemon"]["http"]
    host, port = address.removeprefix("http://").split(":")
    with soft_limit(4096), ExitStack() as held:
        for _ in range(CONNECTIONS):
            held.enter_context(socket.create_connection((host, int(port)), TIMEOUT))
        assert clew.json("status")["daemon"]["pid"] == clew.pid
        assert "all is well" in clew("run", "!text all is well")
        assert ask(clew, address) == clew.pid
        assert len(list(Path(f"/proc/{clew.pid}/fd").iterdir())) < limit * 3 // 4


def test_a_daemon_raises_its_limit_of_descriptors(clew: Clew) -> None:
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    up_with(clew, "-Sn", 300)
    holder = lock.read(clew.home.lock)
    assert holder is not None
    assert limits(holder.pid) == (min(hard, descriptors.MOST), hard)
    assert limits(clew.supervisor)[0] == 300  # so that a daemon that it brings back knows what it was given


async def test_an_agent_gets_the_limit_that_the_daemon_was_started_with(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(descriptors, "GIVEN", 300)
    descriptors.raise_limit()
    child = await spawn(["cat"], Marks("store", "here").next(), SystemClock(), lambda line: None, name="cat")
    try:
        assert limits(child.pid)[0] == 300
    finally:
        await child.end()
