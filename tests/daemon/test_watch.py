"""Somebody removes `run/`, the socket or the lock of a running daemon: there is never a second daemon on one store."""

from __future__ import annotations

import os
import shutil
import signal
import sqlite3
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path

import pytest

from clew.daemon import holding
from clew.process import lock, scan
from clew.process.start import OUTPUT
from tests.helpers.daemons import Clew

pytestmark = pytest.mark.process


@pytest.fixture
def clew(tmp_path: Path) -> Iterator[Clew]:
    with Clew(tmp_path / "home") as clew:
        yield clew


def test_a_daemon_whose_run_folder_was_removed_goes_on_with_its_turn(clew: Clew) -> None:
    pid, keeper, hold = clew.up(), clew.supervisor, clew.gate("here")
    started = clew.json("start", "!hold here\n!text done")
    hold.wait()
    shutil.rmtree(clew.home.run)
    assert clew.json("status")["daemon"]["pid"] == pid
    assert (clew.home.run.stat().st_mode & 0o777, clew.home.socket.stat().st_mode & 0o777) == (0o700, 0o600)
    assert sorted(clew.alive()) == sorted([pid, keeper])
    hold.release()
    assert clew.wait_ended(started)["state"] == "completed"
    assert (clew.pid, clew.supervisor) == (pid, keeper)


@pytest.mark.parametrize("command", ["threads", "up", "restart", "ps", "doctor"])
def test_every_command_finds_the_daemon_whose_run_folder_was_removed(clew: Clew, command: str) -> None:
    pid = clew.up()
    shutil.rmtree(clew.home.run)
    clew(command)
    assert (clew.pid == pid) == (command != "restart")
    assert sorted(clew.alive()) == sorted([clew.pid, clew.supervisor])


@pytest.mark.parametrize("removed", ["run", "run clew.lock", "run supervisor.lock", "clew.lock supervisor.lock"])
def test_down_leaves_nothing_whatever_was_removed(clew: Clew, removed: str) -> None:
    pid, keeper = clew.up(), clew.supervisor
    remove(clew, removed)
    clew.run("threads")
    clew("down")
    clew.wait_gone(pid)
    clew.wait_gone(keeper)
    assert clew.alive() == []


def test_many_commands_at_once_start_no_second_daemon(clew: Clew) -> None:
    pid = clew.up()
    shutil.rmtree(clew.home.run)
    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(lambda _: clew.json("threads"), range(4))) == [[]] * 4
    assert (clew.pid, sorted(clew.alive())) == (pid, sorted([pid, clew.supervisor]))


def test_a_daemon_whose_lock_was_removed_ends_before_its_next_commit(clew: Clew) -> None:
    """Its turn is recovered by the next daemon, as after any other crash."""
    pid, hold = clew.up(), clew.gate("here")
    started = clew.json("start", "!hold here\n!text done")
    hold.wait()
    clew.home.lock.unlink()
    hold.release()
    clew.wait_gone(pid)
    assert clew.up() != pid
    assert clew.wait_ended(started)["state"] in ("completed", "interrupted")
    assert f"ended with exit code {holding.LOST}" in (clew.home.logs / OUTPUT).read_text()
    assert clew.json("status")["daemon"]["pid"] == clew.pid


def test_a_daemon_whose_lock_was_removed_writes_nothing_beside_the_next_one(clew: Clew) -> None:
    """The first pair is frozen, so that the second starts; then the first goes on, and ends."""
    pid, keeper = clew.up(), clew.supervisor
    frozen = [pid, keeper]
    os.kill(keeper, signal.SIGSTOP)
    _freeze_between_commits(clew, pid)
    remove(clew, "run clew.lock supervisor.lock")
    thread = clew.json("run", "!text second")["thread"]
    second = clew.pid
    assert second != pid
    for each in frozen:
        os.kill(each, signal.SIGCONT)
    os.kill(pid, lock.LOOK)
    clew.wait_gone(pid)
    assert clew.json("show", thread)["status"] == "idle" and clew.pid == second
    clew("down")
    clew.wait_gone(keeper)
    assert clew.alive() == []


def _freeze_between_commits(clew: Clew, pid: int) -> None:
    """A daemon that is frozen in a commit keeps the database locked."""
    while True:
        os.kill(pid, signal.SIGSTOP)
        while any(") T " not in task.read_text() for task in Path(f"/proc/{pid}/task").glob("*/stat")):
            pass
        with closing(sqlite3.connect(clew.home.database, timeout=0, isolation_level=None)) as database:
            try:
                database.execute("BEGIN IMMEDIATE")
            except sqlite3.OperationalError:
                os.kill(pid, signal.SIGCONT)
            else:
                database.execute("ROLLBACK")
                return


def test_a_frozen_daemon_without_a_socket_is_named(clew: Clew) -> None:
    pid = clew.up()
    os.kill(pid, signal.SIGSTOP)
    try:
        clew.home.socket.unlink()
        result, doctor = clew.run("status"), clew.run("doctor")
    finally:
        os.kill(pid, signal.SIGCONT)
    words = f"the daemon (pid {pid}) runs, but its socket {clew.home.socket} was removed"
    assert (result.code, result.err.startswith(f"clew: {words}")) == (3, True)
    assert words in doctor.out
    assert clew.json("status")["daemon"]["pid"] == pid


def test_open_streams_survive_the_loss_of_the_socket(clew: Clew) -> None:
    clew.up()
    events = clew.events(None, None)
    assert next(events).kind == "hello", "the stream is open before the first turn begins"
    first = clew.json("start", "!text one")
    assert next(event for event in events if event.kind == "turn.ended").data["turn"] == first["turn"]
    clew.home.socket.unlink()
    again = clew.json("start", "!text two")
    assert next(event for event in events if event.kind == "turn.ended").data["turn"] == again["turn"]


def test_clean_and_ps_see_the_first_daemon_after_its_run_folder_was_removed(clew: Clew) -> None:
    pid, keeper = clew.up(), clew.supervisor
    shutil.rmtree(clew.home.run)
    roles = {row["pid"]: row["role"] for row in clew.json("ps")}
    assert roles == {pid: "daemon", keeper: "supervisor"}
    clew("doctor", "--clean")
    assert scan.get(pid) is not None and clew.pid == pid


def test_clean_ends_a_daemon_and_a_supervisor_whose_locks_were_removed(clew: Clew) -> None:
    first = [clew.up(), clew.supervisor]
    remove(clew, "clew.lock supervisor.lock")
    assert "ended pid" in clew.run("doctor", "--clean").err
    for pid in first:  # a daemon that noticed was followed by another one with a lock, which is left alone
        clew.wait_gone(pid)
    again = [clew.up(), clew.supervisor]
    clew("doctor", "--clean")
    assert sorted(clew.alive()) == sorted(again), "a daemon with its lock is left alone"


def remove(clew: Clew, names: str) -> None:
    for name in names.split():
        path = clew.root / name
        shutil.rmtree(path) if path.is_dir() else path.unlink()
