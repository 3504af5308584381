"""Runs commands in their places and reports what they did beyond reading in the workspace: files that changed
anywhere in the place, files that were opened outside, programs that were started without being named, the network. It
sees by strace if that is installed; in any case by the tree, by times of access and by what was printed."""

from __future__ import annotations

import json
import os
import re
import shutil
import stat
import subprocess
import sys
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from tests.execution.workspaces import CONTENT, NAME, Place, restore, words

HAS_STRACE = shutil.which("strace") is not None
DRIVER = Path(__file__).with_name("driver.py")
TIMEOUT = 60  # seconds; only a command that never ends is killed

# Programs that a command may start if it names them: they only read, and start no other program.
READERS = frozenset(
    words(
        "basename cat cksum b2sum sha1sum sha224sum sha256sum sha384sum sha512sum md5sum sum cmp comm cut date diff"
        " dirname du df expand file find fmt fold git grep egrep fgrep rgrep head hexdump hd id join jq ls nl od paste"
        " readlink realpath rg sed seq sort stat strings tac tail tr tree tsort uname unexpand uniq wc which"
        " which.debianutils whoami xxd column rev look nproc hostname echo printf pwd true false test [ awk gawk mawk"
        " printenv shuf pr"
    )
)
SYSTEM_BINARIES = ("/usr/bin/", "/bin/", "/usr/local/bin/", "/usr/lib/git-core/")
SHELLS = frozenset({"sh", "bash", "zsh", "dash"})
WRAPPED = re.compile(r" *(?:/usr)?(?:/bin/)?(?:ba|z|da)?sh +-l?c ")
WORD = re.compile(r"[\w.+-]+")
NO_QUOTES = str.maketrans("", "", "\"'\\")

# Files that may be opened outside the workspace, and why. All belong to the system or to the person.
READABLE = re.compile(
    "|".join(
        (
            r"/etc/ld\.so\.(cache|preload)|/(usr/)?(local/)?lib(32|64|x32)?/.*",  # libraries, tables of characters
            r"/etc/locale\.alias|/usr/share/(locale|i18n|zoneinfo)/.*|/etc/(localtime|timezone)",  # languages, dates
            r"/etc/(passwd|group|nsswitch\.conf)",  # names of owners, for ls -l, id, stat, find -user, tree -u
            r"/dev/(null|tty|pts/\d+|ptmx|urandom|random)",  # harmless devices, and the terminal it runs on
            r"/proc/(self|\d+)/(maps|stat|status|mountinfo|mounts|cgroup|loginuid|task/.*)",  # about the process itself
            r"/proc/(filesystems|meminfo|stat|mounts)|/proc/sys/(kernel|vm)/.*",  # about the machine
            r"/sys/(devices/system/cpu|fs/cgroup|kernel/mm)/.*",  # how many processors there are
            r"/etc/magic(\.mime)?|/usr/share/(misc|file)/magic.*",  # the program file's own table
            r"/etc/gitconfig|HOME/\.gitconfig|HOME/\.config/git(/.*)?",  # the person's own settings of git
            r"/etc/(profile|bash\.bashrc|inputrc|environment|zsh|profile\.d)(/.*)?",  # the machine's shells
            r"/usr/share/(terminfo|zsh|bash-completion)/.*",
            r"HOME/\.(profile|bash_profile|bash_login|bashrc|bash_logout|zshenv|zprofile|zshrc|zlogin|zlogout)",
            r"(pipe|socket|anon_inode):.*",
        )
    )
)
IGNORE_FILES = frozenset({".gitignore", ".ignore", ".rgignore"})  # rg reads those of all folders above

TRACED = words(
    "execve execveat open openat openat2 creat unlink unlinkat rename renameat renameat2 link linkat symlink symlinkat"
    " mkdir mkdirat rmdir mknod mknodat truncate ftruncate chmod fchmod fchmodat chown fchown lchown fchownat utime"
    " utimes utimensat futimesat setxattr lsetxattr fsetxattr removexattr lremovexattr connect socket bind kill mount"
    " umount2 chroot ptrace process_vm_writev pidfd_open bpf io_uring_setup settimeofday clock_settime sethostname"
)
OPENS = frozenset({"open", "openat", "openat2", "creat"})
WRITES = re.compile(r"O_(?:WRONLY|RDWR|CREAT|TRUNC|APPEND|TMPFILE)")
CALL = re.compile(r"(\d+) +(\w+)\((.*)\) += (-?\d+|\?)(?:<(.*?)>)?(?: .*)?$")
QUOTED = re.compile(r'"((?:[^"\\]|\\.)*)"')


