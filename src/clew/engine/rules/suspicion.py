"""The last net under deny and ask rules for commands. If it is not certain what a command runs, and all words of such a
rule's pattern occur somewhere in it, a person is asked: the words may be put together, or written to a script that is
run."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

from clew.engine.rules.patterns import split_words
from clew.engine.rules.shell.lenient import SHELLS, possible_commands
from clew.engine.rules.shell.strict import parse_commands

_RUNS_TEXT = SHELLS | {"source", ".", "eval", "xargs", "parallel"}  # what they run is not among their words
_QUOTES = str.maketrans("", "", "\"'\\")
_WILDCARDS = re.compile(r"[*?]|\[[^]]*\]?")
_SIGN = r"[A-Za-z0-9_-]"  # of a word


def has_words(pattern: str, command: str) -> bool:
    """Whether all words of the pattern that are not options occur in the command, as words, in any order."""
    words = _plain_words(pattern)
    texts = (command, command.translate(_QUOTES))
    return bool(words) and any(all(word.search(text) for word in words) for text in texts)


def is_explained(command: str) -> bool:
    """Whether the words of the command show everything that it runs."""
    if parse_commands(command) is None:
        return False
    return not any(words[0].rsplit("/", 1)[-1] in _RUNS_TEXT for words in possible_commands(command))


@cache
def _plain_words(pattern: str) -> tuple[re.Pattern[str], ...]:
    """The words of a pattern, of a path its last name; without options, and words of wildcards only."""
    names = (Path(word).name for word in split_words(pattern) if not word.startswith("-"))
    return tuple(_word_pattern(name) for name in names if name.strip("*?[]"))


def _word_pattern(name: str) -> re.Pattern[str]:
    """Finds a word; of one with wildcards its longest part without them."""
    part = re.escape(max(_WILDCARDS.split(name), key=len))
    return re.compile(part if part != re.escape(name) else rf"(?<!{_SIGN}){part}(?!{_SIGN})", re.IGNORECASE)
