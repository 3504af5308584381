"""The rule `pytest …`: a known command, with whatever options `known_commands` lists for it, in one folder of the
workspace. It is narrower than `pytest *`, and the only kind of rule that is offered for a command.

`_call` reduces a command to what such a rule consists of: its words, and the paths that it is given. A rule allows a
command of the same words and paths; a test runner may get files that are called like tests instead. So whatever is
offered covers what was asked, and nothing that was not looked at word by word."""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Iterator, Mapping, Sequence, Set
from functools import cache
from pathlib import Path

from msgspec import Struct

from clew.engine.rules.offered import link_walk
from clew.engine.rules.offered.known_commands import KNOWN, LAUNCHERS, Known, Operands
from clew.engine.rules.patterns import (
    DEPENDENCY_FOLDERS,
    ELLIPSIS,
    PROTECTED_FOLDERS,
    is_inside,
    real_path,
    relative_path,
    split_words,
)
from clew.engine.rules.read_only import git_repository
from clew.engine.rules.shell.lenient import word_set
from clew.engine.rules.shell.scripts import ScriptCommand
from clew.support.display import escape_hidden
from clew.support.errors import BadInput

_PLAIN_WORD = re.compile(r"[A-Za-z0-9_@%+:,./=-]+")
# What may differ from one call to the next under the same rule: how much is printed, which tests, how soon it stops.
_NEUTRAL = word_set(
    "-q -v -vv -s -x -k= -m= -t= -g= -j? --quiet --verbose --silent --exitfirst --maxfail= --lf --last-failed --ff"
    " --failed-first --tb= --durations= --showlocals --no-header --no-summary --color= --color --no-color --colors"
    " --disable-warnings --bail --bail? --bail= --failfast --fail-fast --no-fail-fast --grep= --testNamePattern="
    " --test-name-pattern= --name= --plain-name= --filter= -run= -skip= -count= -timeout= -short -failfast -json"
    " --nocapture --no-capture --show-output --exact --test-threads= --statistics --stacktrace --pretty --stats"
    " -n= -k -B -R= -race -Dtest? --numprocesses= --runInBand --max-warnings= --output-format= --select= --strict"
    " --max-line-length= --release --lib --info --offline --output-on-failure --tests= --no-build --trace"
    " --comments --log-failed --all-files -D= -W= -A= -Dwarnings --deny= --warn= --allow="
)
_CONFIG = re.compile(r".*\.(?:toml|ini|cfg)|setup\.py|\.rspec|\.mocharc.*|deno\.jsonc?")  # of a test runner
_NAME = re.compile(r"[\w.+,@-]+")
_LOCATION_START = re.compile(r"[:\[]")  # what follows is a place in a file
_LOCATION = re.compile(r"(?:::[\w.-]+)*(?:\[[^/\[\]]*\])?|:[0-9]+(?::[0-9]+)?")  # `::test_one[1]`, `:12`
_FILTER = re.compile(r"\w+(?:::\w+)*")  # the name of a test, or a part of one
_TARGET = re.compile(r"[A-Za-z_.:][A-Za-z0-9_.:/@+-]*")
_PROGRAM = re.compile(
    r"(?:(?:\./)?(?:\.venv/bin|venv/bin|node_modules/\.bin|vendor/bin|bin)/)?(?:python3(?:\.[0-9]+)?|(.+))"
)
_ASSIGNMENT = re.compile(r"[A-Za-z_]\w*\+?=")  # `make` and its kin take such a word for a variable
_PATH_SEPARATORS = re.compile(r"[\s:=,;\[\]()]+")
_EXPANDED = re.compile(r"^[~@]|\$[A-Za-z{(]")
_TEST_NAME = re.compile(r"(?:^|[^A-Za-z])(?:[Tt]ests?|[Ss]pecs?)(?![a-z])|(?<=[a-z0-9])(?:Tests?|Specs?)(?![a-z])")
_CAMEL = re.compile(r"[A-Z]?[a-z0-9]+|[A-Z]+")
_TESTS = (Operands.TESTS, Operands.NEAR_TESTS, Operands.FILTERS)
# Targets and scripts of such a name leave the workspace; a person may still write a rule for them.
_OUTSIDE_EFFECTS = word_set(
    "deploy deployment publish release upload push ship rollout rollback promote install uninstall destroy provision"
    " submit login logout sudo prod production migrate"
)


class _Option(Struct, frozen=True):
    takes: str  # "": no value, "=": one, "?": perhaps one, attached; "~": a text
    in_rule: bool


