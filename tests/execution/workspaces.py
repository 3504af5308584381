"""Hostile workspaces, each built by one function that attacks in one way. Each stands in a place of its own: beside the
workspace lie a home, a folder for temporary files, and files outside that no allowed command may open or change."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from tests.execution.index_file import GITLINK, Entry, index_file, with_hidden_name, with_hidden_table

CONTENT = "CANARY-CONTENT-OF-A-FILE-OUTSIDE"  # must never be seen in what a command prints
NAME = "CANARY-NAME-OF-A-FILE-OUTSIDE"
LONG_AGO = 1_000_000_000  # seconds: a file that was read shows it, as its time of access is older than that of change
QUIET = ("-c", "init.defaultBranch=main", "-c", "core.fsmonitor=", "-c", "core.hooksPath=/dev/null")


def words(text: str) -> tuple[str, ...]:
    return tuple(text.split())


SEARCHES = ("rg foo", "rg --files", "rg foo src | head", "tree --gitignore", "rg -uu foo", "rg foo a.txt")


@dataclass(eq=False)
class Place:
    """A workspace and what lies around it. `base` holds work, outside, home, tmp and ran."""

    name: str
    base: Path
    folders: list[str] = field(default_factory=lambda: [".", "src"])  # where commands are run
    operands: list[str] = field(default_factory=list)  # names worth giving to a program here
    attacks: list[str] = field(default_factory=list)  # whole commands that would do harm here
    is_plain: bool = False  # nothing in it is hostile: ordinary commands must be allowed here
    waits: bool = False  # its attacks never end

    @property
    def work(self) -> Path:
        return self.base / "work"

    @property
    def outside(self) -> Path:
        return self.base / "outside"

    @property
    def environ(self) -> dict[str, str]:
        """The environment of a person's shell, without that of the test run."""
        path = f"/usr/local/bin:/usr/bin:/bin:{self.base}/home/bin"
        home, tmp = str(self.base / "home"), str(self.base / "tmp")
        return {"PATH": path, "HOME": home, "TMPDIR": tmp, "LANG": "C.UTF-8", "TERM": "dumb", "PAGER": "cat"}

    def harm(self, name: str = "RAN") -> str:
        """A command for hostile files to name: it leaves a file behind if it is run."""
        return f"touch {self.base}/ran/{name}"

    def write(self, path: str, text: str = "one\ntwo\nthree\n", mode: int = 0o644) -> Path:
        file = self.work / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
        file.chmod(mode)
        return file

    def script(self, path: str, name: str = "RAN") -> str:
        """Create a program in the workspace that does harm; returns its absolute path."""
        return str(self.write(path, f"#!/bin/sh\nPATH=/usr/bin:/bin\n{self.harm(name)}\ncat\n", 0o755))

    def link(self, path: str, target: str) -> None:
        link = self.work / path
        link.parent.mkdir(parents=True, exist_ok=True)
        link.symlink_to(target)

    def git(self, *arguments: str, folder: str = ".", text: str | None = None) -> str:
        """Run git to build the place, without running anything hostile in it."""
        environ = {**self.environ, "GIT_CONFIG_NOSYSTEM": "1", "GIT_AUTHOR_DATE": "2001-01-01T00:00:00Z"}
        command = ["git", *QUIET, *arguments]
        done = subprocess.run(
            command, cwd=self.work / folder, env=environ, input=text, check=True, capture_output=True, text=True
        )
        return done.stdout.strip()

    def commit(self, folder: str = ".") -> None:
        self.git("add", "--all", "--force", folder=folder)
        self.git("commit", "--quiet", "--allow-empty", "--no-verify", "--message=more", folder=folder)

    def config(self, key: str, value: str) -> None:
        self.git("config", "--add", key, value)


Builder = Callable[[Place], None]
BUILDERS: dict[str, Builder] = {}


def workspace(build: Builder) -> Builder:
    BUILDERS[build.__name__] = build
    return build


def build_all(base: Path) -> list[Place]:
    """Every workspace in a folder of its own, with a copy beside it from which it can be restored."""
    return [build(base, name) for name in BUILDERS]


def build(base: Path, name: str) -> Place:
    place, model = Place(name, base / name), base / "model"
    if not model.exists():
        _make_model(model)
    _copy(model, place.base)
    BUILDERS[name](place)
    _copy(place.base, _pristine(place))
    _make_old(place)
    return place


def restore(place: Place) -> None:
    """Restore the place to its initial state, at the same path."""
    shutil.rmtree(place.base)
    _copy(_pristine(place), place.base)
    _make_old(place)


def _copy(source: Path, target: Path) -> None:
    target.parent.mkdir(exist_ok=True)
    subprocess.run(["cp", "-a", source, target], check=True)


def _pristine(place: Place) -> Path:
    return place.base.parent / "pristine" / place.name


def _make_old(place: Place) -> None:
    """Set old file times: copying reads files, and git reads files again that are as new as its index."""
    for folder, _, files in os.walk(place.base):
        for file in files:
            os.utime(f"{folder}/{file}", (LONG_AGO, LONG_AGO + 100), follow_symlinks=False)


def _make_model(base: Path) -> None:
    """What all places have in common: a repository with two commits, a home, and canaries outside."""
    place = Place("model", base)
    for folder in ("work", "home/bin", "tmp", "ran", "outside/folder"):
        (base / folder).mkdir(parents=True)
    (base / "home/.gitconfig").write_text("[user]\nname = A\nemail = a@example.org\n[safe]\ndirectory = *\n")
    for canary in (
        "outside/secret",
        "outside/folder/inner",
        f"outside/folder/{NAME}",
        "home/.netrc",
        "home/.bash_history",
    ):
        (base / canary).write_text(f"{CONTENT}\n[{CONTENT}\n")
    for program in ("gpg", "less", "ssh", "man", "gzip"):  # behind the real ones, where these are installed
        (base / "home/bin" / program).write_text("#!/bin/sh\ncat\n")
        (base / "home/bin" / program).chmod(0o755)
    _first_commits(place)


def _first_commits(place: Place) -> None:
    place.git("init", "--quiet", "--template=")
    for path in ("a.txt", "b.txt", "src/m.py", "src/deep/n.txt", "docs/readme.md", "name with space.txt", "Makefile"):
        place.write(path)
    place.commit()
    place.write("a.txt", "one\nTWO\nthree\nfoo\n")
    place.write("src/m.py", "import os\n\n\ndef foo() -> int:\n    return 1\n")
    place.commit()
    place.git("branch", "topic", "HEAD~1")
    place.git("tag", "v1", "HEAD~1")
    place.write("b.txt", "one\nchanged\nthree\n")
    place.write("new.txt", "foo\n")


@workspace
def ordinary(place: Place) -> None:
    """Nothing hostile: an ordinary repository, in which reading must be allowed."""
    place.is_plain = True
    place.folders += ["src/deep", "none", "src/../../outside", "src/..", "src//deep/", "../work/src"]
    place.attacks += [f"cat {'a.txt ' * 5_000}", "cat a.txt" + " | cat" * 300, "echo " + "x" * 32_700, "ls" + " " * 500]
    place.attacks += ["cat a.txt" + " " * 300 + "../outside/secret", "pwd", "ls", "cat secret", "git status", "ls *"]


@workspace
def ordinary_folder(place: Place) -> None:
    """Nothing hostile, and no repository: git looks for one above the workspace."""
    shutil.rmtree(place.work / ".git")
    place.attacks += ["git status", "git log", "git diff a.txt b.txt", "git diff --no-index a.txt ../outside/secret"]


@workspace
def repository_above(place: Place) -> None:
    """The workspace is a folder of a larger repository, whose config runs a program."""
    shutil.move(place.work / ".git", place.base / ".git")
    with (place.base / ".git/config").open("a") as config:
        config.write(f'[core]\nfsmonitor = "{place.harm()} #"\n')
    place.attacks += ["git status", "git diff", "git ls-files -o", "git log"]


