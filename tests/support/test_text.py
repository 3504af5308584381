from __future__ import annotations

import unicodedata

from hypothesis import given
from hypothesis import strategies as st

from clew.support.text import clean, visible

ANY = st.text(st.characters(exclude_categories=()))  # lone surrogates too


def test_terminal_escapes_are_shown_as_text() -> None:
    assert visible("\x1b]0;title\x07 \x1b[2J\x9b31m\r") == "\\x1b]0;title\\x07 \\x1b[2J\\x9b31m\\x0d"


def test_newlines_tabs_and_peoples_words_stay_as_they_are() -> None:
    assert visible("a\tb\nç 你好 👩‍💻 é") == "a\tb\nç 你好 👩‍💻 é"


def test_direction_marks_are_shown_as_escapes() -> None:
    assert visible("a\u202eb\u2066c") == "a\\u202eb\\u2066c"


def test_characters_no_database_can_hold_are_replaced() -> None:
    assert clean("a\0b\udcffc\n") == "a�b�c\n"


@given(ANY)
def test_what_is_visible_has_no_control_character_and_is_utf8(text: str) -> None:
    shown = visible(text)
    assert all(unicodedata.category(char) not in ("Cc", "Cs") or char in "\n\t" for char in shown)
    shown.encode()


@given(ANY)
def test_clean_text_is_utf8_and_cleaning_is_idempotent(text: str) -> None:
    assert "\0" not in clean(text)
    assert clean(clean(text)) == clean(text)
    clean(text).encode()


@given(ANY, ANY)
def test_pieces_are_shown_as_the_whole_is(one: str, two: str) -> None:
    assert visible(one) + visible(two) == visible(one + two)
    assert clean(one) + clean(two) == clean(one + two)
