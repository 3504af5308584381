"""Long answers as several messages."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clew.engine.delivery.split import joined, size, split
from clew.model.surface import Units

TEXTS = st.lists(
    st.sampled_from(
        [
            *"abc \n",
            "\n\n",
            "```py\n",
            "```\n",
            "~~~\n",
            "👩‍👩‍👧",
            "🇨🇳",
            "é",
            "e\u0301",
            "你好",
            "\u200b",
            "word " * 5,
            "\u202eright",
        ]
    ),
    max_size=120,
).map("".join)


@given(TEXTS, st.integers(30, 90), st.sampled_from(Units))
def test_every_part_fits_and_joined_they_are_the_text(text: str, limit: int, units: Units) -> None:
    parts = split(text, limit, units)
    assert joined(parts) == text
    shown = [part.shown for part in parts]
    assert all(size(one.rstrip(), units) <= limit for one in shown)
    assert len(parts) == 1 or all(one.strip() for one in shown)


def test_a_text_is_split_at_a_paragraph_then_a_line_then_a_space() -> None:
    def bodies(text: str) -> list[str]:
        return [part.body for part in split(text, 20, Units.CHARACTERS)]

    assert bodies("one two\nthree\n\nfour five six") == ["one two\nthree\n\n", "four five six"]
    assert bodies("one two three\nfour five six") == ["one two three\n", "four five six"]
    assert bodies("one two three four five six") == ["one two three four ", "five six"]
    assert bodies("x" * 45) == ["x" * 20, "x" * 20, "x" * 5]


def test_a_split_fence_is_closed_and_reopened_with_its_language() -> None:
    parts = split("```python\n" + "".join(f"line {n}\n" for n in range(8)) + "```\nend", 40, Units.CHARACTERS)
    assert [part.shown for part in parts] == [
        "```python\nline 0\nline 1\nline 2\n```",
        "```python\nline 3\nline 4\nline 5\n```",
        "```python\nline 6\nline 7\n```\nend",
    ]


@pytest.mark.parametrize("one", ["👩‍👩‍👧", "🇨🇳", "👍🏽", "e\u0301", "❤️"])
def test_a_visible_character_is_not_split(one: str) -> None:
    parts = split(one * 30, 40, Units.UTF16)
    assert len(parts) > 1 and all(part.body.replace(one, "") == "" for part in parts)


def test_a_very_long_fence_does_not_make_many_messages() -> None:
    parts = split("`" * 4100 + "\n" + "words and words " * 200, 4000, Units.CHARACTERS)
    assert len(parts) <= 4 and all(len(part.shown.rstrip()) <= 4000 for part in parts)


def test_lengths_are_counted_as_the_platform_counts_them() -> None:
    assert [size("a🧶你", units) for units in (Units.CHARACTERS, Units.UTF16, Units.BYTES)] == [3, 4, 8]