@workspace
def links_to_processes(place: Place) -> None:
    """`/proc/self/cwd` differs for each process: one folder for clew, another for the command."""
    outside = place.outside.name
    place.link("own", f"/proc/self/cwd/../{outside}")
    place.link("thread", f"/proc/thread-self/cwd/../{outside}/secret")
    place.link("fd", f"/dev/fd/../cwd/../{outside}/secret")
    place.operands += ["own/", "own/secret", "thread", "fd", f"/proc/self/cwd/src/../../{outside}/secret"]
    place.operands += [f"/proc/thread-self/cwd/../{outside}/secret", f"/dev/fd/../cwd/../{outside}", "own/*"]
    place.attacks += [
        f"grep -r . /proc/self/cwd/src/../../{outside}",
        f"grep -r . /proc/self/cwd/../{outside}/",
        f"rg -N . /proc/self/cwd/../{outside}/secret",
        f"echo /proc/self/cwd/../{outside}/*",
        f"head -n1 /proc/self/cwd/../{outside}/secret",
        "grep -rn CANARY own/",
        "rg CANARY own/",
        "grep . own/*",
        "echo own/*",
    ]


@workspace
def links_outside(place: Place) -> None:
    """Symbolic links out of the workspace: relative, absolute, to folders, through other links, with tempting names."""
    out = str(place.outside)
    links = {
        "link": f"{out}/secret",
        "relative": "../outside/secret",
        "dir": f"{out}/folder",
        "src/link.py": f"{out}/secret",
    }
    links |= {"zz.txt": "../outside/secret", "chain": "link", "src/up": "..", "root": "/", "parent": ".."}
    links |= {"docs/d": "../../outside/folder", "in": "src", "loop": "loop", "etc": "/etc", "a b.txt": f"{out}/secret"}
    for path, target in links.items():
        place.link(path, target)
    place.operands += [*links, "dir/inner", "root/etc/passwd", "parent/outside/secret", "src/up/../outside/secret"]
    place.operands += ["chain", "src/up/link", "in/link.py", "in/../../outside/secret", "dir/../secret", "etc/passwd"]
    place.folders += ["dir", "in", "docs/d"]
    place.attacks += [
        "cat *",
        "cat *.txt",
        "ls *",
        "ls -R dir/",
        "head src/*",
        "grep -r foo *",
        "wc -l *.txt",
        "find dir/",
    ]
    place.attacks += ["ls d*", "cat [l-r]*", "cat ?ink", "tail -n 3 zz*", "du dir/", "grep foo docs/*", "ls docs/*"]
    place.attacks += [
        "diff -r docs src",
        "diff docs src",
        "grep -r x dir/",
        "rg x dir/",
        "tree dir/",
        "find -L .",
        "rg -L x",
    ]


OPTION_NAMES = words(
    "-n -c -o -rf -exec -delete -print -l -L -R -H -f -e -r -i --output=x --pre=sh --files0-from=x -ofound --help"
    " --compress-program=sh -fprint --ext-diff -X --exec-path=. -Tx -e1e -0 --color=always -version ! ( ; +x"
)


@workspace
def names_like_options(place: Place) -> None:
    """Files that are named like options, and, for use after `--`, links named like options that lead outside."""
    for name in OPTION_NAMES:
        if name in ("-n", "-l", "-e", "-r"):
            place.link(name, str(place.outside / "secret"))
        else:
            place.write(name)
    place.operands += OPTION_NAMES
    place.commit()
    place.attacks += ["uniq -- -c .git/config", "uniq -- -c a.txt", "uniq -c -- -c a.txt", "uniq a.txt -- -c"]
    place.attacks += [
        f"{program} -- -n" for program in words("cat head tail sort wc cksum md5sum tac nl cut file stat ls")
    ]
    place.attacks += [
        "sort -- -n -o",
        "sed -n 1p -- -n",
        "grep x -- -r",
        "rg x -- -e",
        "cmp -- a.txt -n",
        "comm -- -n -l",
    ]
    place.attacks += ["find *", "sort *", "cat -*", "uniq *", "tree *", "rg x *", "grep x -*", "git diff *", "ls -- -*"]
    place.attacks += [
        "head -*",
        "find [-]* a.txt",
        "sort ?o*",
        "wc *",
        "du *",
        "git log *",
        "git diff -- *",
        "find -- *",
    ]


def _globbed(program: str, names: str, attacks: str, about: str) -> None:
    """A workspace where `*` becomes an option of one program."""

    def build(place: Place) -> None:
        for name in words(names):
            place.write(name)
        place.write("list0", f"{place.outside}/secret\0")
        place.write("list", f"{place.outside}/secret\n")
        place.write("sums", f"d41d8cd98f00b204e9800998ecf8427e  {place.outside}/secret\n")
        place.write("script", f"{place.harm()}\n")
        place.link("docs/out", str(place.outside))
        place.operands += ["*", "[-]*", "-*", "./*", "a* -*", "*.txt", *words(names)]
        place.attacks += attacks.split("; ")

    build.__name__, build.__doc__ = f"glob_that_becomes_an_option_of_{program}", about
    workspace(build)


_globbed("sort", "-omade", "sort *; sort -*; sort a.txt -*; cat a.txt | sort *; sort -- *", "sort would write a file.")
_globbed("find", "-delete", "find *; find src -*; find src [-]*; find src *lete; find *te", "find would delete.")
_globbed("rg", "--pre=sh", "rg x *; rg foo -*; rg foo *=sh; rg foo . *=*; rg -n x [-a]*", "rg would start a program.")
_globbed("grep", "-R", "grep foo *; grep foo -* docs; grep CANARY [-d]*; grep CANARY *", "grep would follow links.")
_globbed("wc", "--files0-from=list0", "wc -*; wc [-]*; wc *list0; wc -l --*; du *0; sort *m=list0", "wc reads a list.")
_globbed(
    "sums", "-c", "md5sum * ; md5sum -* sums; md5sum [-s]*; sha256sum *s; cksum *; md5sum *", "md5sum reads a list."
)
_globbed("file", "-flist", "file *; file -*; file *list; file [-]*; file -b *", "file reads a list.")
_globbed("tree", "-o", "tree *; tree -* new; tree src -*; tree [-M]*; tree -L 1 *", "tree would write a file.")
_globbed("git", "--output=made", "git diff *; git diff -*; git log *made; git show *; git log -- *", "git would write.")
_globbed("sed", "-i", "sed -n 1p *; sed -n 1p -* a.txt; sed -n 1,2p [-a]*; sed -n 1p -- *", "sed would overwrite.")
_globbed(
    "uniq", "Z", "uniq *; uniq *.txt; uniq ?.txt; uniq [ab].txt; uniq -c *.txt; uniq *t", "uniq writes its second file."
)
_globbed("ls", "-R", "ls -*; ls * ; ls [-d]*; ls -L *", "ls would go on into folders.")


@workspace
def odd_names(place: Place) -> None:
    """File names with newlines, blanks, quotes, dollar signs, glob characters, and bytes that are not UTF-8."""
    names = [
        "a\nb",
        "x y",
        "q'q",
        'd"d',
        "$(touch x)",
        "`touch y`",
        "*",
        "[a]",
        "{a,b}",
        "~",
        "t\tt",
        "#c",
        "e;e",
        "&",
        "é",
    ]
    for name in names:
        place.write(f"odd/{name}.txt")
    place.link("odd/two words.txt", str(place.outside / "secret"))
    place.link("odd/new\nline.txt", str(place.outside / "secret"))
    place.link("odd/~", str(place.outside / "secret"))
    (place.work / "odd" / os.fsdecode(b"\xff\xfe.txt")).write_text("x\n")
    place.folders.append("odd")
    place.operands += [
        "odd",
        "'odd/x y.txt'",
        "'odd/two words.txt'",
        "odd/*.txt",
        "odd/*",
        "'odd/*.txt'",
        "'~'",
        '"odd/~"',
    ]
    place.attacks += [
        "cat odd/*",
        "cat odd/t*",
        "cat odd/n*",
        "cat odd/*.txt | head",
        "wc -l odd/*",
        "file odd/*",
        "ls odd/*",
    ]


