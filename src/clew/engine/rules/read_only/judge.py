"""Decides which commands only read, inside the workspace. These run without asking; clew asks if it is not certain."""

from __future__ import annotations

import math
import os
import re
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

from clew.engine.rules.patterns import is_inside, real_path
from clew.engine.rules.read_only import git_repository, tree_walk
from clew.engine.rules.read_only.git_repository import shown_path
from clew.engine.rules.read_only.safe_commands import SAFE_COMMANDS, ReadOnly
from clew.engine.rules.shell.lenient import word_set
from clew.model.gates import Reason

_MAX_PATH_BYTES = 1_000
_MAX_WORD_LENGTH = 4_096
_MAX_REPEATS = 10_000  # by the counts of a regular expression
_MAX_NESTED = 8  # repeated groups in a regular expression

NO_RULE = Reason("no_rule")
ReasonCache = dict[tuple[str, str], Reason | None]  # results of searches, by what was searched and where

_READS_WORKSPACE_FILES = word_set("status ls-files diff")  # subcommands of git that read files of the workspace
_READS_HISTORY = word_set("status diff log show blame stash rev-list")  # and those that read files of the history


def reason_to_ask(words: Sequence[str], folder: str, workspace: str, cache: ReasonCache | None = None) -> Reason | None:
    """Why clew must ask about a command; None if it only reads, and only inside the workspace. If that is not certain,
    or a file cannot be read, there is a reason."""
    try:
        return _reason_to_ask(words, folder, workspace, {} if cache is None else cache)
    except (OSError, ValueError, RuntimeError):
        return NO_RULE


def _reason_to_ask(words: Sequence[str], folder: str, workspace: str, cache: ReasonCache) -> Reason | None:
    name, rest = _program_and_arguments(words)
    spec = SAFE_COMMANDS.get(name)
    if spec is None or not folder.startswith("/") or not Path(folder).is_dir() or not is_inside(folder, workspace):
        return NO_RULE
    if any(map(_is_regex_bomb, words)) or not _is_safe_use(spec, rest, folder, workspace):
        return NO_RULE
    if name == "rg" or (name == "tree" and "--gitignore" in rest):
        skips = name == "rg" and _skips_ignored(rest, folder, workspace)
        search = partial(_reason_about_ignore_files, Path(workspace).resolve(), skips)
        return _cached(cache, (f"ignore {skips}", workspace), search)
    if name.startswith("git "):
        if any(word.startswith(":") for word in rest):  # git's own path syntax: from the top, or by attributes
            return NO_RULE
        scope = _git_scope(name.removeprefix("git "), rest)
        reason = _cached(cache, ("git", folder), partial(git_repository.reason_at_folder, folder, workspace))
        return reason or _cached(
            cache, (f"git {scope}", workspace), partial(git_repository.reason_in_repository, workspace, scope)
        )
    return None


def _git_scope(subcommand: str, rest: Sequence[str]) -> git_repository.GitScope:
    """Which files a subcommand of git reads. `git ls-files -o` uses ignore files only with `--exclude-standard`.
    `git diff REV:FILE PATH` shows a file that git may not track."""
    others = subcommand == "ls-files" and any(re.match(r"-[a-z]*o|--others", each) for each in rest)
    ignored = (others and "--exclude-standard" not in rest) or any(each.startswith("--ignored") for each in rest)
    named = any(not each.startswith("-") for each in rest) and (others or subcommand == "status")
    deeper = any(re.fullmatch("-uall|--untracked-files(?!=no$|=normal$).*", each) for each in rest)
    complete = ignored or named or deeper or (subcommand == "diff" and any(":" in each for each in rest))
    return git_repository.GitScope(
        untracked_files=subcommand in _READS_WORKSPACE_FILES,
        ignored_files=ignored,
        history_files=subcommand in _READS_HISTORY,
        linked_files=subcommand == "blame",  # `blame.ignoreRevsFile`
        complete=complete,
    )


def _is_safe_use(spec: ReadOnly, words: Sequence[str], folder: str, workspace: str) -> bool:
    if spec.opens_no_file:
        return spec.extra_check is None or spec.extra_check(words, Path(folder))
    return _are_safe_words(spec, words, folder, workspace)


