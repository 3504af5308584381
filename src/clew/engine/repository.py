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
    " core.commitgraph core.multipackindex core.compression index.version index.threads"
    " extensions.worktreeconfig extensions.relativeworktrees remote.*.url remote.*.pushurl"
    " remote.*.fetch remote.*.tagopt remote.*.prune remote.*.skipdefaultupdate remote.*.gh-resolved"
    " remote.pushdefault branch.*.remote branch.*.merge branch.*.rebase branch.*.pushremote branch.*.description"
    " branch.*.vscode-merge-base branch.*.github-pr-owner-number branch.*.gh-merge-base branch.autosetupmerge"
    " branch.autosetuprebase user.name user.email user.signingkey commit.gpgsign commit.template"
    " tag.gpgsign pull.rebase pull.ff push.default push.autosetupremote push.followtags fetch.prune"
    " fetch.prunetags init.defaultbranch rerere.enabled rerere.autoupdate merge.conflictstyle merge.ff"
    " rebase.autostash rebase.autosquash diff.algorithm diff.renames diff.colormoved diff.mnemonicprefix"
    " diff.context color.ui color.diff color.status color.branch gc.auto gc.autodetach submodule.*.url"
    " submodule.*.active submodule.*.branch advice.detachedhead status.short status.branch"
    " status.showuntrackedfiles log.date log.abbrevcommit log.decorate"
)

_MOST = 64 * 1024 * 1024  # bytes of an index that is looked into
_MOST_CONFIG = 256 * 1024
_GITLINK = 0o160000
_NOT_A_FILE = re.compile(rb"\0\0(?:[\xe0-\xef]|[\x40-\x4f])", re.DOTALL)  # the beginning of its mode
_MOST_FILES = 20_000  # in git's folder
_LONG_LINE = 4_096
_OTHERS = names("modules lfs annex")
_HEAD = re.compile(rb"(?:ref: refs/[^\0\r\n]+|[0-9a-f]{40})\n?")
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
    except (OSError, ValueError, IndexError, struct.error):
        return Reason("git.unclear")
    return None


def _look_upwards(here: Path, top: Path) -> None:
    """Git takes the first folder upwards that holds a `.git`, or that looks like one: then it has a `HEAD`, in every
    version of git, and if need be as a symlink that leads nowhere."""
    for path in (here, *here.parents):
        found = {each.name.lower() for each in path.iterdir()} if path.is_dir() else set()
        if "head" in found and not found.isdisjoint({"commondir", "objects", "refs", "config"}):
            raise Foreign("git.fake", shown_path(path, top))
        if path == top:
            break
        if ".git" in found:
            raise Foreign("git.nested", shown_path(path, top))
    if top not in (here, *here.parents) or not os.path.lexists(top / ".git"):
        raise Foreign("git.not_top")


def _look_into(entry: Path, top: Path) -> None:
    """`entry` is the workspace's `.git`: a folder, or the file of a worktree that `git worktree add` made."""
    own = entry if entry.is_dir() and not entry.is_symlink() else _of_worktree(entry)
    shared = own if own == entry else _shared(own)
    for folder in {own, shared}:
        _check_plain(folder)
    if not _is_whole(own, shared):
        raise Foreign("git.not_top")  # so git would look further up
    if any(os.path.lexists(shared / name) for name in ("commondir", "objects/info/alternates", "info/grafts")):
        raise Foreign("git.elsewhere")
    for name in {own / "config", own / "config.worktree", shared / "config"}:
        if os.path.lexists(name):
            _check_config(name, top)
    if any(path.name.startswith("sharedindex.") for path in own.iterdir()):
        raise Foreign("git.unclear")
    _check_hooks(shared / "hooks")
    _check_index(own / "index", top)


def _check_plain(folder: Path) -> None:
    """Git follows links inside its folder, also when it writes its index anew, and waits for ever at a pipe. What
    belongs to submodules is theirs: they are looked for in the index."""
    waiting = [str(folder)]
    left = _MOST_FILES
    for each in waiting:  # which grows meanwhile
        with os.scandir(each) as entries:
            found = list(entries)
        left -= len(found)
        if left < 0:
            raise Foreign("git.unclear")
        folders = [entry for entry in found if entry.is_dir(follow_symlinks=False)]
        if not all(entry.is_file(follow_symlinks=False) for entry in found if entry not in folders):
            raise Foreign("git.elsewhere")
        waiting += [entry.path for entry in folders if entry.name not in _OTHERS]