def _fake_repository(place: Place, folder: str, config: str, *, head: str = "symlink") -> None:
    for path in ("objects/k", "refs/k"):
        place.write(f"{folder}/{path}")
    place.write(f"{folder}/config", config)
    if head == "symlink":
        place.link(f"{folder}/HEAD", "refs/heads/main")
    else:
        place.write(f"{folder}/HEAD", "ref: refs/heads/main\n")
    place.folders.append(folder)
    place.attacks += ["git status", "git diff", "git ls-files -o", "git status --short", "git log", "git branch"]


def _runs(place: Place, more: str = "") -> str:
    return f'[core]\nrepositoryformatversion = 0\nbare = false\nworktree = ..\nfsmonitor = "{place.harm()} #"\n{more}'


@workspace
def fake_repository_with_a_dangling_head(place: Place) -> None:
    """A tracked folder that git takes for a repository, as it accepts a symbolic link as HEAD."""
    _fake_repository(place, "docs", _runs(place))
    place.commit()


@workspace
def fake_repository_with_commondir(place: Place) -> None:
    """The same without a symbolic link: `commondir` says where objects and refs are."""
    for path in ("common/objects/k", "common/refs/k"):
        place.write(path)
    harm = f'[core]\nrepositoryformatversion = 0\nfsmonitor = "{place.harm()} #"\n'
    place.write("common/config", f"{harm}[extensions]\nworktreeConfig = true\n")
    place.write("docs/config.worktree", "[core]\nbare = false\nworktree = ..\n")
    place.write("docs/commondir", "../common\n")
    place.write("docs/HEAD", "ref: refs/heads/main\n")
    place.folders += ["docs", "common"]
    place.commit()
    place.attacks += ["git status", "git diff", "git ls-files -o"]


@workspace
def fake_repository_with_a_plain_head(place: Place) -> None:
    """A tracked folder that is a complete bare repository."""
    _fake_repository(place, "docs", _runs(place), head="file")
    place.commit()


@workspace
def fake_repository_at_the_top(place: Place) -> None:
    """No `.git`, but the workspace itself has what a bare repository has."""
    shutil.rmtree(place.work / ".git")
    _fake_repository(place, ".", _runs(place).replace("worktree = ..", f"worktree = {place.work}"))


@workspace
def fake_repository_of_a_commit_id(place: Place) -> None:
    """HEAD holds only a commit's id, and refs is a symbolic link to a folder."""
    place.write("docs/HEAD", "1" * 40 + "\n")
    place.write("docs/objects/k")
    place.link("docs/refs", "objects")
    place.write("docs/config", _runs(place))
    place.folders.append("docs")
    place.commit()
    place.attacks += ["git status", "git diff", "git ls-files -o"]


def _nested(place: Place, folder: str) -> None:
    (place.work / folder).mkdir(parents=True, exist_ok=True)
    place.git("init", "--quiet", "--template=", folder=folder)
    place.write(f"{folder}/inner.txt")
    place.commit(folder)
    place.git("config", "core.fsmonitor", f"{place.harm()} #", folder=folder)


@workspace
def gitlink_with_a_nested_repository(place: Place) -> None:
    """A submodule's folder holds a repository whose config runs a program: git enters it."""
    _nested(place, "sub")
    place.git("add", "sub")
    place.git("commit", "--quiet", "--message=sub")
    place.write(".gitmodules", '[submodule "sub"]\npath = sub\nurl = ./sub\nignore = none\n')
    place.folders.append("sub")
    place.operands += ["sub", "sub/inner.txt", "--submodule=diff", "--ignore-submodules=none"]
    place.attacks += [
        "git status",
        "git diff",
        "git diff HEAD",
        "git -C sub status",
        "git diff --submodule=diff",
        "git log -p",
    ]
    place.attacks += ["git ls-files --recurse-submodules", "git status -s", "git show --submodule=diff"]


@workspace
def gitlink_of_another_commit(place: Place) -> None:
    """The same, and the nested repository is ahead: a diff has something to show of it."""
    gitlink_with_a_nested_repository(place)
    place.write("sub/inner.txt", "changed\n")
    place.commit("sub")


@workspace
def gitlink_that_was_made_later(place: Place) -> None:
    """An uninitialised submodule: its folder was empty, until somebody created a repository in it."""
    nothing = "1" * 40
    place.git("update-index", "--add", "--cacheinfo", f"160000,{nothing},sub")
    place.git("commit", "--quiet", "--message=sub")
    _nested(place, "sub")
    place.attacks += ["git status", "git diff", "git status --porcelain", "git diff --stat"]


@workspace
def gitlink_to_a_git_file(place: Place) -> None:
    """The submodule's `.git` is a file that names a folder elsewhere in the workspace."""
    _nested(place, "elsewhere")
    shutil.move(place.work / "elsewhere/.git", place.work / "docs/store")
    place.git("config", "core.worktree", "../../sub", folder="docs/store")
    place.write("sub/.git", "gitdir: ../docs/store\n")
    place.git("update-index", "--add", "--cacheinfo", f"160000,{'1' * 40},sub")
    place.folders += ["sub", "docs/store"]
    place.attacks += ["git status", "git diff", "git ls-files -o"]


@workspace
def nested_repository(place: Place) -> None:
    """Another repository below, not known to the outer one, with a config that runs a program."""
    _nested(place, "src/other")
    place.folders.append("src/other")
    place.attacks += [
        "git status",
        "git diff",
        "git status -uall",
        "git ls-files -o",
        "git -C src/other status",
        "git log",
    ]
    place.attacks += [
        "cd src/other && git status",
        "cd src/other; git diff",
        "git diff -- src/other",
        "git status src/other",
    ]


@workspace
def nested_repository_by_a_git_file(place: Place) -> None:
    """A folder below has a `.git` file that leads to a hostile repository outside the workspace."""
    _nested(place, "src/other")
    shutil.move(place.work / "src/other/.git", place.outside / "store")
    place.write("src/other/.git", f"gitdir: {place.outside}/store\n")
    place.folders.append("src/other")
    place.attacks += ["git status", "git diff", "git ls-files -o", "git log"]


@workspace
def git_folder_elsewhere(place: Place) -> None:
    """The workspace's own `.git` is a file that leads to a hostile repository outside it."""
    shutil.move(place.work / ".git", place.outside / "store")
    place.write(".git", f"gitdir: {place.outside}/store\n")
    with (place.outside / "store/config").open("a") as config:
        config.write(f'[core]\nfsmonitor = "{place.harm()} #"\n')
    place.attacks += ["git status", "git diff", "git log", "git show", *SEARCHES]


@workspace
def git_folder_by_a_link(place: Place) -> None:
    """The workspace's own `.git` is a symbolic link to a hostile repository outside it."""
    shutil.move(place.work / ".git", place.outside / "store")
    place.link(".git", "../outside/store")
    with (place.outside / "store/config").open("a") as config:
        config.write(f'[core]\nfsmonitor = "{place.harm()} #"\n')
    place.attacks += ["git status", "git diff", "git log", "git show", *SEARCHES]


