"""Where git may run without asking: in the workspace's own repository, if nothing there makes git run a program."""

from __future__ import annotations

import os
import subprocess
import time
from collections.abc import Callable, Mapping, Set
from pathlib import Path

import pytest

from clew.engine.rules.decide import decide
from clew.engine.rules.read_only import git_repository, judge, tree_walk
from clew.engine.rules.read_only.git_repository import GitScope
from clew.model.gates import Asked, Effect, GateKind, Policy, Reason
from tests.execution.index_file import FILE, GITLINK, Entry, extension, index_file, with_hidden_name, with_hidden_table

pytestmark = pytest.mark.process

Change = Callable[[Path], object]


@pytest.fixture
def work(tmp_path: Path) -> Path:
    """A workspace with a real repository, a commit, and folders with names like those of git."""
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
    """Git accepts a dangling symlink as a HEAD."""
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


def test_git_in_a_repository_with_a_populated_submodule_is_asked_about(work: Path) -> None:
    """`git status` enters the submodule, whose config may come from an attacker."""
    git(work, "update-index", "--add", "--cacheinfo", f"160000,{'1' * 40},sub")
    assert verdict(work) is Effect.ALLOW  # its folder is empty
    (work / "sub").mkdir()
    assert verdict(work) is Effect.ALLOW
    git(work, "init", "-q", "sub")
    assert verdict(work) is Effect.ASK
    assert git_repository.reason_to_ask(str(work), str(work)) == Reason("git.submodule", "sub")


@pytest.mark.parametrize("version", ["2", "4"])
def test_a_submodule_among_many_files_is_found_in_every_index_version(work: Path, version: str) -> None:
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
def test_an_unknown_config_key_is_asked_about(work: Path, key: str) -> None:
    git(work, "config", key, HOSTILE[key])
    assert verdict(work) is Effect.ASK
    section, _, name = key.partition(".")
    about = f"{section}.*.{name.rpartition('.')[2]}" if "." in name else key
    assert git_repository.reason_to_ask(str(work), str(work)) == Reason("git.config", about.lower())


def test_config_keys_that_clones_and_people_set_are_harmless(work: Path) -> None:
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
    '[remote "origin.promisor\0"]\n\turl = true\n',
    '[branch "sort\0"]\n\tremote = -refname\n',
    '[remote "a\x1bb"]\n\turl = x\n',
    '[remote "a\u2028b"]\n\turl = x\n',
    '[remote "a\\"b"]\n\turl = x\n',
    '[remote ""]\n\turl = x\n',
    "[core]\n\tbare = false\n# \0\n",
    "[core]\n\tbare = false\x7f\n",
    "[core]\n\tbare = false\x0c\n",
]


@pytest.mark.parametrize("text", ODD_CONFIGS, ids=repr)
def test_unusual_config_syntax_is_asked_about(work: Path, text: str) -> None:
    (work / ".git/config").write_text(text)
    assert verdict(work) is Effect.ASK


def test_a_config_with_windows_line_ends_is_not_asked_about(work: Path) -> None:
    (work / ".git/config").write_bytes((work / ".git/config").read_bytes().replace(b"\n", b"\r\n"))
    assert verdict(work) is Effect.ALLOW


@pytest.mark.parametrize(
    ("key", "odd", "plain"),
    [
        ("log.date", "format:%1999999999d", "iso-strict-local"),
        ("log.date", "format:%c", "auto:human"),
        ("diff.context", "1999999999", "10"),
        ("core.abbrev", "100000", "12"),
        ("color.ui", "%99999d", "auto"),
    ],
)
def test_a_format_or_a_large_number_as_a_value_is_asked_about(work: Path, key: str, odd: str, plain: str) -> None:
    """`git log` would print as many blanks as the format says."""
    git(work, "config", key, plain)
    assert verdict(work, command="git log") is Effect.ALLOW
    git(work, "config", key, odd)
    assert verdict(work, command="git log") is Effect.ASK
    assert git_repository.reason_to_ask(str(work), str(work)) == Reason("git.value", key)


