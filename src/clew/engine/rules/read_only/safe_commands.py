"""The commands that only read, and how each may be called so that it does. Data, and the checks that need code;
`judge` reads it."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType

from msgspec import Struct


class ReadOnly(Struct, frozen=True):
    """How a program may be called so that it only reads. Each word is checked by itself, so it does not matter which
    word the program takes for the value of which option."""

    options: str = ""  # `-abc`: flags; `-n=`: with a value; `-#`: a number; `--name`; `--name=`: perhaps with a value
    exact_words: str = ""  # more options, allowed exactly as written
    max_operands: int | None = None
    opens_no_file: bool = False  # it does not open its operands
    extra_check: Callable[[Sequence[str], Path], bool] | None = None  # checks all words and the folder
    filter_operands: int | None = None  # with at most so many operands it reads only its standard input
    double_dash: bool = True  # `--` ends its options
    takes_pattern: bool = False  # one of its operands is a pattern to search for


def _names_no_folder(words: Sequence[str], folder: Path) -> bool:
    """A folder may contain links that lead outside, and `diff` follows them."""
    return not any((folder / word).is_dir() for word in words)


def _are_numbers_small(words: Sequence[str]) -> bool:
    """A width such as `%999999999N` would print far too much."""
    return not any(re.search(r"[0-9]{5,}", word) for word in words)


def _sets_no_date(words: Sequence[str], folder: Path) -> bool:
    """It also reads no time zone from a file, as in `--date='TZ="/path" now'`."""
    is_plain = all(word.startswith(("-", "+")) and "TZ" not in word for word in words)
    return is_plain and _are_numbers_small([word for word in words if word.startswith("+")])


def _has_few_stars(words: Sequence[str], folder: Path) -> bool:
    """Each `*` in a pattern multiplies the time that matching takes."""
    return all(word.count("*") <= 6 for word in words)


def _has_no_large_number(words: Sequence[str], folder: Path) -> bool:
    return _are_numbers_small(words)


def _makes_no_branch(words: Sequence[str], folder: Path) -> bool:
    """`--list` must come first: after another option it may be the value of that."""
    return list(words[:1]) == ["--list"] or all(word.startswith("-") and word != "-" for word in words)


def _makes_no_tag(words: Sequence[str], folder: Path) -> bool:
    return not words or words[0] in ("-l", "--list")


def _only_lists(words: Sequence[str], folder: Path) -> bool:
    return list(words[:1]) == ["list"]


def _follows_nothing(words: Sequence[str], folder: Path) -> bool:
    """`tail +1f` is an old form of `tail -f`."""
    return all(re.fullmatch(r"\+[0-9]+", word) for word in words if word.startswith("+"))


def _prints_lines(words: Sequence[str], folder: Path) -> bool:
    """`sed -n '10,20p;40p' FILE`, as agents read files; any other script may write."""
    return len(words) >= 2 and words[0] == "-n" and _PRINTED_LINES.fullmatch(words[1]) is not None


def _names_a_file(words: Sequence[str], folder: Path) -> bool:
    """`tac` copies its standard input into a temporary file."""
    return "-" not in words and any(not word.startswith("-") for word in words)


def _verifies_nothing(words: Sequence[str], folder: Path) -> bool:
    """`%G…` in a format shows signatures, for which git runs gpg."""
    formats = [word.partition("%")[2] for word in words]
    return not any(re.search("%[-+ ]*G", word) for word in words) and _are_numbers_small(formats)


def _tests_one_file(words: Sequence[str], folder: Path) -> bool:
    """Only `test -f FILE`: zsh evaluates the operands of `-eq`, which can run a command."""
    return len(words) == 2 and words[0].startswith("-") and not words[1].startswith("-")


_LINES = r"[0-9]+(?:,(?:[0-9]+|\$))?p"
_PRINTED_LINES = re.compile(rf"{_LINES}(?:;{_LINES})*")
_SUM = ReadOnly("-bt --tag")
_LOG = ReadOnly(
    "-# -pswbzMC -n= -U= -S= -G= --oneline --graph --all --decorate= --stat= --shortstat --numstat --name-only"
    " --name-status --patch --no-patch --no-merges --merges --first-parent --reverse --follow --abbrev-commit"
    " --max-count= --skip= --since= --until= --after= --before= --author= --grep= --format= --pretty= --date= --color="
    " --no-color --no-ext-diff --no-textconv --unified= --word-diff= --summary --cached --staged --check --quiet"
    " --diff-filter=",
    extra_check=_verifies_nothing,
)

# A command with an option that is not listed here, or shortened, is asked about.
SAFE_COMMANDS: Mapping[str, ReadOnly] = MappingProxyType(
    {
        "basename": ReadOnly("-a"),
        "cat": ReadOnly("-AbEenstTuv --number --show-all", filter_operands=0),
        "cksum": _SUM,
        "cmp": ReadOnly("-bls"),
        "comm": ReadOnly("-123"),
        "cut": ReadOnly(
            "-ns -b= -c= -d= -f= --delimiter= --fields= --complement --output-delimiter=",
            exact_words="-d/",
            filter_operands=0,
        ),
        "date": ReadOnly("-uR --utc --iso-8601= --rfc-3339= --date=", extra_check=_sets_no_date, double_dash=False),
        "diff": ReadOnly(
            "-abBcdiNpqstuwy -U= -C= --brief --unified= --side-by-side --color= --ignore-all-space --ignore-case"
            " --ignore-space-change --ignore-blank-lines --text --new-file --minimal",
            extra_check=_names_no_folder,
        ),
        "dirname": ReadOnly(),
        "du": ReadOnly("-achksx -d= --max-depth= --human-readable --summarize --apparent-size"),
        "echo": ReadOnly(opens_no_file=True),
        "false": ReadOnly(opens_no_file=True),
        "file": ReadOnly("-bhiIk --brief --mime --mime-type --mime-encoding"),
        "find": ReadOnly(
            exact_words="-name -iname -path -ipath -regex -iregex -type -maxdepth -mindepth -size -mtime -mmin -newer"
            " -empty -not -and -or -a -o -print -print0 -prune",
            double_dash=False,
        ),
        "git --version": ReadOnly(max_operands=0),
        "git blame": ReadOnly("-ewslt -L= --date= --porcelain", extra_check=_verifies_nothing),
        "git branch": ReadOnly(
            "-avr --list --all --remotes --show-current --verbose --contains= --merged= --no-merged=",
            extra_check=_makes_no_branch,
        ),
        "git cat-file": ReadOnly("-epst"),
        "git describe": ReadOnly("--tags --always --abbrev= --long --all --exact-match"),
        "git diff": _LOG,
        "git log": _LOG,
        "git ls-tree": ReadOnly("-rdtlz --name-only --name-status --full-name --full-tree --long --abbrev="),
        "git merge-base": ReadOnly("--is-ancestor --all --fork-point"),
        "git remote": ReadOnly("-v --verbose", max_operands=0),
        "git rev-list": ReadOnly(
            "--count --all -n= --max-count= --no-merges --merges --first-parent --since= --until="
        ),
        "git ls-files": ReadOnly(
            "-comdstz --cached --others --modified --deleted --stage --exclude-standard --error-unmatch --full-name"
        ),
        "git rev-parse": ReadOnly(
            "-q --show-toplevel --abbrev-ref= --short= --verify --git-dir --git-common-dir --is-inside-work-tree"
            " --show-prefix --show-cdup --symbolic-full-name --quiet"
        ),
        "git show": _LOG,
        "git stash": ReadOnly("-n= --oneline --stat", extra_check=_only_lists),
        "git worktree": ReadOnly("-v --verbose --porcelain", extra_check=_only_lists),
        "git tag": ReadOnly(
            "-ln --list",  # no other `--sort`: to sort by a signature git runs gpg
            exact_words="--sort=creatordate --sort=-creatordate --sort=version:refname --sort=-version:refname",
            extra_check=_makes_no_tag,
        ),
        "git status": ReadOnly(
            "-sbvz --short --branch --porcelain= --untracked-files= --ignored= --long --verbose --show-stash",
            exact_words="-uno -uall -unormal",
        ),
        "grep": ReadOnly(
            "-# -EFGPabchHIiLlnoqrsvwxZ -A= -B= -C= -m= -e= --include= --exclude= --exclude-dir= --color= --count"
            " --ignore-case --line-number --files-with-matches --files-without-match --recursive --only-matching --text"
            " --extended-regexp --fixed-strings --perl-regexp --word-regexp --line-regexp --invert-match --no-messages"
            " --context= --after-context= --before-context= --max-count= --regexp= --with-filename --no-filename",
            filter_operands=1,
            takes_pattern=True,
        ),
        "head": ReadOnly("-# -qv -n= -c= --lines= --bytes=", filter_operands=0),
        "id": ReadOnly("-Ggnu"),
        "ls": ReadOnly(
            "-1AaCcdFGghiklmnopqRrSstUux --all --almost-all --color= --human-readable --recursive --reverse --size"
            " --sort= --time= --directory --classify --group-directories-first --inode --full-time"
        ),
        "md5sum": _SUM,
        "nl": ReadOnly(
            "-b= -n= -s= -v= -w=", exact_words="-ba -bt -bn", extra_check=_has_no_large_number, filter_operands=0
        ),
        "pwd": ReadOnly("-LP"),
        "readlink": ReadOnly("-efn"),
        "realpath": ReadOnly("-es"),
        "rg": ReadOnly(
            "-FHINPSUacilnopqsuvwx. -A= -B= -C= -m= -e= -g= -t= -T= --files --hidden --no-ignore --glob= --iglob="
            " --type= --type-not= --count --count-matches --files-with-matches --files-without-match --ignore-case"
            " --smart-case --case-sensitive --fixed-strings --line-number --no-line-number --heading --no-heading"
            " --with-filename --no-filename --word-regexp --line-regexp --only-matching --multiline --max-count="
            " --max-depth= --context= --after-context= --before-context= --color= --json --stats --sort= --regexp="
            " --no-messages --pcre2 --invert-match --quiet --trim --column --vimgrep --no-config",
            exact_words="-tc -tcpp -tcss -tgo -thtml -tjava -tjs -tjson -tmd -tpy -truby -trust -tsh -tts -ttoml"
            " -tyaml",
            takes_pattern=True,
        ),
        "sed": ReadOnly("-n", extra_check=_prints_lines, filter_operands=1),
        "sha1sum": _SUM,
        "sha256sum": _SUM,
        "sort": ReadOnly(
            "-bcCdfghiMnRrsuVz -k= -t= --numeric-sort --reverse --unique --key= --field-separator= --ignore-case"
            " --human-numeric-sort --version-sort --stable --check=",
            filter_operands=0,
        ),
        "stat": ReadOnly("-Lfltx -c= --format= --printf= --terse", extra_check=_has_no_large_number),
        "tac": ReadOnly(extra_check=_names_a_file),
        "tail": ReadOnly("-# -qv -n= -c= --lines= --bytes=", extra_check=_follows_nothing, filter_operands=0),
        "test": ReadOnly(exact_words="-d -e -f -r -s -w -x", extra_check=_tests_one_file, double_dash=False),
        "tree": ReadOnly(
            "-aACdDfFghinpstux -L= -I= -P= --dirsfirst --noreport --gitignore --prune --filelimit=",
            extra_check=_has_few_stars,
        ),
        "tr": ReadOnly(opens_no_file=True, extra_check=_has_no_large_number),
        "true": ReadOnly(opens_no_file=True),
        "uname": ReadOnly("-amnoprsv"),
        "uniq": ReadOnly(
            "-cdDiuz -f= -s= -w= --count --repeated --unique --ignore-case", max_operands=1, filter_operands=0
        ),
        "wc": ReadOnly("-clmwL --lines --words --bytes --chars --max-line-length", filter_operands=0),
        "which": ReadOnly("-as"),
        "whoami": ReadOnly(),
    }
)
