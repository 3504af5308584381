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

from clew.engine.rules.patterns import is_inside, real_path
from clew.engine.rules.read_only import git_repository, tree_walk
from clew.engine.rules.read_only.git_repository import shown_path
from clew.engine.rules.shell.lenient import word_set
from clew.model.gates import Reason

_MAX_PATH_BYTES = 1_000  # bytes of a path
_MAX_WORD_LENGTH = 4_096
_MAX_REPEATS = 10_000  # in a regular expression
_MAX_NESTED = 8  # groups in it that are repeated


class ReadOnly(Struct, frozen=True):
    """The ways to call a program in which it only reads. Each word of a command is judged by itself, so it does not
    matter which of them a program takes for the value of which."""

    options: str = ""  # `-abc`: flags; `-n=`: with a value; `-#`: a number; `--name`; `--name=`: perhaps with a value
    exact_words: str = ""  # options of several letters after one dash
    max_operands: int | None = None  # at most so many
    opens_no_file: bool = False  # it opens none of its words
    extra_check: Callable[[Sequence[str], Path], bool] | None = None  # looks at all its words, and its folder
    filter_operands: int | None = None  # with at most so many operands it opens no file but its standard input
    double_dash: bool = True  # `--` ends its options
    takes_pattern: bool = False  # one of its words is a pattern


def _names_no_folder(words: Sequence[str], folder: Path) -> bool:
    """What lies in a folder may be a link to somewhere else, and `diff` follows it."""
    return not any((folder / word).is_dir() for word in words)


def _are_numbers_small(words: Sequence[str]) -> bool:
    """A width such as `%999999999N` prints without end."""
    return not any(re.search(r"[0-9]{5,}", word) for word in words)


def _sets_no_date(words: Sequence[str], folder: Path) -> bool:
    """Nor reads it a time zone from a file: `--date='TZ="/path" now'`."""
    is_plain = all(word.startswith(("-", "+")) and "TZ" not in word for word in words)
    return is_plain and _are_numbers_small([word for word in words if word.startswith("+")])


def _has_few_stars(words: Sequence[str], folder: Path) -> bool:
    """Each further `*` of a pattern multiplies the time that it takes."""
    return all(word.count("*") <= 6 for word in words)


def _has_no_large_number(words: Sequence[str], folder: Path) -> bool:
    return _are_numbers_small(words)


def _makes_no_branch(words: Sequence[str], folder: Path) -> bool:
    """`--list` first: behind another option it may be the value of that."""
    return list(words[:1]) == ["--list"] or all(word.startswith("-") and word != "-" for word in words)


def _makes_no_tag(words: Sequence[str], folder: Path) -> bool:
    return not words or words[0] in ("-l", "--list")


def _only_lists(words: Sequence[str], folder: Path) -> bool:
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
    return not any(re.search("%[-+ ]*G", word) for word in words) and _are_numbers_small(formats)


def _tests_one_file(words: Sequence[str], folder: Path) -> bool:
    """`test -f FILE`, and no more: zsh computes what `-eq` is given, which can run a command."""
    return len(words) == 2 and words[0].startswith("-") and not words[1].startswith("-")


_SUM = ReadOnly("-bt --tag")
_LOG = ReadOnly(
    "-# -pswbzMC -n= -U= -S= -G= --oneline --graph --all --decorate= --stat= --shortstat --numstat --name-only"
    " --name-status --patch --no-patch --no-merges --merges --first-parent --reverse --follow --abbrev-commit"
    " --max-count= --skip= --since= --until= --after= --before= --author= --grep= --format= --pretty= --date= --color="
    " --no-color --no-ext-diff --no-textconv --unified= --word-diff= --summary --cached --staged --check --quiet"
    " --diff-filter=",
    extra_check=_verifies_nothing,
)

# Only what is listed is safe: an option that is unknown here, or shortened, makes a command one to ask about.
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
            exact_words="-name -iname -path -ipath -regex -iregex -type -maxdepth -mindepth -size -mtime -mmin -newer -empty"
            " -not -and -or -a -o -print -print0 -prune",
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
            "-ln --list",  # to sort by a signature is to let gpg verify it
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
            exact_words="-tc -tcpp -tcss -tgo -thtml -tjava -tjs -tjson -tmd -tpy -truby -trust -tsh -tts -ttoml -tyaml",
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


NO_RULE = Reason("no_rule")
ReasonCache = dict[tuple[str, str], Reason | None]  # what was looked through already, by what it is and where

_READS_WORKSPACE_FILES = word_set(
    "status ls-files diff"
)  # words of git by which it looks at the files of the workspace
_READS_HISTORY = word_set("status diff log show blame stash rev-list")  # and at those of the history