def worktree_config(work: Path) -> None:
    git(work, "config", "extensions.worktreeConfig", "true")
    git(work, "config", "--worktree", "core.fsmonitor", "touch RAN")


def borrowed_objects(work: Path) -> None:
    (work / ".git/objects/info/alternates").write_text("/elsewhere\n")


def packs_elsewhere(work: Path) -> None:
    git(work, "repack", "-q")
    git(work, "multi-pack-index", "write")
    assert verdict(work) is Effect.ALLOW
    file = work / ".git/objects/pack/multi-pack-index"
    found = file.read_bytes()
    file.unlink()
    file.write_bytes(found.replace(b"pack-", b"../p-", 1))


def graphs_elsewhere(work: Path) -> None:
    git(work, "commit-graph", "write", "--reachable", "--split")
    assert verdict(work) is Effect.ALLOW
    chain = work / ".git/objects/info/commit-graphs/commit-graph-chain"
    line = chain.read_text().strip()
    chain.unlink()
    chain.write_text(f"{line}/../../../../../../out/x\n")


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
    """Git opens the folder that a `.git` file below names, wherever it is."""
    (work / "src/deep").mkdir()
    (work / "src/deep/.git").write_text("gitdir: /elsewhere\n")


def head_is_garbage(work: Path) -> None:
    """Git then searches further up."""
    (work / ".git/HEAD").write_text("garbage\n")


def rebase_state_by_a_link(work: Path) -> None:
    """`git status` prints its lines."""
    (work / ".git/rebase-merge").mkdir()
    (work / ".git/rebase-merge/done").symlink_to(work.parent / "secret")


def deep_ref_by_a_link(work: Path) -> None:
    (work / ".git/refs/heads/n").mkdir()
    (work / ".git/refs/heads/n/m").symlink_to(work.parent / "secret")


def config_is_a_pipe(work: Path) -> None:
    """A program that opens it hangs, and so would clew."""
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
    """For git it is part of the value, not the end of a line."""
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


def hidden_repository(work: Path) -> Entry:
    """A repository in an ignored folder. The entry makes git enter it."""
    (work / ".gitignore").write_text("vendor\n")
    git(work, "init", "-q", str(work / "vendor/sub"))
    return Entry(b"vendor/sub", GITLINK)


def write_index(work: Path, content: bytes) -> None:
    (work / ".git/index").write_bytes(content)


def gitlink_in_a_table_of_blocks(work: Path) -> None:
    write_index(work, with_hidden_table(hidden_repository(work), [Entry(b"a.txt"), Entry(b"b.txt")]))


def gitlink_behind_a_name_with_a_nul(work: Path) -> None:
    write_index(work, with_hidden_name(hidden_repository(work), Entry(b"a.txt")))


def gitlink_in_an_ignored_folder(work: Path) -> None:
    write_index(work, index_file([hidden_repository(work)]))


def index_with_an_untracked_cache(work: Path) -> None:
    """It names folders that git opens."""
    write_index(work, index_file([Entry(b"a.txt")], extension(b"UNTR", b"\0" * 40)))


def index_with_more_behind_its_extensions(work: Path) -> None:
    write_index(work, index_file([Entry(b"a.txt")], extension(b"TREE", b"") + b"more"))


def index_with_more_flags_than_its_version_has(work: Path) -> None:
    git(work, "update-index", "--skip-worktree", "src/a.txt")
    write_index(work, (work / ".git/index").read_bytes().replace(b"DIRC\0\0\0\3", b"DIRC\0\0\0\2"))


def index_of_names_that_grow(work: Path) -> None:
    """In version 4 a small index can hold endless names."""
    longer = Entry(b"a", dropped=0, length=0xFFF)
    write_index(work, index_file([Entry(b"a" * 4_095, dropped=0), *[longer] * 200], version=4))


def index_with_an_endless_number(work: Path) -> None:
    whole = index_file([Entry(b"a", dropped=0)], version=4)
    write_index(work, whole[: 12 + 62] + b"\xff" * 1_000_000 + b"\1a\0" + whole[-20:])


