"""The rule `pytest …`: a known command, with whatever options and operands `known_commands` lists for it, in one folder
of the workspace. It is narrower than `pytest *`, and the only kind of rule that is offered for a command.

`shape` reduces a command to the words that such a rule consists of; a rule allows a command if the two have the same
shape. So whatever is offered covers what was asked, and nothing that was not looked at word by word."""

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
from clew.engine.rules.patterns import FOREIGN, GUARDED, MORE, inside, real, relative, words_of
from clew.engine.rules.read_only import git_repository
from clew.engine.rules.shell.lenient import names
from clew.engine.rules.shell.scripts import Part
from clew.support.errors import BadInput

_SIMPLE = re.compile(r"[A-Za-z0-9_@%+:,./=-]+")
# What may differ from one call to the next under the same rule: how much is printed, which tests, how soon it stops.
_NEUTRAL = names(
    "-q -v -vv -s -x -k= -m= -t= -g= -j? --quiet --verbose --silent --exitfirst --maxfail= --lf --last-failed --ff"
    " --failed-first --tb= --durations= --showlocals --no-header --no-summary --color= --color --no-color --colors"
    " --disable-warnings --bail --bail? --bail= --failfast --fail-fast --no-fail-fast --grep= --testNamePattern="
    " --test-name-pattern= --name= --plain-name= --filter= -run= -skip= -count= -timeout= -short -failfast -json"
    " --nocapture --no-capture --show-output --exact --test-threads= --statistics --stacktrace --pretty --stats"
    " -n= -k -B -R= -race -Dtest? --numprocesses= --runInBand --max-warnings= --output-format= --select= --strict"
    " --max-line-length= --release --lib --info --offline --output-on-failure --tests= --no-build --trace"
    " --comments --log-failed --all-files -D= -W= -A= -Dwarnings --deny= --warn= --allow="
)
_CONFIGS = names("pytest.ini .pytest.ini pyproject.toml tox.ini setup.cfg setup.py .rspec .mocharc.js .mocharc.json")
_LOADED = names("conftest.py __init__.py")
_NAME = re.compile(r"[\w.+,@-]+")
_PLACE = re.compile(r"[:\[]")  # what follows is a place in a file
_BEHIND = re.compile(r"(?:::[\w.-]+)*(?:\[[^/\[\]]*\])?|:[0-9]+(?::[0-9]+)?")  # `::test_one[1]`, `:12`
_FILTER = re.compile(r"\w+(?:::\w+)*")  # the name of a test, or a part of one
_TARGET = re.compile(r"[A-Za-z_.:][A-Za-z0-9_.:/@+-]*")
_PROGRAM = re.compile(
    r"(?:(?:\./)?(?:\.venv/bin|venv/bin|node_modules/\.bin|vendor/bin|bin)/)?(?:python3(?:\.[0-9]+)?|(.+))"
)
_ASSIGNMENT = re.compile(r"[A-Za-z_]\w*\+?=")  # `make` and its kin take such a word for a variable
_PIECES = re.compile(r"[\s:=,;\[\]()]+")
_EXPANDED = re.compile(r"^[~@]|\$[A-Za-z{(]")
_TEST_NAME = re.compile(r"(?:^|[^A-Za-z])(?:[Tt]ests?|[Ss]pecs?)(?![a-z])|(?<=[a-z0-9])(?:Tests?|Specs?)(?![a-z])")
_CAMEL = re.compile(r"[A-Z]?[a-z0-9]+|[A-Z]+")
# Targets and scripts of such a name leave the workspace; a person may still write a rule for them.
_LEAVES = names(
    "deploy deployment publish release upload push ship rollout rollback promote install uninstall destroy provision"
    " submit login logout sudo prod production migrate"
)


class _Option(Struct, frozen=True):
    takes: str  # "": no value, "=": one, "?": perhaps one, attached; "~": a text
    fixed: bool


class _Part(Struct, frozen=True):
    """An option with its value, or an operand."""

    words: tuple[str, ...]
    looked_at: str | None = None  # what may be a path
    fixed: bool = False  # it belongs to the rule
    is_operand: bool = False


class _Unlisted(Exception):
    """An option that is not on the list, or a value that is missing."""


def is_known_pattern(pattern: str) -> bool:
    return words_of(pattern)[-1:] == [MORE]


def offered(words: Sequence[str], folder: str | None, workspace: str) -> str | None:
    """The rule to offer with a yes to this command; None if clew does not know the command well enough."""
    where = relative(folder or workspace, workspace)
    fixed = shape(words, folder or workspace, workspace)
    if fixed is None or where is None or not _SIMPLE.fullmatch(where):
        return None
    pattern = f"{shlex.join(fixed)} {MORE}" if where == "." else f"cd {where} && {shlex.join(fixed)} {MORE}"
    return pattern if allows(pattern, words, folder, workspace) else None


