"""Killed while the store is created or migrated: it is complete afterwards."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from pathlib import Path

import pytest

from clew.store import migrate
from clew.support.clock import SystemClock
from tests.helpers.daemons import Clew

pytestmark = pytest.mark.process


@pytest.fixture
def clew(tmp_path: Path) -> Iterator[Clew]:
    with Clew(tmp_path / "home") as made:
        yield made


def steps(count: int) -> list[str]:
    """Return points after the first, a middle and the last migration."""
    return [f"store.migrated-not-committed:{number}" for number in (1, count // 2, count)]


def dies_at_its_start(clew: Clew, point: str) -> None:
    result = clew.run("up", env={"CLEW_CRASH": point})
    assert result.code == 1 and "the daemon ended while it started" in result.err


@pytest.mark.parametrize("point", [*steps(len(migrate.migrations())), "store.made-not-named"])
def test_killed_while_the_store_is_made_the_next_start_makes_it(clew: Clew, point: str) -> None:
    dies_at_its_start(clew, point)
    assert not clew.home.database.exists(), "what is only half made does not bear its name"
    assert clew.json("run", "!text hello")["text"] == "hello"
    assert [path.name for path in clew.root.glob("clew.db.*")] == []


def old_store(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Make a store of an earlier version, with data."""
    first = migrate.migrations()[:1]
    with monkeypatch.context() as patch:
        patch.setattr(migrate, "migrations", lambda: first)
        migrate.open_store(path, SystemClock()).close()
    with sqlite3.connect(path) as raw:
        raw.execute("INSERT INTO meta (name, value) VALUES ('kept', 'yes')")
    raw.close()


@pytest.mark.parametrize("point", ["store.copied-not-migrated", *steps(len(migrate.migrations()) - 1)])
def test_killed_while_an_old_store_is_brought_up_to_date_nothing_in_it_is_lost(
    clew: Clew, monkeypatch: pytest.MonkeyPatch, point: str
) -> None:
    old_store(clew.home.database, monkeypatch)
    dies_at_its_start(clew, point)
    assert clew.json("run", "!text hello")["text"] == "hello"
    clew("down")
    copy = clew.root / f"clew.db.before-{migrate.migrations()[-1][0]:04}"
    for path, version in ((clew.home.database, migrate.migrations()[-1][0]), (copy, 1)):
        raw = sqlite3.connect(path)
        assert raw.execute("SELECT value FROM meta WHERE name = 'kept'").fetchone() == ("yes",)
        assert raw.execute("SELECT max(version) FROM schema_version").fetchone() == (version,)
        raw.close()