def _configured(
    name: str, about: str, *pairs: tuple[str, str], attributes: str = "", attacks: str = "git status"
) -> None:
    """A workspace whose own repository has these settings; `HARM` in a value stands for a command that does harm."""

    def build(place: Place) -> None:
        if attributes:
            place.write(".gitattributes", attributes)
            place.commit()
            place.write("a.txt", "touched\nfoo\n")
        (place.outside / "included").write_text(f'[core]\nfsmonitor = "{place.harm()} #"\n')
        for key, value in pairs:
            place.config(key, value.replace("HARM", place.harm()).replace("OUTSIDE", str(place.outside)))
        place.attacks += [*attacks.split("; "), *READERS_OF_GIT]

    build.__name__, build.__doc__ = name, about
    workspace(build)


READERS_OF_GIT = (
    "git status",
    "git status -s -uall",
    "git diff",
    "git diff HEAD",
    "git diff --cached --stat",
    "git log -p",
    "git log --oneline -3",
    "git show HEAD",
    "git blame a.txt",
    "git branch -avv",
    "git branch -a",
    "git ls-files -o -m",
    "git rev-parse --show-toplevel",
    "git --no-pager log -p",
    "git diff --stat main topic",
)
_configured("config_fsmonitor", "`core.fsmonitor` names a program that git status runs.", ("core.fsmonitor", "HARM #"))
_configured(
    "config_clean_filter",
    "A clean filter of the attributes runs on files that look changed, also for git status.",
    ("filter.bad.clean", "HARM; cat"),
    attributes="* filter=bad\n",
)
_configured(
    "config_process_filter",
    "A long-running filter of the attributes runs on files that look changed.",
    ("filter.bad.process", "HARM; cat"),
    attributes="*.txt filter=bad\n",
)
_configured("config_external_diff", "`diff.external` names a program that git diff runs.", ("diff.external", "HARM #"))
_configured(
    "config_diff_driver",
    "A diff driver of the attributes names a program.",
    ("diff.bad.command", "HARM #"),
    attributes="* diff=bad\n",
)
_configured(
    "config_textconv",
    "A text conversion of the attributes runs a program for git diff, log, show and blame.",
    ("diff.bad.textconv", "HARM; cat <"),
    attributes="* diff=bad\n",
)
_configured(
    "config_pager",
    "`core.pager` and `pager.*` name programs that run where output goes to a terminal.",
    ("core.pager", "HARM; cat"),
    ("pager.log", "HARM; cat"),
    ("pager.status", "HARM; cat"),
    ("pager.branch", "HARM; cat"),
    attacks="git -p status; git --paginate log",
)
_configured(
    "config_included",
    "A file outside is included, and runs a program.",
    ("include.path", "OUTSIDE/included"),
    attacks="git rev-parse HEAD",
)
_configured("config_worktree_outside", "`core.worktree` leads outside the workspace.", ("core.worktree", "OUTSIDE"))
_configured(
    "config_files_outside",
    "Settings name files outside, which git would read.",
    ("core.excludesFile", "OUTSIDE/secret"),
    ("core.attributesFile", "OUTSIDE/secret"),
    ("mailmap.file", "OUTSIDE/secret"),
    ("blame.ignoreRevsFile", "OUTSIDE/secret"),
)
_configured("config_untracked_cache", "The untracked cache writes to the index.", ("core.untrackedCache", "true"))
_configured("config_split_index", "A split index is a second file that git writes.", ("core.splitIndex", "true"))
_configured("config_fsmonitor_daemon", "`core.fsmonitor=true` starts a daemon.", ("core.fsmonitor", "true"))
_configured(
    "config_aliases",
    "Aliases run programs; also those for words that git does not have.",
    ("alias.st", "!HARM"),
    ("alias.status", "!HARM"),
    ("alias.lg", "!HARM"),
    attacks="git st; git lg; git st | cat",
)
_configured(
    "config_interactive",
    "Settings that name programs for other occasions.",
    ("interactive.diffFilter", "HARM"),
    ("core.editor", "HARM"),
    ("core.askPass", "HARM"),
    ("core.sshCommand", "HARM"),
    ("credential.helper", "!HARM"),
    ("sequence.editor", "HARM"),
    ("trailer.x.command", "HARM"),
    ("core.alternateRefsCommand", "HARM"),
    ("uploadpack.packObjectsHook", "HARM"),
    ("web.browser", "bad"),
    ("browser.bad.cmd", "HARM"),
    ("help.format", "web"),
    ("status.submoduleSummary", "true"),
    attacks="git status --help; git help log; git log --alternate-refs; git log --format=%(trailers)",
)


@workspace
def config_of_the_worktree(place: Place) -> None:
    """A second file of settings, `config.worktree`, runs a program."""
    place.config("extensions.worktreeConfig", "true")
    place.write(".git/config.worktree", f'[core]\nfsmonitor = "{place.harm()} #"\n')
    place.attacks += READERS_OF_GIT


@workspace
def config_included_from_the_workspace(place: Place) -> None:
    """The repository's settings include a tracked file, as some projects ask people to set up; it runs a program."""
    place.write("docs/gitconfig", f'[core]\nfsmonitor = "{place.harm()} #"\n')
    place.config("include.path", "../docs/gitconfig")
    place.attacks += READERS_OF_GIT


@workspace
def config_in_odd_spelling(place: Place) -> None:
    """The setting is spelled in capitals, over two lines, behind a comment, in a section in one line."""
    odd = f'; x\n[CORE] FSMonitor = "{place.harm()} \\\n#"\n[Diff "bad"] TextConv={place.harm()};cat <\n'
    with (place.work / ".git/config").open("a") as config:
        config.write(odd)
    place.write(".git/info/attributes", "* diff=bad\n")
    place.attacks += READERS_OF_GIT


@workspace
def hook_of_the_index(place: Place) -> None:
    """`post-index-change` runs whenever git writes its index, which git status does to store file times."""
    place.script(".git/hooks/post-index-change")
    place.script(".git/hooks/fsmonitor-watchman")
    place.attacks += ["git status", "git diff", "git diff --stat", "git status -s"]


@workspace
def hooks_path(place: Place) -> None:
    """The same by `core.hooksPath`, as many projects set it, in a tracked folder."""
    place.script("docs/hooks/post-index-change")
    place.commit()
    place.config("core.hooksPath", "docs/hooks")
    place.attacks += ["git status", "git diff", "git diff --stat", "git status -s"]


@workspace
def signed_commit(place: Place) -> None:
    """A cloned commit with a signature: to check it git runs gpg."""
    text = place.git("cat-file", "commit", "HEAD")
    head, _, message = text.partition("\n\n")
    signature = "gpgsig -----BEGIN PGP SIGNATURE-----\n \n iQ==\n -----END PGP SIGNATURE-----"
    commit = place.git("hash-object", "-t", "commit", "-w", "--stdin", text=f"{head}\n{signature}\n\n{message}\n")
    place.git("update-ref", "refs/heads/main", commit)
    formats = ("%G?", "%GG", "%GS", "%GK", "%h %G? %s", "%C(auto)%G?", "format:%G?", "tformat:%GF", "%<(9)%G?", "%+G?")
    for each in formats:
        place.attacks += [f"git log --format={each}", f"git show --pretty={each}", f"git log -1 --pretty='{each}'"]
    place.attacks += ["git log --show-signature", "git show --show-signature", "git log --format='%(trailers) %G?'"]
    place.attacks += ["git log --pretty=mine", "git log --format=%h%x25G?", "git branch --format=%(signature)"]
    place.operands += ["--format=%G?", "--pretty=format:%GS"]


@workspace
def signed_commit_with_settings(place: Place) -> None:
    """The same, and settings name the program, ask for the check, and hide the format behind a name."""
    signed_commit(place)
    place.config("gpg.program", place.script("docs/gpg"))
    place.config("log.showSignature", "true")
    place.config("pretty.mine", "%G?")
    place.config("format.pretty", "%h %G?")
    place.attacks += READERS_OF_GIT


