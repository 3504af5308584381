"""Which commands only read, inside the workspace: nobody is asked about those. What is not certain is asked about."""

from __future__ import annotations

import math
import os
import re
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from types import MappingProxyType

from msgspec import Struct

from clew.engine.rules.patterns import inside, real
from clew.engine.rules.read_only import git_repository, tree_walk
from clew.engine.rules.read_only.git_repository import shown_path
from clew.engine.rules.shell.lenient import names
from clew.model.gates import Reason

_LONG = 1_000  # bytes of a path
_LONGEST_WORD = 4_096
_MOST_REPEATS = 10_000  # in a regular expression
_MOST_NESTED = 8  # groups in it that are repeated


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
    searches: bool = False  # one of its words is a pattern


def _names_no_folder(words: Sequence[str], folder: Path) -> bool:
    """What lies in a folder may be a link to somewhere else, and `diff` follows it."""
    return not any((folder / word).is_dir() for word in words)


def _is_bounded(words: Sequence[str]) -> bool:
    """A width such as `%999999999N` prints without end."""
    return not any(re.search(r"[0-9]{5,}", word) for word in words)


def _sets_no_date(words: Sequence[str], folder: Path) -> bool:
    """Nor reads it a time zone from a file: `--date='TZ="/path" now'`."""
    is_plain = all(word.startswith(("-", "+")) and "TZ" not in word for word in words)
    return is_plain and _is_bounded([word for word in words if word.startswith("+")])


def _has_few_stars(words: Sequence[str], folder: Path) -> bool:
    """Each further `*` of a pattern multiplies the time that it takes."""
    return all(word.count("*") <= 6 for word in words)


def _prints_little(words: Sequence[str], folder: Path) -> bool:
    return _is_bounded(words)


def _makes_no_branch(words: Sequence[str], folder: Path) -> bool:
    """`--list` first: behind another option it may be the value of that."""
    return list(words[:1]) == ["--list"] or all(word.startswith("-") and word != "-" for word in words)


def _makes_no_tag(words: Sequence[str], folder: Path) -> bool:
    return not words or words[0] in ("-l", "--list")


def _lists(words: Sequence[str], folder: Path) -> bool:
    return list(words[:1]) == ["list"]


def _follows_nothing(words: Sequence[str], folder: Path) -> bool:
    """`tail +1f` is an old way to follow a file for ever."""
    return all(re.fullmatch(r"\+[0-9]+", word) for word in words if word.startswith("+"))


def _prints_lines(words: Sequence[str], folder: Path) -> bool:
    """`sed -n 10,20p FILE`, as agents read files; any other script may write."""
    return len(words) >= 2 and words[0] == "-n" and re.fullmatch(r"[0-9]+(,([0-9]+|\$))?p", words[1]) is not None


def _names_a_file(words: Sequence[str], folder: Path) -> bool:
    """`tac` copies its standard input into a temporary file."""
    return "-" not in words and any(not word.startswith("-") for word in words)


def _verifies_nothing(words: Sequence[str], folder: Path) -> bool:
    """`%G…` in a format shows signatures, which git lets gpg verify."""
    formats = [word.partition("%")[2] for word in words]
    return not any(re.search("%[-+ ]*G", word) for word in words) and _is_bounded(formats)


def _tests_a_file(words: Sequence[str], folder: Path) -> bool:
    """`test -f FILE`, and no more: zsh computes what `-eq` is given, which can run a command."""
    return len(words) == 2 and words[0].startswith("-") and not words[1].startswith("-")


