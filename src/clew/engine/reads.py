"""Which commands plainly only read, inside the workspace: those need nobody's word. What is not certain is not so."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType

from msgspec import Struct

from clew.engine.patterns import inside


class Reading(Struct, frozen=True):
    """The ways to call a program in which it plainly only reads. Each word of a command is judged by itself, so it does
    not matter which of them a program takes for the value of which."""

    options: str = ""  # `-abc`: flags; `-n=`: with a value; `-#`: a number; `--name`; `--name=`: perhaps with a value
    words: str = ""  # options of several letters after one dash
    operands: int | None = None  # at most so many
    free: bool = False  # it opens none of its words
    also: Callable[[Sequence[str], Path], bool] | None = None  # looks at all its words, and its folder


def _names_no_folder(words: Sequence[str], folder: Path) -> bool:
    """What lies in a folder may be a link to somewhere else, and `diff` follows it."""
    return not any((folder / word).is_dir() for word in words)


def _sets_no_date(words: Sequence[str], folder: Path) -> bool:
    return all(word.startswith(("-", "+")) for word in words)


def _makes_no_branch(words: Sequence[str], folder: Path) -> bool:
    return "--list" in words or all(word.startswith("-") and word != "-" for word in words)


def _prints_lines(words: Sequence[str], folder: Path) -> bool:
    """`sed -n 10,20p FILE`, as agents read files; any other script may write."""
    return len(words) >= 2 and words[0] == "-n" and re.fullmatch(r"[0-9]+(,[0-9]+)?p", words[1]) is not None


_SUM = Reading("-bt --tag")
_LOG = Reading(
    "-# -pswbzMC -n= -U= -S= -G= --oneline --graph --all --decorate= --stat= --shortstat --numstat --name-only"
    " --name-status --patch --no-patch --no-merges --merges --first-parent --reverse --follow --abbrev-commit"
    " --max-count= --skip= --since= --until= --after= --before= --author= --grep= --format= --pretty= --date= --color="
    " --no-color --no-ext-diff --no-textconv --unified= --word-diff= --summary --cached --staged --check --quiet"
)

# Only what is listed is safe: an option that is unknown here, or shortened, makes a command one to ask about.
SAFE: Mapping[str, Reading] = MappingProxyType(
    {
        "basename": Reading("-a"),
        "cat": Reading("-AbEenstTuv --number --show-all"),
        "cksum": _SUM,
        "cmp": Reading("-bls"),
        "comm": Reading("-123"),
        "cut": Reading("-ns -b= -c= -d= -f= --delimiter= --fields= --complement --output-delimiter="),
        "date": Reading("-uR --utc --iso-8601= --rfc-3339= --date=", also=_sets_no_date),
        "diff": Reading(
            "-abBcdiNpqstuwy -U= -C= --brief --unified= --side-by-side --color= --ignore-all-space --ignore-case"
            " --ignore-space-change --ignore-blank-lines --text --new-file --minimal",
            also=_names_no_folder,
        ),
        "dirname": Reading(),
        "du": Reading("-achksx -d= --max-depth= --human-readable --summarize --apparent-size"),
        "echo": Reading(free=True),
        "false": Reading(free=True),
        "file": Reading("-bhiIk --brief --mime --mime-type --mime-encoding"),
        "find": Reading(
            words="-name -iname -path -ipath -regex -iregex -type -maxdepth -mindepth -size -mtime -mmin -newer -empty"
            " -not -and -or -a -o -print -print0 -prune"
        ),
        "git blame": Reading("-ewslt -L= --date= --porcelain"),
        "git branch": Reading(
            "-avr --list --all --remotes --show-current --verbose --sort= --contains= --merged= --no-merged=",
            also=_makes_no_branch,
        ),
        "git diff": _LOG,
        "git log": _LOG,
        "git ls-files": Reading(
            "-comdstz --cached --others --modified --deleted --stage --exclude-standard --error-unmatch --full-name"
        ),
        "git rev-parse": Reading(
            "-q --show-toplevel --abbrev-ref= --short= --verify --git-dir --git-common-dir --is-inside-work-tree"
            " --show-prefix --show-cdup --symbolic-full-name --quiet"
        ),
        "git show": _LOG,
        "git status": Reading(
            "-sbvz --short --branch --porcelain= --untracked-files= --ignored= --long --verbose --show-stash",
            words="-uno -uall -unormal",
        ),
        "grep": Reading(
            "-# -EFGPabchHIiLlnoqrsvwxZ -A= -B= -C= -m= -e= --include= --exclude= --exclude-dir= --color= --count"
            " --ignore-case --line-number --files-with-matches --files-without-match --recursive --only-matching --text"
            " --extended-regexp --fixed-strings --perl-regexp --word-regexp --line-regexp --invert-match --no-messages"
            " --context= --after-context= --before-context= --max-count= --regexp= --with-filename --no-filename"
        ),
        "head": Reading("-# -qv -n= -c= --lines= --bytes="),
        "id": Reading("-Ggnu"),
        "ls": Reading(
            "-1AaCcdFGghiklmnopqRrSstUux --all --almost-all --color= --human-readable --recursive --reverse --size"
            " --sort= --time= --directory --classify --group-directories-first --inode --full-time"
        ),
        "md5sum": _SUM,
        "nl": Reading("-b= -n= -s= -v= -w=", words="-ba -bt -bn"),
        "pwd": Reading("-LP"),
        "readlink": Reading("-efn"),
        "realpath": Reading("-es"),
        "rg": Reading(
            "-FHINPSUacilnopqsuvwx. -A= -B= -C= -m= -e= -g= -t= -T= --files --hidden --no-ignore --glob= --iglob="
            " --type= --type-not= --count --count-matches --files-with-matches --files-without-match --ignore-case"
            " --smart-case --case-sensitive --fixed-strings --line-number --no-line-number --heading --no-heading"
            " --with-filename --no-filename --word-regexp --line-regexp --only-matching --multiline --max-count="
            " --max-depth= --context= --after-context= --before-context= --color= --json --stats --sort= --regexp="
            " --no-messages --pcre2 --invert-match --quiet --trim --column --vimgrep --no-config"
        ),
        "sed": Reading("-n", also=_prints_lines),
        "sha1sum": _SUM,
        "sha256sum": _SUM,
        "sort": Reading(
            "-bcCdfghiMmnRrsuVz -k= -t= --numeric-sort --reverse --unique --key= --field-separator= --ignore-case"
            " --human-numeric-sort --version-sort --stable --check="
        ),
        "stat": Reading("-Lfltx -c= --format= --printf= --terse"),
        "tac": Reading(),
        "tail": Reading("-# -qv -n= -c= --lines= --bytes="),
        "tree": Reading("-aACdDfFghinpstux -L= -I= -P= --dirsfirst --noreport --gitignore --prune --filelimit="),
        "true": Reading(free=True),
        "uname": Reading("-amnoprsv"),
        "uniq": Reading("-cdDiuz -f= -s= -w= --count --repeated --unique --ignore-case", operands=1),
        "wc": Reading("-clmwL --lines --words --bytes --chars --max-line-length"),
        "which": Reading("-as"),
        "whoami": Reading(),
    }
)


def only_reads(words: Sequence[str], folder: str, workspace: str) -> bool:
    """Whether a command of plain words does nothing but read, and nothing outside the workspace. What is not certain,
    or cannot be looked at, is not so."""
    try:
        return _only_reads(words, folder, workspace)
    except (OSError, ValueError, RuntimeError):
        return False


def _only_reads(words: Sequence[str], folder: str, workspace: str) -> bool:
    name, rest = _called(words)
    reading = SAFE.get(name)
    if reading is None or not folder.startswith("/") or not inside(folder, workspace):
        return False
    if name.startswith("git ") and not _in_own_repository(Path(folder), Path(workspace)):
        return False
    return reading.free or _is_reading(reading, rest, Path(folder), workspace)


def _called(words: Sequence[str]) -> tuple[str, Sequence[str]]:
    """The program, with its subcommand where it is git. A path such as `./ls` is not what it is named for."""
    if words[0] != "git":
        return words[0], words[1:]
    rest = words[2:] if "--no-pager" in words[1:2] else words[1:]
    return f"git {rest[0]}" if rest else "git", rest[1:]


def _is_reading(reading: Reading, words: Sequence[str], folder: Path, workspace: str) -> bool:
    operands = [word for word in words if word == "-" or not word.startswith("-")]
    if reading.operands is not None and len(operands) > reading.operands:
        return False
    if reading.also is not None and not reading.also(words, folder):
        return False
    values = [word.partition("=")[2] for word in words if word.startswith("--")]
    paths = (str(folder / word) for word in (*operands, *values))
    return all(_is_known(word, reading) for word in words) and all(inside(path, workspace) for path in paths)


def _is_known(word: str, reading: Reading) -> bool:
    options = reading.options.split()
    if not word.startswith("-") or word in ("-", "--", *reading.words.split()):
        return True
    if word.startswith("--"):
        name, has_value, _ = word.partition("=")
        return f"{name}=" in options or (name in options and not has_value)
    return ("-#" in options and word[1:].isdecimal()) or _are_flags(word[1:], options)


def _are_flags(letters: str, options: Sequence[str]) -> bool:
    """`-abc`, or with a number, `-n5`. A value in letters might be flags to another make of the program."""
    flags = {letter for option in options if not option.startswith("--") and "=" not in option for letter in option[1:]}
    for at, letter in enumerate(letters):
        if f"-{letter}=" in options:
            return re.fullmatch(r"[^A-Za-z/]*", letters[at + 1 :]) is not None
        if letter not in flags:
            return False
    return True


def _in_own_repository(folder: Path, workspace: Path) -> bool:
    """Not in another one below: git runs programs that a repository's config names, and anybody can have made that."""
    top, here = workspace.resolve(), folder.resolve()
    below = [path for path in (here, *here.parents) if top in path.parents]
    return not any((path / ".git").exists() for path in below) and not any(_is_bare(path) for path in (top, *below))


def _is_bare(path: Path) -> bool:
    return (path / "HEAD").exists() and (path / "objects").exists()
