"""Converting Markdown to Telegram's entities."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clew.surfaces.telegram.entities import Entity, Shown, shown, units

PIECES = ["**", "*", "_", "__", "`", "``", "```", "```py\n", "~~~\n", "\n", "[", "](https://x.org)", "](", ")", "\\"]
TEXTS = st.lists(
    st.sampled_from([*PIECES, "a", "b c", " ", "👩‍👩‍👧", "你好", "\u202e", "\u200b", "é"]), max_size=60
).map("".join)


def looks(markdown: str) -> list[tuple[str, str]]:
    """Return the type and text of each entity."""
    whole = shown(markdown)
    data = whole.text.encode("utf-16-le")
    return [(each.type, _piece(data, each)) for each in whole.entities]


def _piece(data: bytes, entity: Entity) -> str:
    return data[2 * entity.offset : 2 * (entity.offset + entity.length)].decode("utf-16-le")


@given(TEXTS)
def test_every_entity_is_within_the_text_and_the_text_never_grows(markdown: str) -> None:
    whole = shown(markdown)
    edges = {units(whole.text[:at]) for at in range(len(whole.text) + 1)}
    assert units(whole.text) <= units(markdown)
    for entity in whole.entities:
        assert entity.length > 0 and {entity.offset, entity.offset + entity.length} <= edges
    for outer in whole.entities:
        for inner in whole.entities:
            start, end = inner.offset, inner.offset + inner.length
            begun, ended = outer.offset, outer.offset + outer.length
            assert (
                end <= begun or ended <= start or (begun <= start and end <= ended) or (start <= begun and ended <= end)
            )


@pytest.mark.parametrize(
    ("markdown", "text", "look"),
    [
        ("plain", "plain", []),
        ("a **bold** word", "a bold word", [("bold", "bold")]),
        ("__bold__ and *it* and _it_", "bold and it and it", [("bold", "bold"), ("italic", "it"), ("italic", "it")]),
        ("**bold with `code` in it**", "bold with code in it", [("bold", "bold with code in it"), ("code", "code")]),
        ("🧶 `x` 🧶 **y**", "🧶 x 🧶 y", [("code", "x"), ("bold", "y")]),
        ("``a ` b``", "a ` b", [("code", "a ` b")]),
        ("[docs](https://example.org/a_(b))", "docs", [("text_link", "docs")]),
        ("before\n```python\nx = *1*\n```\nafter", "before\nx = *1*\nafter", [("pre", "x = *1*")]),
        ("```\nnever closed", "never closed", [("pre", "never closed")]),
        ("````\n```\n````", "```", [("pre", "```")]),
    ],
)
def test_markdown_becomes_entities(markdown: str, text: str, look: list[tuple[str, str]]) -> None:
    assert shown(markdown).text.rstrip("\n") == text
    assert looks(markdown) == look


@pytest.mark.parametrize(
    "plain",
    [
        "snake_case_name and 2*3*4",
        "* a list\n* of things",
        r"\*not bold\*",
        "[x](javascript:alert(1)) [y](file:///etc/passwd) [z](tg://user?id=1)",
        "# a heading\n> a quote\n| a | table |",
        "** not bold ** `` ` ",
        "<b>not bold</b> &amp;",
    ],
)
def test_everything_else_stays_plain_text(plain: str) -> None:
    assert shown(plain) == Shown(plain)


def test_a_fence_names_its_language_and_a_link_its_address() -> None:
    assert shown("```rust\nx\n```").entities == (Entity("pre", 0, 1, language="rust"),)
    assert shown("[a](https://x.org/?q=1)").entities == (Entity("text_link", 0, 1, url="https://x.org/?q=1"),)


def test_a_note_is_an_italic_line_below() -> None:
    assert shown("done 🧶", "may be a repeat") == Shown("done 🧶\n\nmay be a repeat", (Entity("italic", 9, 15),))


def test_a_long_line_of_marks_takes_no_time() -> None:
    shown("*`_[" * 1000)
    shown("**a " * 1000)


def test_a_code_of_one_character_ends_at_its_own_backtick() -> None:
    text = "Reply `y` or `n`, or a number; with its code where several are open: `K7Q2 y`."
    assert shown(text).text == text.replace("`", "")
    assert looks(text) == [("code", "y"), ("code", "n"), ("code", "K7Q2 y")]


CODES = st.text(st.characters(exclude_characters="`\n", exclude_categories=["Cs"]), min_size=1, max_size=4).filter(
    lambda code: bool(code.strip())
)


@given(st.lists(CODES, min_size=1, max_size=6), st.integers(1, 3))
def test_each_of_several_codes_in_a_line_is_shown_as_it_is(codes: list[str], count: int) -> None:
    ticks = "`" * count
    assert looks(" or ".join(f"{ticks}{code}{ticks}" for code in codes)) == [("code", code) for code in codes]
