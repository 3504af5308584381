"""`clew ps` and `clew doctor --clean`: processes of clew, and no others."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from clew.process import lock, scan
from tests.helpers.daemons import TIMEOUT, Clew

pytestmark = pytest.mark.process

WAITS = "print(flush=True); input()"


@contextmanager
def running(**environ: str) -> Iterator[subprocess.Popen[bytes]]:
    """A process that runs until it is ended, or its pipe is closed."""
    process = subprocess.Popen(
        [sys.executable, "-c", WAITS],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        env={**os.environ, **environ},
    )
    assert process.stdin is not None and process.stdout is not None
    process.stdout.readline()
    try:
        yield process
    finally:
        process.stdin.close()
        process.stdout.close()
        process.wait(TIMEOUT)


def mark(clew: Clew, *, of: str | None = None) -> str:
    """The mark of the running daemon, or of another one."""
    holder = lock.read(clew.home.lock)
    assert holder is not None and holder.store is not None
    begun_by = of or f"{holder.pid}.{holder.started}"
    return str(scan.Mark(holder.store, f"host.{begun_by}.token", 1))


def roles(clew: Clew) -> dict[int, str]:
    return {row["pid"]: row["role"] for row in clew.json("ps")}


def test_ps_lists_the_supervisor_the_daemon_and_their_children(clew: Clew) -> None:
    clew.up()
    with running(CLEW_CHILD=mark(clew)) as ours, running() as foreign:
        found = roles(clew)
        assert found == {clew.supervisor: "supervisor", clew.pid: "daemon", ours.pid: "command"}
        assert foreign.pid not in found
        printed = clew("ps")
        assert "supervisor" in printed and "MB" in printed


def test_ps_starts_no_daemon_and_says_so(clew: Clew) -> None:
    clew.up()
    clew("down")
    assert clew.json("ps") == [] and "no process of clew runs" in clew.run("ps").err
    assert clew.alive() == []


def test_clean_ends_only_processes_left_by_an_earlier_daemon(clew: Clew) -> None:
    clew.up()
    another = mark(clew).replace(mark(clew).partition(":")[0], "another-store")
    with (
        running(CLEW_CHILD=mark(clew, of="1.2")) as left,
        running(CLEW_CHILD=mark(clew)) as ours,
        running(CLEW_CHILD=another) as others,
        running() as foreign,
    ):
        assert roles(clew)[left.pid] == "left"
        before = clew.run("doctor", "--json")
        [finding] = [row for row in before.json if row["check"] == "children"]
        assert not finding["ok"] and str(left.pid) in finding["detail"] and "--clean" in finding["todo"]
        cleaned = clew.run("doctor", "--clean")
        assert f"ended pid {left.pid}" in cleaned.err
        left.wait(TIMEOUT)
        assert [process.poll() for process in (ours, others, foreign)] == [None, None, None]
        assert left.pid not in roles(clew)


def test_clean_says_if_nothing_ever_ran(tmp_path: Path) -> None:
    with Clew(tmp_path / "home") as fresh:
        assert "clew was never started here" in fresh.run("doctor", "--clean").err