def refs_that_nobody_may_enter(work: Path) -> None:
    """Git does not take it for a repository, so it searches further up."""
    (work / ".git/refs").chmod(0o400)


def objects_that_nobody_may_enter(work: Path) -> None:
    (work / ".git/objects").chmod(0o600)


def head_that_nobody_may_read(work: Path) -> None:
    (work / ".git/HEAD").chmod(0o200)


def ref_in_a_folder_called_modules(work: Path) -> None:
    (work / ".git/refs/heads/modules").mkdir()
    (work / ".git/refs/heads/modules/x").symlink_to(work.parent / "secret")


def worktree_called_lfs(work: Path) -> None:
    (work / ".git/worktrees/lfs").mkdir(parents=True)
    os.mkfifo(work / ".git/worktrees/lfs/gitdir")


def tracked_folder_by_a_link(work: Path) -> None:
    """Git reads attributes through it."""
    (work / "src").rename(work.parent / "elsewhere")
    (work / "src").symlink_to("../elsewhere")


def has_a_commondir(work: Path) -> None:
    (work / ".git/commondir").write_text("../src\n")


def is_broken(work: Path) -> None:
    """Git then searches further up, outside the workspace."""
    (work / ".git/HEAD").unlink()


def is_missing(work: Path) -> None:
    (work / ".git").rename(work.parent / ".git")


@pytest.mark.parametrize(
    "change",
    [
        worktree_config,
        borrowed_objects,
        packs_elsewhere,
        graphs_elsewhere,
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
        gitlink_in_a_table_of_blocks,
        gitlink_behind_a_name_with_a_nul,
        gitlink_in_an_ignored_folder,
        index_with_an_untracked_cache,
        index_with_more_behind_its_extensions,
        index_with_more_flags_than_its_version_has,
        index_of_names_that_grow,
        index_with_an_endless_number,
        refs_that_nobody_may_enter,
        objects_that_nobody_may_enter,
        head_that_nobody_may_read,
        ref_in_a_folder_called_modules,
        worktree_called_lfs,
        tracked_folder_by_a_link,
        is_broken,
        is_missing,
    ],
)
def test_a_repository_that_leads_git_elsewhere_is_asked_about(work: Path, change: Change) -> None:
    change(work)
    assert verdict(work) is Effect.ASK


@pytest.mark.parametrize("mode", [0x0001E000, 0x0100E000, 0x8000E000, 0o160644, 0o100664, 0o040000, 0])
def test_a_mode_that_git_does_not_write_is_asked_about(work: Path, mode: int) -> None:
    """Git checks only some bits of the mode, and takes the first ones for gitlinks."""
    entry = hidden_repository(work)
    write_index(work, index_file([Entry(b"a.txt"), Entry(entry.name, mode)]))
    assert verdict(work) is Effect.ASK


@pytest.mark.parametrize("name", [b"../secret", b"/etc/passwd", b"src/../../x", b".git/config", b"src/.GIT/x", b"a//b"])
def test_an_index_with_a_name_that_leads_out_is_asked_about(work: Path, name: bytes) -> None:
    """`git diff` shows the file of that name."""
    write_index(work, index_file([Entry(b"a.txt"), Entry(name)]))
    assert verdict(work, command="git diff") is Effect.ASK


@pytest.mark.parametrize("version", [2, 3, 4])
def test_an_index_as_git_writes_it_is_not_asked_about(work: Path, version: int) -> None:
    entries = [Entry(b"a.txt"), Entry(b".gitignore"), Entry(b"src/..a"), Entry(b"x/.github/y"), Entry(b"b" * 255)]
    if version == 4:
        before = [0, *(len(entry.name) for entry in entries)]
        entries = [Entry(entry.name, FILE, dropped=drop) for entry, drop in zip(entries, before, strict=False)]
    write_index(work, index_file(entries, extension(b"TREE", b"x") + extension(b"REUC", b"y"), version))
    assert verdict(work) is Effect.ALLOW