def reason_to_ask(words: Sequence[str], folder: str, workspace: str, seen: ReasonCache | None = None) -> Reason | None:
    """Why a person has to be asked about a command; None if it only reads, and nothing outside the workspace. What is
    not certain, or cannot be looked at, is asked about."""
    try:
        return _reason_to_ask(words, folder, workspace, {} if seen is None else seen)
    except (OSError, ValueError, RuntimeError):
        return NO_RULE


def _reason_to_ask(words: Sequence[str], folder: str, workspace: str, seen: ReasonCache) -> Reason | None:
    name, rest = _program_and_arguments(words)
    reading = SAFE_COMMANDS.get(name)
    if reading is None or not folder.startswith("/") or not Path(folder).is_dir() or not is_inside(folder, workspace):
        return NO_RULE
    if any(map(_is_regex_bomb, words)) or not _is_safe_use(reading, rest, folder, workspace):
        return NO_RULE
    if name == "rg" or (name == "tree" and "--gitignore" in rest):
        skips = name == "rg" and _skips_ignored(rest, folder, workspace)
        look = partial(_reason_about_ignore_files, Path(workspace).resolve(), skips)
        return _cached(seen, (f"ignore {skips}", workspace), look)
    if name.startswith("git "):
        if any(word.startswith(":") for word in rest):  # a path by other rules: from the top, or by attributes
            return NO_RULE
        looks = _git_scope(name.removeprefix("git "), rest)
        above = _cached(seen, ("git", folder), partial(git_repository.reason_at_folder, folder, workspace))
        return above or _cached(
            seen, (f"git {looks}", workspace), partial(git_repository.reason_in_repository, workspace, looks)
        )
    return None


def _git_scope(word: str, rest: Sequence[str]) -> git_repository.GitScope:
    """`git ls-files -o` heeds no ignore files, unless it is told to. `git diff REV:FILE PATH` shows a file that git
    need not track."""
    others = word == "ls-files" and any(re.match(r"-[a-z]*o|--others", each) for each in rest)
    ignored = (others and "--exclude-standard" not in rest) or any(each.startswith("--ignored") for each in rest)
    named = any(not each.startswith("-") for each in rest) and (others or word == "status")
    deeper = any(re.fullmatch("-uall|--untracked-files(?!=no$|=normal$).*", each) for each in rest)
    whole = ignored or named or deeper or (word == "diff" and any(":" in each for each in rest))
    return git_repository.GitScope(word in _READS_WORKSPACE_FILES, ignored, word in _READS_HISTORY, whole)


def _is_safe_use(reading: ReadOnly, words: Sequence[str], folder: str, workspace: str) -> bool:
    if reading.opens_no_file:
        return reading.extra_check is None or reading.extra_check(words, Path(folder))
    return _are_safe_words(reading, words, folder, workspace)


def _is_regex_bomb(word: str) -> bool:
    """Whether a regular expression repeats so often that it would take all the memory there is. What is longer than
    people write is not looked at."""
    if len(word) > _MAX_WORD_LENGTH:
        return True
    counts = [int(number) for number in re.findall(r"[{,]([0-9]+),?\\?\}", word)]
    nested = len(re.findall(r"\)[*+?{]", word)) > _MAX_NESTED
    recalls = len(re.findall(r"\\[1-9]", word)) > 1 and word.count("*") + word.count("+") > 1
    return math.prod(counts) > _MAX_REPEATS or nested or recalls


def _cached(seen: ReasonCache, key: tuple[str, str], look: Callable[[], Reason | None]) -> Reason | None:
    if key not in seen:
        seen[key] = look()
    return seen[key]


def _skips_ignored(words: Sequence[str], folder: str, workspace: str) -> bool:
    """Whether ripgrep leaves the folders out that the top's `.gitignore` names: if it starts at the top, in a
    repository, and neither a path nor an option takes them in again."""
    operands = _operands(SAFE_COMMANDS["rg"], words)
    has_pattern = any(re.match(r"-[a-zA-Z]*e|--regexp|--files", word) for word in words)
    takes_in = any(re.match(r"-[a-zA-Z.]*[gu.]|--i?glob|--no-ignore|--hidden|--$", word) for word in words)
    at_top = real_path("", folder) == real_path("", workspace) and (Path(workspace) / ".git").exists()
    return at_top and not takes_in and len(operands) <= (0 if has_pattern else 1)


def _reason_about_ignore_files(top: Path, skips: bool) -> Reason | None:
    """Ripgrep and tree read ignore files through links, and ripgrep prints the lines that it does not understand."""
    try:
        found = tree_walk.find_linked_ignore_file(top, tree_walk.ignored_folders(top) if skips else frozenset())
    except (tree_walk.TooLarge, tree_walk.TooDeep):
        return Reason("tree.large")
    return Reason("ignore.linked", shown_path(found, top)) if found else None


