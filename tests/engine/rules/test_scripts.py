"""Scripts with pipes, sequences, wildcards and `cd`: each command is judged alone, in every folder it may run in."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from clew.engine.rules.decide import decide
from clew.engine.rules.offered.suggest import suggest_pattern
from clew.model.gates import Asked, Effect, GateKind, Policy, Rule, RuleKind, Scope


@pytest.fixture
def work(tmp_path: Path) -> Path:
    work = tmp_path / "work"
    for folder in ("src/deep", "odd", "many"):
        (work / folder).mkdir(parents=True)
    for file in ("a.py", "b.py", "src/m.py", "src/deep/n.py", "odd/-n", "odd/ok"):
        (work / file).write_text("x\n")
    (tmp_path / "secret").write_text("s")
    (tmp_path / "away").mkdir()
    (tmp_path / "away/x").write_text("s")
    (work / "odd/link").symlink_to(tmp_path / "secret")
    (work / "odd/é").symlink_to(tmp_path / "secret")
    os.mkfifo(work / "odd/pipe")
    (work / "out").symlink_to(tmp_path / "away")
    return work


def verdict(work: Path, command: str, *patterns: str, leaves_sandbox: bool = False) -> str:
    asked = Asked(GateKind.COMMAND, command, folder=str(work), leaves_sandbox=leaves_sandbox)
    return decide(asked, Policy.CAREFUL, str(work), [allow(each) for each in patterns], 0, "t").effect.value


def allow(pattern: str) -> Rule:
    return Rule("01R", Effect.ALLOW, RuleKind.COMMAND, pattern, Scope.EVERYWHERE, "", 0)


READS = [
    *("rg x | head", "cat a.py 2>&1 | head -50", "find . -name '*.py' | wc -l", "ls -la 2>/dev/null", "ls; pwd"),
    *("grep -rn foo src | sort | uniq -c | sort -rn | head -20", "sed -n 1,20p a.py | nl", "cat a.py && cat b.py"),
    *("ls *.py", "ls -la src/*.py", "wc -l *.py src/*.py", "cat src/*/n.py", "head -n 3 ?.py", "grep -n x *.py | head"),
    *("grep -rn x --include=*.py src", "ls no-such-*", "find . \\( -name a -o -name b \\)", 'grep "a\\|b" a.py'),
    *(
        "cd ./src && ls",
        "cd ./src && cat m.py | head",
        "cd ./src; ls deep/*.py",
        "ls\npwd\ncat a.py",
        "cat src/m.py || true",
    ),
]
READS_NOT = [
    *(
        "echo =ls",
        "cat /etc/passwd",
        "rg x /etc",
        "tail +1f a.py",
        "sort -m a.py b.py",
        "echo x | tac a.py -",
        "cat odd/pipe",
    ),
    *(
        "date --date='TZ=\"/etc/x\" now'",
        "date +%99999999N",
        "stat --printf=%99999999n a.py",
        "cat 中\\;ls",
        "cat 'a' 中|ls",
    ),
    *("cd no-such-folder && cat x", "head odd^", "cat odd/??", "grep x odd/pipe", "cat " + "a/" * 1_600 + "x"),
    *("rg x | sh", "ls | xargs rm", "cat a.py | tee b", "ls && make", "ls; rm a.py", "ls > x", "ls >> x"),
    *("ls &", "cat < /etc/passwd", "cat odd/*", "cat odd/l*", "cat out/*", "cat */x", "ls out/*", "cat ../*"),
    *("cat /etc/*", "ls .*", "cat odd/?ink", "cd odd && cat *", "cd ./odd && cat *", "uniq *.py"),
    *("uniq a.py b.py | cat", "ls **/x", "cat *.py | sort -o a.py", "cd .. && cat secret", "cd ./out && ls"),
    *("cd / && ls", "cd /etc; cat passwd", "cd && ls", "cd - && ls", "cd ~ && ls", "cd src/.. && ls"),
    *("cd ./src && cat ../../secret", "cd ./src && cat ../a.py", "cd ./src | cat ../a.py", "pushd src; ls"),
    *("cd ./src", "popd; ls", "git -C x status | cat", "ls | git apply", "cat a.py | python", "echo x | sh"),
    *("echo x > a.py", "sort a.py | tac", "cat -- -n", "uniq -- -c a.py", "grep -e -- -f/etc/passwd"),
    *("cat -- odd/link", "ls | cat -- -n"),
]


@pytest.mark.parametrize("command", READS, ids=repr)
def test_commands_that_each_only_read_are_not_asked_about(work: Path, command: str) -> None:
    assert verdict(work, command) == "allow"
    assert verdict(work, f"/bin/bash -lc {_quoted(command)}") == "allow"


@pytest.mark.parametrize("command", READS_NOT, ids=repr)
def test_one_command_that_may_do_more_makes_the_script_asked_about(work: Path, command: str) -> None:
    assert verdict(work, command) == "ask"


@pytest.mark.parametrize("command", READS, ids=repr)
def test_nothing_that_leaves_a_sandbox_is_allowed_because_it_only_reads(work: Path, command: str) -> None:
    """Files that control it, such as a git config, may have been written inside the sandbox."""
    assert verdict(work, command, leaves_sandbox=True) == "ask"


def test_an_offered_rule_does_not_let_a_command_leave_a_sandbox(work: Path) -> None:
    """Inside the sandbox the agent writes the tests that would run outside."""
    (work / "out").unlink()  # no rule applies beside a link that leads out
    asked = Asked(GateKind.COMMAND, "pytest -q src", folder=str(work), leaves_sandbox=True)
    assert suggest_pattern(asked, str(work)) is None
    assert verdict(work, "pytest -q src", "pytest src …") == "allow"
    assert verdict(work, "pytest -q src", "pytest src …", leaves_sandbox=True) == "ask"
    assert verdict(work, "pytest -q src", "pytest *", leaves_sandbox=True) == "allow"


COVERED = [
    ("pytest -q | tail -5", ("pytest *",)),
    ("pytest -q 2>&1 | tail -n 5", ("pytest *",)),
    ("ruff check . && pytest -q", ("pytest *", "ruff check *")),
    ("pytest tests/*.py", ("pytest *",)),
    ("cd ./src && pytest -q | grep -n passed", ("pytest *",)),
    ("echo begin; make; echo end", ("make",)),
]
NOT_COVERED = [
    ("pytest -q | sh", ("pytest *", "sh *", "*")),
    ("pytest -q && rm x", ("pytest *",)),
    ("ln -s /etc/passwd l && cat l", ("ln *",)),  # `cat l` only reads inside the workspace as long as there is no link
    ("ln -s /etc e; cd ./e && ls", ("ln *",)),
    ("make && git status", ("make",)),
    ("pytest odd/*", ("pytest *",)),  # one of the names is an option, another leads out
    ("pytest -q > x", ("pytest *",)),
    ("pytest -q & make", ("pytest *", "make")),
    ("make | grep -r x", ("make",)),
    ("cd .. && make", ("make",)),
    ("pytest -q | grep -e root notes", ("pytest *",)),
    ("pytest -q | grep --color root notes", ("pytest *",)),
    ("pytest -q | grep --regexp=root notes", ("pytest *",)),
    ("pytest -q; grep --exclude --exclude root notes", ("pytest *",)),
    ("pytest -q; cut -f 1 --output-delimiter -f notes", ("pytest *",)),
    ("pytest -q; nl -s -s notes", ("pytest *",)),
    ("pytest -q; sort --check notes", ("pytest *",)),
    ("printf x; pytest -q", ("pytest *",)),
]


@pytest.mark.parametrize(("command", "patterns"), COVERED)
def test_an_allow_matches_a_script_if_it_matches_every_command(
    work: Path, command: str, patterns: tuple[str, ...]
) -> None:
    assert verdict(work, command, *patterns) == "allow"


@pytest.mark.parametrize(("command", "patterns"), NOT_COVERED)
def test_an_allow_does_not_match_a_script_with_another_command(
    work: Path, command: str, patterns: tuple[str, ...]
) -> None:
    assert verdict(work, command, *patterns) == "ask"


def test_a_pattern_of_many_stars_is_judged_quickly(work: Path) -> None:
    (work / ("a" * 250)).touch()
    assert verdict(work, f"ls {'*a' * 7}*b") == "allow"
    assert verdict(work, f"ls {'*a' * 40}*b") == "ask"


@pytest.mark.parametrize("command", ["cat *Σ", "cat A*Σ", "cat ?Σ", "cat *ς", "cat *k", "cat D/l*", "cat */LINK"])
def test_a_wildcard_may_match_a_name_in_another_case_of_any_script(work: Path, command: str) -> None:
    """Python lowercases a capital sigma at the end of a word differently, and the Kelvin sign becomes a k."""
    (work / "out").unlink()
    (work / "d").mkdir()
    for name in ("AΣ", "\u212a", "d/link"):
        (work / name).symlink_to(work.parent / "secret")
    assert verdict(work, command) == "ask"


def test_a_link_below_a_path_too_long_for_the_system_counts(work: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The system follows it step by step if another link shortens the way there."""
    depth, name = 16, "n" * 255
    monkeypatch.chdir(work)
    for _ in range(depth):
        Path(name).mkdir()
        os.chdir(name)
    Path("L").symlink_to("/usr/lib")
    os.chdir(work)
    half = "/".join([name] * (depth // 2))
    (work / "A").symlink_to(half)
    (work / "z").symlink_to(f"A/{half}/L/{'../' * (depth + 1)}etc/passwd")
    assert (work / "z").read_text().startswith("root:")
    assert verdict(work, "cat z") == "ask"


def test_a_word_that_is_very_long_is_asked_about(work: Path) -> None:
    """The parsers scan each word more than once."""
    assert verdict(work, f"echo {'%' * 4_096}") == "allow"
    assert verdict(work, f"echo {'%' * 4_097}") == "ask"
    assert verdict(work, f"pytest -q | grep '{{{'9' * 5_000}}}'", "pytest *") == "ask"


def test_a_pattern_that_takes_long_to_match_is_asked_about(work: Path) -> None:
    for number in range(40):
        (work / f"d{number}").mkdir()
        (work / f"{'f' * 200}{number}").touch()
    assert verdict(work, f"ls {'d*/../' * 2}{'*?' * 4}x") == "ask"
    assert verdict(work, f"ls {'*?' * 400}x") == "ask"


def test_a_script_of_very_many_commands_is_asked_about(work: Path) -> None:
    assert verdict(work, "; ".join(["ls"] * 30)) == "allow"
    assert verdict(work, "; ".join(["ls"] * 31)) == "ask"


def test_a_wildcard_that_matches_too_many_names_is_asked_about(work: Path) -> None:
    for number in range(2_100):
        (work / "many" / f"f{number}").touch()
    assert verdict(work, "cat many/*") == "ask"


def _quoted(command: str) -> str:
    return "'" + command.replace("'", "'\"'\"'") + "'"


def test_a_folder_that_differs_for_each_program_is_asked_about(work: Path) -> None:
    (work / "l").symlink_to("/proc/self/cwd")
    assert verdict(work, "cd l && cat a.txt") == "ask"


def test_a_script_of_many_wildcards_is_asked_about(work: Path) -> None:
    assert verdict(work, f"echo {'z* ' * 31}") == "ask"


def test_a_wildcard_for_one_character_may_stand_for_more_in_another_locale(work: Path) -> None:
    (work / "丁中").symlink_to("/etc/hostname")
    assert verdict(work, "cat ???") == "ask"
