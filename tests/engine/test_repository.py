"""Where git may run unasked: only in the workspace's own repository, if nothing in it makes git run something else."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from clew.asking import Asked, Effect, GateKind, Policy, Reason
from clew.engine import repository
from clew.engine.rules import decide

Change = Callable[[Path], object]


@pytest.fixture
def work(tmp_path: Path) -> Path:
    """A workspace with a real repository, a commit, and folders that only sound like git's."""
    work = tmp_path / "work"
    for folder in ("src", "config", "objects", "refs"):
        (work / folder).mkdir(parents=True)
    git(work, "init", "-q", "-b", "main")
    (work / "src/a.txt").write_text("a\n")
    git(work, "add", "-A")
    commit(work)
    return work


def git(folder: Path, *words: str) -> None:
    clean = {key: value for key, value in os.environ.items() if not key.startswith("GIT_")}
    subprocess.run(["git", "-C", folder, *words], check=True, env=clean, capture_output=True)


def commit(folder: Path) -> None:
    git(folder, "-c", "user.name=x", "-c", "user.email=x@x", "commit", "-q", "-m", "x")


def verdict(work: Path, folder: str = ".", command: str = "git status") -> Effect:
    asked = Asked(GateKind.COMMAND, command, folder=str(work / folder))
    return decide(asked, Policy.CAREFUL, str(work), (), 0, "t").effect


@pytest.mark.parametrize("folder", [".", "src", "config"])
def test_git_in_the_workspaces_own_repository_is_not_asked_about(work: Path, folder: str) -> None:
    assert verdict(work, folder) is Effect.ALLOW
    assert verdict(work, folder, "git status && git diff --stat") is Effect.ALLOW


def fake_with_dangling_head(work: Path) -> None:
    """Finding C1 a: git takes a symlink that leads nowhere for a HEAD."""
    (work / "docs").mkdir()
    (work / "docs/HEAD").symlink_to("refs/heads/main")
    for folder in ("objects", "refs"):
        (work / "docs" / folder).mkdir()
    (work / "docs/config").write_text('[core]\n\tbare = false\n\tworktree = ..\n\tfsmonitor = "touch RAN #"\n')


def fake_with_commondir(work: Path) -> None:
    (work / "docs").mkdir()
    (work / "elsewhere/objects").mkdir(parents=True)
    (work / "elsewhere/refs").mkdir()
    (work / "docs/HEAD").write_text("ref: refs/heads/main\n")
    (work / "docs/commondir").write_text("../elsewhere\n")


def nested(work: Path) -> None:
    git(work, "init", "-q", "docs")


@pytest.mark.parametrize("made", [fake_with_dangling_head, fake_with_commondir, nested])
def test_git_below_something_that_looks_like_a_repository_is_asked_about(work: Path, made: Change) -> None:
    made(work)
    (work / "docs/deep").mkdir()
    for folder in ("docs", "docs/deep"):
        assert verdict(work, folder) is Effect.ASK
        assert verdict(work, folder, "git ls-files -o") is Effect.ASK
    assert verdict(work, ".", "cd ./docs && git status") is Effect.ASK
    assert verdict(work, ".", f"cd {work}/docs; git diff") is Effect.ASK


def test_git_in_a_repository_with_a_submodule_that_is_there_is_asked_about(work: Path) -> None:
    """Finding C1 c: `git status` goes down into the submodule, whose config anybody can have written."""
    git(work, "update-index", "--add", "--cacheinfo", f"160000,{'1' * 40},sub")
    assert verdict(work) is Effect.ALLOW  # nothing is there yet
    (work / "sub").mkdir()
    assert verdict(work) is Effect.ALLOW
    git(work, "init", "-q", "sub")
    assert verdict(work) is Effect.ASK
    assert repository.reason_to_ask(str(work), str(work)) == Reason("git.submodule", "sub")


@pytest.mark.parametrize("version", ["2", "4"])
def test_a_submodule_among_many_files_is_found_whatever_the_version_of_the_index(work: Path, version: str) -> None:
    for number in range(50):
        (work / f"file{number:0{number + 1}}").write_text("x")
    git(work, "add", "-A")
    git(work, "update-index", "--index-version", version)
    assert verdict(work) is Effect.ALLOW
    git(work, "init", "-q", "sub")
    git(work, "update-index", "--add", "--cacheinfo", f"160000,{'1' * 40},sub")
    assert verdict(work) is Effect.ASK