def _is_regex_bomb(word: str) -> bool:
    """Whether a regular expression may use up all memory by its repeats. A word that is too long to check counts as
    such."""
    if len(word) > _MAX_WORD_LENGTH:
        return True
    counts = [int(number) for number in re.findall(r"[{,]([0-9]+),?\\?\}", word)]
    nested = len(re.findall(r"\)[*+?{]", word)) > _MAX_NESTED
    backreferences = len(re.findall(r"\\[1-9]", word)) > 1 and word.count("*") + word.count("+") > 1
    return math.prod(counts) > _MAX_REPEATS or nested or backreferences


def _cached(cache: ReasonCache, key: tuple[str, str], search: Callable[[], Reason | None]) -> Reason | None:
    if key not in cache:
        cache[key] = search()
    return cache[key]


def _skips_ignored(words: Sequence[str], folder: str, workspace: str) -> bool:
    """Whether ripgrep skips the folders that the top-level `.gitignore` names: it starts at the top, in a repository,
    and neither a path nor an option includes them again."""
    operands = _operands(SAFE_COMMANDS["rg"], words)
    has_pattern = any(re.match(r"-[a-zA-Z]*e|--regexp|--files", word) for word in words)
    includes_ignored = any(re.match(r"-[a-zA-Z.]*[gu.]|--i?glob|--no-ignore|--hidden|--$", word) for word in words)
    at_top = real_path("", folder) == real_path("", workspace) and (Path(workspace) / ".git").exists()
    return at_top and not includes_ignored and len(operands) <= (0 if has_pattern else 1)


def _reason_about_ignore_files(top: Path, skips: bool) -> Reason | None:
    """Ripgrep and tree follow links to ignore files, and ripgrep prints lines that it cannot parse."""
    try:
        found = tree_walk.find_linked_ignore_file(top, tree_walk.ignored_folders(top) if skips else frozenset())
    except (tree_walk.TooLarge, tree_walk.TooDeep):
        return Reason("tree.large")
    return Reason("ignore.linked", shown_path(found, top)) if found else None


def only_filters(words: Sequence[str]) -> bool:
    """Whether a command reads its standard input and opens no file, whatever files exist when it runs."""
    name, rest = _program_and_arguments(words)
    spec = SAFE_COMMANDS.get(name)
    if spec is None:
        return False
    if any(map(_is_regex_bomb, rest)):
        return False
    if spec.opens_no_file:
        return spec.extra_check is None or spec.extra_check(rest, Path("/"))
    has_pattern_option = name == "grep" and any(re.match(r"-[A-Za-z0-9]*e|--regexp", word) for word in rest)
    max_operands = 0 if has_pattern_option else spec.filter_operands
    if max_operands is None or len(_operands(spec, rest)) > max_operands or "--" in rest or _is_recursive(name, rest):
        return False
    if spec.extra_check is not None and not spec.extra_check(rest, Path("/")):
        return False
    takes_next = any(word.startswith("--") and f"{word}=" in spec.options.split() for word in rest)
    return not takes_next and all(_is_listed(word, spec) and "/" not in word for word in rest)


def _operands(spec: ReadOnly, words: Sequence[str]) -> list[str]:
    """The words that may be operands: neither options nor the values of one-letter options. A long option may not take
    the next word as its value."""
    found, is_value = [], False
    for word in words:
        if not is_value and not word.startswith("-"):
            found.append(word)
        is_value = not is_value and _takes_next(word, spec.options.split())
    return found


def _takes_next(word: str, options: Sequence[str]) -> bool:
    """Whether the next word is the value of this option: of the last letter of `-ie`, if no earlier one takes it."""
    letters = "" if word.startswith("--") or not word.startswith("-") else word[1:]
    takes = [f"-{letter}=" in options for letter in letters]
    return takes[-1:] == [True] and not any(takes[:-1])


def _is_recursive(name: str, words: Sequence[str]) -> bool:
    """`grep -r PATTERN` reads all files of the folder."""
    return name == "grep" and any(re.fullmatch(r"--recursive|-[A-Za-z0-9]*r.*", word) for word in words)