def test_intent_to_add_and_skip_worktree_are_not_asked_about(work: Path) -> None:
    (work / "new.txt").write_text("x\n")
    git(work, "add", "--intent-to-add", "new.txt")
    git(work, "update-index", "--skip-worktree", "src/a.txt")
    assert verdict(work) is Effect.ALLOW


@pytest.mark.parametrize("name", ["lfs", "annex"])
def test_a_link_anywhere_in_gits_folder_is_asked_about(work: Path, name: str) -> None:
    """`git rev-parse lfs/x` takes the file for a ref, and prints what is in it."""
    (work / ".git" / name / "sub").mkdir(parents=True)
    assert verdict(work) is Effect.ALLOW
    (work / ".git" / name / "sub/x").symlink_to("y")
    assert verdict(work) is Effect.ASK


@pytest.mark.parametrize("command", ["git show", "git diff", "git log -p", "git status"])
def test_a_repository_of_a_submodule_in_gits_folder_is_asked_about(work: Path, command: str) -> None:
    """With `diff.submodule` in the person's own config git runs what its config names."""
    (work / ".git/modules").mkdir()
    assert verdict(work, command=command) is Effect.ALLOW
    (work / ".git/modules/sub").mkdir()
    assert verdict(work, command=command) is Effect.ASK
    assert git_repository.reason_to_ask(str(work), str(work)) == Reason("git.submodule", ".git/modules/sub")


@pytest.mark.parametrize("folder", [".githooks", "src", "tools/deep", ".husky"])
def test_a_hook_that_the_persons_own_config_may_name_is_asked_about(work: Path, folder: str) -> None:
    (work / folder).mkdir(parents=True, exist_ok=True)
    (work / folder / "pre-commit").write_text("x")
    assert verdict(work) is Effect.ALLOW
    (work / folder / "post-index-change").write_text("touch RAN")
    assert verdict(work) is verdict(work, command="git diff") is Effect.ASK
    assert git_repository.reason_to_ask(str(work), str(work)) == Reason("git.hook", f"{folder}/post-index-change")


@pytest.mark.parametrize("name", [".git-blame-ignore-revs", ".mailmap2", "src/.gitattributes_global", "order.txt"])
def test_a_linked_file_that_the_persons_own_config_may_name_is_asked_about(work: Path, name: str) -> None:
    """`blame.ignoreRevsFile`, `mailmap.file`, `core.attributesFile`, `diff.orderFile`: git may print a line of it."""
    commands = ("git blame src/a.txt", "git log", "git diff", "git status", "git show", "git ls-files -m")
    (work / name).symlink_to(work / "src/a.txt")
    assert {verdict(work, command=command) for command in commands} == {Effect.ALLOW}
    (work / name).unlink()
    (work / name).symlink_to(work.parent / "secret")
    assert {verdict(work, command=command) for command in commands} == {Effect.ASK}
    assert git_repository.reason_to_ask(str(work), str(work)) == Reason("git.file", name)


@pytest.mark.parametrize("name", ["skip", "src/skip", "vendor/skip"])
def test_git_blame_is_asked_about_if_any_link_leads_outside(work: Path, name: str) -> None:
    (work / ".gitignore").write_text("vendor\n")
    (work / "vendor").mkdir()
    assert verdict(work, command="git blame src/a.txt") is Effect.ALLOW
    (work / name).symlink_to(work.parent / "secret")
    assert verdict(work, command="git blame src/a.txt") is Effect.ASK
    assert verdict(work, command="git log") is Effect.ALLOW


@pytest.mark.parametrize(
    "value", ["/proc/self/cwd/hk", "/dev/fd/../cwd/hk", "linked", "hk/../hk", "a/" * 150 + "hk", "../work/hk"]
)
def test_an_unusual_hooks_path_is_asked_about(work: Path, value: str) -> None:
    """Clew and git may find different folders there."""
    (work / "linked").symlink_to("/proc/self/cwd/hk")
    git(work, "config", "core.hooksPath", "hk")
    assert verdict(work, command="git branch") is Effect.ALLOW
    git(work, "config", "core.hooksPath", value)
    assert verdict(work, command="git branch") is Effect.ASK


