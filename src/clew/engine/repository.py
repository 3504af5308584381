"""Whether git may run unasked in a folder. Git runs programs that a repository's config names, and goes down into
repositories inside it; anybody can have made those. So it may run only in the workspace's own repository, whose config
holds nothing but keys that are known to run nothing."""

from __future__ import annotations

import os
import re
import struct
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from clew.asking import Reason
from clew.engine import tree_walk
from clew.engine.shell import names

# Keys of a repository's own config that make none of the commands in `reads.SAFE` run or open anything else. A `*` is a
# subsection: the name of a remote or a branch.
HARMLESS_KEYS = names(
    "core.repositoryformatversion core.filemode core.bare core.logallrefupdates core.ignorecase"
    " core.precomposeunicode core.symlinks core.autocrlf core.eol core.safecrlf core.abbrev core.quotepath"
    " core.preloadindex core.trustctime core.checkstat core.untrackedcache core.sparsecheckout"
    " core.sparsecheckoutcone core.hookspath core.longpaths core.hidedotfiles core.protectntfs core.protecthfs"
    " core.commitgraph core.multipackindex core.compression index.version index.threads index.sparse"
    " extensions.refstorage extensions.worktreeconfig extensions.relativeworktrees remote.*.url remote.*.pushurl"
    " remote.*.fetch remote.*.tagopt remote.*.prune remote.*.skipdefaultupdate remote.*.gh-resolved"
    " remote.pushdefault branch.*.remote branch.*.merge branch.*.rebase branch.*.pushremote branch.*.description"
    " branch.*.vscode-merge-base branch.*.github-pr-owner-number branch.*.gh-merge-base branch.autosetupmerge"
    " branch.autosetuprebase branch.sort user.name user.email user.signingkey commit.gpgsign commit.template"
    " tag.gpgsign tag.sort pull.rebase pull.ff push.default push.autosetupremote push.followtags fetch.prune"
    " fetch.prunetags init.defaultbranch rerere.enabled rerere.autoupdate merge.conflictstyle merge.ff"
    " rebase.autostash rebase.autosquash diff.algorithm diff.renames diff.colormoved diff.mnemonicprefix"
    " diff.context color.ui color.diff color.status color.branch gc.auto gc.autodetach submodule.*.url"
    " submodule.*.active submodule.*.branch advice.detachedhead status.short status.branch"
    " status.showuntrackedfiles log.date log.abbrevcommit log.decorate"
)

_FOLDERS = (
    "objects",
    "objects/pack",
    "objects/info",
    "info",
    "refs",
    "refs/heads",
    "refs/remotes",
    "refs/tags",
    "logs",
)
_MOST = 64 * 1024 * 1024  # bytes of an index that is looked into
_MOST_CONFIG = 256 * 1024
_GITLINK = 0o160000
_SECTION = re.compile(r'\[([A-Za-z0-9-]+)(?:[ \t]+"((?:[^"\\\n]|\\.)*)")?\]')
_SETTING = re.compile(r"([A-Za-z][A-Za-z0-9-]*)[ \t]*(?:=[ \t]*(.*))?")


class Foreign(Exception):
    """Git may do more than read here."""

    def __init__(self, code: str, about: str = "") -> None:
        super().__init__(code)
        self.reason = Reason(code, about)


def reason_to_ask(folder: str, workspace: str, *, goes_down: bool = True) -> Reason | None:
    """Why a person has to be asked before git runs in this folder; None if it only reads the workspace's repository.
    `goes_down`: it looks for files that it does not know yet."""
    top, here = Path(workspace).resolve(), Path(folder).resolve()
    try:
        _look_upwards(here, top)
        _look_into(top / ".git", top)
        if goes_down:
            _look_below(top)
    except Foreign as foreign:
        return foreign.reason
    except (OSError, ValueError, struct.error):
        return Reason("git.unclear")
    return None


def _look_upwards(here: Path, top: Path) -> None:
    """Git takes the first folder upwards that holds a `.git`, or that looks like one: then it has a `HEAD`, in every
    version of git, and if need be as a symlink that leads nowhere."""
    for path in (here, *here.parents):
        found = {each.name.lower() for each in path.iterdir()} if path.is_dir() else set()
        if "head" in found and not found.isdisjoint({"commondir", "objects", "refs", "config"}):
            raise Foreign("git.fake", _called(path, top))
        if path == top:
            break
        if ".git" in found:
            raise Foreign("git.nested", _called(path, top))
    if top not in (here, *here.parents) or not os.path.lexists(top / ".git"):
        raise Foreign("git.not_top")