def _is_whole(own: Path, shared: Path) -> bool:
    """Whether git takes it for a repository, in every version."""
    head = own / "HEAD"
    is_valid = head.is_file() and _HEAD.fullmatch(head.read_bytes()[:_LONG_LINE])
    return bool(is_valid) and (shared / "objects").is_dir() and (shared / "refs").is_dir()


def _look_below(top: Path) -> None:
    """Git looks into the folder of a repository that it finds below. In a tree that is too large for this only the
    submodules are known: into the others git looks for nothing but their HEAD, which it does not show."""
    with suppress(tree_walk.TooLarge):
        if (found := tree_walk.foreign_to_git(top)) is not None:
            raise Foreign("git.nested" if found.is_dir() else "git.file", shown_path(found, top))


def _of_worktree(entry: Path) -> Path:
    """The folder that a worktree's `.git` names: outside the workspace, and naming this workspace in return."""
    own = Path(os.path.realpath(entry.parent / _line(entry, "gitdir: ")))
    if entry.is_symlink() or own.parent.name != "worktrees" or not own.is_dir() or entry.parent in (own, *own.parents):
        raise Foreign("git.elsewhere")
    if Path(os.path.realpath(own / _line(own / "gitdir"))) != entry:
        raise Foreign("git.elsewhere")
    return own


def _shared(own: Path) -> Path:
    shared = Path(os.path.realpath(own / _line(own / "commondir")))
    if own.parent.parent != shared:
        raise Foreign("git.elsewhere")
    return shared


def _line(path: Path, before: str = "") -> str:
    """The one line of a file, behind a fixed beginning. A carriage return means something else to git than to us."""
    found = path.read_bytes()[:_LONG_LINE] if path.is_file() else b""
    text = found.removesuffix(b"\n")
    if not text.startswith(before.encode()) or b"\n" in text or b"\r" in text or b"\0" in text:
        raise Foreign("git.elsewhere")
    return os.fsdecode(text[len(before) :])


def _check_config(path: Path, top: Path) -> None:
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
    for written in path.read_bytes().decode().split("\n"):
        line = written.removesuffix("\r").strip(" \t")
        if "\r" in line:
            raise Foreign("git.unclear")
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
            raise Foreign("git.submodule", shown_path(folder, top))


def _gitlinks(index: bytes) -> Iterator[bytes]:
    """The paths of submodules. If nowhere in the index are bytes that could be the mode of one, there is none. A sparse
    index keeps whole folders, which may hold one: that is not certain."""
    if not _NOT_A_FILE.search(index):
        return
    signature, version, count = struct.unpack_from(">4sII", index)
    if signature != b"DIRC" or version not in (2, 3, 4):
        raise Foreign("git.unclear")
    name, at = b"", 12
    for _ in range(count):
        kind = struct.unpack_from(">I", index, at + 24)[0] & 0o170000
        flags = struct.unpack_from(">H", index, at + 60)[0]
        start = at + (64 if flags & 0x4000 else 62)
        name, at = _short_name(index, start, name) if version == 4 else _name(index, at, start, flags & 0xFFF)
        if kind == _GITLINK:
            yield name
        elif kind not in (0o100000, 0o120000):
            raise Foreign("git.unclear")


def _name(index: bytes, at: int, start: int, length: int) -> tuple[bytes, int]:
    """The name of an entry, and where the next one begins. What is not padded as git does it is not certain."""
    length = index.index(b"\0", start) - start if length == 0xFFF else length
    after = at + (start - at + length + 8) // 8 * 8
    name = index[start : start + length]
    if b"\0" in name or index[start + length : after].strip(b"\0") or after > len(index):
        raise Foreign("git.unclear")
    return name, after


def _short_name(index: bytes, start: int, before: bytes) -> tuple[bytes, int]:
    """The same in version 4: how much of the name before is dropped, and what comes instead."""
    dropped = index[start] & 0x7F
    while index[start] & 0x80:
        start += 1
        dropped = (dropped + 1 << 7) + (index[start] & 0x7F)
    end = index.index(b"\0", start + 1)
    if dropped > len(before):
        raise Foreign("git.unclear")
    return before[: len(before) - dropped] + index[start + 1 : end], end + 1


def shown_path(path: Path, top: Path) -> str:
    """From the workspace's point of view; as a whole, if it lies outside."""
    shown = path.relative_to(top) if path.is_relative_to(top) else path
    return os.fsencode(shown).decode("utf-8", "backslashreplace")
