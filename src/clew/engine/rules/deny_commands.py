"""Matches a command with the pattern of a deny or ask rule: loosely, also if its words are in another order or spelled
otherwise."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping, Sequence
from fnmatch import fnmatchcase
from pathlib import Path
from types import MappingProxyType

from clew.engine.rules.patterns import WILDCARD
from clew.engine.rules.shell.lenient import ANY_COMMAND, is_interpreter, word_set

_TAKES_SEVERAL_TARGETS = word_set(
    "make gmake bmake nmake remake mvn mvnw mvnd gradle gradlew just task rake ninja samu ant sbt mill lein invoke inv"
    " fab nox doit scons waf bazel bazelisk buck2 pants turbo nx lerna run-s run-p npm-run-all wireit mage xmake"
)
_TAKES_ABBREVIATIONS = word_set("npm pnpm yarn bun cargo")  # of a subcommand: `npm i`
_OPTIONAL_GROUPS = dict.fromkeys(
    word_set("docker podman nerdctl"), word_set("image container")
)  # words that may be left out
VERSIONED = re.compile(r"(python|pypy|pip|node|ruby|gem|perl|php|lua|gcc|g\+\+|clang|clang\+\+)-?([0-9.]*)")
_MAX_STARTS = 256
_MAX_NAME, _MAX_WILDCARDS = 255, 8  # in a word that a shell expands
_WILDCARDS = re.compile(r"\[[!^]?\]?[^]]*\]|[*?]")
_CLASS = re.compile(r"\[[:.=]")  # as in `[[:alpha:]]`
_PIECES = re.compile(r"[=:+]")  # inside a word: `--file=x`, `HEAD:main`
_SCRIPT_RUNNERS = word_set("run run-script rum urn")  # of npm
_BUNDLE = re.compile(r"-[A-Za-z0-9]{1,4}")
# Options that mean the same, or are as bad, by program. `+?*` is a branch that git overwrites: `git push origin +main`.
_EQUAL_OPTIONS: Mapping[str, tuple[frozenset[str], ...]] = MappingProxyType(
    {
        "git": (
            word_set("-f --force --force-with-lease +?* -D"),
            word_set("-n --no-verify"),
            word_set("-d --delete -D"),
        ),
        "rm": (word_set("-r -R --recursive"), word_set("-f --force")),
    }
)
_BOTH: Mapping[tuple[str, str], tuple[str, ...]] = MappingProxyType({("git", "-D"): ("-d", "-f")})


def deny_matches_command(pattern: Sequence[str], words: Sequence[str]) -> bool:
    """Whether a deny or ask pattern may mean this command. More words may follow. Options between the words, with a
    value each, are skipped: `git push` also matches `git -C . push`. The pattern's own options, with their values, may
    stand anywhere: `git push --force` also matches `git push origin --force`. If a program takes several targets, the
    others are skipped: `make deploy` also matches `make test deploy`. So are other files: `cat .env` also matches
    `cat x ./.env`."""
    if words == ANY_COMMAND:
        return True
    fixed = pattern[:-1] if pattern and pattern[-1] == "*" else pattern
    if not fixed:
        return bool(pattern)
    fixed = _usual_name(fixed)
    if len(words) > _MAX_STARTS and is_interpreter(words[0]):
        return True
    return any(_matches(fixed, each) for each in _readings(words))


def _readings(words: Sequence[str]) -> Iterator[Sequence[str]]:
    """The command, and others that it also is: `uv pip install` is `pip install`, and `python x.py` runs `x.py`."""
    yield _usual_name(words)
    if Path(words[0]).name == "uv" and "pip" in words:
        yield words[words.index("pip") :]
    if is_interpreter(words[0]):
        yield from (words[at:] for at in range(1, len(words)))


def _usual_name(words: Sequence[str]) -> Sequence[str]:
    return ("docker", "compose", *words[1:]) if Path(words[0]).name == "docker-compose" else words


def _matches(fixed: Sequence[str], words: Sequence[str]) -> bool:
    if not _may_be_program(fixed[0], words[0]):
        return False
    name = Path(words[0]).name
    takes_several = not _TAKES_SEVERAL_TARGETS.isdisjoint({fixed[0], name})
    plain, options = _without_values(fixed[1:], words[1:])
    plain = [word for word in plain if word not in _OPTIONAL_GROUPS.get(name, ())]
    if not all(_has_option(name, each, words[1:]) for each in options):
        return False
    given = _normalized(name, words[1:], plain[:1])
    ordered, anywhere = _split_at_file(name, plain)
    if not all(any(_may_mean(each, word) for word in given) for each in anywhere):
        return False
    others = [word for word in given if not any(_may_mean(each, word) for each in anywhere)]
    return any(_occurs_in_order(ordered, each, takes_several) for each in (given, others))


def _split_at_file(name: str, pattern: Sequence[str]) -> tuple[Sequence[str], Sequence[str]]:
    """The words that stand in this order at the beginning, and those from the first file on, which may stand anywhere:
    most programs take several files. Also `git push` takes several branches."""
    is_push = name == "git" and list(pattern[:1]) == ["push"]
    first = 1 if is_push else next((at for at, word in enumerate(pattern) if _is_file(word)), len(pattern))
    return pattern[:first], pattern[first:]


def _is_file(word: str) -> bool:
    return "." in word or "/" in word


def _may_mean(pattern: str, word: str) -> bool:
    """Whether a word, or a part of it behind an option or a sign, may be this one: a branch in any spelling, or a file
    of the same name in any folder, as the command may run there."""
    parts = {word, re.sub(r"^-\w", "", word), *_PIECES.split(word)}
    name = Path(pattern).name
    names_file = _is_file(pattern) and name.strip("*?[].")
    return any(
        _may_match_word(pattern, part)
        or _may_match_word(pattern, part.removeprefix("refs/heads/"))
        or (names_file and _may_match_word(name.lower(), Path(part).name.lower()))
        for part in parts
        if part
    )


def _without_values(pattern: Sequence[str], words: Sequence[str]) -> tuple[list[str], list[str]]:
    """The plain words and the options of a pattern, without options that the command has with the same value: in
    `kubectl --context prod` the word behind the option may be its value, in `git push --force origin` it is not."""
    plain, options = [], []
    left = list(pattern)
    while left:
        word = left.pop(0)
        if not word.startswith("-"):
            plain.append(word)
        elif left and not left[0].startswith("-") and _has_value(word, left[0], words):
            left.pop(0)
        else:
            options.append(word)
    return plain, options


def _has_value(option: str, value: str, words: Sequence[str]) -> bool:
    """Whether an option is among the words with this value: `-o value`, `-ovalue`, `-o=value`, `-xo value`."""
    following = (*words[1:], "")
    is_letter = re.fullmatch(r"-[A-Za-z0-9]", option) is not None
    for word, after in zip(words, following, strict=False):  # one more follows if there are no words
        name, _, attached = word.partition("=")
        given = [attached] if _is_option(option, name) else []
        if is_letter and (bundle := re.match(rf"-[A-Za-z0-9]*?{option[1]}", word)):
            given += [word[bundle.end() :], word[bundle.end() :].removeprefix("=")]
        if word.startswith("-") and any(_may_mean(value, each or after) for each in given):
            return True
    return False


def _is_option(option: str, name: str) -> bool:
    """Whether this is the option, perhaps shortened, or with another number of dashes: `-auto-approve`."""
    if not name.startswith("-") or len(option) < 3 or len(name) < 3:
        return name == option
    plain = name.lstrip("-")
    return fnmatchcase(plain, option.lstrip("-")) or (option.startswith("--") and option[2:].startswith(plain))


def _normalized(name: str, words: Sequence[str], wanted: Sequence[str]) -> Sequence[str]:
    """The words of a command with the usual form of its subcommand: `npm pub` is `npm publish`, `docker image push` is
    `docker push`."""
    if name in _OPTIONAL_GROUPS:
        return [word for word in words if word not in _OPTIONAL_GROUPS[name]]
    if name not in _TAKES_ABBREVIATIONS or not wanted:
        return words
    (full,) = wanted
    same = _SCRIPT_RUNNERS if full in _SCRIPT_RUNNERS else frozenset[str]()
    return [full if word and (full.startswith(word) or word in same) else word for word in words]


def _may_be_program(pattern: str, program: str) -> bool:
    """Whether a program may be the one that the pattern names, in any folder. `/bin/r?` and `RM` (on a disk that
    ignores case) match `rm`. Of `scripts/deploy.sh` the last name is enough: the command may run in that folder."""
    program = _plain_path(program.lower().removesuffix(".exe"))
    called = {program, Path(program).name}
    if _is_other_version(Path(pattern.lower()).name, Path(program).name):
        return True
    return any(
        fnmatchcase(name, wanted) or (name.strip("*?[]") and _may_expand_to(name, wanted))
        for name in called
        for wanted in _program_spellings(pattern.lower())
    )


def _is_other_version(wanted: str, name: str) -> bool:
    """`python` and `python3.11` are the same program; `python2` and `python3` are not."""
    first, second = VERSIONED.fullmatch(wanted), VERSIONED.fullmatch(name)
    if first is None or second is None or first[1] != second[1]:
        return False
    return first[2].startswith(second[2]) or second[2].startswith(first[2])


def _program_spellings(program: str) -> set[str]:
    if "/" not in program:
        return {program}
    path, name = _plain_path(program), Path(program).name
    return {f"*/{path}"} | ({path, name} if name.strip("*?[]") else {path} if "/" in path else set())


def _plain_path(word: str) -> str:
    return os.path.normpath(word) if "/" in word and "://" not in word else word


def _has_option(name: str, option: str, words: Sequence[str]) -> bool:
    """Whether an option of the program, or one that means the same, may be among the words."""
    equal = _EQUAL_OPTIONS.get(name, ())
    parts = [f"-{letter}" for letter in option[1:]] if equal and _BUNDLE.fullmatch(option) else [option]
    if (name, option) in _BOTH:
        return _is_among(option, words) or all(_has_option(name, each, words) for each in _BOTH[name, option])
    spellings = [{part}.union(*(each for each in equal if part in each)) for part in parts]
    return _is_among(option, words) or all(any(_is_among(each, words) for each in part) for part in spellings)


def _is_among(option: str, words: Sequence[str]) -> bool:
    """Whether an option may be among the words: with a value, shortened, or as one letter of a bundle."""
    if _BUNDLE.fullmatch(option):
        letters = {letter for word in words if re.fullmatch(r"-[A-Za-z0-9]+", word) for letter in word}
        if letters.issuperset(option):
            return True
    return any(
        fnmatchcase(word, option) or _is_option(option, word.partition("=")[0]) or _may_become_option(word, option)
        for word in words
    )


def _may_become_option(word: str, option: str) -> bool:
    """Whether a shell may expand a word to an option: `-r?`, or `*` if there is a file of that name."""
    if not WILDCARD.search(word.partition("=")[0]):
        return False
    is_bundle = word[0] in "*?[" and set(word).issubset({*option, *"*?[]"})
    return word.startswith("-") or is_bundle or _may_expand_to(word, option)


def _may_expand_to(word: str, text: str) -> bool:
    """Whether a shell may expand the wildcards of a word to this text, which may have some too. If that takes too long
    to find out, it may."""
    if not WILDCARD.search(word):
        return False
    word = re.sub(r"\*+", "*", word)
    if WILDCARD.search(text):
        ends = [(WILDCARD.split(each)[0], re.split(r"[*?\]]", each)[-1]) for each in (word, text)]
        (before, after), (start, end) = ends
        return (before.startswith(start) or start.startswith(before)) and (after.endswith(end) or end.endswith(after))
    closed = word.rfind("]") + 1  # behind it, a `[` is a sign like others
    literal, count = _WILDCARDS.subn("", word[:closed])
    rest, more = re.subn(r"[*?]", "", word[closed:])
    if len(literal) + len(rest) > len(text):
        return False
    is_complex = len(word) > _MAX_NAME or count + more > _MAX_WILDCARDS or _CLASS.search(word)
    return bool(is_complex) or fnmatchcase(text, word)


def _occurs_in_order(pattern: Sequence[str], words: Sequence[str], skips_any: bool) -> bool:
    """Whether the words hold those of the pattern in their order, with options between them. `reached` maps each
    position in the pattern that may be reached by now to whether the next word may be the value of an option.
    `+nightly` is an option of cargo."""
    reached = {0: skips_any}
    for word in words:
        option = skips_any or word.startswith(("-", "+"))
        steps = {at + 1: skips_any for at in reached if at < len(pattern) and _may_match_word(pattern[at], word)}
        reached = {at: option for at, skips in reached.items() if option or skips or at == len(pattern)} | steps
    return len(pattern) in reached


def _may_match_word(pattern: str, word: str) -> bool:
    """Whether a word matches, also if it is another spelling of a path (`./scripts/x.py`, `/work/scripts/x.py`), or has
    wildcards that a shell expands: `pus?`."""
    if fnmatchcase(word, pattern) or _may_expand_to(word, pattern):
        return True
    if "/" not in pattern:
        return False
    pattern, word = _plain_path(pattern), _plain_path(word)
    return fnmatchcase(word, pattern) or fnmatchcase(word, f"*/{pattern}") or _may_expand_to(word, pattern)
