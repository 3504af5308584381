"""The last net under deny and ask rules for commands. If it is not certain what a command runs, and all words of such a
rule's pattern occur somewhere in it, a person is asked: the words may be put together, or be code that another program
runs."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import cache
from itertools import takewhile
from pathlib import Path

from clew.engine.rules.deny_commands import VERSIONED
from clew.engine.rules.patterns import split_words
from clew.engine.rules.shell.lenient import (
    SHELLS,
    is_interpreter,
    possible_commands,
    without_substitutions,
    word_set,
)
from clew.engine.rules.shell.strict import Command, parse_commands, word_texts

_RUNS_TEXT = SHELLS | {"source", ".", "eval", "xargs", "parallel", "alias"}  # what they run is not among their words
_QUOTES = str.maketrans("", "", "\"'\\")
_WILDCARDS = re.compile(r"[*?]|\[[^]]*\]?")
_SIGN = r"[A-Za-z0-9_-]"  # of a word
_MAY_BE_CODE = re.compile(r"[\s(]")
# Programs and options that only print, store or search a text.
_READERS = word_set("echo printf grep egrep fgrep rg")
_RUNS_PROGRAM = ("--pre", "--hostname-bin")  # of rg
_FILTERS = _READERS | word_set("cat head tail wc sort uniq nl cut tr")
_TEXT_OPTIONS: Mapping[tuple[str, ...], str] = {
    **dict.fromkeys((("git", each) for each in ("commit", "tag", "merge", "stash", "notes")), r"-[a-z]*m|--message"),
    **dict.fromkeys((("git", each) for each in ("log", "show", "shortlog", "rev-list")), r"-[SG]|--grep|--author"),
    **dict.fromkeys((("gh", each) for each in ("pr", "issue", "release")), r"-[tbn]|--title|--body|--notes"),
}


def may_hide(pattern: str, command: str) -> bool:
    """Whether a command has all words of the pattern, and may run them in a way that its own words do not show."""
    return _has_words(pattern, command) and not _is_explained(pattern, command)


def _has_words(pattern: str, command: str) -> bool:
    """Whether all words of the pattern that are not options occur in the command, as words, in any order."""
    words = _plain_words(pattern)
    texts = (command, without_substitutions(command))
    spellings = (spelling for text in texts for spelling in (text, text.translate(_QUOTES)))
    return bool(words) and any(all(word.search(text) for word in words) for text in spellings)


def _is_explained(pattern: str, command: str) -> bool:
    """Whether the words of the command show everything that it runs."""
    script = parse_commands(command)
    if script is None or any(map(_runs_other_words, possible_commands(command))):
        return False
    if any(each.reads_pipe and is_interpreter(each.words[0].text) for each in script):
        return False
    return not any(_runs_one_word(pattern, script, at) for at in range(len(script)))


def _runs_other_words(words: Sequence[str]) -> bool:
    """Whether a command runs what is not among its words, or stores words for a later one to run."""
    name = words[0].rsplit("/", 1)[-1]
    sets_alias = name == "git" and "config" in words and any(word.lower().startswith("alias.") for word in words)
    return name in _RUNS_TEXT or sets_alias


def _runs_one_word(pattern: str, script: Sequence[Command], at: int) -> bool:
    """Whether a command has a word that may be code with all words of the pattern: `python -c 'run("git push")'`."""
    words = word_texts(script[at])
    code = [index for index, word in enumerate(words) if _MAY_BE_CODE.search(word) and _has_words(pattern, word)]
    after = (each.words[0].text for each in takewhile(lambda each: each.reads_pipe, script[at + 1 :]))
    return bool(code) and not (all(_is_text(words, index) for index in code) and _FILTERS.issuperset(after))


def _is_text(words: Sequence[str], index: int) -> bool:
    """Whether a word is only printed, stored or searched for."""
    if words[0] in _READERS:
        return not any(word.startswith(_RUNS_PROGRAM) for word in words)
    option = _TEXT_OPTIONS.get(tuple(words[:2]))
    if option is None or index < 2:
        return False
    return re.fullmatch(option, words[index - 1]) is not None or re.match(f"(?:{option})=", words[index]) is not None


@cache
def _plain_words(pattern: str) -> tuple[re.Pattern[str], ...]:
    """The words of a pattern, of a path its last name; without options, and words of wildcards only."""
    names = (Path(word).name for word in split_words(pattern) if not word.startswith("-"))
    return tuple(_word_pattern(name) for name in names if name.strip("*?[]"))


def _word_pattern(name: str) -> re.Pattern[str]:
    """Finds a word; of one with wildcards its longest part without them; of `python` any version."""
    if found := VERSIONED.fullmatch(name):
        return re.compile(rf"(?<!{_SIGN}){re.escape(found[1])}-?[0-9.]*(?!{_SIGN})", re.IGNORECASE)
    part = re.escape(max(_WILDCARDS.split(name), key=len))
    return re.compile(part if part != re.escape(name) else rf"(?<!{_SIGN}){part}(?!{_SIGN})", re.IGNORECASE)
