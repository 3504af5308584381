"""The search of a workspace before `rg` or `tree` may read it without asking."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from clew.engine.rules.decide import decide
from clew.engine.rules.read_only import tree_walk
from clew.model.gates import Asked, GateKind, Policy


@pytest.fixture
def work(tmp_path: Path) -> Path:
    work = tmp_path / "work"
    (work / "src/deep").mkdir(parents=True)
    (tmp_path / "secret").write_text("{ not a pattern\n")
    (work / ".gitignore").write_text("# built\nnode_modules/\n*.pyc\n")
    (work / ".git/info").mkdir(parents=True)
    return work


def verdict(work: Path, command: str, folder: str = ".") -> tuple[str, str]:
    asked = Asked(GateKind.COMMAND, command, folder=str(work / folder))
    found = decide(asked, Policy.CAREFUL, str(work), (), 0, "t")
    return found.effect.value, str(found.reason or "")


@pytest.mark.parametrize("name", [".gitignore", ".ignore", "src/.rgignore", "src/deep/.ignore", ".git/info/exclude"])
@pytest.mark.parametrize("command", ["rg x", "rg --files src", "cat a | rg x", "tree --gitignore"])
def test_an_ignore_file_that_leads_outside_is_asked_about(work: Path, name: str, command: str) -> None:
    """Ripgrep prints lines that it cannot parse."""
    assert verdict(work, command)[0] == "allow"
    link = work / name
    link.parent.mkdir(parents=True, exist_ok=True)
    link.unlink(missing_ok=True)
    link.symlink_to(work.parent / "secret")
    for folder in (".", "src"):
        assert verdict(work, command, folder) == ("ask", f"ignore.linked:{name.partition('/info')[0]}")
    assert verdict(work, "grep -rn x")[0] == "allow"


def test_a_link_inside_the_workspace_is_fine(work: Path) -> None:
    (work / "src/.ignore").symlink_to("../.gitignore")
    assert verdict(work, "rg x")[0] == "allow"


def test_folders_in_a_plain_gitignore_line_are_not_searched(work: Path) -> None:
    inner = work / "node_modules/p"
    inner.mkdir(parents=True)
    (inner / ".ignore").symlink_to(work.parent / "secret")
    assert verdict(work, "rg x")[0] == "allow"
    for command in ("rg -uu x", "rg -g '*.js' x", "rg --no-ignore x", "rg --glob=p x", "rg x node_modules"):
        assert verdict(work, command)[0] == "ask", command
    assert verdict(work, "rg x", "node_modules")[0] == "ask"
    assert verdict(work, "cd node_modules && rg x")[0] == "ask"
    (work / ".git").rename(work / ".off")  # without a repository ripgrep ignores it
    assert verdict(work, "rg x")[0] == "ask"
    (work / ".off").rename(work / ".git")
    for text in (" node_modules\n", "x\rnode_modules\n"):
        (work / ".gitignore").write_bytes(text.encode())
        assert verdict(work, "rg x")[0] == "ask", text
    (work / ".gitignore").write_text("node_modules\n!node_modules/p\n")
    assert verdict(work, "rg x")[0] == "ask"
    (work / ".gitignore").write_text("node_modules\n")
    (work / ".ignore").write_text("!node_modules\n")
    assert verdict(work, "rg x")[0] == "ask"


def test_a_tree_that_is_too_large_to_search_is_asked_about(work: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tree_walk, "_MAX_ENTRIES", 3)
    (work / "a").touch()
    (work / "b").touch()
    assert verdict(work, "rg x") == ("ask", "tree.large:")
    assert verdict(work, "ls")[0] == "allow"


def test_the_exclude_file_of_a_repository_below_is_checked_too(work: Path) -> None:
    exclude = work / "src/deep/.git/info/exclude"
    exclude.parent.mkdir(parents=True)
    exclude.write_text("x\n")
    assert verdict(work, "rg x")[0] == "allow"
    exclude.unlink()
    exclude.symlink_to(work.parent / "secret")
    assert verdict(work, "rg x") == ("ask", "ignore.linked:src/deep/.git")


@pytest.mark.parametrize("command", ["rg -ie -A node_modules", "rg x node_modules", "rg -ie -m node_modules"])
def test_an_ignored_folder_that_is_named_is_searched(work: Path, command: str) -> None:
    (work / "node_modules").mkdir()
    (work / "node_modules/.gitignore").symlink_to(work.parent / "secret")
    assert verdict(work, "rg x")[0] == "allow"
    assert verdict(work, command)[0] == "ask"


def test_an_ignore_file_that_ripgrep_parses_differently_skips_nothing(work: Path) -> None:
    (work / "node_modules").mkdir()
    (work / "node_modules/.gitignore").symlink_to(work.parent / "secret")
    (work / ".gitignore").write_bytes(b"\xff\nnode_modules\n")
    assert verdict(work, "rg x")[0] == "ask"


@pytest.mark.parametrize("leads", ["../.git/modules/s", "g", "/elsewhere"])
def test_a_git_file_below_is_asked_about(work: Path, leads: str) -> None:
    """Ripgrep reads the exclude file there, and resolves a relative path from another folder than git."""
    assert verdict(work, "rg x")[0] == "allow"
    (work / "src/.git").write_text(f"gitdir: {leads}\n")
    assert verdict(work, "rg x")[0] == "ask"


@pytest.mark.parametrize("name", [".ignore", ".rgignore", ".gitignore"])
@pytest.mark.parametrize("command", ["rg x", "rg --files src", "tree --gitignore"])
def test_an_irregular_ignore_file_above_the_workspace_is_asked_about(work: Path, name: str, command: str) -> None:
    """Ripgrep reads those of all folders above; a regular file belongs to the person."""
    (work.parent / name).write_text("x\n")
    assert verdict(work, command)[0] == "allow"
    (work.parent / name).unlink()
    (work.parent / name).symlink_to("secret")
    assert verdict(work, command) == ("ask", f"ignore.linked:{work.parent / name}")
    (work.parent / name).unlink()
    os.mkfifo(work.parent / name)
    assert verdict(work, command)[0] == "ask"


def test_a_linked_ignore_file_in_the_home_folder_is_accepted(work: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (work.parent / ".gitignore").symlink_to(work.parent / "secret")
    assert verdict(work, "rg x")[0] == "ask"
    monkeypatch.setenv("HOME", str(work.parent))
    assert verdict(work, "rg x")[0] == "allow"


def test_the_exclude_file_of_a_repository_above_is_checked_too(work: Path) -> None:
    exclude = work.parent / ".git/info/exclude"
    exclude.parent.mkdir(parents=True)
    exclude.write_text("x\n")
    assert verdict(work, "rg x")[0] == "allow"
    exclude.unlink()
    exclude.symlink_to(work.parent / "secret")
    assert verdict(work, "rg x") == ("ask", f"ignore.linked:{work.parent / '.git'}")


@pytest.mark.parametrize("name", [".git/.ignore", ".git/refs/.rgignore", "src/.git/x/.gitignore"])
@pytest.mark.parametrize("command", ["rg --hidden x", "rg -. x", "rg x .git", "cd .git && rg x", "tree -a --gitignore"])
def test_an_ignore_file_in_a_git_folder_is_checked_too(work: Path, name: str, command: str) -> None:
    (work / name).parent.mkdir(parents=True, exist_ok=True)
    assert verdict(work, command)[0] == "allow"
    (work / name).symlink_to(work.parent / "secret")
    assert verdict(work, command) == ("ask", f"ignore.linked:{name}")


def test_a_line_of_gitignore_hides_no_file_that_is_read(work: Path) -> None:
    (work / ".gitignore").write_text(".git\n")
    assert verdict(work, "rg x")[0] == "allow"
    (work / ".git/info/exclude").symlink_to(work.parent / "secret")
    assert verdict(work, "rg x")[0] == "ask"


def test_folders_that_an_ignore_file_above_includes_are_searched(work: Path) -> None:
    inner = work / "node_modules/p"
    inner.mkdir(parents=True)
    (inner / ".ignore").symlink_to(work.parent / "secret")
    (work.parent / ".ignore").write_text("build\n")
    assert verdict(work, "rg x")[0] == "allow"
    (work.parent / ".ignore").write_text("!node_modules\n")
    assert verdict(work, "rg x")[0] == "ask"


def test_a_huge_commondir_is_not_read(work: Path) -> None:
    (work / ".git").rename(work / "src/git")
    (work / ".git").write_text("gitdir: src/git\n")
    with (work / "src/git/commondir").open("wb") as file:
        file.truncate(1 << 40)
    assert verdict(work, "rg x")[0] == "ask"


TESTS = ("test -f src", "test -e none")
PRINTS_OR_TESTS = (
    *("printf x", "printf '%s\\n' a", "printf %d 1", "printf '\\u0025d' 'path[$(touch RAN)1]'", "printf ?n PATH; ls"),
    *("test -f ../secret", "test -v x", "test -t 1", "test 1 -eq 1", "test -f a -a -f b", "test -f", "test -f -- a"),
    *("git -C src branch", "git -C .. branch", "git -C . -C .. branch", "git -C.. branch", "git --version x"),
)


@pytest.mark.parametrize("command", PRINTS_OR_TESTS, ids=repr)
def test_printf_and_complex_test_expressions_are_asked_about(work: Path, command: str) -> None:
    """`printf` of zsh evaluates numbers, which can run a command, and a file named `%n` makes it set a variable."""
    assert verdict(work, command)[0] == "ask"


@pytest.mark.parametrize("command", TESTS, ids=repr)
def test_testing_one_file_is_not_asked_about(work: Path, command: str) -> None:
    assert verdict(work, command)[0] == "allow"
