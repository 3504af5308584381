"""Killed while it restores a removed store, after the copy is made: the next daemon completes it."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest

from clew.store.migrate import open_store
from clew.store.sqlite import file
from clew.support import crash
from clew.support.clock import SystemClock
from clew.support.errors import StoreError
from tests.crash.conftest import System
from tests.crash.flows import only, post
from tests.crash.outside import answers, died, unfinished

pytestmark = pytest.mark.process


@pytest.mark.parametrize("point", ["store.saved-not-named", "store.parted-not-named"])
def test_killed_while_restoring_the_store_is_complete_afterwards(system: System, point: str) -> None:
    system.clew.up(env={"CLEW_CRASH": point})
    thread = post(system, "m1", "!text kept")["thread"]
    system.clew.wait_for(thread, "delivery.sent")
    system.clew.home.database.unlink()
    turn = post(system, "m2", "!text more")["turn"]  # sent again until it is accepted
    system.clew.wait_for(thread, "delivery.sent", delivery=f"{turn}:final")
    assert only(system) == thread
    system.clew("verify", thread)
    system.clew("down")
    assert died(system) == 1 and answers(system) == {"kept": 1, "more": 1}
    assert unfinished(system.clew.home.database) == []
    assert not list(system.clew.root.glob("clew.db.*"))


def test_a_store_removed_again_is_restored_by_the_next_attempt(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "clew.db"
    open_store(path, SystemClock()).close()
    raw = sqlite3.connect(path)
    raw.execute("SELECT 1 FROM meta").fetchone()
    path.unlink()
    monkeypatch.setattr(crash, "hook", lambda point: (tmp_path / "clew.db.saved").unlink(missing_ok=True))
    with pytest.raises(StoreError, match=r"cannot be restored: .*clew.db.saved was removed, too"):
        file.put_back(raw, path)
    monkeypatch.setattr(crash, "hook", None)
    file.put_back(raw, path)
    raw.close()
    open_store(path, SystemClock()).close()


def test_a_replaced_store_is_not_overwritten_by_the_saved_one(tmp_path: Path) -> None:
    path, saved = tmp_path / "clew.db", tmp_path / "clew.db.saved"
    open_store(path, SystemClock()).close()
    saved.write_bytes(b"what was saved")
    open_store(path, SystemClock()).close()
    assert not saved.exists() and (tmp_path / "clew.db.kept-1").read_bytes() == b"what was saved"


def test_an_incomplete_copy_is_not_used_as_the_store(tmp_path: Path) -> None:
    path = tmp_path / "clew.db"
    store = open_store(path, SystemClock())
    with sqlite3.connect(path) as raw:
        raw.execute("INSERT INTO meta (name, value) VALUES ('kept', 'yes')")
    for left in ("clew.db.half", "clew.db.half-journal"):  # as left by a process killed during the copy
        (tmp_path / left).write_bytes(b"half")
    path.unlink()
    file.put_back(raw, path)
    raw.close()
    store.close()
    with sqlite3.connect(path) as again:
        assert again.execute("SELECT value FROM meta WHERE name = 'kept'").fetchone() == ("yes",)
    again.close()
    assert not list(tmp_path.glob("clew.db.*"))