@dataclass(frozen=True)
class Run:
    """One command, as an agent would run it."""

    command: str
    folder: str  # absolute
    shell: tuple[str, ...] = ("bash", "-c")
    terminal: bool = False


@dataclass(frozen=True)
class Fault:
    """Something that a command did beyond reading in its workspace."""

    place: str
    run: Run
    what: str

    def __str__(self) -> str:
        tty = " on a terminal" if self.run.terminal else ""
        return f"[{self.place}] {' '.join(self.run.shell)} {self.run.command!r} in {self.run.folder}{tty}: {self.what}"


Watched = tuple[Place, Run]


def watch(watched: Sequence[Watched], *, strace: bool = HAS_STRACE, timeout: int = TIMEOUT) -> list[Fault]:
    """Run all commands one after the other, and each that may have done harm again in a fresh copy: only then is it
    certain which command did it, and that it needs no other command before it."""
    if len(watched) == 1:
        return _run_alone(*watched[0], strace, timeout)
    by_run, by_place = _faults(watched, strace, timeout)
    suspected = [
        each
        for each in watched
        if each in by_run or (each[0].name in by_place and not _has_faulty_run(by_run, each[0]))
    ]
    return [fault for place, run in suspected for fault in _run_alone(place, run, strace, timeout)]


def _has_faulty_run(by_run: Iterable[Watched], place: Place) -> bool:
    return any(each.name == place.name for each, _ in by_run)


def _run_alone(place: Place, run: Run, strace: bool, timeout: int) -> list[Fault]:
    restore(place)
    by_run, by_place = _faults([(place, run)], strace, timeout)
    found = [*by_run.get((place, run), ()), *by_place.get(place.name, ())]
    if found:
        restore(place)
    return [Fault(place.name, run, what) for what in dict.fromkeys(found)]


def _faults(
    watched: Sequence[Watched], strace: bool, timeout: int
) -> tuple[dict[Watched, list[str]], dict[str, list[str]]]:
    """The faults of each run by strace and output, and those of each place by its tree."""
    places = {place.name: place for place, _ in watched}
    before = {name: _tree(place) for name, place in places.items()}
    by_run: dict[Watched, list[str]] = {}
    for at, what in _run_all(watched, strace, timeout):
        by_run.setdefault(watched[at], []).append(what)
    changed = {name: list(_changes(before[name], _tree(place), place)) for name, place in places.items()}
    return by_run, {name: changes for name, changes in changed.items() if changes}


def _run_all(watched: Sequence[Watched], strace: bool, timeout: int) -> Iterator[tuple[int, str]]:
    scratch = watched[0][0].base.parent / "scratch"
    shutil.rmtree(scratch, ignore_errors=True)
    (scratch / "marks").mkdir(parents=True)
    runs = [{**vars(run), "environ": place.environ, "timeout": timeout} for place, run in watched]
    jobs = {"runs": runs, "marks": str(scratch / "marks"), "tokens": [CONTENT, NAME]}
    (scratch / "jobs").write_text(json.dumps(jobs))
    driver = [sys.executable, "-IS", str(DRIVER), str(scratch / "jobs"), str(scratch / "results")]
    command = [*_strace_command(scratch / "trace"), *driver] if strace else driver
    subprocess.run(command, check=True, cwd=scratch, stdin=subprocess.DEVNULL)
    yield from _faults_of_output(json.loads((scratch / "results").read_text()))
    begun: set[int] = set()
    programs: dict[str, str] = {}  # what each process runs
    for at, call in _calls(scratch / "trace") if strace else ():
        place, run = watched[at]
        if call.name == "execve" and call.result == 0:
            programs[call.pid] = call.strings[0].rpartition("/")[2]
        if at not in begun and call.starts(run.shell[0]):  # the driver starts the shell, along its PATH
            begun |= {at} if call.result == 0 else set()
        elif not _zsh_finds_its_folder(call, programs.get(call.pid, run.shell[0]), run, place):
            yield from ((at, what) for what in _faults_of_call(call, run, place))


