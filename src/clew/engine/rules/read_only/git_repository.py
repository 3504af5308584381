"""Decides whether git may run in a folder without asking. Git runs programs that a repository's config names, and
enters repositories inside it; both may come from an attacker. So git may run only in the workspace's own repository,
only if that looks exactly as `git init` and `git clone` make it, and only if its config has no keys but those known to
run nothing."""

from __future__ import annotations

import os
import re
import struct
from collections.abc import Callable, Iterable, Iterator, Mapping, Set
from functools import partial
from itertools import pairwise
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from clew.engine.rules.patterns import folded, real_path, relative_path
from clew.engine.rules.read_only import tree_walk
from clew.engine.rules.read_only.tree_walk import read_regular_file
from clew.engine.rules.shell.lenient import word_set
from clew.model.gates import Reason

# Keys of a repository's own config that make none of the commands in `SAFE_COMMANDS` run or open anything else. A `*`
# is a subsection: the name of a remote or a branch.
HARMLESS_KEYS = word_set(
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

_MAX_INDEX_BYTES = 64 * 1024 * 1024  # a larger index is not read
_MAX_TRACKED, _MAX_FOLDERS = 500_000, 50_000  # entries of an index, and their folders
_MAX_CONFIG_BYTES = 256 * 1024
_GITLINK = 0o160000
_MODES = frozenset({0o100644, 0o100755, 0o120000, _GITLINK})  # not that of a folder, as in a sparse index
_ENTRY = struct.Struct(">24xI32xH")  # mode and flags of an entry
_UNSAFE_NAME = re.compile(rb"/(?:\.{0,2}|\.[Gg][Ii][Tt])/")  # git never adds such names, but follows them
_EXTENSIONS = frozenset({b"TREE", b"REUC"})  # others refer to entries elsewhere, or name files and programs
_HASH = 20  # bytes
_GRAPH_HASH = re.compile(rb"[0-9a-f]{40}")
_PACK_INDEX = re.compile(rb"pack-[0-9a-f]{40}\.idx")
_ELSEWHERE = ("commondir", "objects/info/alternates", "info/grafts", "objects/pack/multi-pack-index.d")
_MAX_FILES = 20_000  # in git's folder
_MAX_LINE_BYTES = 4_096
_MAX_NAME_BYTES = 1_000  # with the workspace's path it must stay below the system's limit
_REPOSITORY_ENTRIES = ("commondir", "objects", "refs", "config")
_HEAD = re.compile(rb"(?:ref: refs/[^\0\r\n]+|[0-9a-f]{40})\n?")
_CONTROL = re.compile(r"[^\t\n\r -~\x80-\U0010ffff]|\r(?!\n)")  # git ends the key at a NUL
_SECTION = re.compile(r'\[([A-Za-z0-9-]+)(?:[ \t]+"([^"\\]+)")?\]')
_SETTING = re.compile(r"([A-Za-z][A-Za-z0-9-]*)[ \t]*(?:=[ \t]*(.*))?")
_DISPLAY_KEY = re.compile(r"(?:core|index|log|diff|color|status)\.(?!hookspath$)")  # keys whose values git interprets
_PLAIN_VALUE = re.compile(r"(?!.*[0-9]{5})[A-Za-z0-9:-]*")  # no format, such as `%1999999999d`, which prints that much


class UnsafeRepository(Exception):
    """Git may do more than read in this repository."""

    def __init__(self, code: str, about: str = "") -> None:
        super().__init__(code)
        self.reason = Reason(code, about)


class GitScope(Struct, frozen=True):
    """What a git command reads, beside git's own folder and the tracked files."""

    untracked_files: bool = True
    ignored_files: bool = False
    history_files: bool = True  # for these it reads the attributes of the folders in which they would be
    linked_files: bool = False  # a file that only the person's own config names, and of which it may print a line
    complete: bool = False  # the command may read any folder: a tree that is too large to search is not safe


def reason_to_ask(folder: str, workspace: str, scope: GitScope = GitScope()) -> Reason | None:  # noqa: B008 - it is frozen
    """Why clew must ask before git runs in this folder; None if git only reads the workspace's repository."""
    return reason_at_folder(folder, workspace) or reason_in_repository(workspace, scope)


def reason_at_folder(folder: str, workspace: str) -> Reason | None:
    """The check that depends on the folder: does git find the workspace's repository from there?"""
    return _reason_of(partial(_check_from_folder, Path(folder).resolve(), Path(workspace).resolve()))


def reason_in_repository(workspace: str, scope: GitScope) -> Reason | None:
    """The checks that do not depend on the folder."""
    top = Path(workspace).resolve()
    return _reason_of(lambda: _check_tree(top, _check_repository(top / ".git", top), scope))


def _reason_of(check: Callable[[], None]) -> Reason | None:
    try:
        check()
    except UnsafeRepository as unsafe:
        return unsafe.reason
    except (tree_walk.TooLarge, tree_walk.TooDeep):
        return Reason("tree.large")
    except (OSError, ValueError, IndexError, struct.error):
        return Reason("git.unclear")
    return None


def _check_from_folder(here: Path, top: Path) -> None:
    """Git uses the first folder upwards that has a `.git` or looks like one. For every version of git, such a folder
    has a `HEAD`, which may be a dangling symlink."""
    for path in (here, *here.parents):
        if _exists(path / "HEAD") and any(_exists(path / name) for name in _REPOSITORY_ENTRIES):
            raise UnsafeRepository("git.fake", shown_path(path, top))
        if path == top:
            break
        if _exists(path / ".git"):
            raise UnsafeRepository("git.nested", shown_path(path, top))
    if top not in (here, *here.parents) or not os.path.lexists(top / ".git"):
        raise UnsafeRepository("git.not_top")


def _exists(path: Path) -> bool:
    """Unlike `Path.exists`, raises OSError if the answer is not certain."""
    try:
        path.lstat()
    except (FileNotFoundError, NotADirectoryError):
        return False
    return True


def _check_repository(entry: Path, top: Path) -> dict[str, set[str]]:
    """Check the workspace's repository. `entry` is its `.git`: a folder, or the file of a worktree that `git worktree
    add` made. Returns the names that git tracks, by their folder."""
    own = entry if entry.is_dir() and not entry.is_symlink() else _worktree_folder(entry)
    shared = own if own == entry else own.parent.parent
    for folder in {own, shared}:
        _check_only_regular_files(folder)
    if not _is_complete(own, shared):
        raise UnsafeRepository("git.not_top")  # git would search further up
    if any(os.path.lexists(shared / name) for name in _ELSEWHERE):
        raise UnsafeRepository("git.elsewhere")
    for name in {own / "config", own / "config.worktree", shared / "config"}:
        if os.path.lexists(name):
            _check_config(name, top)
    if any(path.name.startswith("sharedindex.") for path in own.iterdir()):
        raise UnsafeRepository("git.unclear")
    _check_objects(shared / "objects")
    _check_hooks(shared / "hooks")
    _check_worktrees(shared / "worktrees")
    for module in (each for folder in {own, shared} for each in _entries(folder / "modules")):
        raise UnsafeRepository("git.submodule", shown_path(module, top))  # with `diff.submodule` git runs what it names
    return _check_index(own / "index", top)


def _entries(folder: Path) -> Iterable[Path]:
    return folder.iterdir() if folder.is_dir() else ()


def _check_objects(objects: Path) -> None:
    """Two of git's files name other files with objects, and git follows a name that leads out of its folder."""
    chain = objects / "info" / "commit-graphs" / "commit-graph-chain"
    if chain.exists() and not all(map(_GRAPH_HASH.fullmatch, read_regular_file(chain, _MAX_INDEX_BYTES).splitlines())):
        raise UnsafeRepository("git.elsewhere")
    packs = objects / "pack" / "multi-pack-index"
    if packs.exists():
        names = _pack_names(read_regular_file(packs, _MAX_INDEX_BYTES))
        if not all(map(_PACK_INDEX.fullmatch, names)):
            raise UnsafeRepository("git.elsewhere")


def _pack_names(index: bytes) -> list[bytes]:
    """The names in a multi-pack-index: a header of 12 bytes, a table of chunks (4 bytes of name, 8 of offset, and one
    row for the end), and in the chunk `PNAM` the names, with NUL bytes between and after them."""
    rows = [index[at : at + 12] for at in range(12, 12 + 12 * (index[6] + 1), 12)]
    offsets = [(row[:4], int.from_bytes(row[4:], "big")) for row in rows]
    found = [index[start:end] for (name, start), (_, end) in pairwise(offsets) if name == b"PNAM"]
    return [name for chunk in found for name in chunk.rstrip(b"\0").split(b"\0")] if len(found) == 1 else [b""]


def _check_only_regular_files(folder: Path) -> None:
    """Git follows links inside its folder, also when it rewrites its index, and hangs at a named pipe. It reads any
    file in there as a ref if told to: `git log lfs/x`."""
    waiting = [str(folder)]
    left = _MAX_FILES
    deepest = str(folder).count("/") + tree_walk.MAX_DEPTH
    for each in waiting:  # grows in the loop
        if each.count("/") > deepest:
            raise tree_walk.TooDeep
        with os.scandir(each) as entries:
            found = list(entries)
        left -= len(found)
        if left < 0:
            raise UnsafeRepository("git.unclear")
        folders = [entry for entry in found if entry.is_dir(follow_symlinks=False)]
        files = [entry for entry in found if entry.is_file(follow_symlinks=False)]
        if len(folders) + len(files) < len(found):
            raise UnsafeRepository("git.elsewhere")
        waiting += [entry.path for entry in folders]


def _is_complete(own: Path, shared: Path) -> bool:
    """Whether every version of git takes it for a repository."""
    folders = (own, shared, shared / "objects", shared / "refs")
    files = (own / "HEAD", shared / "config", own / "index")
    are_readable = all(path.is_dir() and _has_mode(path, 0o5) for path in folders)
    are_readable = are_readable and all(_has_mode(path, 0o4) for path in files if os.path.lexists(path))
    return (
        are_readable
        and (own / "HEAD").is_file()
        and bool(_HEAD.fullmatch(read_regular_file(own / "HEAD", _MAX_LINE_BYTES)))
    )


def _has_mode(path: Path, bits: int) -> bool:
    """Whether git may read (4) and enter (1) this path; if not, git ignores the repository. The mode is checked even if
    this process may do everything, because git may run as another user."""
    return os.access(path, bits) and path.stat().st_mode >> 6 & bits == bits


def _check_tree(top: Path, tracked: Mapping[str, Set[str]], scope: GitScope) -> None:
    """Check the folders below. Every git command that shows a file reads git's own files there, such as
    `.gitattributes`. A command that searches for untracked files also enters repositories that it finds. Ignored
    folders are searched for repositories only if git reads ignored files. If a tree is too large to search, that is
    accepted unless the command may read any folder: git runs something in a repository below only if the index has a
    gitlink to it, and the index was checked. Of other repositories it reads only the HEAD, and does not show it."""
    sought = tree_walk.Sought(scope.untracked_files, scope.history_files, scope.linked_files)
    found = tree_walk.find_unsafe_among_tracked(top, tracked, sought)
    search = partial(tree_walk.find_unsafe_for_git, top)
    skipped = frozenset[str]() if scope.ignored_files else tree_walk.ignored_folders(top)
    try:
        found = found or search(skipped, sought)
        if scope.history_files:
            found = found or search(skipped, replace(sought, repositories=False), only_skipped=True)
    except tree_walk.TooLarge:
        if scope.complete:
            raise
    if found is not None:
        is_folder = found.is_dir() and not found.is_symlink()
        code = "git.hook" if folded(found.name) == tree_walk.HOOK else "git.nested" if is_folder else "git.file"
        raise UnsafeRepository(code, shown_path(found, top))


def _worktree_folder(entry: Path) -> Path:
    """The git folder that a worktree's `.git` file names. It must lie outside the workspace and name it in return."""
    own = _resolve(entry.parent, _read_line(entry, "gitdir: "))
    if entry.is_symlink() or own.parent.name != "worktrees" or not own.is_dir() or entry.parent in (own, *own.parents):
        raise UnsafeRepository("git.elsewhere")
    if _resolve(own, _read_line(own / "gitdir")) != entry:
        raise UnsafeRepository("git.elsewhere")
    return own


def is_git_folder_file(path: str, workspace: str, pattern: str) -> bool:
    """Whether a file lies in a folder that a `.git` file or link beside or above it names as git's own, and that the
    pattern does not name. True also if that is not certain."""
    where, top = relative_path(path, workspace), real_path("", workspace)
    if where is None or top is None:
        return False
    file = Path(top, where)
    above = [folder for folder in file.parents if folder.is_relative_to(top)]
    try:
        named = [own for folder in above for own in _folders_named_by(folder / ".git") if own.is_relative_to(top)]
    except (UnsafeRepository, OSError, ValueError):
        return True
    return any(
        Path(folded(str(file))).is_relative_to(folded(str(own))) for own in named if own.name not in pattern.split("/")
    )


def _folders_named_by(entry: Path) -> list[Path]:
    """The folders that a `.git` file or link names: git's own one, and the one shared with other worktrees."""
    if not entry.is_symlink() and not entry.is_file():
        return []
    own = _resolve(entry.parent, entry.name if entry.is_symlink() else _read_line(entry, "gitdir: "))
    return [own, _resolve(own, _read_line(own / "commondir"))] if os.path.lexists(own / "commondir") else [own]


def _check_worktrees(folder: Path) -> None:
    """Git reads the refs of all worktrees from where their `commondir` leads. Only git writes these files."""
    for own in _entries(folder):
        if own.is_dir() and (
            _read_line(own / "commondir") != "../.." or not _read_line(own / "gitdir").endswith("/.git")
        ):
            raise UnsafeRepository("git.elsewhere")


def _resolve(folder: Path, path: str) -> Path:
    found = real_path(path, str(folder))
    if found is None:
        raise UnsafeRepository("git.elsewhere")
    return Path(found)


def _read_line(path: Path, before: str = "") -> str:
    """The only line of a file, without its fixed prefix. Git treats a carriage return differently than Python."""
    text = read_regular_file(path, _MAX_LINE_BYTES).removesuffix(b"\n")
    if not text.startswith(before.encode()) or b"\n" in text or b"\r" in text or b"\0" in text:
        raise UnsafeRepository("git.elsewhere")
    return os.fsdecode(text[len(before) :])


def _check_config(path: Path, top: Path) -> None:
    for key, value in _config_settings(path):
        if key not in HARMLESS_KEYS:
            raise UnsafeRepository("git.config", key)
        if _DISPLAY_KEY.match(key) and not _PLAIN_VALUE.fullmatch(value):
            raise UnsafeRepository("git.value", key)
        if key == "core.hookspath":
            _check_hooks(_hooks_folder(value, top))


def _hooks_folder(value: str, top: Path) -> Path:
    folder = Path(os.path.normpath(top / value))
    is_plain = re.fullmatch(r"[\w./-]{1,200}", value) and ".." not in value.split("/")
    if not is_plain or real_path(value, str(top)) != str(folder):  # a link, or `/proc`, which differs for each program
        raise UnsafeRepository("git.config", "core.hookspath")
    return folder


def _check_hooks(folder: Path) -> None:
    if os.path.lexists(folder / tree_walk.HOOK):
        raise UnsafeRepository("git.hook", tree_walk.HOOK)


def _config_settings(path: Path) -> Iterator[tuple[str, str]]:
    """Each key of a config file with its value. Raises UnsafeRepository for any unusual syntax."""
    text = read_regular_file(path, _MAX_CONFIG_BYTES).decode()
    if _CONTROL.search(text):
        raise UnsafeRepository("git.unclear")
    section = ""
    for written in text.split("\n"):
        line = written.removesuffix("\r").strip(" \t")
        if not line or line[0] in "#;":
            continue
        if (found := _SECTION.fullmatch(line)) and (found[2] or "").isprintable():
            section = f"{found[1].lower()}.*" if found[2] is not None else found[1].lower()
        elif (setting := _SETTING.fullmatch(line)) and section and not line.endswith("\\"):
            yield f"{section}.{setting[1].lower()}", setting[2] or ""
        else:
            raise UnsafeRepository("git.unclear")


def _check_index(path: Path, top: Path) -> dict[str, set[str]]:
    """Check the index for submodules, which git enters if their folder is not empty. Returns the tracked names, by
    their folder."""
    if not os.path.lexists(path):
        return {}
    entries = list(_index_entries(read_regular_file(path, _MAX_INDEX_BYTES)))
    names = [name for name, _ in entries]
    if names and _UNSAFE_NAME.search(b"/%b/" % b"/\0/".join(names)):
        raise UnsafeRepository("git.unclear")
    for folder in (top / os.fsdecode(name) for name, mode in entries if mode == _GITLINK):
        if folder.is_symlink() or (folder.exists() and (not folder.is_dir() or any(folder.iterdir()))):
            raise UnsafeRepository("git.submodule", shown_path(folder, top))
    return _by_folder(os.fsdecode(name) for name, mode in entries if mode != _GITLINK)


def _by_folder(tracked: Iterable[str]) -> dict[str, set[str]]:
    """The names in each folder that leads to a tracked file, by its path relative to the top (`""`)."""
    found: dict[str, set[str]] = {"": set()}
    for path in tracked:
        folder, _, name = path.rpartition("/")
        while folder not in found:
            found[folder] = {name}
            if len(found) > _MAX_FOLDERS:
                raise UnsafeRepository("git.unclear")
            folder, _, name = folder.rpartition("/")
        found[folder].add(name)
    return found


def _index_entries(index: bytes) -> Iterator[tuple[bytes, int]]:
    """The names and modes of an index. Raises UnsafeRepository for anything that git would not write exactly so: git
    does not check it when reading, and might see other entries."""
    signature, version, count = struct.unpack_from(">4sII", index)
    if signature != b"DIRC" or version not in (2, 3, 4) or count > _MAX_TRACKED:
        raise UnsafeRepository("git.unclear")
    name, at, left = b"", 12, _MAX_INDEX_BYTES
    for _ in range(count):
        mode, flags = _ENTRY.unpack_from(index, at)
        start = at + _ENTRY.size + (_extended_flags_size(index, at + _ENTRY.size, version) if flags & 0x4000 else 0)
        name, at = _compressed_name(index, start, name) if version == 4 else _entry_name(index, at, start)
        left -= len(name)  # a small index can hold long names
        if mode not in _MODES or flags & 0xFFF != min(len(name), 0xFFF) or left < 0 or len(name) > _MAX_NAME_BYTES:
            raise UnsafeRepository("git.unclear")
        if name.count(b"/") > tree_walk.MAX_DEPTH:
            raise tree_walk.TooDeep
        yield name, mode
    _check_extensions(index, at)


def _extended_flags_size(index: bytes, at: int, version: int) -> int:
    """The size of the extended flags. Only two may be set: intent-to-add and skip-worktree."""
    if version == 2 or index[at] & ~0x60 or index[at + 1]:
        raise UnsafeRepository("git.unclear")
    return 2


def _check_extensions(index: bytes, at: int) -> None:
    """Check what follows the entries, up to the hash, which git does not verify."""
    while at < len(index) - _HASH:
        kind, size = struct.unpack_from(">4sI", index, at)
        at += 8 + size
        if kind not in _EXTENSIONS:
            raise UnsafeRepository("git.unclear")
    if at != len(index) - _HASH:
        raise UnsafeRepository("git.unclear")


def _entry_name(index: bytes, at: int, start: int) -> tuple[bytes, int]:
    """The name of an entry, and the start of the next one. The padding must be exactly as git writes it."""
    end = index.index(b"\0", start)
    after = at + (end - at + 8) // 8 * 8
    if index.count(b"\0", end, after) != after - end:
        raise UnsafeRepository("git.unclear")
    return index[start:end], after


def _compressed_name(index: bytes, start: int, before: bytes) -> tuple[bytes, int]:
    """The same for version 4: the length to drop from the previous name, and the text to append."""
    dropped = index[start] & 0x7F
    while index[start] & 0x80 and dropped <= len(before):
        start += 1
        dropped = (dropped + 1 << 7) + (index[start] & 0x7F)
    if dropped > len(before):
        raise UnsafeRepository("git.unclear")
    end = index.index(b"\0", start + 1)
    return before[: len(before) - dropped] + index[start + 1 : end], end + 1


def shown_path(path: Path, top: Path) -> str:
    """The path to show to a person: relative to the workspace, or absolute if it lies outside."""
    shown = path.relative_to(top) if path.is_relative_to(top) else path
    return os.fsencode(shown).decode("utf-8", "backslashreplace")