@pytest.mark.parametrize("command", ["git log", "git show", "git blame src/a.txt", "git diff", "git status"])
@pytest.mark.parametrize("name", [".mailmap", ".gitattributes", "src/.gitattributes", "vendor/.gitattributes"])
@pytest.mark.parametrize("make", [os.mkfifo, lambda path: path.symlink_to("/etc/hosts")], ids=["pipe", "link"])
def test_an_irregular_file_that_git_reads_is_asked_about(work: Path, command: str, name: str, make: Change) -> None:
    """Git hangs at a named pipe; also in an ignored folder, if it tracks a file there."""
    (work / ".gitignore").write_text("vendor\n.mailmap\n.gitattributes\n")
    (work / "vendor").mkdir()
    (work / "vendor/b.txt").write_text("b\n")
    git(work, "add", "-f", "vendor/b.txt")
    assert verdict(work, command=command) is Effect.ALLOW
    make(work / name)
    assert verdict(work, command=command) is Effect.ASK
    assert git_repository.reason_to_ask(str(work), str(work), GitScope(untracked_files=False)) == Reason(
        "git.file", name
    )


def test_tracked_folders_of_a_too_large_tree_are_checked(work: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tree_walk, "_MAX_ENTRIES", 1)
    assert verdict(work) is Effect.ALLOW
    os.mkfifo(work / "src/.gitignore")
    assert verdict(work) is Effect.ASK


LARGE_ALLOWED = (
    *("git status", "git status -sb", "git diff", "git diff --stat HEAD", "git diff HEAD -- src", "git log -p -1"),
    *("git show HEAD:src/a.txt", "git ls-files src", "git ls-files -o --exclude-standard", "git branch"),
    *("git status -uno", "git status --untracked-files=no"),
)
LARGE_ASKED = (
    *("git diff HEAD:src/a.txt src/new", "git diff HEAD:src/a.txt HEAD:src", "git status src", "git status -- src"),
    *("git status -s -uall", "git status --untracked-files=all", "git status --untracked-files", "git ls-files -o"),
    *("git ls-files -o --exclude-standard src", "git ls-files --others --exclude-standard src"),
)