def _program_and_arguments(words: Sequence[str]) -> tuple[str, Sequence[str]]:
    """The program, with the subcommand for git (also in `git -C . status`), and the other words. A path such as `./ls`
    is not the program `ls`."""
    if words[0] != "git":
        return words[0], words[1:]
    rest = words[3:] if list(words[1:3]) == ["-C", "."] else words[1:]
    rest = rest[1:] if "--no-pager" in rest[:1] else rest
    return f"git {rest[0]}" if rest else "git", rest[1:]


def _are_safe_words(spec: ReadOnly, words: Sequence[str], folder: str, workspace: str) -> bool:
    """Whether each word is a listed option or an operand inside the workspace."""
    options, after = _split_at_double_dash(words)
    if after is not None and (not spec.double_dash or any(word.startswith("-") for word in after)):
        return False
    operands = [word for word in options if word == "-" or not word.startswith("-")] + list(after or ())
    if spec.max_operands is not None and len(operands) > spec.max_operands:
        return False
    if spec.extra_check is not None and not spec.extra_check(words, Path(folder)):
        return False
    values = [word.partition("=")[2] for word in options if word.startswith("--")]
    known = all(_is_listed(word, spec) for word in options)
    pattern = _search_pattern(spec, options)
    if pattern is not None and pattern in operands and _is_not_a_path(pattern, folder):
        operands.remove(pattern)
    return known and all(_may_be_read(word, folder, workspace) for word in (*values, *operands))


def _search_pattern(spec: ReadOnly, words: Sequence[str]) -> str | None:
    """The operand that a program searches for: the first one, unless an option gives the pattern."""
    is_named = any(re.match(r"-[^-]*[ef]|--regexp|--files|--file", word) for word in words)
    return next(iter(_operands(spec, words)), None) if spec.takes_pattern and not is_named else None


def _is_not_a_path(word: str, folder: str) -> bool:
    """Whether a pattern such as `/api/v1` is not a path: nothing exists there, and every program would agree."""
    path = os.path.join(folder, word)  # noqa: PTH118 - a Path would drop a slash at the end
    is_plain = ".." not in word.split("/") and real_path(word, folder) is not None
    return is_plain and not os.path.lexists(path) and len(os.fsencode(path)) < _MAX_PATH_BYTES


def _may_be_read(word: str, folder: str, workspace: str) -> bool:
    """Whether this is a path inside the workspace, of a file or a folder: reading a named pipe would never end."""
    path = os.path.join(folder, word)  # noqa: PTH118 - a Path would drop a slash at the end
    if not is_inside(path, workspace):
        return False
    return not os.path.exists(path) or os.path.isfile(path) or os.path.isdir(path)  # noqa: PTH110, PTH112, PTH113


def _split_at_double_dash(words: Sequence[str]) -> tuple[Sequence[str], Sequence[str] | None]:
    """The words before and after `--`. After it every word is an operand; but the program may take the `--` for the
    value of an option, so a word there that looks like an option is not safe."""
    if "--" not in words:
        return words, None
    at = list(words).index("--")
    return words[:at], words[at + 1 :]


def _is_listed(word: str, spec: ReadOnly) -> bool:
    options = spec.options.split()
    if not word.startswith("-") or word in ("-", *spec.exact_words.split()):
        return True
    if word.startswith("--"):
        name, has_value, _ = word.partition("=")
        return f"{name}=" in options or (name in options and not has_value)
    return ("-#" in options and word[1:].isdecimal()) or _are_flags(word[1:], options)


def _are_flags(letters: str, options: Sequence[str]) -> bool:
    """Whether these are flags, as in `-abc`, or an option with a number, as in `-n5`. Another version of the program
    might take a value in letters for flags."""
    flags = {letter for option in options if not option.startswith("--") and "=" not in option for letter in option[1:]}
    for at, letter in enumerate(letters):
        if f"-{letter}=" in options:
            return re.fullmatch(r"[^A-Za-z/]*", letters[at + 1 :]) is not None
        if letter not in flags:
            return False
    return True