def _strace_command(output: Path) -> list[str]:
    calls = ",".join(f"?{each}" for each in TRACED)  # "?": an architecture may lack one
    return [
        "strace",
        "-f",
        "--seccomp-bpf",
        "-y",
        "-qq",
        "-s",
        "400",
        "-e",
        "signal=none",
        "-e",
        f"trace={calls}",
        "-o",
        str(output),
    ]


def _faults_of_output(results: Sequence[dict[str, object]]) -> Iterator[tuple[int, str]]:
    for at, result in enumerate(results):
        if result["tokens"]:
            yield at, f"printed content from outside the workspace: {result['tokens']}"
        if not result["ended"]:
            yield at, "never ended"


# ---- strace


@dataclass(frozen=True)
class Call:
    """One system call that succeeded, or an attempt to start a program."""

    pid: str
    name: str
    arguments: str
    result: int
    path: str  # of the opened file, as the kernel resolved it

    @property
    def strings(self) -> list[str]:
        return QUOTED.findall(self.arguments)

    def starts(self, program: str) -> bool:
        return self.name == "execve" and self.strings[0].endswith(f"/{program}")


def _calls(trace: Path) -> Iterator[tuple[int, Call]]:
    """The calls of each run, with its number; without those of the driver itself before the first run."""
    at = -1
    with trace.open(encoding="utf-8", errors="replace") as lines:
        for call in _complete_calls(lines):
            if call.name in ("mkdir", "mkdirat") and "/marks/" in call.arguments:
                last = call.strings[0].rpartition("/")[2]
                if last == "end":
                    return
                at = int(last)
            elif at >= 0 and (call.result >= 0 or call.name.startswith("execve")):
                yield at, call


def _complete_calls(lines: Iterable[str]) -> Iterator[Call]:
    """Join calls that strace splits in two because another process runs in between."""
    begun: dict[str, str] = {}
    for line in lines:
        pid, _, rest = line.rstrip("\n").partition(" ")
        if rest.endswith("<unfinished ...>"):
            begun[pid] = rest.removesuffix("<unfinished ...>")
            continue
        if rest.lstrip().startswith("<... "):
            rest = begun.pop(pid, "") + rest.partition(" resumed>")[2]
        found = CALL.match(f"{pid} {rest.lstrip()}")
        if found:
            result = -1 if found[4] == "?" else int(found[4])
            yield Call(pid, found[2], found[3], result, found[5] or "")
        elif not rest.lstrip().startswith(("+++", "---")):  # the end of a process, a signal
            raise ValueError(f"cannot parse a line of strace: {line!r}")


def _faults_of_call(call: Call, run: Run, place: Place) -> Iterator[str]:
    if call.name.startswith("execve"):
        if not _is_named(call, run):
            yield f"started {call.arguments[:300]}"
    elif call.name in OPENS:
        yield from _faults_of_open(call, place)
    elif call.name in ("socket", "connect", "bind"):
        if not re.search(r"/nscd/|/systemd/userdb/" if call.name == "connect" else "AF_UNIX", call.arguments):
            yield f"used the network: {call.name}({call.arguments})"
    elif not _refreshes_the_index(call.strings, place) and not _is_spool_file(call.strings, place):
        yield f"changed something: {call.name}({call.arguments})"


def _is_named(call: Call, run: Run) -> bool:
    """Whether the program is a system program that only reads and is named in the command, or the shell around it."""
    path = call.strings[0] if call.strings else ""
    name = path.rpartition("/")[2]
    if not path.startswith(SYSTEM_BINARIES):
        return False
    if name in SHELLS:
        return WRAPPED.match(run.command.translate(NO_QUOTES)) is not None
    profile = "l" in "".join(run.shell[1:]) or "-lc" in run.command  # /etc/profile asks who it is
    named = WORD.findall(run.command.translate(NO_QUOTES))
    return (name in READERS and name in named) or (profile and name in ("id", "locale-check"))


def _faults_of_open(call: Call, place: Place) -> Iterator[str]:
    path = call.path.removesuffix(" (deleted)")
    if WRITES.search(call.arguments) or call.name == "creat":
        harmless = re.fullmatch(r"/dev/(null|tty|pts/\d+|ptmx)", path) or _is_spool_file([path], place)
        if not harmless and not _refreshes_the_index([path], place):
            yield f"opened for writing: {path}"
    elif not _is_inside(path, place) and not _is_readable(path, place) and "O_PATH" not in call.arguments:
        yield f"opened outside the workspace: {path}"