@pytest.mark.parametrize("command", LARGE_ALLOWED + LARGE_ASKED)
def test_git_reading_unchecked_parts_of_a_large_tree_is_asked_about(
    work: Path, command: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    (work / "src/new").touch()
    assert verdict(work, command=command) is Effect.ALLOW
    monkeypatch.setattr(tree_walk, "_MAX_ENTRIES", 1)
    assert verdict(work, command=command) is (Effect.ALLOW if command in LARGE_ALLOWED else Effect.ASK)


HUGE = 1 << 40  # bytes of a sparse file


@pytest.mark.parametrize("name", ["HEAD", "config", "index", "commondir"])
def test_a_huge_file_of_a_repository_is_not_read(work: Path, name: str) -> None:
    with (work / ".git" / name).open("ab") as file:
        file.truncate(HUGE)
    assert verdict(work) is Effect.ASK


def test_a_huge_git_file_is_not_read(work: Path) -> None:
    (work / ".git").rename(work.parent / "git")
    with (work / ".git").open("wb") as file:
        file.truncate(HUGE)
    assert verdict(work) is Effect.ASK
    assert verdict(work, command="rg x") is Effect.ASK


def test_a_sparse_index_is_asked_about(work: Path) -> None:
    """Its folders may contain submodules."""
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


def test_a_git_worktree_is_checked_like_a_repository(work: Path) -> None:
    side = work.parent / "side"
    git(work, "worktree", "add", "-q", str(side))
    assert verdict(side) is Effect.ALLOW
    assert verdict(side, "src", "git log --oneline | head -3") is Effect.ALLOW
    git(work, "config", "core.fsmonitor", "touch RAN")
    assert verdict(side) is Effect.ASK


ODD_WORKTREES = [
    *(("commondir", text) for text in ("/elsewhere\n", "../../..\n", "../..\0\n", None)),
    *(("gitdir", text) for text in ("/etc/passwd\n", "/a\n/b/.git\n", None)),
]


@pytest.mark.parametrize(("name", "text"), ODD_WORKTREES)
@pytest.mark.parametrize("command", ["git log --all", "git branch", "git worktree list"])
def test_a_worktree_that_leads_elsewhere_is_asked_about(work: Path, command: str, name: str, text: str | None) -> None:
    """Git reads the refs of every worktree from where its `commondir` leads."""
    side = work.parent / "side"
    git(work, "worktree", "add", "-q", str(side))
    git(work, "worktree", "add", "-q", str(work.parent / "other"))
    for folder in (work, side):
        assert verdict(folder, command=command) is Effect.ALLOW
    path = work / ".git/worktrees/other" / name
    path.unlink() if text is None else path.write_text(text)
    for folder in (work, side):
        assert verdict(folder, command=command) is Effect.ASK


def test_a_fake_worktree_is_asked_about(work: Path, tmp_path: Path) -> None:
    fake = tmp_path / "fake"
    fake.mkdir()
    git(work, "worktree", "add", "-q", str(tmp_path / "side"))
    (fake / ".git").write_text((tmp_path / "side/.git").read_text())
    assert verdict(fake) is Effect.ASK


def test_signatures_are_not_verified_without_asking(work: Path) -> None:
    """Git would run gpg."""
    assert verdict(work, ".", "git log --format=%h") is Effect.ALLOW
    assert verdict(work, ".", "git log '--format=%G?'") is Effect.ASK
    assert verdict(work, ".", "git show --pretty=format:%h%GK") is Effect.ASK
    assert verdict(work, ".", "git log --format=%+G?") is Effect.ASK


@pytest.mark.parametrize("format", ["%999999d", "%h%x%%%<(99999)%s", "%>(12345"])
def test_a_format_that_prints_without_end_is_asked_about(work: Path, format: str) -> None:
    assert verdict(work, command=f"git log '--format={format}'") is Effect.ASK
    assert verdict(work, command="git log '--format=%<(9999)%s' --since=20200101") is Effect.ALLOW


def test_a_format_is_checked_in_linear_time(work: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(judge, "_MAX_WORD_LENGTH", 1_000_000)
    begun = time.process_time()
    assert verdict(work, command=f"git log '--format={'%' * 32_000}'") is Effect.ASK  # it is longer than a path
    assert time.process_time() - begun < 2, "it took its square"


@pytest.mark.parametrize("command", ["git status", "git diff", "git log -p", "git show", "git blame src/a.txt"])
@pytest.mark.parametrize("name", ["old", "src/old", "vendor/deep/old", "vendor"])
def test_a_link_to_a_folder_outside_is_asked_about(work: Path, command: str, name: str) -> None:
    """The history may have a file below it: git reads the attributes there, through the link."""
    (work / ".gitignore").write_text("vendor\n")
    (work.parent / "elsewhere").mkdir()
    (work / name).parent.mkdir(parents=True, exist_ok=True)
    (work / "inner").symlink_to("src")
    if "blame" not in command:
        (work / "file").symlink_to("/etc/hosts")
    assert verdict(work, command=command) is Effect.ALLOW
    (work / name).symlink_to(work.parent / "elsewhere")
    assert verdict(work, command=command) is Effect.ASK
    assert git_repository.reason_to_ask(str(work), str(work)) == Reason("git.file", name)
    assert verdict(work, command="git branch") is Effect.ALLOW


def test_history_files_behind_a_link_are_asked_about(work: Path) -> None:
    """With a path, `git rev-list` reads attributes too."""
    command = "git rev-list HEAD -- src"
    assert verdict(work, command=command) is Effect.ALLOW
    (work / "old").symlink_to(work.parent)
    assert verdict(work, command=command) is Effect.ASK


@pytest.mark.parametrize("magic", [":/vendor/x", "':(top)x'", "':(attr:x)'", "':!x'", ":x", ":0:x", ":^x", ":"])
@pytest.mark.parametrize(
    "command",
    ["status", "diff HEAD:src/a.txt", "diff --", "log -- src", "show", "ls-files", "rev-list HEAD", "rev-parse"],
)
def test_a_git_argument_that_begins_with_a_colon_is_asked_about(work: Path, command: str, magic: str) -> None:
    """It may be a path from the top, or select files by attributes: other files than the word seems to name."""
    assert verdict(work, command=f"git {command}") is Effect.ALLOW
    assert verdict(work, command=f"git {command} {magic}") is Effect.ASK


@pytest.mark.parametrize("command", ["git diff", "git status"])
def test_a_tracked_file_that_became_something_else_is_asked_about(work: Path, command: str) -> None:
    """`git diff` prints the HEAD of a repository in place of the file, and hangs at a pipe in it."""
    (work / ".gitignore").write_text("vendor\n")
    (work / "vendor").mkdir()
    (work / "vendor/lib").write_text("x\n")
    git(work, "add", "-f", "vendor/lib")
    (work / "vendor/lib").unlink()
    assert verdict(work, command=command) is Effect.ALLOW
    (work / "vendor/lib").mkdir()
    assert verdict(work, command=command) is Effect.ALLOW
    git(work, "init", "-q", "vendor/lib")
    assert verdict(work, command=command) is Effect.ASK
    (work / "vendor/lib").rename(work.parent / "lib")
    os.mkfifo(work / "vendor/lib")
    assert verdict(work, command=command) is Effect.ASK


@pytest.mark.parametrize("name", [b"a" * 1_001, b"/".join([b"a" * 200] * 6), b"/".join([b"a"] * 102)])
def test_an_index_with_a_long_name_is_asked_about(work: Path, name: bytes) -> None:
    """For the system a path of more than 4,095 bytes does not exist. Git's path is shorter than clew's."""
    write_index(work, index_file([Entry(name)]))
    assert verdict(work) is Effect.ASK


@pytest.mark.parametrize("command", ["git status --ignored", "git ls-files -o", "git ls-files --others -m"])
def test_ignored_folders_are_checked_if_git_reads_them(
    work: Path, command: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    (work / ".gitignore").write_text("vendor\n")
    (work / "vendor").mkdir()
    assert verdict(work, command=command) is Effect.ALLOW
    git(work, "init", "-q", "vendor/lib")
    assert verdict(work, command=command) is Effect.ASK
    for other in ("git status", "git ls-files -o --exclude-standard", "git ls-files"):
        assert verdict(work, command=other) is Effect.ALLOW
    (work / "vendor/lib").rename(work.parent / "lib")
    assert verdict(work, command=command) is Effect.ALLOW
    monkeypatch.setattr(tree_walk, "_MAX_ENTRIES", 1)
    assert verdict(work, command=command) is Effect.ASK
    assert git_repository.reason_to_ask(str(work), str(work), GitScope(ignored_files=True, complete=True)) == Reason(
        "tree.large"
    )


@pytest.mark.parametrize("command", ["git status", "git log", "rg x"])
@pytest.mark.parametrize("folder", ["new", "vendor", ".git/refs"])
def test_a_tree_that_is_very_deep_is_asked_about(work: Path, command: str, folder: str) -> None:
    """The deeper a folder lies, the longer the system takes to find it."""
    (work / ".gitignore").write_text("vendor\n")
    (work / folder / "/".join(["d"] * 40)).mkdir(parents=True)
    assert verdict(work, command=command) is Effect.ALLOW
    (work / folder / "/".join(["d"] * 61)).mkdir(parents=True)
    expected = Effect.ALLOW if (command, folder) == ("rg x", "vendor") else Effect.ASK
    assert verdict(work, command=command) is expected


def test_a_script_with_many_folders_searches_the_tree_once(work: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    looked: list[Path] = []

    def counted(top: Path, tracked: Mapping[str, Set[str]], sought: tree_walk.Sought) -> Path | None:
        looked.append(top)
        return None

    monkeypatch.setattr(tree_walk, "find_unsafe_among_tracked", counted)
    assert verdict(work, command="git status; cd src && git status; git status -s") is Effect.ALLOW
    assert len(looked) == 1
