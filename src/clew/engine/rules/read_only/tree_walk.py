"""Searches a workspace for what makes a harmless-looking command do more: repositories inside it, and ignore files that
lead out of it. It follows no links, opens only regular files, and gives up on a tree that is too large."""

from __future__ import annotations

import errno
import os
import re
import stat
from collections.abc import Iterator, Mapping, Set
from pathlib import Path

from msgspec import Struct

from clew.engine.rules.patterns import folded, is_inside, real_path
from clew.engine.rules.shell.lenient import word_set

IGNORE_FILES = word_set(".gitignore .ignore .rgignore")
GIT_FILES = word_set(".gitignore .gitattributes .gitmodules .mailmap")  # git reads these in any folder
HOOK = "post-index-change"  # the only one that a reading command can run: git rewrites the index after reading files
# Names of files that git reads if the person's own config says so: `mailmap.file`, `diff.orderFile`, …
_READ_IF_TOLD = re.compile(r"^\.git|mailmap|attributes|ignore|exclude|order|revs")

_MAX_ENTRIES = 50_000  # and as many again in folders named `.git`
_MAX_TRACKED_ENTRIES = 500_000  # in folders in which git tracks files
_LINK_COST = 20  # a link or a `.git` takes as long as this many other entries
MAX_DEPTH = 60  # nested folders: the deeper one lies, the longer the system takes to find it
_MAX_FILE_BYTES = 64 * 1024  # of an ignore file
_PLAIN_LINE = re.compile(rb"/?([A-Za-z0-9_.@+-]+)/?")
_OPEN_FLAGS = os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW | os.O_CLOEXEC


class TooLarge(Exception):
    """The tree has too many entries; not all of it was searched."""


def read_regular_file(path: Path, most: int = _MAX_FILE_BYTES) -> bytes:
    """The bytes of a regular file. Raises OSError for a link, a pipe, a device, or a file that is too large."""
    with os.fdopen(os.open(path, _OPEN_FLAGS), "rb") as file:
        found = os.fstat(file.fileno())
        if not stat.S_ISREG(found.st_mode) or found.st_size > most:
            raise OSError(errno.EINVAL, "not a regular file, or too large", str(path))
        return file.read(found.st_size)


def is_regular_or_missing(path: str | Path) -> bool:
    """Whether the path does not exist, or is a regular file and not a link to one."""
    try:
        return stat.S_ISREG(os.lstat(path).st_mode)
    except (FileNotFoundError, NotADirectoryError):
        return True


class TooDeep(Exception):
    """The tree is nested so deeply that searching it would take too long."""


class Sought(Struct, frozen=True):
    """What else is unsafe for a git command."""

    repositories: bool = True  # a folder with its own `.git`
    links: bool = False  # a link to a folder outside
    any_links: bool = False  # a link to any file outside


def find_unsafe_for_git(
    top: Path, skipped: frozenset[str], sought: Sought, *, only_skipped: bool = False
) -> Path | None:
    """The first file below the top that makes git do more than read there: one that git reads and that is not a regular
    file, a hook that the person's own config may name, and what is `sought`. The `skipped` folders of the top are left
    out; with `only_skipped`, all others are. Raises TooLarge, TooDeep and OSError."""
    for entry in _entries(top, skipped, only_skipped=only_skipped):
        if (found := _unsafe_path(entry, str(top), sought)) is not None:
            return found
    return None


