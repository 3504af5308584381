"""Nobody approves what they do not see: invisible and lookalike characters are escaped."""

from __future__ import annotations

import unicodedata

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from clew.support.display import escape_hidden, shortened

ANY = st.text(st.characters(exclude_categories=()))

READABLE = [
    "rm -rf build && echo 'done' | tee log.txt > $HOME/x # \\u0441 ~!@%^&*(){}[]<>?",
    *(
        "你好，世界；用 git，然后（测试）",
        "git仓库 里的 main分支",
        "日本語のファイル Tシャツ １２月 Ｔシャツ",
        "한국어 파일",
    ),
    *(
        "Привет, мир: съешь ещё этих мягких французских булок",
        "а также с ним и о нём",
        "Я и он, но не в том",
        "со мной",
    ),
    *(
        "να κάνω και για",
        "Γειά σου Κόσμε",
        "café naïve straße Łódź kapı ñandú",
        "שלום עולם",
        "مرحبا",
        "नमस्ते",
        "ที่นี่ น้ำ",
        "שָּׁלוֹם",
    ),
    *("x² 1º λx μm Δt ½", "a – b, 1–5 — “so” ‘it’ is…", "→ ✓ 🎉 é e\u0301 ñ n\u0303"),
]

SHOWN = {
    # invisible characters
    "a\u200bb": "a\\u200bb",
    "a\u200db\u2060c\ufeffd": "a\\u200db\\u2060c\\ufeffd",
    "a\u00adb": "a\\xadb",
    "ls\u00a0-la": "ls\\xa0-la",
    "a\u3000b\u2003c\u1680d": "a\\u3000b\\u2003c\\u1680d",
    "a\u2028b\u2029c\x85d": "a\\u2028b\\u2029c\\x85d",
    "a\u202eb\u2066c\u200ed\u200fe\u061cf": "a\\u202eb\\u2066c\\u200ed\\u200fe\\u061cf",
    "a\U000e0041\U000e007f": "a\\U000e0041\\U000e007f",
    "a\ufe0fb\U000e0100c\u180bd": "a\\ufe0fb\\U000e0100c\\u180bd",
    "a\u3164b\u115fc\u2800d\uffa0e\u034ff": "a\\u3164b\\u115fc\\u2800d\\uffa0e\\u034ff",
    "a\u2d7fb\U0001107fc\U00016fe4d\U0001bc9d": "a\\u2d7fb\\U0001107fc\\U00016fe4d\\U0001bc9d",
    "a\U00011a47b\U00011a99c\ufffcd": "a\\U00011a47b\\U00011a99c\\ufffcd",
    # stacks of marks of any script
    "x" + "\u0e38\u0e48" * 2 + "y": "x\u0e38\u0e48\u0e38\\u0e48y",
    "ш" + "\u0483" * 5 + " x": "ш" + "\u0483" * 3 + "\\u0483\\u0483 x",
    "一" + "\u1ab0" * 4: "一" + "\u1ab0" * 3 + "\\u1ab0",
    "ж" + "\u0488" * 4: "ж" + "\u0488" * 3 + "\\u0488",
    "\x1b[2J\x07\r\x00\x7f\x9b": "\\x1b[2J\\x07\\x0d\\x00\\x7f\\x9b",
    "\udcff\ue000\U000f0000": "\\udcff\\ue000\\U000f0000",
    # lookalikes
    "сat x": "\\u0441at x",
    "cаt": "c\\u0430t",
    "раураӏ.com": "\\u0440\\u0430\\u0443\\u0440\\u0430\\u04cf.com",
    "ср a b": "\\u0441\\u0440 a b",
    "с": "\\u0441",
    "хаос": "\\u0445\\u0430\\u043e\\u0441",
    "gооgle.соm": "g\\u043e\\u043egle.\\u0441\\u043em",
    "ο": "\\u03bf",
    "ΑΒΕ": "\\u0391\\u0392\\u0395",
    "ｒｍ -rf": "\\uff52\\uff4d -rf",
    "𝓇𝓂 𝗅𝗌": "\\U0001d4c7\\U0001d4c2 \\U0001d5c5\\U0001d5cc",
    "\u212aill": "\\u212aill",
    "ᴄᴀᴛ ɡit": "\\u1d04\\u1d00\\u1d1b \\u0261it",
    "ꓚꓮꓔ ᏚᎬᎢ": "\\ua4da\\ua4ee\\ua4d4 \\u13da\\u13ac\\u13a2",
    "ls\u037erm": "ls\\u037erm",
    "github.com\u2215evil a\u2044b x\u2024y": "github.com\\u2215evil a\\u2044b x\\u2024y",
    "rm \u2013rf \u2212v a\u2010b": "rm \\u2013rf \\u2212v a\\u2010b",
    "rm\u0338 /\u0301 a\u0301\u0301\u0301": "rm\\u0338 /\\u0301 a\u0301\u0301\\u0301",
}


