"""The strict parser of scripts, for allow rules."""

from __future__ import annotations

import random
import shlex
import shutil
import subprocess
import unicodedata
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clew.engine.rules.shell.lenient import always_asks, unwrap_shell
from clew.engine.rules.shell.strict import Command, Word, parse_commands, word_texts
from tests.engine.rules.test_lenient_shell import ALWAYS_ASKS, ANY, NOT_PLAIN, PLAIN, SHELLISH

# More than plain words, but understood.
EXPLAINED = {
    "rg x | head -5": ["rg x", "head -5"],
    "git status && git diff --stat": ["git status", "git diff --stat"],
    "find . -name x | wc -l": ["find . -name x", "wc -l"],
    "ls;rm x": ["ls", "rm x"],
    "ls ; rm x": ["ls", "rm x"],
    "ls&&rm x": ["ls", "rm x"],
    "ls || rm x": ["ls", "rm x"],
    "ls | sh": ["ls", "sh"],
    "ls a|b": ["ls a", "b"],
    "ls\nrm x": ["ls", "rm x"],
    "ls;": ["ls"],
    "ls\n": ["ls"],
    "ls |\n head": ["ls", "head"],
    "ls 2>&1": ["ls"],
    "ls 2>/dev/null": ["ls"],
    "ls > /dev/null 2>&1": ["ls"],
    "2>/dev/null ls": ["ls"],
    "cat a </dev/null": ["cat a"],
    "echo x 1>&2": ["echo x"],
    "ls *": ["ls *"],
    "ls a?": ["ls a?"],
    "ls a~": ["ls a~"],
    "git diff HEAD~2..HEAD^": ["git diff HEAD~2..HEAD^"],
    "ls a\\ b": ["ls a_b"],
    'ls "a\\b"': ["ls a\\b"],
    'ls "a\\"b"': ['ls a"b'],
    "find . \\( -name a \\)": ["find . ( -name a )"],
    "bash -lc 'ls; rm x'": ["ls", "rm x"],
    "bash -lc 'ls\nrm x'": ["ls", "rm x"],
}
NOT_EXPLAINED = [
    *[command for command in NOT_PLAIN if command not in EXPLAINED],
    *("ls &", "ls & rm x", "ls |& cat", "ls ||| cat", "ls ;; cat", "ls ; ; cat", "ls &&", "| ls", "&& ls", "ls; &"),
    *(
        "ls &> /dev/null",
        "ls >& x",
        "ls 2>&3",
        "ls 2>&-",
        "ls >&x",
        "ls 2>>/dev/null",
        "ls 2>/dev/nul",
        "ls >/dev/nullx",
    ),
    *(
        "ls 2>/dev/null -l",
        "ls2>&1",
        "ls >/dev/null/../x",
        "ls >'/dev/null'",
        "ls </dev/tcp/x/1",
        "cat <x",
    ),
    *("*", "* x", "a* x", "'*' | A=b", "ls | A=b cat", "ls | =cat", "ls && ! cat x", "ls && time cat x", "ls; if x"),
    *("ls a:~", "ls a=~/x", "ls ~+", "ls ^x", "ls -~"),
    *("ls \\a", "ls \\\n-l", "ls \\", "ls \\é", "ls 'a\nb'", 'ls "a\nb"', 'ls "\\!"', 'ls "a\\\nb"'),
    *(
        "ls a[b]",
        "ls {a,b}",
        "ls **(x)",
        "ls @(x)",
        "ls ?(x)",
        "ls *(e:rm:)",
        "ls <1-5>",
        "(ls) | cat",
        "{ ls; } | cat",
    ),
    *("ls | while read x; do cat x; done", "ls # x\ncat y", "ls\n# x", "cat <<X\nls\nX", "ls | cat <<<x", "ls\r\ncat"),
]


@pytest.mark.parametrize("script", EXPLAINED, ids=repr)
def test_pipes_and_sequences_are_parsed_command_by_command(script: str) -> None:
    assert read(script) == [tuple(each.replace("_", " ") for each in line.split()) for line in EXPLAINED[script]]


@pytest.mark.parametrize("command", PLAIN, ids=repr)
def test_a_plain_command_is_parsed_into_its_words(command: str) -> None:
    assert read(command) == [PLAIN[command]]


@pytest.mark.parametrize("script", NOT_EXPLAINED, ids=repr)
def test_a_script_that_is_not_fully_understood_is_not_parsed(script: str) -> None:
    assert parse_commands(script) is None