def _zsh_finds_its_folder(call: Call, program: str, run: Run, place: Place) -> bool:
    """`pwd -P` of zsh opens each folder above to find its own name in it, and prints nothing else of it."""
    above = call.name in OPENS and Path(call.path) in place.work.resolve().parents
    plainly = "pwd" in WORD.findall(run.command) and not re.search(r"\.\.|[*?\[]", run.command)
    return above and program == "zsh" and plainly and not WRITES.search(call.arguments)


def _is_inside(path: str, place: Place) -> bool:
    work = str(place.work.resolve())
    return path == work or path.startswith(f"{work}/")


def _is_readable(path: str, place: Place) -> bool:
    home = str(place.base / "home")
    if path.startswith(f"{home}/"):
        return READABLE.fullmatch("HOME" + path.removeprefix(home)) is not None
    above = Path(path).name in IGNORE_FILES and Path(path).parent in place.work.resolve().parents
    started = path.startswith(("/usr/bin/which", "/bin/which"))  # a script on Debian, read by its interpreter
    return above or started or READABLE.fullmatch(path) is not None


def _is_spool_file(paths: Sequence[str], place: Place) -> bool:
    """tac copies a pipe into a file of a random name in TMPDIR and removes it; the tree shows if it does not."""
    return bool(paths) and all(re.fullmatch(rf"{place.base}/tmp/tac\w{{6}}", path) for path in paths)


def _refreshes_the_index(paths: Sequence[str], place: Place) -> bool:
    """git status and git diff update the file times in the index. The tree shows whether the entries stay the same;
    only the repository's own index counts, not a link."""
    own = {f"{folder}.git/index{end}" for folder in ("", f"{place.work.resolve()}/") for end in ("", ".lock")}
    real = not (place.work / ".git").is_symlink() and not (place.work / ".git/index").is_symlink()
    plain = [os.path.realpath(path) if path.startswith("/") else path for path in paths]
    return real and bool(paths) and all(path in own for path in plain)


# ---- the tree of files

Tree = dict[str, tuple[object, ...]]


def _tree(place: Place) -> Tree:
    """The state of all files of the place. The change time (ctime) moves with content, mode, owner, attributes and
    names, and no program can set it back."""
    tree: Tree = {}
    for folder, folders, files in os.walk(place.base):
        for name in (*folders, *files):
            path = f"{folder}/{name}"
            tree[path] = _state(path, os.lstat(path), place)
    return tree


def _state(path: str, seen: os.stat_result, place: Place) -> tuple[object, ...]:
    if path == f"{place.work}/.git/index" and stat.S_ISREG(seen.st_mode):
        return ("index", _index_entries(Path(path)))
    if path in (f"{place.work}/.git", f"{place.base}/tmp"):
        return (seen.st_mode,)  # git's index and tac's spool file move the folder's times
    read = seen.st_atime_ns if stat.S_ISREG(seen.st_mode) and path.startswith(str(place.outside)) else 0
    return (seen.st_mode, seen.st_ino, seen.st_size, seen.st_mtime_ns, seen.st_ctime_ns, seen.st_nlink, read)


def _index_entries(index: Path) -> tuple[bytes, ...]:
    """Mode, id and name of each entry, without the file times."""
    raw = index.read_bytes()
    if raw[:8] != b"DIRC\0\0\0\2":
        return (raw,)
    entries, at = [], 12
    for _ in range(int.from_bytes(raw[8:12])):
        end = raw.index(b"\0", at + 62)
        entries.append(raw[at + 24 : at + 28] + raw[at + 40 : end])
        at += (end - at) // 8 * 8 + 8
    return tuple(entries)


def _changes(before: Tree, after: Tree, place: Place) -> Iterator[str]:
    for path in sorted(before.keys() | after.keys()):
        old, new = before.get(path), after.get(path)
        if old == new:
            continue
        shown = path.removeprefix(f"{place.base}/")
        if old is None or new is None:
            yield f"{'made' if old is None else 'removed'} {shown}"
        elif old[:-1] == new[:-1] and old[0] != "index":
            yield f"read {shown}"
        else:
            yield f"changed {shown}"