_SUM = Reading("-bt --tag")
_LOG = Reading(
    "-# -pswbzMC -n= -U= -S= -G= --oneline --graph --all --decorate= --stat= --shortstat --numstat --name-only"
    " --name-status --patch --no-patch --no-merges --merges --first-parent --reverse --follow --abbrev-commit"
    " --max-count= --skip= --since= --until= --after= --before= --author= --grep= --format= --pretty= --date= --color="
    " --no-color --no-ext-diff --no-textconv --unified= --word-diff= --summary --cached --staged --check --quiet"
    " --diff-filter=",
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
        "cut": Reading(
            "-ns -b= -c= -d= -f= --delimiter= --fields= --complement --output-delimiter=", words="-d/", filters=0
        ),
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
        "git --version": Reading(operands=0),
        "git blame": Reading("-ewslt -L= --date= --porcelain", also=_verifies_nothing),
        "git branch": Reading(
            "-avr --list --all --remotes --show-current --verbose --contains= --merged= --no-merged=",
            also=_makes_no_branch,
        ),
        "git cat-file": Reading("-epst"),
        "git describe": Reading("--tags --always --abbrev= --long --all --exact-match"),
        "git diff": _LOG,
        "git log": _LOG,
        "git ls-tree": Reading("-rdtlz --name-only --name-status --full-name --full-tree --long --abbrev="),
        "git merge-base": Reading("--is-ancestor --all --fork-point"),
        "git remote": Reading("-v --verbose", operands=0),
        "git rev-list": Reading("--count --all -n= --max-count= --no-merges --merges --first-parent --since= --until="),
        "git ls-files": Reading(
            "-comdstz --cached --others --modified --deleted --stage --exclude-standard --error-unmatch --full-name"
        ),
        "git rev-parse": Reading(
            "-q --show-toplevel --abbrev-ref= --short= --verify --git-dir --git-common-dir --is-inside-work-tree"
            " --show-prefix --show-cdup --symbolic-full-name --quiet"
        ),
        "git show": _LOG,
        "git stash": Reading("-n= --oneline --stat", also=_lists),
        "git worktree": Reading("-v --verbose --porcelain", also=_lists),
        "git tag": Reading(
            "-ln --list",  # to sort by a signature is to let gpg verify it
            words="--sort=creatordate --sort=-creatordate --sort=version:refname --sort=-version:refname",
            also=_makes_no_tag,
        ),
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
            searches=True,
        ),
        "head": Reading("-# -qv -n= -c= --lines= --bytes=", filters=0),
        "id": Reading("-Ggnu"),
        "ls": Reading(
            "-1AaCcdFGghiklmnopqRrSstUux --all --almost-all --color= --human-readable --recursive --reverse --size"
            " --sort= --time= --directory --classify --group-directories-first --inode --full-time"
        ),
        "md5sum": _SUM,
        "nl": Reading("-b= -n= -s= -v= -w=", words="-ba -bt -bn", also=_prints_little, filters=0),
        "pwd": Reading("-LP"),
        "readlink": Reading("-efn"),
        "realpath": Reading("-es"),
        "rg": Reading(
            "-FHINPSUacilnopqsuvwx. -A= -B= -C= -m= -e= -g= -t= -T= --files --hidden --no-ignore --glob= --iglob="
            " --type= --type-not= --count --count-matches --files-with-matches --files-without-match --ignore-case"
            " --smart-case --case-sensitive --fixed-strings --line-number --no-line-number --heading --no-heading"
            " --with-filename --no-filename --word-regexp --line-regexp --only-matching --multiline --max-count="
            " --max-depth= --context= --after-context= --before-context= --color= --json --stats --sort= --regexp="
            " --no-messages --pcre2 --invert-match --quiet --trim --column --vimgrep --no-config",
            words="-tc -tcpp -tcss -tgo -thtml -tjava -tjs -tjson -tmd -tpy -truby -trust -tsh -tts -ttoml -tyaml",
            searches=True,
        ),
        "sed": Reading("-n", also=_prints_lines, filters=1),
        "sha1sum": _SUM,
        "sha256sum": _SUM,
        "sort": Reading(
            "-bcCdfghiMnRrsuVz -k= -t= --numeric-sort --reverse --unique --key= --field-separator= --ignore-case"
            " --human-numeric-sort --version-sort --stable --check=",
            filters=0,
        ),
        "stat": Reading("-Lfltx -c= --format= --printf= --terse", also=_prints_little),
        "tac": Reading(also=_names_a_file),
        "tail": Reading("-# -qv -n= -c= --lines= --bytes=", also=_follows_nothing, filters=0),
        "test": Reading(words="-d -e -f -r -s -w -x", also=_tests_a_file, double_dash=False),
        "tree": Reading(
            "-aACdDfFghinpstux -L= -I= -P= --dirsfirst --noreport --gitignore --prune --filelimit=", also=_has_few_stars
        ),
        "tr": Reading(free=True, also=_prints_little),
        "true": Reading(free=True),
        "uname": Reading("-amnoprsv"),
        "uniq": Reading("-cdDiuz -f= -s= -w= --count --repeated --unique --ignore-case", operands=1, filters=0),
        "wc": Reading("-clmwL --lines --words --bytes --chars --max-line-length", filters=0),
        "which": Reading("-as"),
        "whoami": Reading(),
    }
)