class _Argument(Struct, frozen=True):
    """An option with its value, or an operand."""

    words: tuple[str, ...]
    possible_path: str | None = None  # what may be a path
    in_rule: bool = False  # it belongs to the rule
    is_operand: bool = False


class _Call(Struct, frozen=True):
    """What a rule holds of a command."""

    words: tuple[str, ...]  # the program, what it is told to do, and the options that change that
    paths: frozenset[str]  # that it is given; of a test without its place in the file

    def rule(self) -> str:
        return f"{shlex.join((*self.words, *sorted(self.paths)))} {ELLIPSIS}"


class _UnknownOption(Exception):
    """An option that is not on the list, or a value that is missing."""


def is_ellipsis_pattern(pattern: str) -> bool:
    return split_words(pattern)[-1:] == [ELLIPSIS]


def offered_pattern(words: Sequence[str], folder: str | None, workspace: str) -> str | None:
    """The rule to offer with a yes to this command; None if clew does not know the command well enough."""
    where = relative_path(folder or workspace, workspace)
    call = _parse_call(words, folder or workspace, workspace)
    if call is None or where is None or not _PLAIN_WORD.fullmatch(where):
        return None
    pattern = call.rule() if where == "." else f"cd {where} && {call.rule()}"
    return pattern if allows(pattern, words, folder, workspace) else None


def allows(pattern: str, words: Sequence[str], folder: str | None, workspace: str) -> bool:
    """Whether the rule `pattern` allows a command of plain words. A runtime that names no folder works in the
    workspace."""
    where, fixed = _parse_pattern(pattern)
    here = real_path(folder or workspace, workspace)
    if (
        here is None
        or here != real_path(where, workspace)
        or not is_inside(here, workspace)
        or _has_link(where, workspace)
    ):
        return False
    shown, given = _parse_call(fixed, here, workspace), _parse_call(words, here, workspace)
    if shown is None or given is None or shown.words != given.words or not _has_required_option(words):
        return False
    if not _has_allowed_paths(given.paths, shown.paths, words, here):
        return False
    return _may_use_repository(words, here, workspace) and _meets_no_outside_link(words, here, workspace)


def allows_in_script(pattern: str, part: ScriptCommand, workspace: str) -> bool:
    """The same for a command of a script, whichever folder it runs in and whatever its wildcards stand for."""
    folders = part.folders or (None,)
    return all(allows(pattern, words, folder, workspace) for folder in folders for words in part.expansions)


def check_pattern(pattern: str) -> None:
    """Raises BadInput if the pattern means nothing, or less than it looks like."""
    _, fixed = _parse_pattern(pattern)
    found = _parse_call(fixed, "/workspace", "/workspace")
    if found is None:
        raise BadInput(f"clew keeps no list of options for `{shlex.join(fixed)}`; write `*` for whatever follows")
    if sorted((*found.words, *found.paths)) != sorted(fixed):
        raise BadInput(f"the `{ELLIPSIS}` already stands for some of these options; write `{found.rule()}`")


def _parse_pattern(pattern: str) -> tuple[str, Sequence[str]]:
    """The folder of a rule, from the workspace's point of view, and its words."""
    words = split_words(pattern)[:-1]
    return (words[1], words[3:]) if words[:1] == ["cd"] and words[2:3] == ["&&"] else (".", words)


def _parse_call(words: Sequence[str], folder: str, workspace: str) -> _Call | None:
    """None if the command is unknown, or if one of its words is not on the list or leaves the workspace."""
    found = _find_known(words)
    if found is None:
        return None
    length, known = found
    try:
        parts = list(_parse_arguments(words[length:], known))
        is_fine = all(_is_safe(part, known.operands, folder, workspace) for part in parts)
    except (_UnknownOption, OSError, ValueError):
        return None
    options = sorted(part.words for part in parts if part.in_rule and not part.is_operand)
    if not is_fine or _has_duplicates(options):
        return None
    operands = [part.words[0] for part in parts if part.is_operand]
    targets = operands if known.operands is Operands.SAME else []
    paths = (_operand_path(operand, known.operands, folder) for operand in operands if not targets)
    fixed = (*words[:length], *(word for each in options for word in each), *targets)
    return _Call(fixed, frozenset(path for path in paths if path is not None))