HOSTILE = {
    "core.fsmonitor": "touch RAN",
    "core.hooksPath": "~/x",
    "core.worktree": "..",
    "core.pager": "touch RAN",
    "core.attributesFile": "/etc/x",
    "core.splitIndex": "true",
    "include.path": "../evil",
    "includeIf.onbranch:main.path": "../evil",
    "diff.external": "touch RAN",
    "diff.x.textconv": "touch RAN",
    "diff.x.command": "touch RAN",
    "filter.x.clean": "touch RAN",
    "filter.x.process": "touch RAN",
    "gpg.program": "touch RAN",
    "log.showSignature": "true",
    "extensions.partialClone": "origin",
    "remote.origin.promisor": "true",
    "remote.origin.uploadpack": "touch RAN",
    "status.submoduleSummary": "true",
    "no.such.key": "1",
}


@pytest.mark.parametrize("key", HOSTILE)
def test_a_key_of_the_config_that_is_not_known_to_be_harmless_is_asked_about(work: Path, key: str) -> None:
    git(work, "config", key, HOSTILE[key])
    assert verdict(work) is Effect.ASK
    section, _, name = key.partition(".")
    about = f"{section}.*.{name.rpartition('.')[2]}" if "." in name else key
    assert repository.reason_to_ask(str(work), str(work)) == Reason("git.config", about.lower())


def test_what_clones_and_people_usually_set_is_harmless(work: Path) -> None:
    for key in ("remote.origin.url", "branch.main.merge", "user.name", "pull.rebase", "core.autocrlf"):
        git(work, "config", key, "x")
    (work / ".husky").mkdir()
    git(work, "config", "core.hooksPath", ".husky")
    assert verdict(work) is Effect.ALLOW
    (work / ".husky/post-index-change").write_text("touch RAN")
    assert verdict(work) is Effect.ASK


ODD_CONFIGS = [
    '[core] fsmonitor = "x"\n',
    "[core]\nfsmonitor\n",
    "[core.x]\ny = 1\n",
    "[core]\nbare = a\\\nfsmonitor = x\n",
    "[co\nre]\n",
    "\ufeff[core]\nbare = false\n",
    "[core]\n\x0bfsmonitor = x\n",
    "bare = false\n",
]


@pytest.mark.parametrize("text", ODD_CONFIGS, ids=repr)
def test_a_config_that_is_written_in_an_unusual_way_is_asked_about(work: Path, text: str) -> None:
    (work / ".git/config").write_text(text)
    assert verdict(work) is Effect.ASK


def worktree_config(work: Path) -> None:
    git(work, "config", "extensions.worktreeConfig", "true")
    git(work, "config", "--worktree", "core.fsmonitor", "touch RAN")


def borrowed_objects(work: Path) -> None:
    (work / ".git/objects/info/alternates").write_text("/elsewhere\n")


def hook(work: Path) -> None:
    (work / ".git/hooks/post-index-change").write_text("touch RAN")


def split_index(work: Path) -> None:
    git(work, "update-index", "--split-index")
    git(work, "config", "--unset", "core.splitIndex") if "splitindex" in (work / ".git/config").read_text() else None


def leads_elsewhere(work: Path) -> None:
    (work / ".git").rename(work / "src/.hidden")
    (work / ".git").write_text("gitdir: src/.hidden\n")


def is_a_symlink(work: Path) -> None:
    (work / ".git").rename(work / "src/.hidden")
    (work / ".git").symlink_to("src/.hidden")


def objects_by_a_link(work: Path) -> None:
    (work / ".git/objects").rename(work.parent / "objects")
    (work / ".git/objects").symlink_to("../../objects")


def index_by_a_link(work: Path) -> None:
    (work / ".git/index").rename(work.parent / "index")
    (work / ".git/index").symlink_to("../../index")


def nested_by_a_file(work: Path) -> None:
    """Git opens what a `.git` below names, wherever it lies."""
    (work / "src/deep").mkdir()
    (work / "src/deep/.git").write_text("gitdir: /elsewhere\n")


def head_is_garbage(work: Path) -> None:
    """Git looks further up then."""
    (work / ".git/HEAD").write_text("garbage\n")


def rebase_state_by_a_link(work: Path) -> None:
    """`git status` prints its lines."""
    (work / ".git/rebase-merge").mkdir()
    (work / ".git/rebase-merge/done").symlink_to(work.parent / "secret")


def deep_ref_by_a_link(work: Path) -> None:
    (work / ".git/refs/heads/n").mkdir()
    (work / ".git/refs/heads/n/m").symlink_to(work.parent / "secret")


def config_is_a_pipe(work: Path) -> None:
    """Whoever opens it waits for ever: the judge, too."""
    (work / ".git/config").unlink()
    os.mkfifo(work / ".git/config")


def is_a_pipe(work: Path) -> None:
    (work / ".git").rename(work.parent / "git")
    os.mkfifo(work / ".git")


def attributes_are_a_pipe(work: Path) -> None:
    os.mkfifo(work / "src/.gitattributes")


def modules_by_a_link(work: Path) -> None:
    (work / ".gitmodules").symlink_to(work.parent / "secret")