NO_RULE = Reason("no_rule")
Seen = dict[tuple[str, str], Reason | None]  # what was looked through already, by what it is and where

_SHOWS_NEW = names("status ls-files diff")  # words of git by which it looks at the files of the workspace
_SHOWS_OLD = names("status diff log show blame stash rev-list")  # and at those of the history


def reason_to_ask(words: Sequence[str], folder: str, workspace: str, seen: Seen | None = None) -> Reason | None:
    """Why a person has to be asked about a command; None if it only reads, and nothing outside the workspace. What is
    not certain, or cannot be looked at, is asked about."""
    try:
        return _reason_to_ask(words, folder, workspace, {} if seen is None else seen)
    except (OSError, ValueError, RuntimeError):
        return NO_RULE


def _reason_to_ask(words: Sequence[str], folder: str, workspace: str, seen: Seen) -> Reason | None:
    name, rest = _called(words)
    reading = SAFE.get(name)
    if reading is None or not folder.startswith("/") or not Path(folder).is_dir() or not inside(folder, workspace):
        return NO_RULE
    if any(map(_is_bomb, words)) or not _fits(reading, rest, folder, workspace):
        return NO_RULE
    if name == "rg" or (name == "tree" and "--gitignore" in rest):
        skips = name == "rg" and _skips_ignored(rest, folder, workspace)
        look = partial(_linked_ignore_file, Path(workspace).resolve(), skips)
        return _once(seen, (f"ignore {skips}", workspace), look)
    if name.startswith("git "):
        if any(word.startswith(":") for word in rest):  # a path by other rules: from the top, or by attributes
            return NO_RULE
        looks = _looks(name.removeprefix("git "), rest)
        above = _once(seen, ("git", folder), partial(git_repository.reason_above, folder, workspace))
        return above or _once(
            seen, (f"git {looks}", workspace), partial(git_repository.reason_within, workspace, looks)
        )
    return None


def _looks(word: str, rest: Sequence[str]) -> git_repository.Looks:
    """`git ls-files -o` heeds no ignore files, unless it is told to. `git diff REV:FILE PATH` shows a file that git
    need not track."""
    others = word == "ls-files" and any(re.match(r"-[a-z]*o|--others", each) for each in rest)
    ignored = (others and "--exclude-standard" not in rest) or any(each.startswith("--ignored") for each in rest)
    named = any(not each.startswith("-") for each in rest) and (others or word == "status")
    deeper = any(re.fullmatch("-uall|--untracked-files(?!=no$|=normal$).*", each) for each in rest)
    whole = ignored or named or deeper or (word == "diff" and any(":" in each for each in rest))
    return git_repository.Looks(word in _SHOWS_NEW, ignored, word in _SHOWS_OLD, whole)


def _fits(reading: Reading, words: Sequence[str], folder: str, workspace: str) -> bool:
    if reading.free:
        return reading.also is None or reading.also(words, Path(folder))
    return fits_spec(reading, words, folder, workspace)


def _is_bomb(word: str) -> bool:
    """Whether a regular expression repeats so often that it would take all the memory there is. What is longer than
    people write is not looked at."""
    if len(word) > _LONGEST_WORD:
        return True
    counts = [int(number) for number in re.findall(r"[{,]([0-9]+),?\\?\}", word)]
    nested = len(re.findall(r"\)[*+?{]", word)) > _MOST_NESTED
    recalls = len(re.findall(r"\\[1-9]", word)) > 1 and word.count("*") + word.count("+") > 1
    return math.prod(counts) > _MOST_REPEATS or nested or recalls


def _once(seen: Seen, key: tuple[str, str], look: Callable[[], Reason | None]) -> Reason | None:
    if key not in seen:
        seen[key] = look()
    return seen[key]


def _skips_ignored(words: Sequence[str], folder: str, workspace: str) -> bool:
    """Whether ripgrep leaves the folders out that the top's `.gitignore` names: if it starts at the top, in a
    repository, and neither a path nor an option takes them in again."""
    operands = _operands(SAFE["rg"], words)
    has_pattern = any(re.match(r"-[a-zA-Z]*e|--regexp|--files", word) for word in words)
    takes_in = any(re.match(r"-[a-zA-Z.]*[gu.]|--i?glob|--no-ignore|--hidden|--$", word) for word in words)
    at_top = real("", folder) == real("", workspace) and (Path(workspace) / ".git").exists()
    return at_top and not takes_in and len(operands) <= (0 if has_pattern else 1)


