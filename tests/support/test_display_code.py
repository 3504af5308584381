"""Commands, paths and diffs are shown in the order in which they run, without lookalikes of shell characters and with
nothing out of sight."""

from __future__ import annotations

import sys
import unicodedata
from collections.abc import Callable
from functools import partial

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clew.support.display.as_code import (
    as_code,
    as_command,
    as_prose,
    detail_shown,
    many_in,
    many_lines,
    script_shown,
    title_shown,
)

ANY = st.text(st.characters(exclude_categories=["Cs"]))
READABLE = [
    "rm -rf build && echo 'done' | tee log.txt > $HOME/x # ~!@%^&*(){}[]<>?",
    'git commit -m "修复“登录”页面（测试）；优化《首页》，完成！"',
    "echo 你好，世界：用 git 然后（测试） 好吗？",
    "cat 文件名.txt ファイル（新）.md 한국어.txt",
    "cp café.txt Łódź.md 'Привет, мир'",
]
# All that looks like ' " ` # ; & | $ < > ( ) { } \ of what Unicode lists as confusable, and the wide and small forms.
SIGNS = (
    "\u02bc\u2019\u02b9\uff07\u05f3\u02ee\u201d\u1fef\u02cb\ufe5f\uff03\u2033\u02ba\u055a\ua78c\u2018\u201c\u2032\u2035"
    "\uff02\uff40\uff1b\ufe54\uff06\ufe60\uff5c\u2223\u01c0\uff04\ufe69\uff1c\uff1e\u2039\u203a\uff08\uff09\u2768\u2769"
    "\uff5b\uff5d\ufe5b\ufe5c\uff3c\ufe68\u2216\uff0d\ufe63\u037e\u061b\u3008\u3009\u275d\u301d"
    "\u2317\u2d4c\U0001f676\U0001f677\u02bf\u0559\U00016f51\U0001f67d\u1420"
)


@pytest.mark.parametrize("text", READABLE)
def test_ordinary_commands_stay_as_they_are(text: str) -> None:
    assert as_command(text) == text


@pytest.mark.parametrize("sign", SIGNS, ids=ascii)
def test_lookalikes_of_shell_characters_are_escaped(sign: str) -> None:
    among_chinese = (f"echo {sign}中; touch pwned 中{sign}", f"x {sign}中 /etc{sign}") if sign != "；" else ()
    for command in (f"echo {sign}; touch pwned {sign}", *among_chinese):
        escape = sign.encode("ascii", "backslashreplace").decode()
        assert sign not in as_command(command) and escape in as_command(command)


def test_a_stroke_counts_as_a_letter_only_beside_letters() -> None:
    assert as_command("echo a丶; ls 丶丶 “丶”") == r"echo a\u4e36; ls \u4e36\u4e36 \u201c\u4e36\u201d"
    assert as_command("cat 丶丶部.txt 汉字丶丶.md") == "cat 丶丶部.txt 汉字丶丶.md"


def test_a_quote_that_has_no_other_half_in_its_piece_is_none() -> None:
    assert as_command("echo ”中“ “中（”）") == r"echo \u201d中\u201c \u201c中\uff08\u201d\uff09"
    assert as_command("git commit -m 'Don’t'") == r"git commit -m 'Don\u2019t'"


def test_prose_keeps_its_quotes() -> None:
    for shown in (title_shown("question", "“So”, שלום?"), detail_shown("question", "“So”, שלום?")):
        assert shown == "“So”, שלום?"
    assert detail_shown("change", "+│ “so” ‘it’") == "+│ “so” ‘it’"


@pytest.mark.parametrize("kind", ["command", "change", "permission"])
def test_right_to_left_letters_are_escaped_in_code(kind: str) -> None:
    assert title_shown(kind, "cat א > ב") == r"cat \u05d0 > \u05d1"
    assert detail_shown(kind, "+cp مر ١ 2") == r"+cp \u0645\u0631 \u0661 2"


def test_every_right_to_left_letter_is_covered() -> None:
    letters = map(chr, range(0x80, sys.maxunicode + 1))
    turned = "".join(char for char in letters if unicodedata.bidirectional(char) in ("R", "AL", "AN"))
    assert turned and as_code(turned).isascii()


def test_many_blank_lines_are_folded_and_counted() -> None:
    assert as_command("touch pwned" + "\n" * 3501 + "ls") == "touch pwned\n⏎×3500\nls"
    assert as_code("touch pwned" + "\n \t" * 1100 + "ls") == "touch pwned\n⏎×1099\n \tls"
    assert as_code("-a\n" + "+\n" * 900 + "+b\n" + "-\n" * 4) == "-a\n+⏎×900\n+b\n-⏎×4\n"
    assert as_code("a\n\n\n\nb\n+\n-\n+\n-\n") == "a\n\n\n\nb\n+\n-\n+\n-\n"


@pytest.mark.parametrize("shown", [as_prose, partial(title_shown, "question"), partial(detail_shown, "question")])
def test_blank_lines_in_an_agents_text_hide_nothing(shown: Callable[[str], str]) -> None:
    assert shown("tests" + "\n" * 301 + "ls -la") == "tests\n⏎×300\nls -la"
    assert shown("“So”, שלום?\n\n- a\n- b") == "“So”, שלום?\n\n- a\n- b"


def test_a_text_cannot_pretend_to_be_folded() -> None:
    assert as_code("a\n⏎×9\nb") == "a\n\\u23ce×9\nb"
    assert as_code("a\n\nb", lines=False) == "a\\n\\nb"


@given(ANY)
def test_no_more_than_three_blank_lines_stand_in_a_row(text: str) -> None:
    lines = as_command(text).split("\n")
    blank = "".join("x" if line.strip(" \t") else " " for line in lines[:-1])
    assert "    " not in blank


def test_only_a_command_of_many_lines_says_how_many() -> None:
    long = "\n".join("x" * 21)
    assert (many_lines("command", long), many_lines("command", long[2:] + "\n")) == (21, None)
    assert many_lines("change", long) is None
    assert (many_in(long), many_in(long[2:] + "\n")) == (21, None)


@pytest.mark.parametrize(
    ("command", "shown"),
    [
        ("/bin/bash -c 'ls a'", "ls a"),
        ("/usr/bin/bash -lc make", "make"),
        ('/bin/bash -c "it\'s"', "it's"),
        ("""/bin/bash -c 'it'"'"'s'""", "it's"),
        *((each, each) for each in ('/bin/bash -c "echo $X"', "/bin/bash -c 'a' b", "/bin/bash -c ' '")),
        *((each, each) for each in ("bash -c 'ls'", "./bash -c 'ls'", "/bin/bash -x -c 'ls'", "/bin/bash a.sh")),
    ],
)
def test_a_shell_around_a_command_is_not_shown_if_that_hides_nothing(command: str, shown: str) -> None:
    """`bash` without a path may be any program, and double quotes may change the script."""
    assert script_shown(command) == title_shown("command", command) == shown
