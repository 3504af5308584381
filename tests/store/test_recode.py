"""Migration 15: sentences that were stored in English become codes; other texts and history stay."""

from __future__ import annotations

import re
import sqlite3
from contextlib import closing
from pathlib import Path

import msgspec
import pytest

from clew.store.migrate import migrate
from clew.store.recode import SENTENCES, recode
from clew.store.sqlite.driver import SqliteConnection
from clew.store.texts import loaded
from clew.support.clock import SystemClock
from clew.support.coded import Text, coded_of
from clew.texts.bilingual import zh
from clew.texts.catalogue import sentences
from clew.texts.catalogue.gates import SENTENCES as OF_GATES
from tests.helpers.paths import ROOT

HOLE = re.compile(r"\{\w+\}")
OLD = ROOT / "tests" / "homes" / "d30281d" / "clew.sql"


def recoded(tmp_path: Path, text: str, column: str) -> str:
    with closing(sqlite3.connect(tmp_path / "clew.db")) as raw:
        raw.row_factory = sqlite3.Row
        connection = SqliteConnection(raw)
        raw.isolation_level = None
        migrate(connection, SystemClock())
        table, name = column.split(".")
        columns = raw.execute(f"PRAGMA table_info({table})").fetchall()
        values: dict[str, object] = {row["name"]: 0 for row in columns if row["notnull"] and row["dflt_value"] is None}
        values |= {name: text}
        holes = ", ".join("?" * len(values))
        raw.execute(f"INSERT INTO {table} ({', '.join(values)}) VALUES ({holes})", tuple(values.values()))
        recode(connection)
        [row] = raw.execute(f"SELECT {name} AS text FROM {table}")
        return loaded(str(row["text"]))


@pytest.mark.parametrize(
    ("column", "text", "chinese"),
    [
        ("gates.why", "the turn is over", "本轮已结束"),
        ("gates.why", "the agent changed what it asks, and asks anew", "它要做的事已发生变化，因此重新询问"),
        ("gates.warning", "git.hook:pre-commit", "仓库里有钩子 pre-commit，git 会运行它"),
        ("gates.warning", "git.unclear:", "无法确定工作区的仓库是否安全"),
        ("gates.answered_by", "clew (the policy trusted)", "clew（the policy trusted）"),
        (
            "threads.suspend_message",
            "This turn was cut off again; it had run and changed nothing. Reply `continue` or `stop`.",
            "这一轮又中断了，没有运行或改动任何东西。",
        ),
        (
            "threads.suspend_message",
            "This turn was cut off, and it may have done things already. Begun before that:\n- make\n- make install\n"
            "Reply `continue` or `stop`.",
            "这一轮中断了，可能已经做了一些事。此前已开始：\n- make\n- make install",
        ),
        (
            "threads.suspend_message",
            "clew was away, and 3 messages waited here. Reply `run all`, `merge` (into one) or `skip`.",
            "clew 离开了一段时间，这里有 3 条消息在等。",
        ),
    ],
)
def test_a_known_sentence_becomes_a_code(tmp_path: Path, column: str, text: str, chinese: str) -> None:
    assert zh(recoded(tmp_path, text, column)) == chinese


@pytest.mark.parametrize(
    ("column", "text"),
    [
        ("gates.answered_by", "ann"),
        ("turns.problem_message", "model overloaded: try again"),
        ("deliveries.error", ""),
        ("gates.warning", "https://example.org/x"),
    ],
)
def test_a_text_that_is_not_clews_keeps_its_words(tmp_path: Path, column: str, text: str) -> None:
    kept = recoded(tmp_path, text, column)
    assert kept == text and not isinstance(kept, Text)


def test_a_sentence_that_is_worded_anew_is_still_found_in_an_old_home(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(OF_GATES, "turn_over", ("it has ended meanwhile", "本轮其间已结束"))
    found = recoded(tmp_path, "the turn is over", "gates.why")
    assert (coded := coded_of(found)) is not None and coded.code == "gates.turn_over"
    assert found == "it has ended meanwhile"


def test_the_codes_that_the_migration_writes_stay_in_the_catalogue() -> None:
    """With no new holes: rows have no values for them."""
    frozen = msgspec.json.decode(SENTENCES.read_bytes(), type=dict[str, dict[str, str]])
    for area, known in frozen.items():
        for name, template in known.items():
            now = sentences(area)[name]
            assert set(HOLE.findall("".join(now))) <= set(HOLE.findall(template)), name


def test_history_of_an_old_home_is_the_same_to_the_byte(tmp_path: Path) -> None:
    with closing(sqlite3.connect(tmp_path / "clew.db", isolation_level=None)) as raw:
        raw.executescript(OLD.read_text(encoding="utf-8"))
        raw.row_factory = sqlite3.Row

        def history() -> list[tuple[str, ...]]:
            nodes = [tuple(row) for row in raw.execute("SELECT * FROM nodes ORDER BY hash")]
            return nodes + [tuple(row) for row in raw.execute("SELECT id, head FROM threads ORDER BY id")]

        before = history()
        migrate(SqliteConnection(raw), SystemClock())
        assert history() == before and len(before) > 10
        suspended = [
            row["m"] for row in raw.execute("SELECT suspend_message m FROM threads WHERE status = 'suspended'")
        ]
        assert suspended and all("Reply" not in text for text in suspended)
