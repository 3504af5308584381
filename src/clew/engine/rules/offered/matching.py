"""Matches rules such as `pytest …`: a known command, with any options that `known_commands` lists for it, in one folder
of the workspace. Such a rule is narrower than `pytest *`, and the only kind that is offered for a command.

`_parse_call` reduces a command to what such a rule consists of: its words and its paths. A rule allows a command with
the same words and paths; a test runner may get other files that are named like tests. So an offered rule matches the
request, and nothing that was not checked word by word."""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Sequence, Set
from pathlib import Path

from msgspec import Struct

from clew.engine.rules.offered import link_walk
from clew.engine.rules.offered.arguments import Argument, UnknownOption, find_known, parse_arguments
from clew.engine.rules.offered.known_commands import Known, Operands
from clew.engine.rules.patterns import (
    DEPENDENCY_FOLDERS,
    ELLIPSIS,
    PROTECTED_FOLDERS,
    folded,
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
from clew.texts.catalogue import say

_PLAIN_WORD = re.compile(r"[A-Za-z0-9_@%+:,./=-]+")
_CONFIG = re.compile(r".*\.(?:toml|ini|cfg)|setup\.py|\.rspec|\.mocharc.*|deno\.jsonc?")  # of a test runner
_NAME = re.compile(r"[\w.+,@-]+")
_LOCATION_START = re.compile(r"[:\[]")  # what follows is a location in a file
_LOCATION = re.compile(r"(?:::[\w.-]+)*(?:\[[^/\[\]]*\])?|:[0-9]+(?::[0-9]+)?")  # `::test_one[1]`, `:12`
_FILTER = re.compile(r"\w+(?:::\w+)*")  # the name of a test, or a part of one
_TARGET = re.compile(r"[A-Za-z_.:][A-Za-z0-9_.:/@+-]*")
_PATH_SEPARATORS = re.compile(r"[\s:=,;\[\]()]+")
_EXPANDED = re.compile(r"^[~@]|\$[A-Za-z{(]")
_TEST_NAME = re.compile(r"(?:^|[^A-Za-z])(?:[Tt]ests?|[Ss]pecs?)(?![a-z])|(?<=[a-z0-9])(?:Tests?|Specs?)(?![a-z])")
_CAMEL = re.compile(r"[A-Z]?[a-z0-9]+|[A-Z]+")
_TESTS = (Operands.TESTS, Operands.NEAR_TESTS, Operands.FILTERS)
# Targets and scripts with such a name affect more than the workspace; a person may still write a rule for them.
_OUTSIDE_EFFECTS = word_set(
    "deploy deployment publish release upload push ship rollout rollback promote install uninstall destroy provision"
    " submit login logout sudo prod production migrate"
)
_EFFECTS_ANYWHERE = word_set(
    "deploy publish release upload rollout rollback promote install destroy provision submit login logout migrat"
)  # also as a part of a name: `redeploy`, `deploy2`
_BUILD_TYPES = word_set("-c --configuration --config --profile")  # options that may have the value `Release`
_VALUES = word_set("true false null")  # many programs take such a word for the value of the option before it


class _Call(Struct, frozen=True):
    """The parts of a command that a rule consists of."""

    words: tuple[str, ...]  # the program, its subcommand, and the options that change what it does
    paths: frozenset[str]  # its operands; tests without their location in the file

    def rule(self) -> str:
        return f"{shlex.join((*self.words, *sorted(self.paths)))} {ELLIPSIS}"


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
    """Whether the rule `pattern` allows a command of plain words. If the runtime names no folder, the command runs in
    the workspace."""
    where, fixed = _parse_pattern(pattern)
    here = real_path(folder or workspace, workspace)
    is_same_folder = here is not None and here == real_path(where, workspace) and is_inside(here, workspace)
    if here is None or not is_same_folder or _has_link(where, workspace):
        return False
    allowed, given = _parse_call(fixed, here, workspace, is_rule=True), _parse_call(words, here, workspace)
    if allowed is None or given is None or allowed.words != given.words or not _has_required_option(words):
        return False
    if not _has_allowed_paths(given.paths, allowed.paths, words, here):
        return False
    return _may_use_repository(words, here, workspace) and _meets_no_outside_link(words, here, workspace)


def allows_in_script(pattern: str, command: ScriptCommand, workspace: str) -> bool:
    """Whether the rule allows a command of a script in each folder and expansion that it may have."""
    folders = command.folders or (None,)
    return all(allows(pattern, words, folder, workspace) for folder in folders for words in command.expansions)


def check_pattern(pattern: str) -> None:
    """Raises BadInput if the command of the pattern is not known, or the `…` already includes some of its options."""
    _, fixed = _parse_pattern(pattern)
    found = _parse_call(fixed, "/workspace", "/workspace", is_rule=True)
    if found is None:
        raise BadInput(say("rules.no_options_known", command=shlex.join(fixed)))
    if sorted((*found.words, *found.paths)) != sorted(fixed):
        raise BadInput(say("rules.ellipsis_includes", ellipsis=ELLIPSIS, pattern=found.rule()))


def _parse_pattern(pattern: str) -> tuple[str, Sequence[str]]:
    """The folder of a rule, relative to the workspace, and its words."""
    words = split_words(pattern)[:-1]
    return (words[1], words[3:]) if words[:1] == ["cd"] and words[2:3] == ["&&"] else (".", words)


def _parse_call(words: Sequence[str], folder: str, workspace: str, *, is_rule: bool = False) -> _Call | None:
    """None if the command is not known, or if one of its words is not listed or leaves the workspace. `is_rule`: these
    are the words of a rule, whose operands are paths even if they do not exist any more."""
    found = find_known(words)
    if found is None:
        return None
    length, known = found
    try:
        arguments = list(parse_arguments(words[length:], known))
        are_safe = all(_is_safe(argument, known.operands, folder, workspace) for argument in arguments)
    except (UnknownOption, OSError, ValueError):
        return None
    options = sorted(argument.words for argument in arguments if argument.in_rule and not argument.is_operand)
    if not are_safe or _has_duplicates(options):
        return None
    operands = [argument.words[0] for argument in arguments if argument.is_operand]
    targets = operands if known.operands is Operands.TARGETS else []
    kind = Operands.TESTS if is_rule and known.operands is Operands.FILTERS else known.operands
    paths = (_operand_path(operand, kind, folder) for operand in operands if not targets)
    fixed = (*words[:length], *(word for each in options for word in each), *targets)
    return _Call(fixed, frozenset(path for path in paths if path is not None))


def _operand_path(operand: str, operands: Operands, folder: str) -> str | None:
    """The path that an operand names, without a location in the file. None if it is not a path."""
    if operands in _TESTS:
        operand = _LOCATION_START.split(operand, maxsplit=1)[0]
    is_filter = operands is Operands.FILTERS and not os.path.lexists(Path(folder, operand))
    return None if is_filter or operands is Operands.NUMBERS else operand


def _has_allowed_paths(given: Set[str], allowed: Set[str], words: Sequence[str], folder: str) -> bool:
    """Whether a command has exactly the paths of the rule. A test runner may get other test files, but no other folder,
    and not none, which would run all tests."""
    found = find_known(words)
    if given == allowed or found is None:
        return given == allowed
    return bool(given) and all(path in allowed or _is_test_file(path, found[1].operands, folder) for path in given)


def _has_duplicates(options: Sequence[tuple[str, ...]]) -> bool:
    """Whether an option is given twice: in `make -C a -C b` the order matters."""
    found = [words[0].partition("=")[0] for words in options]
    return len(found) != len(set(found))


def _is_safe(argument: Argument, operands: Operands, folder: str, workspace: str) -> bool:
    is_target = argument.is_operand and operands is Operands.TARGETS
    if argument.in_rule and not all(map(_PLAIN_WORD.fullmatch, argument.words)):
        return False
    names = [] if not argument.in_rule else argument.words if is_target else _checked_values(argument)
    if any(_has_outside_effect(name, is_target) for name in names):
        return False
    if argument.possible_path is None:
        return True
    if argument.possible_path.startswith("-") or not _stays_inside(argument.possible_path, folder, workspace):
        return False
    if argument.in_rule and _has_link(
        argument.possible_path, folder
    ):  # its target may have changed since the rule was made
        return False
    return not argument.is_operand or _is_allowed_operand(argument.possible_path, operands, folder)


def _checked_values(argument: Argument) -> Sequence[str]:
    """The values of an option that may be names of targets: not `Release`, as a type of build."""
    name, _, attached = argument.words[0].partition("=")
    values = [value for value in (attached, *argument.words[1:]) if value]
    return [value for value in values if name not in _BUILD_TYPES or value.lower() != "release"]


def _has_outside_effect(name: str, is_target: bool) -> bool:
    """Whether a target of this name may affect more than the workspace, so that no button should allow it. Gradle takes
    the beginnings of a target's parts for it: `publi`, `pTML`."""
    parts = {part.lower() for part in _CAMEL.findall(name)}
    is_beginning = is_target and any(effect.startswith(part) for part in parts for effect in _OUTSIDE_EFFECTS)
    is_named = not _OUTSIDE_EFFECTS.isdisjoint(parts) or any(effect in name.lower() for effect in _EFFECTS_ANYWHERE)
    return is_beginning or is_named


def _stays_inside(text: str, folder: str, workspace: str) -> bool:
    """Whether a word, and every part of it that may be a path, lies in the workspace. Programs read more options from
    `@file`, and some expand `~` and variables."""
    pieces = (text, *_PATH_SEPARATORS.split(text))
    are_inside = all(_is_project_path(Path(folder, each), workspace) for each in pieces)
    return are_inside and not any(map(_EXPANDED.search, pieces))


def _is_project_path(path: Path, workspace: str) -> bool:
    """Whether a path is part of the project itself, not of a dependency: tools run what lies beside a file."""
    where = relative_path(str(path), workspace)
    return where is not None and (DEPENDENCY_FOLDERS | PROTECTED_FOLDERS).isdisjoint(map(folded, where.split("/")))


def _is_allowed_operand(word: str, operands: Operands, folder: str) -> bool:
    if word.lower() in _VALUES:
        return False
    if operands is Operands.TARGETS:
        return _TARGET.fullmatch(word) is not None
    if operands is Operands.NUMBERS:
        return word.isascii() and word.isdecimal()
    if operands is Operands.PACKAGES:
        return (word == "." or word.startswith("./")) and _is_unambiguous_path(word.removesuffix("/..."), folder)
    if operands is Operands.FILTERS and _FILTER.fullmatch(word):
        return True
    path = _operand_path(word, operands, folder) or word
    has_location = _LOCATION.fullmatch(word[len(path) :]) is not None
    is_visible = path == escape_hidden(path)
    return operands is not Operands.NONE and has_location and is_visible and _is_unambiguous_path(path, folder)


def _is_unambiguous_path(word: str, folder: str) -> bool:
    """Whether every tool takes this word for the same path: without `..`, a scheme or a link."""
    parts = word.removeprefix("./").removesuffix("/").split("/")
    if word not in (".", "./") and not all(map(_is_unambiguous_name, parts)):
        return False
    return not _has_link(word, folder)


def _has_link(path: str, folder: str) -> bool:
    """Whether a path, relative to this folder, goes through a symlink."""
    top = real_path("", folder)
    return top is None or real_path(path, folder) != os.path.normpath(Path(top, path))


def _is_unambiguous_name(name: str) -> bool:
    return _NAME.fullmatch(name) is not None and name not in (".", "..") and not name.startswith(("@", "-"))


def _is_test_file(word: str, operands: Operands, folder: str) -> bool:
    """Whether this is a file that is named like a test."""
    path = Path(folder, word)
    called = (path.name, path.parent.name if operands is Operands.NEAR_TESTS else "")
    return operands in _TESTS and path.is_file() and any(map(_TEST_NAME.search, called))


def _has_config_between(path: Path, folder: Path) -> bool:
    """Whether a folder between the command's folder and the path has its own config: pytest would use that one."""
    between = [each for each in _folders_up_to(path, folder) if each != folder]
    return any(_CONFIG.fullmatch(entry.name) and not entry.is_dir() for each in between for entry in each.iterdir())


def _folders_up_to(path: Path, top: Path) -> list[Path]:
    """The folder of a path, and the folders above it up to the top."""
    start = path if path.is_dir() else path.parent
    return [each for each in (start, *start.parents) if top in (each, *each.parents)]


def may_judge_script(pattern: str, script: Sequence[ScriptCommand], workspace: str) -> bool:
    """Whether the rule may be used for a script of these commands. A script is judged before it runs, and `git add` can
    make a folder a submodule, which the next call of git enters. So a rule for git is valid for one call only, unless
    the script runs only `git add` and `git commit` and there is no other repository in the workspace."""
    found = find_known(_parse_pattern(pattern)[1])
    git_calls = sum(any(map(_calls_git, command.expansions)) for command in script)
    if found is None or not found[1].is_git or git_calls == 1:
        return True
    expansions = (words for command in script if not command.only_filters() for words in command.expansions)
    only_known_git = all(words[0] == "git" and (known := find_known(words)) and known[1].is_git for words in expansions)
    scope = git_repository.GitScope(ignored_files=True)
    return only_known_git and git_repository.reason_in_repository(workspace, scope) is None


def _calls_git(words: Sequence[str]) -> bool:
    found = find_known(words)
    is_known = found is not None and _uses_git(found[1])
    return is_known or Path(words[0]).name == "git"


def _may_use_repository(words: Sequence[str], folder: str, workspace: str) -> bool:
    """Whether git may run here. It runs programs that a repository's config names, so it must be a repository that git
    may read without asking, with no other one below. A tool that calls git by itself also works without one."""
    found = find_known(words)
    if found is None or not _uses_git(found[1]):
        return True
    known = found[1]
    below = known.calls_git_below
    scope = git_repository.GitScope(untracked_files=known.is_git or below, ignored_files=below, complete=below)
    reason = git_repository.reason_to_ask(folder, workspace, scope)
    return reason is None or (known.calls_git and reason.code == "git.not_top")


def _uses_git(known: Known) -> bool:
    return known.is_git or known.calls_git or known.calls_git_below


def _has_required_option(words: Sequence[str]) -> bool:
    found = find_known(words)
    if found is None or not found[1].requires_one_of:
        return True
    options = {each.words[0] for each in parse_arguments(words[found[0] :], found[1]) if not each.is_operand}
    return not options.isdisjoint(found[1].requires_one_of.split())


def _meets_no_outside_link(words: Sequence[str], folder: str, workspace: str) -> bool:
    """Whether the command meets no link through which it would write, read or run something outside: in its own folder
    and those above, where tools keep their caches, or in the folders that it searches."""
    found = find_known(words)
    if found is None or found[1].is_git:
        return True
    known, arguments = found[1], list(parse_arguments(words[found[0] :], found[1]))
    roots = _search_roots([argument.words[0] for argument in arguments if argument.is_operand], folder)
    top = Path(real_path("", workspace) or "/")
    try:
        folders_above = {each for path in roots for each in _folders_up_to(path, top)}
        if not link_walk.direct_links_stay_inside(folders_above, workspace):
            return False
        if _runs_tests(known) and not all(_may_run_tests_in(path, Path(folder), known.operands) for path in roots):
            return False
    except OSError:
        return False
    if _changes_files(known, arguments):
        skipped = word_set(known.skipped_folders) if _is_project_path(Path(folder), workspace) else frozenset[str]()
        return link_walk.writes_stay_inside(map(str, roots), workspace, skipped)
    if _runs_tests(known) or known.operands is Operands.PATHS:
        folders = {str(path if path.is_dir() else path.parent) for path in roots}
        return link_walk.reads_stay_inside(folders, workspace, hidden=not _runs_tests(known))
    return True


def _may_run_tests_in(path: Path, folder: Path, operands: Operands) -> bool:
    """Whether a test runner may get this path: a folder or a test file, with no config of its own in between."""
    if operands not in (Operands.TESTS, Operands.NEAR_TESTS):
        return True
    is_testable = path.is_dir() or _is_test_file(path.name, operands, str(path.parent))
    return is_testable and not _has_config_between(path, folder)


def _runs_tests(known: Known) -> bool:
    return known.runs_tests or known.operands in (Operands.TESTS, Operands.NEAR_TESTS)


def _changes_files(known: Known, arguments: Sequence[Argument]) -> bool:
    options = {argument.words[0].partition("=")[0] for argument in arguments if not argument.is_operand}
    return known.write_options == "*" or not options.isdisjoint(known.write_options.split())


def _search_roots(operands: Sequence[str], folder: str) -> set[Path]:
    """The files and folders that a command searches. An operand that does not exist is a pattern, which may match any
    file."""
    paths = [Path(folder, _LOCATION_START.split(operand, maxsplit=1)[0]) for operand in operands]
    return {path if path.exists() else Path(folder) for path in paths} or {Path(folder)}
