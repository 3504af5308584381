"""Converting Markdown to Telegram's entities."""

from __future__ import annotations

import subprocess
import sys
from collections import Counter
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clew.engine.delivery.split import joined, split
from clew.model.surface import Units
from clew.surfaces.telegram.entities import LONGEST, MOST, Entity, Shown, shown, units
from tests.surfaces.documents import disorder, document
from tests.surfaces.fakes.telegram import check_entities, check_text


def looks(markdown: str) -> list[tuple[str, str]]:
    """Return the type and text of each entity."""
    whole = shown(markdown)
    data = whole.text.encode("utf-16-le")
    return [(each.type, _piece(data, each)) for each in whole.entities]


def _piece(data: bytes, entity: Entity) -> str:
    return data[2 * entity.offset : 2 * (entity.offset + entity.length)].decode("utf-16-le")


def taken(markdown: str) -> Shown:
    """Show a text as the platform takes it: it refuses what is not quite right."""
    whole = shown(markdown)
    fields = [dict(entity.fields()) for entity in whole.entities]
    check_entities(check_text(whole.text), fields)
    return whole


def letters(*texts: str) -> Counter[str]:
    return Counter(char for text in texts for char in text if char.isalnum())


def outside_code(whole: Shown) -> str:
    data = bytearray(whole.text.encode("utf-16-le"))
    for entity in whole.entities:
        if entity.type in ("pre", "code"):
            covered = slice(2 * entity.offset, 2 * (entity.offset + entity.length))
            data[covered] = " ".encode("utf-16-le") * entity.length
    return data.decode("utf-16-le")


def lost(text: str, wholes: Sequence[Shown]) -> Counter[str]:
    """Letters and digits that are nowhere, not even in an address or the name of a language."""
    entities = (each for whole in wholes for each in whole.entities)
    others = (value for each in entities for value in (each.url, each.language) if value)
    return letters(text) - letters(*(whole.text for whole in wholes), *others)


def test_every_part_of_500_documents_is_taken_and_nothing_is_lost() -> None:
    for seed in range(500):
        parts = split(text := document(seed), LONGEST, Units.UTF16)
        assert joined(parts) == text
        wholes = [taken(part.shown) for part in parts]
        assert not lost(text, wholes), (seed, lost(text, wholes))
        for whole in wholes:
            assert len(whole.entities) == MOST or "**" not in outside_code(whole), (seed, outside_code(whole))


def test_disorder_is_taken_and_nothing_is_lost() -> None:
    for seed in range(1000):
        text = disorder(seed)
        assert not lost(text, [taken(text) if text.strip() else shown(text)]), (seed, text)


@pytest.mark.parametrize(
    ("markdown", "text", "look"),
    [
        ("plain", "plain", []),
        ("a **bold** word", "a bold word", [("bold", "bold")]),
        ("__bold__ and *it* and _it_", "bold and it and it", [("bold", "bold"), ("italic", "it"), ("italic", "it")]),
        ("**a `code` b**", "a code b", [("bold", "a"), ("code", "code"), ("bold", "b")]),
        ("🧶 `x` 🧶 **y**", "🧶 x 🧶 y", [("code", "x"), ("bold", "y")]),
        ("``a ` b``", "a ` b", [("code", "a ` b")]),
        ("[docs](https://example.org/a_(b))", "docs", [("text_link", "docs")]),
        ("[`f` **g**](https://x.org)", "f g", [("text_link", "f g"), ("bold", "g")]),
        ("![a knot](https://x.org/k.png)", "a knot", [("text_link", "a knot")]),
        ("<https://x.org>", "https://x.org", []),
        ("before\n```python\nx = *1*\n```\nafter", "before\nx = *1*\nafter", [("pre", "x = *1*")]),
        ("```\nnever closed", "never closed", [("pre", "never closed")]),
        ("````\n```\n````", "```", [("pre", "```")]),
        ("~~old~~ ***new***", "old new", [("strikethrough", "old"), ("bold", "new"), ("italic", "new")]),
        ("# A **big** title\ntext", "A big title\ntext", [("bold", "A big title")]),
        (
            "> said *so*\n> > twice\n\nyes",
            "said so\ntwice\n\nyes",
            [("blockquote", "said so\ntwice"), ("italic", "so")],
        ),
        ("> a\n> ```\n> x\n> ```\n> b", "a\nx\nb", [("blockquote", "a"), ("pre", "x"), ("blockquote", "b")]),
        ("- a\n- **b**\n  - c\n\n3. d", "• a\n• b\n  • c\n\n3. d", [("bold", "b")]),
        ("one\n\n---\n\ntwo", "one\n\n———\n\ntwo", []),
        (r"\*not bold\*", "*not bold*", []),
    ],
)
def test_markdown_becomes_entities(markdown: str, text: str, look: list[tuple[str, str]]) -> None:
    assert taken(markdown).text == text
    assert looks(markdown) == look


@pytest.mark.parametrize(
    ("markdown", "bold"),
    [
        ("**注意：**重启服务。", ["注意："]),
        ("请看**“引文”**这一段", ["“引文”"]),
        ("中文**粗体**中文，再来**一个**。", ["粗体", "一个"]),
        ("运行**`make`之后**再试", ["之后"]),
        ("（**重要**）", ["重要"]),
        ("**Note:**text", ["Note:"]),
    ],
)
def test_bold_beside_chinese_characters_and_signs_is_bold(markdown: str, bold: list[str]) -> None:
    assert [text for kind, text in looks(markdown) if kind == "bold"] == bold
    assert "*" not in shown(markdown).text