def _linked_ignore_file(top: Path, skips: bool) -> Reason | None:
    """Ripgrep and tree read ignore files through links, and ripgrep prints the lines that it does not understand."""
    try:
        found = tree_walk.linked_ignore_file(top, tree_walk.ignored_folders(top) if skips else frozenset())
    except (tree_walk.TooLarge, tree_walk.TooDeep):
        return Reason("tree.large")
    return Reason("ignore.linked", shown_path(found, top)) if found else None


def only_filters(words: Sequence[str]) -> bool:
    """Whether a command reads its standard input and opens no file, whatever the folder holds by then."""
    name, rest = _called(words)
    reading = SAFE.get(name)
    if reading is None:
        return False
    if any(map(_is_bomb, rest)):
        return False
    if reading.free:
        return reading.also is None or reading.also(rest, Path("/"))
    most = 0 if name == "grep" and any(re.match(r"-[A-Za-z0-9]*e|--regexp", word) for word in rest) else reading.filters
    if most is None or len(_operands(reading, rest)) > most or "--" in rest or _goes_down(name, rest):
        return False
    fits = reading.also is None or reading.also(rest, Path("/"))
    takes_next = any(word.startswith("--") and f"{word}=" in reading.options.split() for word in rest)
    return (
        fits
        and not takes_next
        and all(_is_known(word, reading) for word in rest)
        and not any("/" in word for word in rest)
    )


def _operands(reading: Reading, words: Sequence[str]) -> list[str]:
    """The words that may be operands: not the value of an option of one letter. A word that is such a value is itself
    no option, and a long option may take no value from the next word."""
    found, is_value = [], False
    for word in words:
        if not is_value and not word.startswith("-"):
            found.append(word)
        is_value = not is_value and _takes_next(word, reading.options.split())
    return found


def _takes_next(word: str, options: Sequence[str]) -> bool:
    """Whether the value of an option is the next word: of the last letter of `-ie`, if none before takes the rest."""
    letters = "" if word.startswith("--") or not word.startswith("-") else word[1:]
    takes = [f"-{letter}=" in options for letter in letters]
    return takes[-1:] == [True] and not any(takes[:-1])


def _goes_down(name: str, words: Sequence[str]) -> bool:
    """`grep -r PATTERN` reads the folder."""
    return name == "grep" and any(re.fullmatch(r"--recursive|-[A-Za-z0-9]*r.*", word) for word in words)


def _called(words: Sequence[str]) -> tuple[str, Sequence[str]]:
    """The program, with its subcommand where it is git, as in `git -C . status`. A path such as `./ls` is not
    what it is named for."""
    if words[0] != "git":
        return words[0], words[1:]
    rest = words[3:] if list(words[1:3]) == ["-C", "."] else words[1:]
    rest = rest[1:] if "--no-pager" in rest[:1] else rest
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
    known = all(_is_known(word, spec) for word in options)
    if _pattern(spec, options) in operands and _is_no_path(_pattern(spec, options) or "", folder):
        operands.remove(_pattern(spec, options) or "")
    return known and all(_may_be_read(word, folder, workspace) for word in (*values, *operands))


def _pattern(spec: Reading, words: Sequence[str]) -> str | None:
    """The word that a program searches for, if it is an operand: the first, unless an option names it."""
    is_named = any(re.match(r"-[^-]*[ef]|--regexp|--files|--file", word) for word in words)
    return next(iter(_operands(spec, words)), None) if spec.searches and not is_named else None


def _is_no_path(word: str, folder: str) -> bool:
    """A pattern such as `/api/v1` is no path if nothing is there, and if that is true for every program."""
    path = os.path.join(folder, word)  # noqa: PTH118 - a Path would drop a slash at the end
    is_plain = ".." not in word.split("/") and real(word, folder) is not None
    return is_plain and not os.path.lexists(path) and len(os.fsencode(path)) < _LONG


def _may_be_read(word: str, folder: str, workspace: str) -> bool:
    """A path inside the workspace, of a file or a folder: a pipe waits for ever."""
    path = os.path.join(folder, word)  # noqa: PTH118 - a Path would drop a slash at the end
    if not inside(path, workspace):
        return False
    return not os.path.exists(path) or os.path.isfile(path) or os.path.isdir(path)  # noqa: PTH110, PTH112, PTH113


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