def hooks_behind_a_carriage_return(work: Path) -> None:
    """To git that is part of the value, not the end of a line."""
    with (work / ".git/config").open("a", newline="") as config:
        config.write("[core]\n\thookspath = .hooks\rabbrev\n")


def hidden_section(work: Path) -> None:
    with (work / ".git/config").open("a", newline="") as config:
        config.write("[pager]\n#\r[color]\n\tdiff = touch RAN\n")


def has_grafts(work: Path) -> None:
    (work / ".git/info/grafts").write_text("")


def gitlink_of_an_odd_mode(work: Path) -> None:
    """Git masks the mode."""
    git(work, "update-index", "--add", "--cacheinfo", f"160000,{'1' * 40},sub")
    git(work, "init", "-q", "sub")
    (work / "sub/.git").rename(work / "sub/git")
    index = (work / ".git/index").read_bytes().replace(b"\0\0\xe0\0", b"\0\0\xe1\xa4")
    (work / ".git/index").write_bytes(index)


def index_padded_oddly(work: Path) -> None:
    git(work, "update-index", "--add", "--cacheinfo", f"160000,{'1' * 40},sub")
    (work / ".git/index").write_bytes((work / ".git/index").read_bytes().replace(b"src/a.txt\0", b"src/a.txtZ", 1))


def has_a_commondir(work: Path) -> None:
    (work / ".git/commondir").write_text("../src\n")


def is_broken(work: Path) -> None:
    """Then git looks further up, outside of the workspace."""
    (work / ".git/HEAD").unlink()


def is_missing(work: Path) -> None:
    (work / ".git").rename(work.parent / ".git")


@pytest.mark.parametrize(
    "change",
    [
        worktree_config,
        borrowed_objects,
        hook,
        split_index,
        leads_elsewhere,
        is_a_symlink,
        has_a_commondir,
        objects_by_a_link,
        index_by_a_link,
        nested_by_a_file,
        head_is_garbage,
        rebase_state_by_a_link,
        deep_ref_by_a_link,
        config_is_a_pipe,
        is_a_pipe,
        attributes_are_a_pipe,
        modules_by_a_link,
        hooks_behind_a_carriage_return,
        hidden_section,
        has_grafts,
        gitlink_of_an_odd_mode,
        index_padded_oddly,
        is_broken,
        is_missing,
    ],
)
def test_a_repository_that_leads_git_elsewhere_is_asked_about(work: Path, change: Change) -> None:
    change(work)
    assert verdict(work) is Effect.ASK


def test_a_sparse_index_is_asked_about(work: Path) -> None:
    """Its folders may hold submodules."""
    (work / "k").mkdir()
    (work / "k/b.txt").write_text("b\n")
    git(work, "add", "-A")
    commit(work)
    git(work, "sparse-checkout", "set", "--cone", "--sparse-index", "k")
    assert verdict(work) is Effect.ASK


def test_a_worktree_file_with_a_carriage_return_is_asked_about(work: Path) -> None:
    side = work.parent / "side"
    git(work, "worktree", "add", "-q", str(side))
    text = (side / ".git").read_bytes().replace(b"/worktrees", b"/work\rtrees")
    (side / ".git").write_bytes(text)
    assert verdict(side) is Effect.ASK


def test_branches_are_listed_and_never_made_or_sorted_by_signature(work: Path) -> None:
    assert verdict(work, ".", "git branch --list 'a*'") is Effect.ALLOW
    assert verdict(work, ".", "git branch --sort --list NEW") is Effect.ASK
    assert verdict(work, ".", "git branch --sort=signature") is Effect.ASK
    git(work, "config", "branch.sort", "signature")
    assert verdict(work, ".", "git branch") is Effect.ASK


def test_in_a_worktree_of_git_the_same_holds(work: Path) -> None:
    side = work.parent / "side"
    git(work, "worktree", "add", "-q", str(side))
    assert verdict(side) is Effect.ALLOW
    assert verdict(side, "src", "git log --oneline | head -3") is Effect.ALLOW
    git(work, "config", "core.fsmonitor", "touch RAN")
    assert verdict(side) is Effect.ASK


def test_a_folder_that_only_says_it_is_a_worktree_is_asked_about(work: Path, tmp_path: Path) -> None:
    fake = tmp_path / "fake"
    fake.mkdir()
    git(work, "worktree", "add", "-q", str(tmp_path / "side"))
    (fake / ".git").write_text((tmp_path / "side/.git").read_text())
    assert verdict(fake) is Effect.ASK


def test_signatures_are_not_verified_unasked(work: Path) -> None:
    """Git lets gpg do that."""
    assert verdict(work, ".", "git log --format=%h") is Effect.ALLOW
    assert verdict(work, ".", "git log '--format=%G?'") is Effect.ASK
    assert verdict(work, ".", "git show --pretty=format:%h%GK") is Effect.ASK
    assert verdict(work, ".", "git log --format=%+G?") is Effect.ASK