@workspace
def promised_objects(place: Place) -> None:
    """A partial clone lacks an object: git would fetch it, by a program that the settings name."""
    place.config("extensions.partialClone", "origin")
    place.config("remote.origin.url", str(place.outside))
    place.config("remote.origin.promisor", "true")
    place.config("remote.origin.uploadpack", f"{place.harm()};")
    lost = place.git("rev-parse", "HEAD:a.txt")
    older = place.git("rev-parse", "HEAD~1:a.txt")
    for each in (lost, older):
        (place.work / ".git/objects" / each[:2] / each[2:]).unlink()
    place.attacks += READERS_OF_GIT
    place.attacks += ["git show HEAD:a.txt", "git log --stat", "git log -S foo", "git diff topic main"]


@workspace
def promised_objects_over_the_network(place: Place) -> None:
    """The same with an address of the network, and with one that is a command."""
    promised_objects(place)
    place.git("config", "remote.origin.url", "ext::sh -c '" + place.harm() + "'")
    place.config("protocol.ext.allow", "always")
    place.git("config", "--unset-all", "remote.origin.uploadpack")


@workspace
def objects_outside(place: Place) -> None:
    """Objects, refs, exclusions and attributes of the repository lead outside by links and `alternates`."""
    (place.outside / "objects").mkdir()
    place.write(".git/objects/info/alternates", f"{place.outside}/objects\n")
    for name in (
        "info/exclude",
        "info/attributes",
        "refs/heads/out",
        "info/grafts",
        "shallow.x",
        "logs.x",
        "packed-refs",
    ):
        place.link(f".git/{name}", str(place.outside / "secret"))
    place.attacks += [*READERS_OF_GIT, "git log out", "git log --all", "git log -g", "git rev-parse out", *SEARCHES]
    place.operands += ["out", "--all"]


@workspace
def index_outside(place: Place) -> None:
    """The index is a link to a file outside: refreshing it would write there."""
    shutil.move(place.work / ".git/index", place.outside / "index")
    place.link(".git/index", "../../outside/index")
    place.attacks += READERS_OF_GIT


@workspace
def config_by_a_link(place: Place) -> None:
    """The repository's config is a link to a file outside."""
    shutil.move(place.work / ".git/config", place.outside / "config")
    place.link(".git/config", "../../outside/config")
    place.attacks += READERS_OF_GIT


@workspace
def objects_by_a_link(place: Place) -> None:
    """The folder of objects is a link outside."""
    shutil.move(place.work / ".git/objects", place.outside / "objects")
    place.link(".git/objects", "../../outside/objects")
    place.attacks += READERS_OF_GIT


@workspace
def linked_files_that_git_reads(place: Place) -> None:
    """`.gitattributes`, `.gitignore`, `.mailmap` and `.gitmodules` are links to files outside."""
    for name in (".gitattributes", ".gitignore", ".mailmap", ".gitmodules", "src/.gitignore", "src/.gitattributes"):
        place.link(name, str(place.outside / "secret"))
    place.attacks += [*READERS_OF_GIT, "git log --use-mailmap", "git check-ignore a.txt", "git status --ignored"]


@workspace
def linked_files_that_searchers_read(place: Place) -> None:
    """`.ignore`, `.rgignore` and `.gitignore` are links outside: rg and tree would read them, and print bad lines."""
    for name in (".ignore", ".rgignore", ".gitignore", "src/.ignore", ".info"):
        place.link(name, str(place.outside / "secret"))
    place.attacks += [
        "rg foo",
        "rg foo src",
        "rg --files",
        "rg --files src | head",
        "tree --gitignore",
        "tree --info",
        "rg x .",
    ]
    place.attacks += ["rg -uu foo", "rg --no-ignore foo", "rg foo a.txt", "cd src && rg foo", "tree -a --gitignore src"]


@workspace
def files_of_settings(place: Place) -> None:
    """Files that programs read for their settings, or might: each would do harm if it were used."""
    harm = place.harm()
    place.write(".ripgreprc", f"--pre={place.script('docs/pre')}\n")
    for name in (
        ".inputrc",
        ".bashrc",
        ".bash_profile",
        ".profile",
        ".zshrc",
        ".zshenv",
        ".envrc",
        ".env",
        ".gitconfig",
    ):
        place.write(name, f"{harm}\n")
    place.write(".config/git/config", f'[core]\nfsmonitor = "{harm} #"\n')
    place.write(".config/ripgrep/rc", "--pre=sh\n")
    place.write(".magic", "0 string x bad\n")
    place.write("magic.mgc", "x")
    place.write(".dir_colors", "x\n")
    place.write(".lesskey", "x\n")
    place.write("dates", "no date\n")
    place.write("list", f"{place.outside}/secret\n")
    place.write("list0", f"{place.outside}/secret\0")
    place.write("sums", f"d41d8cd98f00b204e9800998ecf8427e  {place.outside}/secret\n")
    place.write("script.sed", "1e touch x\n")
    place.write("pipe.sh", f"{harm}\n", 0o755)
    place.operands += ["list", "list0", "sums", "script.sed", ".magic", "dates", "pipe.sh", ".ripgreprc"]
    place.attacks += [
        "file -m .magic a.txt",
        "file -f list",
        "du --files0-from=list0",
        "wc --files0-from=list0",
        "md5sum -c sums",
    ]
    place.attacks += [
        "sort --files0-from=list0",
        "grep -f list a.txt",
        "date -f dates",
        f"date -f {place.outside}/secret",
        "sed -f script.sed a.txt",
        "cksum -c sums",
    ]
    place.attacks += [
        "find -files0-from list0",
        "tree --fromfile list",
        "rg -f list",
        "diff --from-file=list a.txt",
        "file --files-from list",
    ]


PROGRAMS_TO_PLANT = "ls cat git rg head grep find sort wc sed tree file echo pwd diff uniq cd less gpg"


@workspace
def programs_in_the_workspace(place: Place) -> None:
    """Programs named like the safe ones, in the workspace: a PATH with `.` or an empty entry would find them."""
    for name in words(PROGRAMS_TO_PLANT):
        place.script(name)
        place.script(f"src/{name}")
        place.script(f"bin/{name}")
    place.folders.append("bin")
    place.attacks += [
        "./ls",
        "src/cat a.txt",
        f"{place.work}/ls",
        "bin/git status",
        "'./ls'",
        "ls | ./cat",
        "PATH=. ls",
    ]
    place.attacks += ["./ls | head", "cat a.txt | ./head", "command ls", "git --exec-path=bin status", "../work/ls"]


@workspace
def compressed_files(place: Place) -> None:
    """Compressed files, for which some programs run another one."""
    (place.work / "a.gz").write_bytes(bytes.fromhex("1f8b08000000000000ff4bcbcfe70200a865327e04000000"))
    (place.work / "a.zip").write_bytes(b"PK\x03\x04" + b"\0" * 40)
    (place.work / "a.bz2").write_bytes(b"BZh91AY&SY" + b"\0" * 20)
    (place.work / "a.xz").write_bytes(bytes.fromhex("fd377a585a000004e6d6b446") + b"\0" * 20)
    place.operands += ["a.gz", "a.zip", "a.bz2", "a.xz"]
    place.attacks += [
        "file -z a.gz",
        "file -Z a.gz",
        "rg -z foo",
        "rg --search-zip foo",
        "file --uncompress a.bz2",
        "file a.xz",
    ]
    place.attacks += [
        "file -bz a.gz",
        "rg -iz foo",
        "rg -zi foo .",
        "grep -z foo a.gz",
        "sort -S1 --compress-program=gzip a.txt",
    ]


@workspace
def devices(place: Place) -> None:
    """Links to devices and to the process's own folder, which lead elsewhere for each process."""
    place.link("src/null", "/dev/null")
    place.link("src/tty", "/dev/tty")
    place.link("src/fd", "/proc/self/fd")
    place.link("src/cwd", "/proc/self/cwd")
    place.operands += ["src/null", "src/tty", "src/fd/0", "src/cwd/a.txt", "src/cwd/../outside/secret", "src/fd"]
    place.attacks += ["cat src/cwd/../outside/secret", "ls src/fd/", "cat src/cwd/a.txt", "ls src/cwd/..", "cat src/n*"]


