"""Which commands only read, inside the workspace: nobody is asked about those. What is not certain is asked about."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType

from msgspec import Struct

from clew.asking import Reason
from clew.engine import repository, tree_walk
from clew.engine.patterns import inside


class Reading(Struct, frozen=True):
    """The ways to call a program in which it only reads. Each word of a command is judged by itself, so it does not
    matter which of them a program takes for the value of which."""

    options: str = ""  # `-abc`: flags; `-n=`: with a value; `-#`: a number; `--name`; `--name=`: perhaps with a value
    words: str = ""  # options of several letters after one dash
    operands: int | None = None  # at most so many
    free: bool = False  # it opens none of its words
    also: Callable[[Sequence[str], Path], bool] | None = None  # looks at all its words, and its folder
    filters: int | None = None  # with at most so many operands it opens no file but its standard input
    double_dash: bool = True  # `--` ends its options


def _names_no_folder(words: Sequence[str], folder: Path) -> bool:
    """What lies in a folder may be a link to somewhere else, and `diff` follows it."""
    return not any((folder / word).is_dir() for word in words)


def _sets_no_date(words: Sequence[str], folder: Path) -> bool:
    return all(word.startswith(("-", "+")) for word in words)


def _makes_no_branch(words: Sequence[str], folder: Path) -> bool:
    return "--list" in words or all(word.startswith("-") and word != "-" for word in words)


def _prints_lines(words: Sequence[str], folder: Path) -> bool:
    """`sed -n 10,20p FILE`, as agents read files; any other script may write."""
    return len(words) >= 2 and words[0] == "-n" and re.fullmatch(r"[0-9]+(,([0-9]+|\$))?p", words[1]) is not None


def _names_a_file(words: Sequence[str], folder: Path) -> bool:
    """`tac` copies its standard input into a temporary file."""
    return any(not word.startswith("-") for word in words)


def _verifies_nothing(words: Sequence[str], folder: Path) -> bool:
    """`%G…` in a format shows signatures, which git lets gpg verify."""
    return not any(re.search(r"%[-+ ]*G", word) for word in words)


_SUM = Reading("-bt --tag")
_LOG = Reading(
    "-# -pswbzMC -n= -U= -S= -G= --oneline --graph --all --decorate= --stat= --shortstat --numstat --name-only"
    " --name-status --patch --no-patch --no-merges --merges --first-parent --reverse --follow --abbrev-commit"
    " --max-count= --skip= --since= --until= --after= --before= --author= --grep= --format= --pretty= --date= --color="
    " --no-color --no-ext-diff --no-textconv --unified= --word-diff= --summary --cached --staged --check --quiet",
    also=_verifies_nothing,
)

# Only what is listed is safe: an option that is unknown here, or shortened, makes a command one to ask about.
SAFE: Mapping[str, Reading] = MappingProxyType(
    {
        "basename": Reading("-a"),
        "cat": Reading("-AbEenstTuv --number --show-all", filters=0),
        "cksum": _SUM,
        "cmp": Reading("-bls"),
        "comm": Reading("-123"),
        "cut": Reading("-ns -b= -c= -d= -f= --delimiter= --fields= --complement --output-delimiter=", filters=0),
        "date": Reading("-uR --utc --iso-8601= --rfc-3339= --date=", also=_sets_no_date, double_dash=False),
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
            " -not -and -or -a -o -print -print0 -prune",
            double_dash=False,
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
            " --context= --after-context= --before-context= --max-count= --regexp= --with-filename --no-filename",
            filters=1,
        ),
        "head": Reading("-# -qv -n= -c= --lines= --bytes=", filters=0),
        "id": Reading("-Ggnu"),
        "ls": Reading(
            "-1AaCcdFGghiklmnopqRrSstUux --all --almost-all --color= --human-readable --recursive --reverse --size"
            " --sort= --time= --directory --classify --group-directories-first --inode --full-time"
        ),
        "md5sum": _SUM,
        "nl": Reading("-b= -n= -s= -v= -w=", words="-ba -bt -bn", filters=0),
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
        "sed": Reading("-n", also=_prints_lines, filters=1),
        "sha1sum": _SUM,
        "sha256sum": _SUM,
        "sort": Reading(
            "-bcCdfghiMmnRrsuVz -k= -t= --numeric-sort --reverse --unique --key= --field-separator= --ignore-case"
            " --human-numeric-sort --version-sort --stable --check=",
            filters=0,
        ),
        "stat": Reading("-Lfltx -c= --format= --printf= --terse"),
        "tac": Reading(also=_names_a_file),
        "tail": Reading("-# -qv -n= -c= --lines= --bytes=", filters=0),
        "tree": Reading("-aACdDfFghinpstux -L= -I= -P= --dirsfirst --noreport --gitignore --prune --filelimit="),
        "true": Reading(free=True),
        "uname": Reading("-amnoprsv"),
        "uniq": Reading("-cdDiuz -f= -s= -w= --count --repeated --unique --ignore-case", operands=1, filters=0),
        "wc": Reading("-clmwL --lines --words --bytes --chars --max-line-length", filters=0),
        "which": Reading("-as"),
        "whoami": Reading(),
    }
)


NO_RULE = Reason("no_rule")


def reason_to_ask(words: Sequence[str], folder: str, workspace: str) -> Reason | None:
    """Why a person has to be asked about a command; None if it only reads, and nothing outside the workspace. What is
    not certain, or cannot be looked at, is asked about."""
    try:
        return _reason_to_ask(words, folder, workspace)
    except (OSError, ValueError, RuntimeError):
        return NO_RULE


def _reason_to_ask(words: Sequence[str], folder: str, workspace: str) -> Reason | None:
    name, rest = _called(words)
    reading = SAFE.get(name)
    if reading is None or not folder.startswith("/") or not inside(folder, workspace):
        return NO_RULE
    if not reading.free and not fits_spec(reading, rest, folder, workspace):
        return NO_RULE
    if name == "rg" or (name == "tree" and "--gitignore" in rest):
        return _linked_ignore_file(rest, Path(workspace).resolve())
    if name.startswith("git "):
        return repository.reason_to_ask(folder, workspace, goes_down=name in ("git status", "git ls-files"))
    return None


def _linked_ignore_file(words: Sequence[str], top: Path) -> Reason | None:
    """Ripgrep and tree read ignore files through links, and ripgrep prints the lines that it does not understand. A
    folder that is ignored is not looked into, unless an option takes it in again."""
    takes_in = any(re.match(r"-[a-zA-Z]*[gu]|--i?glob|--no-ignore|--gitignore", word) for word in words)
    skipped = frozenset[str]() if takes_in else tree_walk.ignored_folders(top)
    try:
        found = tree_walk.linked_ignore_file(top, skipped)
    except tree_walk.TooLarge:
        return Reason("tree.large")
    return Reason("ignore.linked", str(found.relative_to(top))) if found else None


def only_filters(words: Sequence[str]) -> bool:
    """Whether a command reads its standard input and opens no file, whatever the folder holds by then."""
    name, rest = _called(words)
    reading = SAFE.get(name)
    if reading is None:
        return False
    if reading.free:
        return True
    values = {at + 1 for at, word in enumerate(rest) if f"{word}=" in reading.options.split()}
    operands = [word for at, word in enumerate(rest) if not word.startswith("-") and at not in values]
    if reading.filters is None or len(operands) > reading.filters or "--" in rest or _goes_down(name, rest):
        return False
    fits = reading.also is None or reading.also(rest, Path("/"))
    return fits and all(_is_known(word, reading) for word in rest) and not any("/" in word for word in rest)


def _goes_down(name: str, words: Sequence[str]) -> bool:
    """`grep -r PATTERN` reads the folder."""
    return name == "grep" and any(re.fullmatch(r"--recursive|-[A-Za-z0-9]*r.*", word) for word in words)


def _called(words: Sequence[str]) -> tuple[str, Sequence[str]]:
    """The program, with its subcommand where it is git. A path such as `./ls` is not what it is named for."""
    if words[0] != "git":
        return words[0], words[1:]
    rest = words[2:] if "--no-pager" in words[1:2] else words[1:]
    return f"git {rest[0]}" if rest else "git", rest[1:]


def fits_spec(spec: Reading, words: Sequence[str], folder: str, workspace: str) -> bool:
    """Whether each word is an option that the spec lists, or an operand that lies inside the workspace."""
    options, behind = _split(words)
    if behind is not None and (not spec.double_dash or any(word.startswith("-") for word in behind)):
        return False
    operands = [word for word in options if word == "-" or not word.startswith("-")] + list(behind or ())
    if spec.operands is not None and len(operands) > spec.operands:
        return False
    if spec.also is not None and not spec.also(words, Path(folder)):
        return False
    values = [word.partition("=")[2] for word in options if word.startswith("--")]
    paths = (str(Path(folder, word)) for word in (*operands, *values))
    return all(_is_known(word, spec) for word in options) and all(inside(path, workspace) for path in paths)


def _split(words: Sequence[str]) -> tuple[Sequence[str], Sequence[str] | None]:
    """The words before and behind `--`. Behind it every word is an operand; but the program may have taken the `--` for
    the value of an option, so a word there that looks like an option is never certain."""
    if "--" not in words:
        return words, None
    at = list(words).index("--")
    return words[:at], words[at + 1 :]


def _is_known(word: str, reading: Reading) -> bool:
    options = reading.options.split()
    if not word.startswith("-") or word in ("-", *reading.words.split()):
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
