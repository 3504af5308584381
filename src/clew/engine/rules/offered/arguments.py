"""Parses the words of a known command into its options, with their values, and its operands."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence, Set
from functools import cache

from msgspec import Struct

from clew.engine.rules.offered.known_commands import KNOWN, LAUNCHERS, Known, Operands
from clew.engine.rules.shell.lenient import word_set

# Options that are not part of a rule: how much is printed, which tests run, how soon it stops.
_NEUTRAL = word_set(
    "-q -v -vv -s -x -k= -m= -t= -g= -j? --quiet --verbose --silent --exitfirst --maxfail= --lf --last-failed --ff"
    " --failed-first --tb= --durations= --showlocals --no-header --no-summary --color= --color --no-color --colors"
    " --disable-warnings --bail --bail! --bail= --failfast --fail-fast --no-fail-fast --grep= --testNamePattern="
    " --test-name-pattern= --name= --plain-name= --filter= -run= -skip= -count= -timeout= -short -failfast -json"
    " --nocapture --no-capture --show-output --exact --test-threads= --statistics --stacktrace --pretty --stats"
    " -n= -k -B -R= -race -Dtest? --numprocesses= --runInBand --max-warnings= --output-format= --select= --strict"
    " --max-line-length= --release --lib --info --offline --output-on-failure --tests= --no-build --trace"
    " --comments --log-failed --all-files -D= -W= -A= -Dwarnings --deny= --warn= --allow="
)
_PROGRAM = re.compile(
    r"(?:(?:\./)?(?:\.venv/bin|venv/bin|node_modules/\.bin|vendor/bin|bin)/)?(?:python3(?:\.[0-9]+)?|(.+))"
)
_ASSIGNMENT = re.compile(r"[A-Za-z_]\w*\+?=")  # `make` and others take such a word for a variable
_MAX_NAME_WORDS = max(map(len, KNOWN))


class _Option(Struct, frozen=True):
    takes: str  # a value: "": none, "=": one, "!": one, attached; "?": perhaps one, attached; "~": a text
    in_rule: bool


class Argument(Struct, frozen=True):
    """An option with its value, or an operand."""

    words: tuple[str, ...]
    possible_path: str | None = None  # a word that may be a path
    in_rule: bool = False  # it is part of the rule
    is_operand: bool = False


class UnknownOption(Exception):
    """An option is not on the list, or its value is missing."""


def find_known(words: Sequence[str]) -> tuple[int, Known] | None:
    """The number of words that name a known command, and its entry."""
    plain = (_program_name(words[0]), *words[1:]) if words else ()
    for length in range(min(len(plain), _MAX_NAME_WORDS), 0, -1):
        if plain[:length] in KNOWN:
            return length, KNOWN[plain[:length]]
    for launcher, programs in LAUNCHERS.items():
        rest = plain[len(launcher) :]
        if plain[: len(launcher)] == launcher and rest and _program_name(rest[0]) in programs:
            inner = find_known(rest)
            return (len(launcher) + inner[0], inner[1]) if inner else None
    return None


def _program_name(word: str) -> str:
    """`pytest` for `.venv/bin/pytest`, `python` for `python3.11`."""
    found = _PROGRAM.fullmatch(word)
    return found[1] or "python" if found else word


def parse_arguments(words: Sequence[str], known: Known) -> Iterator[Argument]:
    left = list(words)
    options = _option_table(known.options, known.not_neutral)
    after = _option_table(known.after_double_dash, "") if known.after_double_dash is not None else None
    while left:
        word = left.pop(0)
        if word == "--" and after is not None and options is not after:
            options = after
        elif word.startswith("-"):
            yield from _parse_option(word, left, options, known.bundles_flags)
        else:
            yield Argument((word,), word, in_rule=known.operands is Operands.TARGETS, is_operand=True)


def _parse_option(word: str, left: list[str], options: Mapping[str, _Option], bundles: bool) -> Iterator[Argument]:
    """Parse a word that begins with a dash. A value that is the next word is removed from `left`."""
    name, has_value, value = word.partition("=")
    if word in options:
        yield _option_with_value(word, options[word], None, left)
    elif has_value and name in options and options[name].takes and len(name) > 2:
        yield _option_with_value(name, options[name], value, left)
    elif bundles or (word[2:].isdecimal() and word[:2] in options and options[word[:2]].takes):
        yield from _parse_bundle(word, left, options)
    else:
        raise UnknownOption(word)


def _parse_bundle(word: str, left: list[str], options: Mapping[str, _Option]) -> Iterator[Argument]:
    if word.startswith("--") or word == "-":
        raise UnknownOption(word)
    for at, letter in enumerate(word[1:], 2):
        option = options.get(f"-{letter}")
        if option is None:
            raise UnknownOption(word)
        yield _option_with_value(f"-{letter}", option, word[at:] or None if option.takes else None, left)
        if option.takes:
            return


def _option_with_value(name: str, option: _Option, value: str | None, left: list[str]) -> Argument:
    if value is None and option.takes == "!":
        raise UnknownOption(name)
    if value is None and option.takes in ("=", "~"):
        value = left.pop(0) if left else None
        if value is None or (option.takes == "=" and _ASSIGNMENT.match(value)):
            raise UnknownOption(name)
    if value is None:
        return Argument((name,), in_rule=option.in_rule)
    if option.takes == "~":
        return Argument((name,))
    if option.takes == "?" and option.in_rule and not name.startswith("--"):
        raise UnknownOption(name)  # in a rule, `-O clean` would be an option and a target
    words = (f"{name}={value}",) if name.startswith("--") else (name, value)
    return Argument(words, value, in_rule=option.in_rule)


@cache
def _option_table(text: str, not_neutral: str) -> Mapping[str, _Option]:
    neutral = _NEUTRAL.difference(not_neutral.split())
    return dict(_parse_table_entry(item, neutral) for item in text.split())


def _parse_table_entry(item: str, neutral: Set[str]) -> tuple[str, _Option]:
    takes = item[-1] if item[-1] in "=!?~" else ""
    return item.removesuffix(takes), _Option(takes, in_rule=takes != "~" and item not in neutral)