@pytest.mark.parametrize(
    "plain",
    [
        "snake_case_name and 2*3*4 and 2**3**4",
        "src/*.py, tests/*.py and *.md",
        "f(*args, **kwargs)",
        "[x](javascript:alert(1)) [y](file:///etc/passwd) [z](tg://user?id=1) [a.py](src/a.py:12)",
        "| a | table |",
        "** not bold ** `` `",
        "<b>not bold</b> &amp; &#8238;",
        "[hidden]: https://x.org 'text'",
        "> " * 60 + "deep",
        "```\n```",
    ],
)
def test_everything_else_stays_plain_text(plain: str) -> None:
    assert shown(plain) == Shown(plain)


def test_a_table_is_aligned_even_with_chinese() -> None:
    table = "| 名称 | n |\n|---|--:|\n| 甲乙丙 | **1** |\n| `b` | [l](https://x.org) |"
    text = "名称    n\n──────  ─────────────────\n甲乙丙  1\nb       l (https://x.org)"
    assert shown(f"so:\n\n{table}\n\nend").text == f"so:\n\n{text}\n\nend"
    assert looks(table) == [("pre", text)]


def test_a_table_that_would_be_too_long_if_aligned_stays_as_it_was_written() -> None:
    table = f"| a | b |\n|---|---|\n| {'x' * 900} | y |\n" + "| c | d |\n" * 20
    assert taken(table).text == table.strip()
    assert [entity.type for entity in shown(table).entities] == ["pre"]


def test_a_table_over_several_messages_has_its_head_in_each() -> None:
    rows = "".join(f"| {number} | 值{number} |\n" for number in range(900))
    parts = split(f"| 编号 | 值 |\n|---|---|\n{rows}", LONGEST, Units.UTF16)
    assert len(parts) > 2
    for part in parts:
        [entity] = taken(part.shown).entities
        assert entity.type == "pre" and taken(part.shown).text.startswith("编号")


def test_of_too_many_entities_links_stay() -> None:
    text = " ".join(f"**b{number}**" for number in range(150)) + " [here](https://x.org)"
    whole = taken(text)
    assert len(whole.entities) == MOST and whole.entities[-1].url == "https://x.org" and "*" not in whole.text


def test_a_fence_names_its_language_and_a_link_its_address() -> None:
    assert shown("```rust\nx\n```").entities == (Entity("pre", 0, 1, language="rust"),)
    assert shown("[a](https://x.org/?q=1)").entities == (Entity("text_link", 0, 1, url="https://x.org/?q=1"),)


def test_a_note_is_an_italic_line_below() -> None:
    assert shown("done 🧶", "may be a repeat") == Shown("done 🧶\n\nmay be a repeat", (Entity("italic", 9, 15),))


@pytest.mark.parametrize("text", ["*`_[" * 1000, "**a " * 1000, "[" * 4000, "> " * 2000, "|-" * 2000, "- " * 2000])
def test_a_long_line_of_marks_takes_no_time(text: str) -> None:
    taken(text)


def test_a_code_of_one_character_ends_at_its_own_backtick() -> None:
    text = "Reply `y` or `n`, or a number; with its code where several are open: `K7Q2 y`."
    assert shown(text).text == text.replace("`", "")
    assert looks(text) == [("code", "y"), ("code", "n"), ("code", "K7Q2 y")]


CODES = st.text(st.characters(exclude_characters="`\n\r", exclude_categories=["Cs", "Cc", "Z"]), min_size=1, max_size=4)


@given(st.lists(CODES, min_size=1, max_size=6), st.integers(1, 3))
def test_each_of_several_codes_in_a_line_is_shown_as_it_is(codes: list[str], count: int) -> None:
    ticks = "`" * count
    line = " or ".join(f"{ticks}{code}{ticks}" for code in codes)
    assert looks(f"Reply {line}") == [("code", code) for code in codes]


def test_offsets_count_utf16_units() -> None:
    assert units("🧶") == 2
    assert shown("🧶🧶 **粗**").entities == (Entity("bold", 5, 1),)


@pytest.mark.process
def test_the_parser_is_imported_only_to_send() -> None:
    code = "import sys; import clew.surfaces.telegram.surface; print('markdown_it' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"


def calls_for(markdown: str) -> int:
    """Count the calls that showing a text takes, which is the same on a busy machine."""
    count = 0

    def note(*_: object) -> None:
        nonlocal count
        count += 1

    before = sys.getprofile()
    sys.setprofile(note)
    try:
        shown(markdown)
    finally:
        sys.setprofile(before)
    return count


@pytest.mark.parametrize("piece", ["`x` ", "*x* ", "**`x` y** "])
def test_the_work_grows_with_the_length_and_not_with_its_square(piece: str) -> None:
    shown(piece)  # the parser is made once
    assert calls_for(piece * 400) < 6 * calls_for(piece * 100)


def test_a_style_written_twice_around_the_same_words_counts_once() -> None:
    assert looks("**__both__**") == [("bold", "both")]