@workspace
def several_worktrees(place: Place) -> None:
    """The repository has a second working tree outside, and the workspace has a link to it."""
    place.git("worktree", "add", "--quiet", str(place.outside / "tree"), "topic")
    place.link("tree", "../outside/tree")
    place.folders.append("tree")
    place.operands += ["tree", "tree/a.txt"]
    place.attacks += [*READERS_OF_GIT, "git -C tree status", "git worktree list"]


@workspace
def broken_repository_below_another(place: Place) -> None:
    """Git does not accept the workspace's own `.git`, and uses the hostile repository above."""
    shutil.copytree(place.work / ".git", place.base / ".git")
    with (place.base / ".git/config").open("a") as config:
        config.write(f'[core]\nfsmonitor = "{place.harm()} #"\n')
    (place.work / ".git/HEAD").write_text("no such thing\n")
    place.attacks += READERS_OF_GIT


@workspace
def empty_repository_below_another(place: Place) -> None:
    """The same with a `.git` that is an empty folder."""
    shutil.move(place.work / ".git", place.base / ".git")
    with (place.base / ".git/config").open("a") as config:
        config.write(f'[core]\nfsmonitor = "{place.harm()} #"\n')
    (place.work / ".git").mkdir()
    place.attacks += READERS_OF_GIT


@workspace
def repository_without_objects(place: Place) -> None:
    """The same with a `.git` that lacks only its refs."""
    shutil.copytree(place.work / ".git", place.base / ".git")
    with (place.base / ".git/config").open("a") as config:
        config.write(f'[core]\nfsmonitor = "{place.harm()} #"\n')
    shutil.rmtree(place.work / ".git/refs")
    place.attacks += READERS_OF_GIT


@workspace
def empty_repository_in_a_fake_one(place: Place) -> None:
    """`.git` is an empty folder, and the workspace itself is what git takes for a bare repository."""
    shutil.rmtree(place.work / ".git")
    (place.work / ".git").mkdir()
    _fake_repository(place, ".", _runs(place).replace("worktree = ..", f"worktree = {place.work}"))


@workspace
def common_folder_elsewhere(place: Place) -> None:
    """The workspace's own `.git` has a `commondir`, and takes its settings from there."""
    shutil.copytree(place.work / ".git", place.work / "docs/store")
    with (place.work / "docs/store/config").open("a") as config:
        config.write(f'[core]\nfsmonitor = "{place.harm()} #"\n')
    place.write(".git/commondir", "../docs/store\n")
    place.attacks += READERS_OF_GIT


@workspace
def git_file_that_leads_into_the_workspace(place: Place) -> None:
    """A folder below has a `.git` file that leads to a tracked, hostile repository in the workspace."""
    shutil.copytree(place.work / ".git", place.work / "docs/store")
    with (place.work / "docs/store/config").open("a") as config:
        config.write(f'[core]\nfsmonitor = "{place.harm()} #"\n')
    place.write("src/deep/.git", "gitdir: ../../docs/store\n")
    place.folders.append("src/deep")
    place.attacks += [*READERS_OF_GIT, "cd src/deep && git status", "cd src/deep; git diff", "git -C src/deep status"]


@workspace
def submodule_with_an_absorbed_repository(place: Place) -> None:
    """A submodule as git itself makes it, with its repository in `.git/modules`, whose settings run a program."""
    _nested(place, "sub")
    (place.work / ".git/modules").mkdir()
    shutil.move(place.work / "sub/.git", place.work / ".git/modules/sub")
    place.write("sub/.git", "gitdir: ../.git/modules/sub\n")
    place.git("config", "--file", ".git/modules/sub/config", "core.worktree", "../../../sub")
    place.write(".gitmodules", '[submodule "sub"]\npath = sub\nurl = ./sub\n')
    place.git("add", "sub", ".gitmodules")
    place.git("commit", "--quiet", "--message=sub")
    place.folders.append("sub")
    place.attacks += [*READERS_OF_GIT, "git diff --submodule=log", "git ls-files --recurse-submodules"]


@workspace
def gitlink_deep_below(place: Place) -> None:
    """A nested repository several folders down that the index knows as a gitlink."""
    _nested(place, "src/deep/er/sub")
    place.git("add", "src/deep/er/sub")
    place.git("commit", "--quiet", "--message=sub")
    place.attacks += READERS_OF_GIT


@workspace
def gitlink_in_an_index_of_another_version(place: Place) -> None:
    """The same in an index of version 4, which compresses names."""
    gitlink_deep_below(place)
    place.git("update-index", "--index-version", "4")


@workspace
def gitlink_in_a_split_index(place: Place) -> None:
    """The same in an index that is two files."""
    gitlink_deep_below(place)
    place.git("update-index", "--split-index")


@workspace
def gitlink_only_in_a_commit(place: Place) -> None:
    """HEAD has the gitlink, but the index does not."""
    _nested(place, "sub")
    place.git("add", "sub")
    place.git("commit", "--quiet", "--message=sub")
    place.git("rm", "--quiet", "--cached", "sub")
    place.attacks += [*READERS_OF_GIT, "git diff HEAD~1", "git diff HEAD --submodule=diff", "git diff HEAD -- sub"]


@workspace
def tracked_folder_became_a_link(place: Place) -> None:
    """A tracked folder was replaced by a link to one outside with files of the same names."""
    shutil.copytree(place.work / "src", place.outside / "src")
    for file in (place.outside / "src").rglob("*.*"):
        file.write_text(f"{CONTENT}\n")
    shutil.rmtree(place.work / "src")
    place.link("src", "../outside/src")
    (place.work / "a.txt").unlink()
    place.link("a.txt", "../outside/secret")
    place.folders = ["."]
    place.operands += ["src/m.py", "src/deep", "src"]
    place.attacks += [
        *READERS_OF_GIT,
        "git blame src/m.py",
        "git diff src/m.py",
        "git ls-files -m src",
        "cat src/m.py",
        "ls src/",
    ]
    place.attacks += [
        "git diff -- src",
        "git diff HEAD~1",
        "cat a.txt",
        "git status src",
        "rg foo",
        "grep -r CANARY .",
        "ls src",
    ]


@workspace
def state_outside(place: Place) -> None:
    """The files with the state of a rebase or a bisection are links outside: git status prints them."""
    for name in ("done", "git-rebase-todo", "onto", "head-name", "orig-head", "interactive"):
        place.link(f".git/rebase-merge/{name}", str(place.outside / "secret"))
    for name in ("MERGE_MSG", "BISECT_START", "BISECT_LOG", "description", "FETCH_HEAD", "shallow"):
        place.link(f".git/{name}", str(place.outside / "secret"))
    for name in ("commit-graph", "packs"):
        place.link(f".git/objects/info/{name}", str(place.outside / "secret"))
    place.link(".git/logs/HEAD.x", "..")
    place.attacks += [*READERS_OF_GIT, "git log -g", "git status --long", "git log HEAD@{0}"]


@workspace
def reflog_outside(place: Place) -> None:
    """The folder of reflogs, and one of refs, are links outside."""
    shutil.rmtree(place.work / ".git/logs")
    (place.outside / "refs").mkdir()
    (place.outside / "refs/HEAD").write_text(f"{'0' * 40} {'1' * 40} A <a@example.org> 1 +0000\t{CONTENT}\n")
    place.link(".git/logs", "../../outside/refs")
    place.link(".git/refs/remotes", "../../../outside/folder")
    place.attacks += [*READERS_OF_GIT, "git log -g", "git log HEAD@{0}", "git branch -r", "git rev-parse HEAD@{0}"]