def find_unsafe_among_tracked(top: Path, tracked: Mapping[str, Set[str]], sought: Sought) -> Path | None:
    """The same for the folders in which git tracks something, without those below. `tracked` has the names in each
    folder, by its path relative to the top. Each must have the type that git knows: a link in place of a folder is
    unsafe, as git reads its files through it, and so is a repository or a pipe in place of a file."""
    left = _MAX_TRACKED_ENTRIES
    waiting = [""]
    for folder in waiting:  # grows in the loop
        unseen = set(tracked.get(folder, ()))
        with os.scandir(f"{top}/{folder}") as found:
            for entry in found:
                left -= _LINK_COST if entry.is_symlink() else 1
                if left < 0:
                    raise TooLarge
                is_own_git = not folder and entry.name == ".git"
                if not is_own_git and (unsafe := _unsafe_path(entry, str(top), sought)) is not None:
                    return unsafe
                if entry.is_file(follow_symlinks=False):
                    unseen.discard(entry.name)
        for name in unseen:  # also those that seem deleted: a file system may fold the case of names
            path = f"{folder}/{name}" if folder else name
            mode = _mode(f"{top}/{path}")
            if _has_wrong_type(f"{top}/{path}", mode, is_folder=path in tracked):
                return top / path
            waiting += [path] if path in tracked and stat.S_ISDIR(mode) else []
    return None


def _unsafe_path(entry: os.DirEntry[str], top: str, sought: Sought) -> Path | None:
    name = folded(entry.name)
    if name == ".git" and sought.repositories:
        return Path(entry.path).parent
    is_unsafe = name == HOOK or (name in GIT_FILES and not entry.is_file(follow_symlinks=False))
    is_unsafe = is_unsafe or (entry.is_symlink() and _leads_outside(entry, top, sought))
    return Path(entry.path) if is_unsafe else None


def _leads_outside(link: os.DirEntry[str], top: str, sought: Sought) -> bool:
    """Whether a link leads outside, and git would read files through it: a file with a name that the person's own
    config may have, or what is sought. A link into `/proc` counts as such."""
    is_read = _READ_IF_TOLD.search(folded(link.name)) is not None
    is_read = is_read or sought.any_links or (sought.links and link.is_dir())
    return (is_read and not is_inside(link.path, top)) or (sought.links and real_path(link.path, top) is None)


def _mode(path: str) -> int:
    """The mode of a path; 0 if it does not exist."""
    try:
        return os.lstat(path).st_mode
    except (FileNotFoundError, NotADirectoryError):
        return 0


def _has_wrong_type(path: str, mode: int, *, is_folder: bool) -> bool:
    if stat.S_ISDIR(mode):
        return not is_folder and os.path.lexists(f"{path}/.git")
    return bool(mode) and not stat.S_ISREG(mode) and (is_folder or not stat.S_ISLNK(mode))


def find_linked_ignore_file(top: Path, skipped: frozenset[str] = frozenset()) -> Path | None:
    """The first ignore file that is a link to outside, or not a regular file. A program that reads it may print its
    lines as errors. Raises TooLarge, TooDeep and OSError."""
    if (above := _find_linked_above(top)) is not None:
        return above
    for entry in _entries(top, skipped, git_too=True):
        name = folded(entry.name)
        is_plain_file = entry.is_file(follow_symlinks=False)
        if name in IGNORE_FILES and not is_plain_file and not _is_workspace_file(entry.path, top):
            return Path(entry.path)
        if name == ".git" and (found := _find_outside_exclude(Path(entry.path), top)) is not None:
            return found
    return None


def _find_linked_above(top: Path) -> Path | None:
    """The same for the folders above, whose ignore files ripgrep also reads. A regular file there belongs to the
    person; so does a link in their home folder, as people make who keep such files in a repository."""
    for folder in top.parents:
        is_home = str(folder) == os.path.realpath(Path.home())
        for name in IGNORE_FILES:
            if not is_regular_or_missing(folder / name) and not (is_home and (folder / name).is_file()):
                return folder / name
        if os.path.lexists(folder / ".git") and not _has_regular_exclude(folder / ".git"):
            return folder / ".git"
    return None


def _is_workspace_file(path: str | Path, top: Path) -> bool:
    """Whether the path does not exist, or is a file in the workspace."""
    return is_inside(str(path), str(top)) and (Path(path).is_file() or not os.path.lexists(path))