def allows(pattern: str, words: Sequence[str], folder: str | None, workspace: str) -> bool:
    """Whether the rule `pattern` allows a command of plain words. A runtime that names no folder works in the
    workspace."""
    where, fixed = _read(pattern)
    here = real(folder or workspace, workspace)
    if here is None or here != real(where, workspace) or not inside(here, workspace) or _has_link(where, workspace):
        return False
    wanted, found = shape(fixed, here, workspace), shape(words, here, workspace)
    if wanted is None or wanted != found or not _has_what_it_needs(words):
        return False
    return _is_own_repository(words, here, workspace) and _finds_no_way_out(words, here, workspace)


def allows_part(pattern: str, part: Part, workspace: str) -> bool:
    """The same for a command of a script, whichever folder it runs in and whatever its wildcards stand for."""
    folders = part.folders or (None,)
    return all(allows(pattern, words, folder, workspace) for folder in folders for words in part.readings)


def check(pattern: str) -> None:
    """Raises BadInput if the pattern means nothing, or less than it looks like."""
    _, fixed = _read(pattern)
    found = shape(fixed, "/workspace", "/workspace")
    if found is None:
        raise BadInput(f"clew keeps no list of options for `{shlex.join(fixed)}`; write `*` for whatever follows")
    if sorted(found) != sorted(fixed):
        raise BadInput(f"the `{MORE}` already stands for options and paths; write `{shlex.join(found)} {MORE}`")


def _read(pattern: str) -> tuple[str, Sequence[str]]:
    """The folder of a rule, from the workspace's point of view, and its words."""
    words = words_of(pattern)[:-1]
    return (words[1], words[3:]) if words[:1] == ["cd"] and words[2:3] == ["&&"] else (".", words)


def shape(words: Sequence[str], folder: str, workspace: str) -> tuple[str, ...] | None:
    """The words of the rule that covers this command: the program, what it is told to do, and the options that change
    that. None if the command is unknown, or if one of its words is not on the list or leaves the workspace."""
    found = _find(words)
    if found is None:
        return None
    length, known = found
    try:
        parts = list(_parts(words[length:], known))
        is_fine = all(_is_fine(part, known.operands, folder, workspace) for part in parts)
    except (_Unlisted, OSError, ValueError):
        return None
    options = sorted(part.words for part in parts if part.fixed and not part.is_operand)
    if not is_fine or _has_twins(options):
        return None
    targets = [part.words for part in parts if part.fixed and part.is_operand]
    return (*words[:length], *(word for each in (*options, *targets) for word in each))


def _has_twins(options: Sequence[tuple[str, ...]]) -> bool:
    """Whether an option is given twice; of `make -C a -C b` the order matters."""
    found = [words[0].partition("=")[0] for words in options]
    return len(found) != len(set(found))


def _find(words: Sequence[str]) -> tuple[int, Known] | None:
    """How many words name the known command, and what is known of it."""
    plain = (_program(words[0]), *words[1:]) if words else ()
    for length in range(min(len(plain), _LONGEST), 0, -1):
        if plain[:length] in KNOWN:
            return length, KNOWN[plain[:length]]
    for launcher, programs in LAUNCHERS.items():
        rest = plain[len(launcher) :]
        if plain[: len(launcher)] == launcher and rest and _program(rest[0]) in programs:
            inner = _find(rest)
            return (len(launcher) + inner[0], inner[1]) if inner else None
    return None


_LONGEST = max(map(len, KNOWN))


def _program(word: str) -> str:
    """`pytest` for `.venv/bin/pytest`, `python` for `python3.11`."""
    found = _PROGRAM.fullmatch(word)
    return found[1] or "python" if found else word


def _parts(words: Sequence[str], known: Known) -> Iterator[_Part]:
    left = list(words)
    options = _options(known.options, known.fixed)
    while left:
        word = left.pop(0)
        if word == "--" and known.behind is not None and options is not _options(known.behind, ""):
            options = _options(known.behind, "")
        elif word.startswith("-"):
            yield from _option(word, left, options, known.bundles)
        else:
            is_same = known.operands is Operands.SAME
            yield _Part((word,), word, fixed=is_same, is_operand=True)


def _option(word: str, left: list[str], options: Mapping[str, _Option], bundles: bool) -> Iterator[_Part]:
    """What a word that begins with a dash means; a value that is the next word is taken out of `left`."""
    name, has_value, value = word.partition("=")
    if word in options:
        yield _with_value(word, options[word], None, left)
    elif has_value and name in options and options[name].takes and len(name) > 2:
        yield _with_value(name, options[name], value, left)
    elif bundles or (word[2:].isdecimal() and word[:2] in options and options[word[:2]].takes):
        yield from _bundle(word, left, options)
    else:
        raise _Unlisted(word)


