"""Widths, rows and tables: pure."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clew.cli.view.text_width import age, duration, fit, fit_end, rows_of, table
from clew.cli.view.threads import thread_table
from clew.cli.view.transcript import entry_text
from clew.model.views import Passage, ThreadView
from clew.support.coded import coded_in
from clew.support.display.width import width
from clew.texts.catalogue import say
from tests.helpers.views import thread_view


@given(st.text(st.characters(exclude_categories=["Cc", "Cs"]), max_size=80), st.integers(4, 40))
def test_rows_fit_and_join_to_the_line(line: str, room: int) -> None:
    rows = rows_of(line, room)
    assert "".join(rows) == line
    assert all(width(row.rstrip(" ")) <= room for row in rows)


@given(st.text(max_size=60), st.integers(1, 30))
def test_fitted_text_fits(text: str, room: int) -> None:
    assert width(fit(text, room)) <= room
    assert width(fit_end(text, room)) <= room


def test_the_end_of_a_text_fits() -> None:
    assert fit_end("never lose the thread", 11) == "…the thread"
    assert fit_end("不丢线索", 6) == "…线索"


def test_a_row_is_broken_at_a_space() -> None:
    assert rows_of("never lose the thread", 10) == ["never lose ", "the thread"]


def test_columns_align_with_chinese_text() -> None:
    assert table([("好的", "x"), ("abcd", "y")]) == ["好的  x", "abcd  y"]


@pytest.mark.parametrize(("seconds", "words"), [(0, "0 s"), (65, "1 min 05 s"), (7380, "2 h 03 min")])
def test_a_duration_in_words(seconds: int, words: str) -> None:
    assert duration(seconds) == words


@pytest.mark.parametrize(
    ("seconds", "short"), [(-3, "0s"), (59, "59s"), (3599, "59m"), (90_000, "1d"), (700_000, "1w")]
)
def test_an_age_is_short(seconds: int, short: str) -> None:
    assert age(seconds) == short


def thread(name: str, **given: Any) -> ThreadView:
    return thread_view(name, **{"title": "a title", "active_at": 1000, **given})


def test_a_table_fits_the_terminal_and_keeps_its_last_column() -> None:
    rows = [thread("01ABCDEFGHJ", title="t" * 200, last_line="l" * 200), thread("01BBCDEFGHJ", last_line="short")]
    lines = thread_table(rows, 61, 80)
    assert lines[0].split() == ["HANDLE", "STATUS", "TITLE", "RUNTIME", "ACTIVE", "LAST", "LINE"]
    assert all(width(line) <= 80 for line in lines)
    assert "…" in lines[1] and "1m" in lines[1] and lines[1].endswith("l…")
    assert lines[2].endswith("short")


@pytest.mark.parametrize(
    ("title", "shown"),
    [
        ("correct the spelling mistakes in the manual", "correct the spelling mist…"),
        ("检查重试逻辑并修复网络模块", "检查重试逻辑并修复"),
    ],
)
def test_on_a_narrow_terminal_titles_stay_legible_and_less_important_columns_go(title: str, shown: str) -> None:
    rows = [thread("01ABCDEFGHJ", handle="correct-spelling", title=title, last_line="l" * 50)]
    head, line = thread_table(rows, 61, 60)
    assert head.split() == ["HANDLE", "STATUS", "TITLE", "ACTIVE"] and shown in line and width(line) <= 60
    assert "LAST LINE" in thread_table(rows, 61, 100)[0]
    short = [thread("01ABCDEFGHJ", handle="spelling", title="spelling", last_line="done")]
    assert "LAST LINE" in thread_table(short, 61, 60)[0]


@given(st.integers(1, 300), st.text(max_size=90), st.text(max_size=90))
def test_a_table_never_wraps(room: int, title: str, last: str) -> None:
    rows = [thread("01ABCDEFGHJ", title=title, last_line=last)]
    assert len(thread_table(rows, 61, room)) == 2


def test_without_a_terminal_no_header_and_a_question_replaces_the_answer() -> None:
    view = thread("01ABCDEFGHJ", handle="a-title", status="suspended", suspend_message="go\non?")
    (line,) = thread_table([view], 61, None)
    assert line == "a-title  suspended  a title  codex  1m  go on?"


def test_a_list_shows_sentences_of_clew_in_the_language_of_the_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    mark = say("turns.failed_mark", problem=say("threads.turn_failed"))
    rows = [thread("01ABCDEFGHJ", last_line=str.__str__(mark), texts=coded_in(last_line=mark))]
    assert thread_table(rows, 61, None)[0].endswith("⚠ The turn failed.")
    monkeypatch.setenv("LC_ALL", "zh_CN.UTF-8")
    assert thread_table(rows, 61, None)[0].endswith("⚠ 这一轮失败了。")


def test_you_are_named_in_the_language_of_the_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    entry = Passage("person", "you", "hi", 1, None)
    assert entry_text(entry).startswith("## you, ")
    monkeypatch.setenv("LC_ALL", "zh_CN.UTF-8")
    assert entry_text(entry).startswith("## 你, ")