@pytest.mark.parametrize("text", READABLE)
def test_text_of_any_language_stays_unchanged(text: str) -> None:
    assert escape_hidden(text) == text


@pytest.mark.parametrize("text", SHOWN, ids=ascii)
def test_hidden_and_lookalike_characters_are_escaped(text: str) -> None:
    assert escape_hidden(text) == SHOWN[text]


def test_newlines_and_tabs_are_shown_where_only_one_line_is_wanted() -> None:
    assert escape_hidden("a\tb\nc") == "a\tb\nc"
    assert escape_hidden("a\tb\nc", lines=False) == "a\\tb\\nc"


GAPS = {
    f"ls{' ' * 5000}; rm x": "ls␣×5000; rm x",
    f"ls{' ' * 20}{chr(9) * 21}; rm x": "ls␣×41; rm x",
    f"ls\u00a0{' ' * 41}; rm x": "ls\\xa0␣×41; rm x",
    f"ls\r{' ' * 41}; rm x": "ls\\x0d␣×41; rm x",
    f"ls #\n{' ' * 5000}rm x": "ls #\n␣×5000rm x",
    f"+{' ' * 201}rm x": "+␣×201rm x",
    f"ls{' ' * 41}": "ls␣×41",
}
NO_GAPS = [f"ls{' ' * 40}# note", f"{' ' * 200}deep", f"+{' ' * 60}deep", f"a\n{chr(9) * 60}b"]


@pytest.mark.parametrize("text", GAPS, ids=range(len(GAPS)))
def test_a_gap_that_hides_the_rest_of_a_line_is_shown_by_its_length(text: str) -> None:
    assert escape_hidden(text) == GAPS[text]


@pytest.mark.parametrize("text", NO_GAPS, ids=range(len(NO_GAPS)))
def test_indentation_and_small_gaps_stay_as_they_are(text: str) -> None:
    assert escape_hidden(text) == text


def test_where_only_one_line_is_wanted_nothing_is_indentation() -> None:
    assert escape_hidden(f"a\n{' ' * 60}b", lines=False) == "a\\n␣×60b"


@given(ANY)
def test_no_shown_character_is_invisible(text: str) -> None:
    shown = escape_hidden(text)
    unseen = {"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp", "Zs"}
    assert [char for char in shown if unicodedata.category(char) in unseen and char not in " \n\t"] == []
    assert "\n" not in escape_hidden(text, lines=False)


@given(st.text(st.characters(max_codepoint=0x7E, min_codepoint=0x20)))
def test_plain_ascii_is_shown_as_it_is(text: str) -> None:
    assume(" " * 41 not in text)
    assert escape_hidden(text) == text


@given(st.text(st.sampled_from("abcxo сахо"), min_size=1))
def test_in_a_word_with_english_letters_no_other_letter_passes_for_one(text: str) -> None:
    for word in escape_hidden(text).split():
        assert word.isascii() or not any(char.isascii() for char in word)


def test_a_long_text_is_shown_by_its_beginning_and_end() -> None:
    text = "a" * 600 + "b" * 400
    shown = shortened(text, 100)
    assert shown.startswith("aaaa") and shown.endswith("bbbb") and len(shown) <= 100
    assert " … ✂ 913 … " in shown
    assert shortened(text, 1000) == text and shortened("", 0) == ""


@given(ANY, st.integers(0, 200))
def test_what_is_left_out_is_counted(text: str, limit: int) -> None:
    shown = shortened(text, limit)
    if shown != text:
        kept, _, end = shown.rpartition(" … ✂ ")
        count, _, rest = end.partition(" … ")
        assert len(kept) + len(rest) + int(count.replace(",", "")) == len(text)
        assert text.startswith(kept) and text.endswith(rest)