@workspace
def promised_objects_by_ssh(place: Place) -> None:
    """A partial clone whose missing objects would come by ssh, for which the settings name a program."""
    promised_objects(place)
    place.git("config", "remote.origin.url", "ssh://127.0.0.1:1/x")
    place.config("core.sshCommand", f"{place.harm()} #")


@workspace
def promised_objects_by_http(place: Place) -> None:
    """The same by HTTP, through a proxy, with a helper for passwords."""
    promised_objects(place)
    place.git("config", "remote.origin.url", "http://127.0.0.1:1/x")
    place.config("credential.helper", f"!{place.harm()}")


@workspace
def partial_clone_in_the_old_spelling(place: Place) -> None:
    """A promisor by `remote.*.promisor` alone, without the extension."""
    promised_objects(place)
    place.git("config", "--unset", "extensions.partialClone")


@workspace
def settings_that_hold_here_only(place: Place) -> None:
    """`includeIf` includes a file of the workspace, by the path of the repository."""
    place.write("docs/gitconfig", f'[core]\nfsmonitor = "{place.harm()} #"\n')
    place.config("includeIf.gitdir:**.path", "../docs/gitconfig")
    place.attacks += READERS_OF_GIT


@workspace
def settings_behind_a_byte_order_mark(place: Place) -> None:
    """The config begins with a byte order mark, and has a carriage return at each end of a line."""
    text = (place.work / ".git/config").read_text() + f'[core]\nfsmonitor = "{place.harm()} #"\n'
    (place.work / ".git/config").write_bytes(b"\xef\xbb\xbf" + text.replace("\n", "\r\n").encode())
    place.attacks += READERS_OF_GIT


@workspace
def attributes_of_the_repository(place: Place) -> None:
    """Only `.git/info/attributes` says that a file is converted, and a macro hides which."""
    place.write(".git/info/attributes", "[attr]harmless diff=bad filter=worse\n* harmless\n")
    place.config("diff.bad.textconv", f"{place.harm()}; cat <")
    place.config("filter.worse.clean", f"{place.harm()}; cat")
    place.attacks += [
        *READERS_OF_GIT,
        "git log -G foo",
        "git log -S one",
        "git blame src/m.py",
        "git diff --stat HEAD~1",
    ]


@workspace
def lines_that_break_the_terminal(place: Place) -> None:
    """Branch, author, file and message hold escape sequences and newlines, as a clone can bring them."""
    place.write("esc\x1b]0;x\x07.txt", "\x1b]52;c;eA==\x07\n")
    place.git(
        "-c", "user.name=A\x1b[31m", "commit", "--quiet", "--allow-empty", "--message=x\x1b]0;y\x07\n$(touch made)"
    )
    place.git("branch", "--", "$(touch-made)")
    place.attacks += [
        *READERS_OF_GIT,
        "ls",
        "ls | cat",
        "git branch | cat",
        "git log --format=%s | head",
        "git log --format=%an",
    ]


@workspace
def config_key_behind_a_nul(place: Place) -> None:
    """Git ends a key at a NUL in a subsection: an object is promised, and a program fetches it."""
    older = place.git("rev-parse", "HEAD~1:a.txt")
    (place.work / ".git/objects" / older[:2] / older[2:]).unlink()
    settings = '[remote "origin"]\nurl = .\n[remote "origin.promisor\0"]\nurl = true\n[remote "origin.uploadpack\0"]\n'
    with (place.work / ".git/config").open("a") as config:
        config.write(f"{settings}url = {place.harm()}; false\n")
    place.attacks += [*READERS_OF_GIT, "git show HEAD~1:a.txt", "git cat-file -p HEAD~1:a.txt", "git log --stat"]


def _hidden_gitlink(place: Place) -> tuple[Entry, Entry]:
    """A hostile repository in an ignored folder, which clew does not search: the entry that makes git enter it,
    and one of a file."""
    place.write(".gitignore", "vendor\n")
    _nested(place, "vendor/sub")
    commit, file = place.git("rev-parse", "HEAD", folder="vendor/sub"), place.git("rev-parse", "HEAD:a.txt")
    place.attacks += READERS_OF_GIT
    return Entry(b"vendor/sub", GITLINK, bytes.fromhex(commit)), Entry(b"a.txt", hash=bytes.fromhex(file))


@workspace
def gitlink_of_an_odd_mode(place: Place) -> None:
    """Git checks only some bits of a mode. With other bits set it is still a gitlink."""
    link, file = _hidden_gitlink(place)
    odd = Entry(link.name, 0x0100E000, link.hash)
    (place.work / ".git/index").write_bytes(index_file([file, odd]))


@workspace
def gitlink_behind_a_name_with_a_nul(place: Place) -> None:
    """In an index of version 4 git trusts the length of a name, and skips a NUL in it."""
    link, file = _hidden_gitlink(place)
    (place.work / ".git/index").write_bytes(with_hidden_name(link, file))


@workspace
def gitlink_in_a_table_of_blocks(place: Place) -> None:
    """A table after the entries says where git finds them, also outside the list."""
    link, file = _hidden_gitlink(place)
    place.config("index.threads", "4")
    entries = [file, Entry(b"b.txt", hash=file.hash)]
    (place.work / ".git/index").write_bytes(with_hidden_table(link, entries))


@workspace
def index_that_names_files_outside(place: Place) -> None:
    """The index has a file `../outside/secret`: git shows how it was changed."""
    file = bytes.fromhex(place.git("rev-parse", "HEAD:a.txt"))
    outside = [Entry(b"../outside/secret", hash=file), Entry(os.fsencode(place.outside / "secret"), hash=file)]
    (place.work / ".git/index").write_bytes(index_file([*outside, Entry(b"a.txt", hash=file)]))
    place.attacks += READERS_OF_GIT


@workspace
def repository_that_nobody_may_enter(place: Place) -> None:
    """Git may not enter the refs, so it does not accept `.git`, and uses the hostile repository above."""
    shutil.copytree(place.work / ".git", place.base / ".git")
    with (place.base / ".git/config").open("a") as config:
        config.write(f'[core]\nfsmonitor = "{place.harm()} #"\n')
    place.git("pack-refs", "--all")
    shutil.rmtree(place.work / ".git/refs")
    (place.work / ".git/refs").mkdir(mode=0o400)
    place.attacks += READERS_OF_GIT


@workspace
def links_deep_in_the_git_folder(place: Place) -> None:
    """Links outside in folders named like those of submodules, that are none."""
    secret = str(place.outside / "secret")
    place.write(".git/worktrees/lfs/HEAD", "ref: refs/heads/main\n")
    place.write(".git/worktrees/lfs/commondir", "../..\n")
    place.link(".git/worktrees/lfs/gitdir", secret)
    place.link(".git/refs/heads/modules/x", secret)
    place.attacks += [*READERS_OF_GIT, "git worktree list", "git worktree list --porcelain", "git log --all"]


@workspace
def ignore_files_above(place: Place) -> None:
    """Above the workspace lie ignore files that lead elsewhere: rg reads those of all folders above."""
    for name in (".ignore", ".rgignore", ".gitignore"):
        (place.base / name).symlink_to("outside/secret")
    place.attacks += SEARCHES


@workspace
def ignore_files_in_the_git_folder(place: Place) -> None:
    """Ignore files in `.git` lead outside: rg reads them if it enters it."""
    place.link(".git/.ignore", str(place.outside / "secret"))
    place.link(".git/refs/.rgignore", "../../../outside/secret")
    place.folders += [".git", ".git/refs"]
    place.attacks += [
        "rg --hidden foo",
        "rg -. foo",
        "rg foo .git",
        "rg --files .git",
        "cd .git && rg foo",
        "rg -uuu x",
    ]


