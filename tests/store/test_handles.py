"""Handles of threads: made from the title, never twice, also for threads of earlier versions."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clew.store import migrate
from clew.store.migrate import open_store
from clew.store.tables.handles import slug_of
from clew.support.clock import SystemClock


@pytest.mark.parametrize(
    ("title", "slug"),
    [
        ("Fix the flaky retry, please", "fix-flaky-retry"),
        ("what does this repo do?", "repo"),
        ("do it", "do-it"),
        ("Überprüfe die Tests", "uberprufe-die-tests"),
        ("don't stop", "dont-stop"),
        ("修复 login 测试", ""),
        ("…", ""),
        ("a" * 60, "a" * 24),
        ("rm -rf / $(x) \x1b[2J", "rm-rf-x"),
    ],
)
def test_a_slug_has_the_words_that_tell_a_title_from_others(title: str, slug: str) -> None:
    assert slug_of(title) == slug


@given(st.text(max_size=200))
def test_a_slug_can_be_typed_into_any_shell(title: str) -> None:
    slug = slug_of(title)
    assert len(slug) <= 24 and not set(slug) - set("abcdefghijklmnopqrstuvwxyz0123456789-") and not slug.startswith("-")


def test_threads_of_earlier_versions_get_handles(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path, before = tmp_path / "clew.db", [each for each in migrate.migrations() if each[0] < migrate.HANDLES]
    with monkeypatch.context() as patch:
        patch.setattr(migrate, "migrations", lambda: before)
        open_store(path, SystemClock()).close()
    with sqlite3.connect(path) as raw:
        for number, title in enumerate(("fix it", "fix it", "修复", "fix it 2")):
            raw.execute(
                "INSERT INTO threads (id, kind, status, title, runtime, workspace, created_at, policy)"
                " VALUES (?, 'chat', 'idle', ?, 'scripted', '/', 0, 'careful')",
                (f"01AB{number}", title),
            )
    open_store(path, SystemClock()).close()
    with sqlite3.connect(path) as raw:
        handles = [row[0] for row in raw.execute("SELECT handle FROM threads ORDER BY id")]
    assert handles == ["fix", "fix-2", "t-1ab2", "fix-2-2"]