def _bundle(word: str, left: list[str], options: Mapping[str, _Option]) -> Iterator[_Part]:
    if word.startswith("--") or word == "-":
        raise _Unlisted(word)
    for at, letter in enumerate(word[1:], 2):
        option = options.get(f"-{letter}")
        if option is None:
            raise _Unlisted(word)
        yield _with_value(f"-{letter}", option, word[at:] or None if option.takes else None, left)
        if option.takes:
            return


def _with_value(name: str, option: _Option, value: str | None, left: list[str]) -> _Part:
    if value is None and option.takes in ("=", "~"):
        value = left.pop(0) if left else None
        if value is None or (option.takes == "=" and _ASSIGNMENT.match(value)):
            raise _Unlisted(name)
    if value is None:
        return _Part((name,), fixed=option.fixed)
    if option.takes == "~":
        return _Part((name,))
    words = (f"{name}={value}",) if name.startswith("--") else (name, value)
    return _Part(words, value, fixed=option.fixed)


@cache
def _options(text: str, fixed: str) -> Mapping[str, _Option]:
    neutral = _NEUTRAL.difference(fixed.split())
    return dict(_listed(item, neutral) for item in text.split())


def _listed(item: str, neutral: Set[str]) -> tuple[str, _Option]:
    takes = item[-1] if item[-1] in "=?~" else ""
    return item.removesuffix(takes), _Option(takes, fixed=takes != "~" and item not in neutral)


def _is_fine(part: _Part, operands: Operands, folder: str, workspace: str) -> bool:
    if part.fixed and not all(_may_be_named(word, part.is_operand) for word in part.words):
        return False
    if part.looked_at is None:
        return True
    if part.looked_at.startswith("-") or not _stays(part.looked_at, folder, workspace):
        return False
    if part.fixed and _has_link(part.looked_at, folder):  # which may be another folder than when the rule was made
        return False
    return not part.is_operand or _is_operand(part.looked_at, operands, folder, workspace)


def _may_be_named(word: str, is_target: bool) -> bool:
    """Whether a rule can hold this word as it is, and one would press a button for it."""
    parts = {part.lower() for part in _CAMEL.findall(word)} if is_target else set()
    return _SIMPLE.fullmatch(word) is not None and _LEAVES.isdisjoint(parts)


def _stays(text: str, folder: str, workspace: str) -> bool:
    """Whether a word, and whatever in it may be a path, lies in the workspace. Programs read `@file` for more options,
    and some expand `~` and variables."""
    pieces = (text, *_PIECES.split(text))
    return not any(map(_EXPANDED.search, pieces)) and all(_is_own(Path(folder, each), workspace) for each in pieces)


def _is_own(path: Path, workspace: str) -> bool:
    """Whether a path is part of the project itself: tools run what lies beside a file that they are given."""
    where = relative(str(path), workspace)
    return where is not None and (FOREIGN | GUARDED).isdisjoint(where.lower().split("/"))


def _is_operand(word: str, operands: Operands, folder: str, workspace: str) -> bool:
    if operands is Operands.SAME:
        return _TARGET.fullmatch(word) is not None
    if operands is Operands.PACKAGES:
        return (word == "." or word.startswith("./")) and _is_plain_path(word.removesuffix("/..."), folder)
    if operands is Operands.NUMBERS:
        return word.isascii() and word.isdecimal()
    if operands in (Operands.TESTS, Operands.FOLDERS):
        return _is_test(word, operands, folder, workspace)
    is_filter = _FILTER.fullmatch(word) is not None and not os.path.lexists(Path(folder, word))
    return operands is Operands.PATHS and (is_filter or _is_plain_pattern(word, folder))


def _is_plain_pattern(word: str, folder: str) -> bool:
    """A plain path, in which a `*` may stand for names: the tool itself looks for those, and finds no link that leads
    out, as none is there if it writes."""
    before, star, _ = word.partition("*")
    if not star:
        return _is_plain_path(word, folder)
    is_plain = all(map(_is_plain_name, word.replace("*", "x").removeprefix("./").split("/")))
    return is_plain and _is_plain_path(before.rpartition("/")[0] or ".", folder)


def _is_plain_path(word: str, folder: str) -> bool:
    """Whether every tool takes this word for the same path: no way up, no scheme, and no link."""
    parts = word.removeprefix("./").removesuffix("/").split("/")
    if word not in (".", "./") and not all(map(_is_plain_name, parts)):
        return False
    return not _has_link(word, folder)


def _has_link(path: str, folder: str) -> bool:
    """Whether a path leads elsewhere than it says, seen from this folder."""
    top = real("", folder)
    return top is None or real(path, folder) != os.path.normpath(Path(top, path))