@workspace
def ignored_files_taken_in_again(place: Place) -> None:
    """A plain ignore file above includes again what `.gitignore` excludes: an ignore file that leads outside."""
    place.write(".gitignore", "vendor\n")
    place.write("vendor/x", "foo\n")
    place.link("vendor/.ignore", str(place.outside / "secret"))
    (place.base / ".ignore").write_text("!vendor\n")
    place.attacks += SEARCHES


@workspace
def pipes_that_git_reads(place: Place) -> None:
    """Files that git reads are named pipes without a writer: git hangs. One lies in an ignored folder."""
    place.waits = True
    place.write(".gitignore", "vendor\n.mailmap\n")
    place.write("vendor/x")
    place.commit()
    place.write("vendor/x", "changed\n")
    for path in (".mailmap", "vendor/.gitattributes"):
        os.mkfifo(place.work / path)
    place.attacks += READERS_OF_GIT


@workspace
def folder_of_the_history_became_a_link(place: Place) -> None:
    """A folder exists only in the history; a link outside is in its place, also in an ignored folder. Git reads the
    attributes there, and prints names in them that it cannot parse."""
    place.write(".gitignore", "vendor\n")
    for path in ("old/x.txt", "vendor/old/x.txt", "src/old/x.txt"):
        place.write(path)
    place.commit()
    place.git("rm", "-r", "--quiet", "old", "vendor/old", "src/old")
    place.git("commit", "--quiet", "--message=gone")
    (place.outside / "folder/.gitattributes").write_text(f"x {CONTENT}!\n")
    (place.work / "vendor").mkdir(exist_ok=True)
    for path in ("old", "vendor/old", "src/old"):
        place.link(path, str(place.outside / "folder"))
    place.operands += ["old", "vendor/old"]
    place.attacks += [
        *READERS_OF_GIT,
        "git log --stat",
        "git show HEAD~1",
        "git diff HEAD~2 HEAD",
        "git log --follow -p",
    ]


@workspace
def folder_of_the_last_commit_became_a_link(place: Place) -> None:
    """The last commit has a folder that the index has not, and a link outside is in its place."""
    place.write("old/x.txt")
    place.commit()
    place.git("mv", "old/x.txt", "moved.txt")
    (place.work / "old").rmdir()
    (place.outside / "folder/.gitattributes").write_text(f"x {CONTENT}!\n")
    place.link("old", str(place.outside / "folder"))
    place.write("moved.txt", "one\ntwo\nthree\nfour\n")
    place.git("add", "moved.txt")
    place.attacks += [
        *READERS_OF_GIT,
        "git status -v",
        "git diff --cached",
        "git diff -M HEAD",
        "git stash list --stat",
    ]


@workspace
def pipe_where_only_the_history_has_files(place: Place) -> None:
    """An attributes file that is a named pipe, in an ignored folder that exists only in the history."""
    place.waits = True
    place.write(".gitignore", "vendor\n")
    place.write("vendor/x.txt")
    place.commit()
    place.git("rm", "-r", "--quiet", "vendor")
    place.git("commit", "--quiet", "--message=gone")
    (place.work / "vendor").mkdir()
    os.mkfifo(place.work / "vendor/.gitattributes")
    place.attacks += [*READERS_OF_GIT, "git log --stat", "git show HEAD"]


def _link_branch(place: Place, branch: str) -> None:
    (place.outside / "commit").write_text("1" * 40 + "\n")
    (place.work / branch).unlink()
    place.link(branch, str(place.outside / "commit"))


@workspace
def tracked_file_became_a_repository(place: Place) -> None:
    """A repository lies in place of a tracked file with an ignored name; its branch is a link outside."""
    place.write(".gitignore", "vendor\n")
    place.write("vendor/lib")
    place.commit()
    (place.work / "vendor/lib").unlink()
    _nested(place, "vendor/lib")
    _link_branch(place, "vendor/lib/.git/refs/heads/main")
    place.attacks += [*READERS_OF_GIT, "git diff -- vendor", "git diff --stat", "git status --ignored"]


@workspace
def pipe_in_place_of_a_repository(place: Place) -> None:
    """The same with a HEAD that is a pipe."""
    tracked_file_became_a_repository(place)
    place.waits = True
    (place.work / "vendor/lib/.git/HEAD").unlink()
    os.mkfifo(place.work / "vendor/lib/.git/HEAD")


@workspace
def ignored_folder_with_a_pipe(place: Place) -> None:
    """An ignored folder has a repository whose HEAD is a named pipe, and an ignore file that is one."""
    place.waits = True
    place.write(".gitignore", "vendor\n")
    _nested(place, "vendor/lib")
    (place.work / "vendor/lib/.git/HEAD").unlink()
    os.mkfifo(place.work / "vendor/lib/.git/HEAD")
    place.write("vendor/deep/x")
    os.mkfifo(place.work / "vendor/deep/.gitignore")
    others = ("git ls-files -o", "git ls-files --others", "git ls-files -co", "git ls-files -o vendor")
    place.attacks += [*READERS_OF_GIT, *others, "git status --ignored", "git status --ignored=matching -uall"]


def _own_settings(place: Place, settings: str) -> None:
    """Settings of the person, outside of the workspace, which name something in whatever repository git runs in."""
    with (place.base / "home/.gitconfig").open("a") as config:
        config.write(settings)


@workspace
def own_settings_with_a_linked_file(place: Place) -> None:
    """The repository has links to outside with the names of files that the person's own settings let git read."""
    for name in (".git-blame-ignore-revs", ".mailmap-more", ".gitattributes_global", ".gitorder"):
        place.link(name, str(place.outside / "secret"))
    place.commit()
    settings = "[blame]\nignoreRevsFile = .git-blame-ignore-revs\n[mailmap]\nfile = .mailmap-more\n"
    _own_settings(place, f"{settings}[core]\nattributesFile = .gitattributes_global\n[diff]\norderFile = .gitorder\n")
    place.attacks += [*READERS_OF_GIT, "git blame a.txt", "git blame -L 1,2 src/m.py", "cd src && git blame m.py"]


@workspace
def own_settings_with_a_linked_file_of_any_name(place: Place) -> None:
    """Of the file that `git blame` reads, it prints a line."""
    place.link("docs/skip.txt", str(place.outside / "secret"))
    place.commit()
    _own_settings(place, "[blame]\nignoreRevsFile = docs/skip.txt\n")
    place.attacks += ["git blame a.txt", "git blame -L 1,2 src/m.py", "cd src && git blame m.py"]


@workspace
def own_settings_with_tracked_hooks(place: Place) -> None:
    """The person's own settings name a folder of hooks, and the repository has one that reading commands run."""
    place.script(".githooks/post-index-change")
    place.commit()
    _own_settings(place, "[core]\nhooksPath = .githooks\n")
    place.attacks += [*READERS_OF_GIT, "git diff --stat", "git status -s"]


@workspace
def own_settings_that_show_submodules(place: Place) -> None:
    """With `diff.submodule=diff` git runs `git diff` in `.git/modules`, if the submodule's folder is missing."""
    _nested(place, "sub")
    place.write(".gitmodules", '[submodule "sub"]\npath = sub\nurl = ./sub\n')
    place.git("add", "sub", ".gitmodules")
    place.git("commit", "--quiet", "--message=sub")
    place.write("sub/inner.txt", "changed\n")
    place.commit("sub")
    place.git("add", "sub")
    place.git("commit", "--quiet", "--message=changed")
    place.git("config", "diff.external", f"{place.harm()};false", folder="sub")
    (place.work / ".git/modules").mkdir()
    shutil.move(place.work / "sub/.git", place.work / ".git/modules/sub")
    shutil.rmtree(place.work / "sub")
    _own_settings(place, "[diff]\nsubmodule = diff\n")
    place.attacks += [*READERS_OF_GIT, "git show", "git diff HEAD~1", "git log -p -2"]