def _look_into(entry: Path, top: Path) -> None:
    """`entry` is the workspace's `.git`: a folder, or the file of a worktree that `git worktree add` made."""
    own = entry if entry.is_dir() and not entry.is_symlink() else _of_worktree(entry)
    shared = own if own == entry else _shared(own)
    if not (own / "HEAD").is_file() or not (shared / "objects").is_dir() or not (shared / "refs").is_dir():
        raise Foreign("git.not_top")  # so git would look further up
    if os.path.lexists(shared / "commondir"):
        raise Foreign("git.elsewhere")
    _check_links({own, *(shared / name for name in ("", *_FOLDERS))})
    for name in {own / "config", own / "config.worktree", shared / "config"}:
        if os.path.lexists(name):
            _check_config(name, top, shared)
    if os.path.lexists(shared / "objects/info/alternates"):
        raise Foreign("git.elsewhere")
    if any(path.name.startswith("sharedindex.") for path in own.iterdir()):
        raise Foreign("git.unclear")
    _check_hooks(shared / "hooks")
    _check_index(own / "index", top)


def _check_links(folders: set[Path]) -> None:
    """Git follows links inside its folder, also when it writes its index anew."""
    for folder in folders:
        if folder.is_dir() and any(each.is_symlink() for each in folder.iterdir()):
            raise Foreign("git.elsewhere")


def _look_below(top: Path) -> None:
    """Git looks into the folder of a repository that it finds below. In a tree that is too large for this only the
    submodules are known: into the others git looks for nothing but their HEAD, which it does not show."""
    with suppress(tree_walk.TooLarge):
        if (found := tree_walk.nested_repository(top)) is not None:
            raise Foreign("git.nested", _called(found, top))


def _of_worktree(entry: Path) -> Path:
    """The folder that a worktree's `.git` names: outside the workspace, and naming this workspace in return."""
    text = entry.read_text(encoding="utf-8")
    own = Path(os.path.realpath(entry.parent / text.removeprefix("gitdir: ").rstrip("\n")))
    is_named = text.startswith("gitdir: ") and own.parent.name == "worktrees" and own.is_dir()
    if entry.is_symlink() or not is_named or entry.parent in (own, *own.parents):
        raise Foreign("git.elsewhere")
    back = Path(os.path.realpath(own / (own / "gitdir").read_text(encoding="utf-8").rstrip("\n")))
    if back != entry:
        raise Foreign("git.elsewhere")
    return own


def _shared(own: Path) -> Path:
    shared = Path(os.path.realpath(own / (own / "commondir").read_text(encoding="utf-8").rstrip("\n")))
    if own.parent.parent != shared:
        raise Foreign("git.elsewhere")
    return shared


def _check_config(path: Path, top: Path, shared: Path) -> None:
    for key, value in _settings(path):
        if key not in HARMLESS_KEYS:
            raise Foreign("git.config", key)
        if key == "core.hookspath":
            _check_hooks(_hooks_folder(value, top))


def _hooks_folder(value: str, top: Path) -> Path:
    if not re.fullmatch(r"[\w./-]+", value):
        raise Foreign("git.config", "core.hookspath")
    return top / value


def _check_hooks(folder: Path) -> None:
    """The one hook that reading can run: git writes the index anew when it has looked at the files."""
    if os.path.lexists(folder / "post-index-change"):
        raise Foreign("git.hook", "post-index-change")


def _settings(path: Path) -> Iterator[tuple[str, str]]:
    """Each key of a config file with its value. What is written in any unusual way is not certain."""
    if path.stat().st_size > _MOST_CONFIG:
        raise Foreign("git.unclear")
    section = ""
    for written in path.read_text(encoding="utf-8").split("\n"):
        line = written.strip(" \t\r")
        if not line or line[0] in "#;":
            continue
        if found := _SECTION.fullmatch(line):
            section = f"{found[1].lower()}.*" if found[2] is not None else found[1].lower()
        elif (setting := _SETTING.fullmatch(line)) and section and not line.endswith("\\"):
            yield f"{section}.{setting[1].lower()}", setting[2] or ""
        else:
            raise Foreign("git.unclear")


def _check_index(path: Path, top: Path) -> None:
    """A submodule is an entry of a kind of its own. Git goes down into its folder, if there is anything in it."""
    if not os.path.lexists(path):
        return
    if path.stat().st_size > _MOST:
        raise Foreign("git.unclear")
    for name in _gitlinks(path.read_bytes()):
        folder = top / os.fsdecode(name)
        if folder.is_symlink() or (folder.exists() and (not folder.is_dir() or any(folder.iterdir()))):
            raise Foreign("git.submodule", _called(folder, top))


def _gitlinks(index: bytes) -> Iterator[bytes]:
    """The paths of submodules. Most repositories have none, and then the bytes of that kind occur nowhere."""
    mode = struct.pack(">I", _GITLINK)
    if mode not in index:
        return
    signature, version, count = struct.unpack_from(">4sII", index)
    if signature != b"DIRC" or version not in (2, 3):
        raise Foreign("git.unclear")
    at = 12
    for _ in range(count):
        name_at = at + (64 if index[at + 60] & 0x40 else 62)
        name = index[name_at : index.index(b"\0", name_at)]
        if index[at + 24 : at + 28] == mode:
            yield name
        at += (name_at - at + len(name) + 8) // 8 * 8


def _called(path: Path, top: Path) -> str:
    return os.fsencode(path.relative_to(top)).decode("utf-8", "backslashreplace")