def _is_plain_name(name: str) -> bool:
    return _NAME.fullmatch(name) is not None and name not in (".", "..") and not name.startswith(("@", "-"))


def _is_test(word: str, operands: Operands, folder: str, workspace: str) -> bool:
    """Whether what stands before `::name`, `:12` or `[1]` is there and is called like a test."""
    plain = _PLACE.split(word, maxsplit=1)[0]
    path = Path(folder, plain)
    where = relative(str(path), workspace)
    if where is None or not _is_plain_path(plain, folder) or not path.exists():
        return False
    if _BEHIND.fullmatch(word[len(plain) :]) is None:
        return False
    if operands is Operands.FOLDERS and path.is_dir():
        return not _has_config(path, Path(folder))
    called = (path.name, "" if operands is Operands.FOLDERS or path.is_dir() else path.parent.name)
    return any(map(_TEST_NAME.search, called)) and not _has_config(path.parent, Path(folder))


def _has_config(path: Path, folder: Path) -> bool:
    """Whether a folder on the way from where the command runs has a config of its own: pytest takes that instead."""
    between = [each for each in (path, *path.parents) if folder in each.parents]
    return any((each / name).exists() for each in between for name in _CONFIGS)


def fits_script(pattern: str, parts: Sequence[Part]) -> bool:
    """Whether the rule may be used for a script of these commands. A rule for git counts for one call of git only: all
    of a script is judged before it runs, and `git add` can make a folder a submodule, into which the next call goes."""
    found = _find(_read(pattern)[1])
    is_git = found is not None and found[1].is_git
    return not is_git or sum(any(map(_calls_git, part.readings)) for part in parts) == 1


def _calls_git(words: Sequence[str]) -> bool:
    found = _find(words)
    is_known = found is not None and (found[1].is_git or found[1].calls_git)
    return is_known or Path(words[0]).name == "git"


def _is_own_repository(words: Sequence[str], folder: str, workspace: str) -> bool:
    """Git runs programs that a repository's config names, so it has to be one in which it may even look unasked, and
    that has no other one below. What only calls git does without a repository."""
    found = _find(words)
    if found is None or not (found[1].is_git or found[1].calls_git):
        return True
    reason = git_repository.reason_to_ask(folder, workspace, git_repository.Looks(new_files=found[1].is_git))
    return reason is None or (found[1].calls_git and reason.code == "git.not_top")


def _has_what_it_needs(words: Sequence[str]) -> bool:
    found = _find(words)
    if found is None or not found[1].needs:
        return True
    options = {part.words[0] for part in _parts(words[found[0] :], found[1]) if not part.is_operand}
    return not options.isdisjoint(found[1].needs.split())


def _finds_no_way_out(words: Sequence[str], folder: str, workspace: str) -> bool:
    """Whether a command that changes files, or runs tests, finds no link through which it would do so outside."""
    found = _find(words)
    if found is None:
        return True
    known, parts = found[1], list(_parts(words[found[0] :], found[1]))
    searched = _searched([part.words[0] for part in parts if part.is_operand], folder)
    passes_over = names(known.passes_over) if _is_own(Path(folder), workspace) else frozenset[str]()
    if _changes_files(known, parts) and not link_walk.writes_inside(searched, workspace, passes_over):
        return False
    folders = {path if Path(path).is_dir() else str(Path(path).parent) for path in searched}
    if not _runs_tests(known):
        return True
    loads_inside = all(_loads_inside(Path(each), Path(folder), workspace) for each in folders)
    return loads_inside and link_walk.runs_inside(folders, workspace)


def _loads_inside(path: Path, folder: Path, workspace: str) -> bool:
    """Whether what a runner loads on its way to a folder lies in the workspace."""
    on_the_way = [each for each in (path, *path.parents) if folder in (each, *each.parents)]
    return all(relative(str(each / name), workspace) is not None for each in on_the_way for name in _CONFIGS | _LOADED)


def _runs_tests(known: Known) -> bool:
    return known.runs_tests or known.operands in (Operands.TESTS, Operands.FOLDERS)


def _changes_files(known: Known, parts: Sequence[_Part]) -> bool:
    options = {part.words[0].partition("=")[0] for part in parts if not part.is_operand}
    writes = known.writes == "*" or not options.isdisjoint(known.writes.split())
    return writes and options.isdisjoint(known.spares.split())


def _searched(operands: Sequence[str], folder: str) -> set[str]:
    """The files that a command is given, and the folders in which it looks for more. An operand that is no path is a
    pattern, which may mean any."""
    paths = [Path(folder, _PLACE.split(operand, maxsplit=1)[0]) for operand in operands]
    return {str(path) if path.exists() else folder for path in paths} or {folder}