def test_positions_of_wildcards_and_revision_signs_are_recorded() -> None:
    found = parse_commands("ls 'a*'b*? HEAD~2")
    assert found == [Command((Word("ls"), Word("a*b*?", wildcards=(3, 4)), Word("HEAD~2", revision_base="HEAD")))]


def test_a_command_knows_whether_it_reads_a_pipe() -> None:
    found = parse_commands("ls | head -1 && cat a; wc b || sort c | uniq") or []
    assert [command.reads_pipe for command in found] == [False, True, False, False, False, True]


@given(
    ANY
    | SHELLISH
    | st.lists(st.sampled_from(["ls", " ", "|", "&&", ";", "\n", "a", "2>&1", "'", '"', "\\"])).map("".join)
)
def test_any_text_is_parsed_or_gives_none(script: str) -> None:
    assert parse_commands(script) is None or all(command for command in parse_commands(script) or ())


@pytest.mark.parametrize("command", ALWAYS_ASKS, ids=repr)
def test_programs_that_run_other_commands_always_ask(command: str) -> None:
    assert all(always_asks(words) for words in read(command) or ())


@given(SHELLISH)
def test_wrapping_a_script_changes_nothing(script: str) -> None:
    assert parse_commands(f"/bin/bash -lc {shlex.quote(script)}") in (
        parse_commands(script),
        parse_commands(unwrap_shell(script)),
    )


@given(ANY | SHELLISH)
def test_the_words_of_one_command_equal_those_of_shlex(script: str) -> None:
    found = read(script)
    if found is not None and len(found) == 1 and not set(script) & set("><;\n"):
        assert list(found[0]) == shlex.split(unwrap_shell(script))


def test_every_invisible_character_is_refused() -> None:
    unseen = [
        chr(code) for code in range(0x110000) if unicodedata.category(chr(code)) in ("Cf", "Zs", "Zl", "Zp", "Cc")
    ]
    assert [char for char in unseen if char != " " and parse_commands(f"ls 'a{char}b'") is not None] == []


def read(script: str) -> list[tuple[str, ...]] | None:
    found = parse_commands(script)
    return None if found is None else [word_texts(command) for command in found]


def generated(count: int) -> list[str]:
    """Scripts of pieces that are plain, or nearly so. `p` is a function that prints its words."""
    draw = random.Random(11)
    pieces = [
        *(
            "p a",
            "p -b",
            "p 'x y'",
            'p "x y"',
            "p",
            "p ''",
            ' "a\\|b"',
            ' "a\\$b"',
            ' "\\\\"',
            " a\\ b",
            " \\(",
            " \\*",
            " a\\;",
        ),
        *(
            " ",
            " a",
            " 'a;b'",
            ' "a|b"',
            " é",
            " HEAD~1",
            " a^",
            " --c=d",
            " 2>&1",
            " 2>/dev/null",
            " >/dev/null",
            " a#b",
        ),
        *("|", " | ", "&&", " && ", "||", ";", "; ", "\n", " 2", " $x", " '", ' "', " `", " #", " !", " {a,b}", " \\a"),
    ]
    return ["p " + "".join(draw.choices(pieces, k=draw.randint(1, 7))) for _ in range(count)]


@pytest.mark.process
@pytest.mark.parametrize("shell", [shell for shell in ("sh", "bash", "dash", "zsh") if shutil.which(shell)])
def test_a_real_shell_runs_only_the_commands_that_were_parsed(shell: str, tmp_path: Path) -> None:
    accepted = [(script, found) for script in generated(20_000) if (found := read(script)) is not None]
    accepted = [(script, found) for script, found in accepted if all(words[0] == "p" for words in found)]
    assert len(accepted) > 1_500
    program = tmp_path / "program"
    program.write_text(_program(accepted))
    output = subprocess.run([shell, program], capture_output=True, check=True).stdout.decode()
    runs = [sorted(tuple(line.split("\3")[:-1]) for line in each.split("\1")[:-1]) for each in output.split("\2")[:-1]]
    for (script, found), ran in zip(accepted, runs, strict=True):
        named = sorted(words[1:] for words in found)
        assert ran == named or ("||" in script and set(ran) <= set(named)), script


def _program(accepted: list[tuple[str, list[tuple[str, ...]]]]) -> str:
    """Each command prints its words to descriptor 9, in one write: \\3 ends a word, \\1 a command, \\2 a script."""
    report = "output=; for word; do output=$output$word$end; done; printf '%s\\1' \"$output\" >&9"
    head = f"exec 9>&1 >/dev/null </dev/null; end=$(printf '\\3'); p() {{ {report}; }}\n"
    return head + "\n".join(f"{script}\nprintf '\\2' >&9" for script, _ in accepted)