def only_filters(words: Sequence[str]) -> bool:
    """Whether a command reads its standard input and opens no file, whatever the folder holds by then."""
    name, rest = _program_and_arguments(words)
    reading = SAFE_COMMANDS.get(name)
    if reading is None:
        return False
    if any(map(_is_regex_bomb, rest)):
        return False
    if reading.opens_no_file:
        return reading.extra_check is None or reading.extra_check(rest, Path("/"))
    most = (
        0
        if name == "grep" and any(re.match(r"-[A-Za-z0-9]*e|--regexp", word) for word in rest)
        else reading.filter_operands
    )
    if most is None or len(_operands(reading, rest)) > most or "--" in rest or _is_recursive(name, rest):
        return False
    fits = reading.extra_check is None or reading.extra_check(rest, Path("/"))
    takes_next = any(word.startswith("--") and f"{word}=" in reading.options.split() for word in rest)
    return (
        fits
        and not takes_next
        and all(_is_listed(word, reading) for word in rest)
        and not any("/" in word for word in rest)
    )


def _operands(reading: ReadOnly, words: Sequence[str]) -> list[str]:
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


def _is_recursive(name: str, words: Sequence[str]) -> bool:
    """`grep -r PATTERN` reads the folder."""
    return name == "grep" and any(re.fullmatch(r"--recursive|-[A-Za-z0-9]*r.*", word) for word in words)


def _program_and_arguments(words: Sequence[str]) -> tuple[str, Sequence[str]]:
    """The program, with its subcommand where it is git, as in `git -C . status`. A path such as `./ls` is not
    what it is named for."""
    if words[0] != "git":
        return words[0], words[1:]
    rest = words[3:] if list(words[1:3]) == ["-C", "."] else words[1:]
    rest = rest[1:] if "--no-pager" in rest[:1] else rest
    return f"git {rest[0]}" if rest else "git", rest[1:]


def _are_safe_words(spec: ReadOnly, words: Sequence[str], folder: str, workspace: str) -> bool:
    """Whether each word is an option that the spec lists, or an operand that lies inside the workspace."""
    options, behind = _split_at_double_dash(words)
    if behind is not None and (not spec.double_dash or any(word.startswith("-") for word in behind)):
        return False
    operands = [word for word in options if word == "-" or not word.startswith("-")] + list(behind or ())
    if spec.max_operands is not None and len(operands) > spec.max_operands:
        return False
    if spec.extra_check is not None and not spec.extra_check(words, Path(folder)):
        return False
    values = [word.partition("=")[2] for word in options if word.startswith("--")]
    known = all(_is_listed(word, spec) for word in options)
    if _search_pattern(spec, options) in operands and _is_no_path(_search_pattern(spec, options) or "", folder):
        operands.remove(_search_pattern(spec, options) or "")
    return known and all(_may_be_read(word, folder, workspace) for word in (*values, *operands))


def _search_pattern(spec: ReadOnly, words: Sequence[str]) -> str | None:
    """The word that a program searches for, if it is an operand: the first, unless an option names it."""
    is_named = any(re.match(r"-[^-]*[ef]|--regexp|--files|--file", word) for word in words)
    return next(iter(_operands(spec, words)), None) if spec.takes_pattern and not is_named else None


def _is_no_path(word: str, folder: str) -> bool:
    """A pattern such as `/api/v1` is no path if nothing is there, and if that is true for every program."""
    path = os.path.join(folder, word)  # noqa: PTH118 - a Path would drop a slash at the end
    is_plain = ".." not in word.split("/") and real_path(word, folder) is not None
    return is_plain and not os.path.lexists(path) and len(os.fsencode(path)) < _MAX_PATH_BYTES


def _may_be_read(word: str, folder: str, workspace: str) -> bool:
    """A path inside the workspace, of a file or a folder: a pipe waits for ever."""
    path = os.path.join(folder, word)  # noqa: PTH118 - a Path would drop a slash at the end
    if not is_inside(path, workspace):
        return False
    return not os.path.exists(path) or os.path.isfile(path) or os.path.isdir(path)  # noqa: PTH110, PTH112, PTH113


def _split_at_double_dash(words: Sequence[str]) -> tuple[Sequence[str], Sequence[str] | None]:
    """The words before and behind `--`. Behind it every word is an operand; but the program may have taken the `--` for
    the value of an option, so a word there that looks like an option is never certain."""
    if "--" not in words:
        return words, None
    at = list(words).index("--")
    return words[:at], words[at + 1 :]


def _is_listed(word: str, reading: ReadOnly) -> bool:
    options = reading.options.split()
    if not word.startswith("-") or word in ("-", *reading.exact_words.split()):
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
