"""Faults of the store and the system: accepted messages are kept, and messages that cannot be stored are refused."""

from __future__ import annotations

import resource
import shutil
import sqlite3
import subprocess
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from urllib.error import HTTPError

import pytest

from tests.crash import outside
from tests.crash.conftest import SECRET, System
from tests.crash.flows import Flow, only, post
from tests.crash.refusals import check, held_turn, letter, refused
from tests.helpers.daemons import Clew
from tests.helpers.receivers import post_signed

pytestmark = pytest.mark.process

NO_WRITER_KNOWS = 3  # the "file format write version" in the header that makes SQLite open the file read-only
BOTH = Flow(lambda system, folder: None, (("kept", "more"),))


@contextmanager
def locked(database: Path) -> Iterator[None]:
    other = sqlite3.connect(database, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    try:
        yield
    finally:
        other.execute("ROLLBACK")
        other.close()


def test_while_another_program_locks_the_store_messages_are_refused_and_an_end_waits(system: System) -> None:
    thread = held_turn(system)
    with locked(system.clew.home.database):
        system.model.release("here")
        assert refused(system, "m2") == (503, "clew cannot store this now; send it again")
        assert system.hook.deliveries == []
    system.clew.wait_for(thread, "delivery.sent")
    post(system, "m2", "!text late")
    system.clew.wait_for(thread, "delivery.sent", delivery=f"{system.clew.json('show', thread)['turn']}:final")
    check(system, "kept", "late")


def limit(pid: int, what: int, most: int) -> int:
    """Set a limit of a running process, and return the old one."""
    soft, hard = resource.prlimit(pid, what)
    resource.prlimit(pid, what, (most, hard))
    return soft


def test_while_no_file_can_grow_messages_are_refused_and_an_end_waits(system: System) -> None:
    """As on a full disk, but SQLite reports an I/O error; tests/store covers "full"."""
    thread = held_turn(system)
    before = limit(system.clew.pid, resource.RLIMIT_FSIZE, 0)
    system.model.release("here")
    code, _ = refused(system, "m2")
    assert code == 503 and system.hook.deliveries == []
    limit(system.clew.pid, resource.RLIMIT_FSIZE, before)
    system.clew.wait_for(thread, "delivery.sent")
    check(system, "kept")


@contextmanager
def unwritable(database: Path) -> Iterator[None]:
    """Make files unwritable, as on a file system that became read-only: open files cannot be written either."""
    files = [f"{database}", f"{database}-wal"]
    try:
        done = subprocess.run(["chattr", "+i", *files], capture_output=True)
        if done.returncode:
            pytest.skip("files are made immutable only by root, and not on every file system")
        yield
    finally:
        subprocess.run(["chattr", "-i", *files], capture_output=True)


@pytest.mark.heavy  # a test killed here leaves files that cannot be removed
@pytest.mark.skipif(shutil.which("chattr") is None, reason="a program of Linux")
def test_while_the_store_can_only_be_read_messages_are_refused_and_an_end_waits(system: System) -> None:
    thread = held_turn(system)
    pid, log = system.clew.pid, system.clew.begin("logs", "--follow", "--json")
    with unwritable(system.clew.home.database):
        system.model.release("here")
        assert log.stdout is not None
        next(line for line in log.stdout if "the store does not take what happened" in line)
        assert refused(system, "m2") == (503, "clew cannot store this now; send it again")
        assert system.hook.deliveries == []
    system.clew.wait_for(thread, "delivery.sent")
    assert system.clew.pid == pid
    check(system, "kept")


def test_a_read_only_store_is_reported_at_start_and_not_changed(tmp_path: Path) -> None:
    with Clew(tmp_path / "home") as clew:
        clew.json("run", "!text hello")
        clew("down")
        whole = clew.home.database.read_bytes()
        clew.home.database.write_bytes(whole[:18] + bytes([NO_WRITER_KNOWS]) + whole[19:])
        result = clew.run("up")
        assert result.code == 1 and "cannot write" in result.err and "permissions" in result.err
        clew.home.database.write_bytes(whole)
        assert clew.json("run", "!text again")["text"] == "again"


@pytest.mark.parametrize("left", ["clew.db-*", "nothing"])
def test_a_store_removed_while_running_is_restored_completely(system: System, tmp_path: Path, left: str) -> None:
    """The daemon restarts as after a crash, and each message is answered once."""
    thread = held_turn(system)
    for path in system.clew.root.glob("clew.db*" if left == "nothing" else "clew.db"):
        path.unlink()
    post(system, "m2", "!text more", "another")
    system.model.release("here")
    BOTH.finish(system)
    system.clew("verify", thread)
    outside.check(system, tmp_path, BOTH, deaths=1)


def test_a_store_replaced_while_running_is_kept_and_the_new_file_untouched(system: System, tmp_path: Path) -> None:
    system.clew.up()
    http = system.clew.json("status")["daemon"]["http"]
    thread = post(system, "m1", "!text kept")["thread"]
    system.clew.wait_for(thread, "delivery.sent")
    other = tmp_path / "other.db"
    other.write_bytes(b"somebody else's")
    other.rename(system.clew.home.database)
    with pytest.raises(HTTPError) as caught:
        post_signed(http, "x", SECRET, letter("m2", "!text late"))
    assert caught.value.code == 503
    caught.value.close()
    kept = system.clew.root / "clew.db.kept-1"
    for command in (["status"], ["threads"], ["send", thread, "hello"]):
        result = system.clew.run(*command)
        told = f"Its old content is saved in {kept}. `clew restart` continues with the new file."
        assert (result.code, told in result.err) == (1, True), result
    assert system.clew.home.database.read_bytes() == b"somebody else's"
    system.clew("down")
    assert {path.name for path in system.clew.root.glob("clew.db*")} == {"clew.db", kept.name}
    kept.rename(system.clew.home.database)
    system.clew.up()
    assert only(system) == thread


def test_without_free_descriptors_messages_wait_and_are_accepted_later(system: System) -> None:
    pid = system.clew.up()
    system.clew.wait_for(post(system, "m1", "!text one")["thread"], "delivery.sent")
    http = system.clew.json("status")["daemon"]["http"]
    log = system.clew.begin("logs", "--follow", "--json")
    before = limit(pid, resource.RLIMIT_NOFILE, 3)
    with ThreadPoolExecutor(1) as other:
        waiting = other.submit(post_signed, http, "x", SECRET, letter("m2", "!text two"))
        assert log.stdout is not None
        next(line for line in log.stdout if "out of system resource" in line)
        limit(pid, resource.RLIMIT_NOFILE, before)
        accepted = waiting.result()
    system.clew.wait_for(accepted["thread"], "delivery.sent", delivery=f"{accepted['turn']}:final")
    check(system, "one", "two")
    assert system.clew.home.log.read_text().count("out of system resource") < 60, (
        "it is told, and not thousands of times"
    )