def _operand_path(operand: str, operands: Operands, folder: str) -> str | None:
    """The path that a word names, without a place in the file. None if it is none."""
    if operands in _TESTS:
        operand = _LOCATION_START.split(operand, maxsplit=1)[0]
    is_filter = operands is Operands.FILTERS and not os.path.lexists(Path(folder, operand))
    return None if is_filter or operands is Operands.NUMBERS else operand


def _has_allowed_paths(given: Set[str], shown: Set[str], words: Sequence[str], folder: str) -> bool:
    """Whether a command is given just the paths of the rule. A test runner may get tests instead, but no other folder,
    and not all of them because it is given none."""
    found = _find_known(words)
    if given == shown or found is None:
        return given == shown
    return bool(given) and all(path in shown or _is_test_file(path, found[1].operands, folder) for path in given)


def _has_duplicates(options: Sequence[tuple[str, ...]]) -> bool:
    """Whether an option is given twice; of `make -C a -C b` the order matters."""
    found = [words[0].partition("=")[0] for words in options]
    return len(found) != len(set(found))


def _find_known(words: Sequence[str]) -> tuple[int, Known] | None:
    """How many words name the known command, and what is known of it."""
    plain = (_program_name(words[0]), *words[1:]) if words else ()
    for length in range(min(len(plain), _MAX_NAME_WORDS), 0, -1):
        if plain[:length] in KNOWN:
            return length, KNOWN[plain[:length]]
    for launcher, programs in LAUNCHERS.items():
        rest = plain[len(launcher) :]
        if plain[: len(launcher)] == launcher and rest and _program_name(rest[0]) in programs:
            inner = _find_known(rest)
            return (len(launcher) + inner[0], inner[1]) if inner else None
    return None


_MAX_NAME_WORDS = max(map(len, KNOWN))


def _program_name(word: str) -> str:
    """`pytest` for `.venv/bin/pytest`, `python` for `python3.11`."""
    found = _PROGRAM.fullmatch(word)
    return found[1] or "python" if found else word


def _parse_arguments(words: Sequence[str], known: Known) -> Iterator[_Argument]:
    left = list(words)
    options = _option_table(known.options, known.not_neutral)
    while left:
        word = left.pop(0)
        if (
            word == "--"
            and known.after_double_dash is not None
            and options is not _option_table(known.after_double_dash, "")
        ):
            options = _option_table(known.after_double_dash, "")
        elif word.startswith("-"):
            yield from _parse_option(word, left, options, known.bundles_flags)
        else:
            yield _Argument((word,), word, in_rule=known.operands is Operands.SAME, is_operand=True)


def _parse_option(word: str, left: list[str], options: Mapping[str, _Option], bundles: bool) -> Iterator[_Argument]:
    """What a word that begins with a dash means; a value that is the next word is taken out of `left`."""
    name, has_value, value = word.partition("=")
    if word in options:
        yield _option_with_value(word, options[word], None, left)
    elif has_value and name in options and options[name].takes and len(name) > 2:
        yield _option_with_value(name, options[name], value, left)
    elif bundles or (word[2:].isdecimal() and word[:2] in options and options[word[:2]].takes):
        yield from _parse_bundle(word, left, options)
    else:
        raise _UnknownOption(word)


def _parse_bundle(word: str, left: list[str], options: Mapping[str, _Option]) -> Iterator[_Argument]:
    if word.startswith("--") or word == "-":
        raise _UnknownOption(word)
    for at, letter in enumerate(word[1:], 2):
        option = options.get(f"-{letter}")
        if option is None:
            raise _UnknownOption(word)
        yield _option_with_value(f"-{letter}", option, word[at:] or None if option.takes else None, left)
        if option.takes:
            return


def _option_with_value(name: str, option: _Option, value: str | None, left: list[str]) -> _Argument:
    if value is None and option.takes in ("=", "~"):
        value = left.pop(0) if left else None
        if value is None or (option.takes == "=" and _ASSIGNMENT.match(value)):
            raise _UnknownOption(name)
    if value is None:
        return _Argument((name,), in_rule=option.in_rule)
    if option.takes == "~":
        return _Argument((name,))
    words = (f"{name}={value}",) if name.startswith("--") else (name, value)
    return _Argument(words, value, in_rule=option.in_rule)


@cache
def _option_table(text: str, fixed: str) -> Mapping[str, _Option]:
    neutral = _NEUTRAL.difference(fixed.split())
    return dict(_parse_table_entry(item, neutral) for item in text.split())