def _find_outside_exclude(git: Path, top: Path) -> Path | None:
    """The `.git` if its `info/exclude` is unsafe. Ripgrep reads that file of each repository below, also through a
    `.git` file."""
    if git.is_dir() and not git.is_symlink():
        own = git
    elif git.parent == top:
        return None if _git_folder_of(git) != git and _has_regular_exclude(git) else git
    else:
        return git
    is_own = is_inside(str(own), str(top)) and not os.path.lexists(own / "commondir")
    return None if is_own and _is_workspace_file(own / "info/exclude", top) else git


def _git_folder_of(git: Path) -> Path:
    """The folder that a `.git` file names; the path itself if it is not such a file, or names a relative path, which
    ripgrep resolves in another way."""
    if git.is_symlink() or not git.is_file():
        return git
    text = os.fsdecode(read_regular_file(git))
    if text.startswith("gitdir: ") and not text.startswith("gitdir: /"):
        return git
    return git.parent / text.removeprefix("gitdir: ").removesuffix("\n") if text.startswith("gitdir: ") else git


def _has_regular_exclude(git: Path) -> bool:
    """Whether `info/exclude` of the person's own repository is regular. The repository of a worktree lies elsewhere."""
    own = _git_folder_of(git)
    common = own / "commondir"
    if os.path.lexists(common) and read_regular_file(common) != b"../..\n":  # as git writes it
        return False
    shared = own.parent.parent if os.path.lexists(common) else own
    return is_regular_or_missing(shared / "info/exclude")


def ignored_folders(top: Path) -> frozenset[str]:
    """Names at the top, such as `node_modules`, that a plain line of its `.gitignore` excludes. Empty if anything may
    include them again."""
    path = top / ".gitignore"
    is_overridden = any(os.path.lexists(top / name) for name in (".ignore", ".rgignore"))
    if is_overridden or _is_overridden_above(top) or not path.is_file() or not is_regular_or_missing(path):
        return frozenset()
    text = read_regular_file(path) if path.stat().st_size <= _MAX_FILE_BYTES else b""
    lines = text.split(b"\n")
    if b"\r" in text or not text.isascii() or any(line.startswith(b"!") for line in lines):
        return frozenset()
    return frozenset(found[1].decode() for line in lines if (found := _PLAIN_LINE.fullmatch(line)))


def _is_overridden_above(top: Path) -> bool:
    """For ripgrep, a line `!name` of an `.ignore` in any folder above overrides the top's `.gitignore`."""
    paths = [folder / name for folder in top.parents for name in (".ignore", ".rgignore")]
    return any(
        not is_regular_or_missing(path) or b"!" in read_regular_file(path) for path in paths if os.path.lexists(path)
    )


def _entries(
    top: Path, skipped: frozenset[str], *, git_too: bool = False, only_skipped: bool = False
) -> Iterator[os.DirEntry[str]]:
    """Everything below, except in the `skipped` folders of the top (with `only_skipped`: except in all others). The
    contents of folders named `.git`, and the top's own `.git`, only with `git_too`."""
    waiting = [(str(top), False)]
    left = {False: _MAX_ENTRIES, True: _MAX_ENTRIES}
    deepest = str(top).count("/") + MAX_DEPTH
    for folder, in_git in waiting:  # grows in the loop
        if folder.count("/") > deepest:
            raise TooDeep
        with os.scandir(folder) as found:
            for entry in found:
                is_git, is_folder = entry.name == ".git", entry.is_dir(follow_symlinks=False)
                left[in_git] -= _LINK_COST if is_git or entry.is_symlink() else 1
                if left[in_git] < 0:
                    raise TooLarge
                if folder == str(top) and (
                    not git_too if is_git else is_folder and (entry.name in skipped) is not only_skipped
                ):
                    continue
                yield entry
                waiting += [(entry.path, in_git or is_git)] if is_folder and (git_too or not is_git) else []