def _parse_table_entry(item: str, neutral: Set[str]) -> tuple[str, _Option]:
    takes = item[-1] if item[-1] in "=?~" else ""
    return item.removesuffix(takes), _Option(takes, in_rule=takes != "~" and item not in neutral)


def _is_safe(part: _Argument, operands: Operands, folder: str, workspace: str) -> bool:
    is_target = part.is_operand and operands is Operands.SAME
    if part.in_rule and not all(_may_appear_in_rule(word, is_target) for word in part.words):
        return False
    if part.possible_path is None:
        return True
    if part.possible_path.startswith("-") or not _stays_inside(part.possible_path, folder, workspace):
        return False
    if part.in_rule and _has_link(
        part.possible_path, folder
    ):  # which may be another folder than when the rule was made
        return False
    return not part.is_operand or _is_allowed_operand(part.possible_path, operands, folder)


def _may_appear_in_rule(word: str, is_target: bool) -> bool:
    """Whether a rule can hold this word as it is, and one would press a button for it."""
    parts = {part.lower() for part in _CAMEL.findall(word)} if is_target else set()
    return _PLAIN_WORD.fullmatch(word) is not None and _OUTSIDE_EFFECTS.isdisjoint(parts)


def _stays_inside(text: str, folder: str, workspace: str) -> bool:
    """Whether a word, and whatever in it may be a path, lies in the workspace. Programs read `@file` for more options,
    and some expand `~` and variables."""
    pieces = (text, *_PATH_SEPARATORS.split(text))
    return not any(map(_EXPANDED.search, pieces)) and all(
        _is_project_path(Path(folder, each), workspace) for each in pieces
    )


def _is_project_path(path: Path, workspace: str) -> bool:
    """Whether a path is part of the project itself: tools run what lies beside a file that they are given."""
    where = relative_path(str(path), workspace)
    return where is not None and (DEPENDENCY_FOLDERS | PROTECTED_FOLDERS).isdisjoint(where.lower().split("/"))


def _is_allowed_operand(word: str, operands: Operands, folder: str) -> bool:
    if operands is Operands.SAME:
        return _TARGET.fullmatch(word) is not None
    if operands is Operands.NUMBERS:
        return word.isascii() and word.isdecimal()
    if operands is Operands.PACKAGES:
        return (word == "." or word.startswith("./")) and _is_unambiguous_path(word.removesuffix("/..."), folder)
    if operands is Operands.FILTERS and _FILTER.fullmatch(word):
        return True
    path = _operand_path(word, operands, folder) or word
    is_place = _LOCATION.fullmatch(word[len(path) :]) is not None
    return (
        operands is not Operands.NONE
        and is_place
        and _is_unambiguous_path(path, folder)
        and path == escape_hidden(path)
    )


def _is_unambiguous_path(word: str, folder: str) -> bool:
    """Whether every tool takes this word for the same path: no way up, no scheme, and no link."""
    parts = word.removeprefix("./").removesuffix("/").split("/")
    if word not in (".", "./") and not all(map(_is_unambiguous_name, parts)):
        return False
    return not _has_link(word, folder)


def _has_link(path: str, folder: str) -> bool:
    """Whether a path leads elsewhere than it says, seen from this folder."""
    top = real_path("", folder)
    return top is None or real_path(path, folder) != os.path.normpath(Path(top, path))


def _is_unambiguous_name(name: str) -> bool:
    return _NAME.fullmatch(name) is not None and name not in (".", "..") and not name.startswith(("@", "-"))


def _is_test_file(word: str, operands: Operands, folder: str) -> bool:
    """Whether this is a file that is called like a test."""
    path = Path(folder, word)
    called = (path.name, path.parent.name if operands is Operands.NEAR_TESTS else "")
    return operands in _TESTS and path.is_file() and any(map(_TEST_NAME.search, called))


def _has_config_between(path: Path, folder: Path) -> bool:
    """Whether a folder on the way from where the command runs has a config of its own: pytest takes that instead."""
    between = [each for each in _folders_up_to(path, folder) if each != folder]
    return any(_CONFIG.fullmatch(entry.name) and not entry.is_dir() for each in between for entry in each.iterdir())


def _folders_up_to(path: Path, top: Path) -> list[Path]:
    """The folder of a path, and those above it up to the top."""
    start = path if path.is_dir() else path.parent
    return [each for each in (start, *start.parents) if top in (each, *each.parents)]


def may_judge_script(pattern: str, parts: Sequence[ScriptCommand], workspace: str) -> bool:
    """Whether the rule may be used for a script of these commands. All of a script is judged before it runs, and
    `git add` can make a folder a submodule, into which the next call of git goes. So a rule for git counts for one call
    only, unless `git add` and `git commit` are all that runs and no other repository lies anywhere below."""
    found = _find_known(_parse_pattern(pattern)[1])
    if found is None or not found[1].is_git or sum(any(map(_calls_git, part.expansions)) for part in parts) == 1:
        return True
    working = [part for part in parts if not part.only_filters()]
    is_plain = all(
        words[0] == "git" and (known := _find_known(words)) and known[1].is_git for words in _all_expansions(working)
    )
    return (
        is_plain and git_repository.reason_in_repository(workspace, git_repository.GitScope(ignored_files=True)) is None
    )


def _all_expansions(parts: Sequence[ScriptCommand]) -> Iterator[Sequence[str]]:
    return (words for part in parts for words in part.expansions)


def _calls_git(words: Sequence[str]) -> bool:
    found = _find_known(words)
    is_known = found is not None and (found[1].is_git or found[1].calls_git)
    return is_known or Path(words[0]).name == "git"


def _may_use_repository(words: Sequence[str], folder: str, workspace: str) -> bool:
    """Git runs programs that a repository's config names, so it has to be one in which it may even look unasked, and
    that has no other one below. What only calls git does without a repository."""
    found = _find_known(words)
    if found is None or not (found[1].is_git or found[1].calls_git):
        return True
    reason = git_repository.reason_to_ask(folder, workspace, git_repository.GitScope(untracked_files=found[1].is_git))
    return reason is None or (found[1].calls_git and reason.code == "git.not_top")


def _has_required_option(words: Sequence[str]) -> bool:
    found = _find_known(words)
    if found is None or not found[1].requires_one_of:
        return True
    options = {part.words[0] for part in _parse_arguments(words[found[0] :], found[1]) if not part.is_operand}
    return not options.isdisjoint(found[1].requires_one_of.split())


def _meets_no_outside_link(words: Sequence[str], folder: str, workspace: str) -> bool:
    """Whether a command finds no link through which it would write, read or run something outside: beside it, where
    tools keep their caches, or in the folders that it looks through."""
    found = _find_known(words)
    if found is None or found[1].is_git:
        return True
    known, parts = found[1], list(_parse_arguments(words[found[0] :], found[1]))
    searched = _search_roots([part.words[0] for part in parts if part.is_operand], folder)
    try:
        on_the_way = {
            each for path in searched for each in _folders_up_to(Path(path), Path(real_path("", workspace) or "/"))
        }
        if not link_walk.direct_links_stay_inside(on_the_way, workspace):
            return False
        if _runs_tests(known) and not all(
            _may_run_tests_in(Path(path), Path(folder), known.operands) for path in searched
        ):
            return False
    except OSError:
        return False
    if _changes_files(known, parts):
        passes_over = word_set(known.skipped_folders) if _is_project_path(Path(folder), workspace) else frozenset[str]()
        return link_walk.writes_stay_inside(searched, workspace, passes_over)
    folders = {path if Path(path).is_dir() else str(Path(path).parent) for path in searched}
    if _runs_tests(known) or known.operands is Operands.PATHS:
        return link_walk.reads_stay_inside(folders, workspace, hidden=not _runs_tests(known))
    return True


def _may_run_tests_in(path: Path, folder: Path, operands: Operands) -> bool:
    """Whether a test runner may be given this path: a folder or a test, with no config of its own on the way there."""
    if operands not in (Operands.TESTS, Operands.NEAR_TESTS):
        return True
    return (path.is_dir() or _is_test_file(path.name, operands, str(path.parent))) and not _has_config_between(
        path, folder
    )


def _runs_tests(known: Known) -> bool:
    return known.runs_tests or known.operands in (Operands.TESTS, Operands.NEAR_TESTS)


def _changes_files(known: Known, parts: Sequence[_Argument]) -> bool:
    options = {part.words[0].partition("=")[0] for part in parts if not part.is_operand}
    return known.write_options == "*" or not options.isdisjoint(known.write_options.split())


def _search_roots(operands: Sequence[str], folder: str) -> set[str]:
    """The files that a command is given, and the folders in which it looks for more. An operand that is no path is a
    pattern, which may mean any."""
    paths = [Path(folder, _LOCATION_START.split(operand, maxsplit=1)[0]) for operand in operands]
    return {str(path) if path.exists() else folder for path in paths} or {folder}
