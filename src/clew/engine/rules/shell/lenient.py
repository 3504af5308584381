"""Parses a command line leniently, for deny and ask rules: in doubt it finds one command too many. `strict.py` parses
strictly, for allow rules. Neither expands or runs anything, or reads files."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Sequence, Set
from functools import lru_cache

from clew.engine.rules.shell import here_documents
from clew.engine.rules.shell.wrappers import (
    ASKED_GIT_OPTIONS,
    ASKED_OPTIONS,
    FINDERS,
    INTERPRETERS,
    LAUNCHERS,
    WRAPPERS,
)


def word_set(text: str) -> frozenset[str]:
    return frozenset(text.split())


SHELLS = word_set("sh bash dash zsh ash ksh mksh fish csh tcsh pwsh")

_FIND_ACTIONS = re.compile(r"-(?:exec|ok|delete|fls|fprint|files0).*|--exec.*|-[xX]")
_FD_ACTIONS = re.compile(r"-[^-]*?[xX](.*)|--exec(?:-batch)?(?:=(.*))?")  # also in a bundle: `-Hx`
_RESERVED = word_set(
    "if then else elif fi do done case esac while until for in function select time coproc repeat foreach end always"
    " nocorrect noglob ! { } [["
)
_TRUSTED_SHELL = re.compile(r"(?:/(?:usr/|usr/local/|opt/homebrew/|run/current-system/sw/)?bin/)?(?:ba|z|da)?sh")
_SCRIPT_FLAGS = frozenset({"-c", "-lc"})
_MAX_SHELL_LEVELS = 2

# A word consists of characters that no shell treats specially, and of quotes in which nothing is special. No pattern
# here repeats a group possessively (`++`, `*+`): up to Python 3.11.4 such a pattern matches too much.
_BARE = r"[A-Za-z0-9_\-./,:@%+=]|[^\x00-\x7f]|'[^']*'(?!')"
_WRAPPED_WORD = re.compile(rf"""(?:{_BARE}|"(?:[^"$`\\!]|\\["$`\\])*")+""")
_QUOTED = re.compile(r"""'([^']*)'|"((?:[^"\\]|\\.)*)\"""", re.DOTALL)
_ESCAPED = re.compile(r'\\(["$`\\])')
_INVISIBLE = frozenset({"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp", "Zs"})


def has_invisible(script: str) -> bool:
    """Whether a script contains an invisible character other than a blank."""
    return any(char != " " and unicodedata.category(char) in _INVISIBLE for char in script)


def unwrap_shell(command: str) -> str:
    """The script inside `bash -lc SCRIPT`, up to two levels deep; the command itself if it is not such a call."""
    for _ in range(_MAX_SHELL_LEVELS):
        words = _lex(command, _WRAPPED_WORD)
        if not words or not _is_shell_call(words):
            break
        command = words[2]
    return command


def always_asks(words: Sequence[str]) -> bool:
    """Whether no rule can allow this command, because its words do not show what it runs, writes or deletes."""
    return always_asked_part(words) is not None


def always_asked_part(words: Sequence[str]) -> str | None:
    """What no rule can allow in this command: its program (`xargs`), or an option of it (`rg --pre`)."""
    name, rest = _base_name(words[0]), words[1:]
    acts = _FD_ACTIONS if name.startswith("fd") else _FIND_ACTIONS
    if name in WRAPPERS | SHELLS or (name in FINDERS and any(map(acts.fullmatch, rest))):
        return words[0]
    tables = [ASKED_GIT_OPTIONS.get(word, ()) for word in rest] if name == "git" else [ASKED_OPTIONS.get(name, ())]
    options = {option for table in tables for option in table}
    found = sorted(option for option in options if any(_may_be(word, option) for word in rest))
    return f"{name} {found[0]}" if found else None


def _may_be(word: str, option: str) -> bool:
    """Whether a word may be this option: a long one may be shortened, a letter may be one of several."""
    if option.startswith("--"):
        name = word.partition("=")[0]
        return len(name) > 2 and option.startswith(name)
    return word == option or (_SHORT.match(word) is not None and _SHORT.match(option) is not None and option[1] in word)


def _lex(text: str, word: re.Pattern[str]) -> list[str] | None:
    words, at, text = [], 0, text.strip(" ")
    while found := word.match(text, at):
        words.append(_QUOTED.sub(_unquote, found[0]))
        at = found.end()
        while text[at : at + 1] == " ":
            at += 1
        if at == len(text):
            return words
        if at == found.end():
            return None
    return None


def _unquote(quoted: re.Match[str]) -> str:
    return quoted[1] if quoted[1] is not None else _ESCAPED.sub(r"\1", quoted[2])


def _is_shell_call(words: Sequence[str]) -> bool:
    return len(words) == 3 and words[1] in _SCRIPT_FLAGS and _TRUSTED_SHELL.fullmatch(words[0]) is not None


def starts_with_program(words: Sequence[str]) -> bool:
    """Whether the first word is a program: not an assignment or a reserved word. No word may begin with `=`, which zsh
    replaces by the path of a program."""
    first = words[0]
    return bool(first) and "=" not in first and first not in _RESERVED and not any(w.startswith("=") for w in words)


def _base_name(word: str) -> str:
    return word.rsplit("/", 1)[-1]


class _TooMuch(Exception):
    """The command has more parts than are looked at, as no honest one has."""


@lru_cache(maxsize=4)  # every deny and ask rule needs it
def possible_commands(command: str) -> list[tuple[str, ...]]:
    """Every simple command that may run with this one: between operators, in substitutions, in the arguments of a
    shell, `sudo`, `xargs`, `uv run` or `find -exec`, or piped into a shell. With `ANY_COMMAND` among them it may be
    any."""
    found: dict[tuple[str, ...], None] = {}
    try:
        _find_commands(command, found)
    except _TooMuch:
        found[ANY_COMMAND] = None
    return list(found)


def _find_commands(command: str, found: dict[tuple[str, ...], None]) -> None:
    texts = [unwrap_shell(command)]
    seen = set(texts)
    feeds_shell = False  # from then on, printed text counts as a command too
    chars_left = _MAX_PASSES * (len(command) + 100)
    for text in texts:  # grows in the loop
        if chars_left < 0:
            raise _TooMuch
        separated = here_documents.separate(text)
        inner = [*separated.others, *separated.substituted, *_other_texts(separated.script)]
        programs = [(words, _nested_words(words)) for words in _program_calls(separated.script)]
        inner += separated.lines_of_bodies() if any(_reads_body(*each) for each in programs) else ()
        feeds_shell |= _PASSES_OUTPUT.search(text) is not None and any(_runs_shell(*each) for each in programs)
        for words, given in programs:
            called = (tuple(words), *_possible_starts(given))
            found.update(dict.fromkeys(called))
            inner += _commands_in_git_settings(words) if any(_base_name(each[0]) == "git" for each in called) else []
            inner += _scripts_in(given) if given or not feeds_shell else _possible_output(words[1:])
        texts += [each for each in dict.fromkeys(inner) if each not in seen]
        seen.update(inner)
        chars_left -= len(text)


ANY_COMMAND = ("\0",)
_MAX_PASSES = 16  # the text that is parsed in all, in lengths of the command: deeper nesting is an attack
_MAX_STARTS = 256
_MAX_BRACE_LEVELS = 6  # nested braces
_MAX_WORDS = 1_000
_MAX_FROM_JSON = 100  # words that its braces would make
_TOKEN = re.compile(
    r"""(?P<blank>[ \t]+|\$IFS\b|\$\{IFS\})
    | (?P<joined>\\\n)
    | \\(?P<escaped>.?)
    | \$'(?P<ansi>(?:[^'\\]|\\.)*)'?
    | '(?P<single>[^']*+)'?
    | \$?"(?P<double>(?:[^"\\]|\\.)*)"?
    | (?P<break><<<|\$?\(|(?:^|(?<=[ \t\n]))\#)
    | (?P<redirect>&>>?|>>|>[|&]|<>|<<-?|<&|[<>])
    | (?P<end>[;&|\n()`]+)
    | (?P<text>[^\s\\'"$<>;&|()`]+|.)""",
    re.DOTALL | re.VERBOSE,
)
_ANSI = re.compile(r"\\(?:x([0-9a-fA-F]{1,2})|u([0-9a-fA-F]{1,4})|U([0-9a-fA-F]{1,8})|([0-7]{1,3})|(.))", re.DOTALL)
_SUBSTITUTES = re.compile(r"\$\(|`")
_SUBSTITUTION = re.compile(
    r"\$\(\([^()]*\)\)|\$\[[^][]*\]|[$<>]\([^()]*\)|`[^`]*`|\$\{[^{}]*\}|\$(?:[0-9]|[A-Za-z_]\w*(?:\[[^]]*\])?|[@*#?$!-])"
)
_DEFAULT = re.compile(r"\$\{\w*:?[-+=]([^{}]*)\}")
_BRACE = re.compile(r"\{([^{},]*,[^{}]*)\}")
_RANGE = re.compile(r"\{(\w)\.\.(\w)(?:\.\.-?[0-9]+)?\}")
_PASSES_OUTPUT = re.compile(r"[|(`]")  # one command's output may become another's input or arguments
_READS_SCRIPT = SHELLS | {"source", "."}
_FORMAT = re.compile(r"%[^A-Za-z%]*[A-Za-z]")  # of printf
_BEFORE_PROGRAM = _RESERVED - {"time"} | {""}
_OPENERS = word_set("{ ]] then do else")  # a command may follow, at any position
_TAKES_CALLBACK = word_set("mapfile readarray compgen complete bind set hash")
_REMOVE_QUOTES = str.maketrans("", "", "\"'\\")
_SCRIPT = re.compile(r"[\s;&|()<>`$]")
_SHORT = re.compile(r"-[^-]")  # one-letter options
_SETTING = re.compile(r"(?:-c)?[A-Za-z][\w-]*\.[^=\s]*=!?(.+)", re.DOTALL)  # the value of `git -c`
_VERSION = re.compile(r"[0-9.]+$")
_DESCRIPTOR = re.compile(r"[0-9]+|\{\w+\}")
_ASSIGNMENT = re.compile(r"[A-Za-z_]\w*(?:\[[^]]*\])?\+?=")


def without_substitutions(text: str) -> str:
    return _SUBSTITUTION.sub("", text)


def _other_texts(text: str) -> Iterator[str]:
    """Other texts to parse: without substitutions, which may be empty; with their defaults instead; with `<<<` as `<`;
    with a carriage return as a blank, as few shells read it; and, from a substitution in double quotes on, without any
    quotes, as quotes nest there."""
    bare = without_substitutions(text)
    others = (
        bare,
        bare.replace('""', ""),
        _DEFAULT.sub(r"\1", text),
        text.replace("<<<", "<"),
        text.replace("\r", " "),
    )
    yield from (other for other in others if other != text)
    for token in _TOKEN.finditer(text):
        if token["double"] and _SUBSTITUTES.search(token["double"]):
            yield text[token.start("double") :].translate(_REMOVE_QUOTES)
            return


class _Line:
    """Collects the words of one simple command."""

    def __init__(self) -> None:
        self.words: list[str] = []
        self._word: str | None = None
        self._inputs: list[str] = []  # files that it reads
        self._redirect = ""  # the sign before a target, which is not a word of the command

    def add(self, piece: str) -> None:
        self._word = (self._word or "") + piece

    def blank(self) -> None:
        if self._word is None:
            return
        if not self._redirect:
            self.words.append(self._word)
        elif self._redirect == "<":
            self._inputs.append(self._word)
        self._redirect, self._word = "", None

    def redirect(self, sign: str) -> None:
        if self._word is not None and _DESCRIPTOR.fullmatch(self._word):
            self._word = None
        self.blank()
        self._redirect = sign

    def end(self) -> Iterator[list[str]]:
        """The words; and those with the script that a shell or an interpreter reads: `sh < x` is `sh x`."""
        self.blank()
        yield self.words
        if self._inputs and any(map(_runs_scripts, self.words)):
            yield [*self.words, *self._inputs]
        self.words, self._inputs, self._redirect = [], [], ""


def _split_commands(text: str) -> Iterator[list[str]]:
    line = _Line()
    for token in _TOKEN.finditer(text):
        kind, piece = token.lastgroup, token[token.lastgroup or 0]
        if kind in ("end", "break"):
            yield from line.end()
        elif kind == "blank":
            line.blank()
        elif kind == "redirect":
            line.redirect(piece)
        elif kind != "joined":
            line.add(_ANSI.sub(_decode_ansi, piece) if kind == "ansi" else piece.replace("\\\n", ""))
    yield from line.end()


def _runs_scripts(word: str) -> bool:
    return _base_name(word) in _READS_SCRIPT or is_interpreter(word)


def is_interpreter(word: str) -> bool:
    return _VERSION.sub("", _base_name(word)) in INTERPRETERS


def _decode_ansi(found: re.Match[str]) -> str:
    digits = found[1] or found[2] or found[3]
    if digits or found[4]:
        code = int(digits, 16) if digits else int(found[4], 8)
        return chr(code) if code < 0x110000 else ""
    return {"n": "\n", "t": "\t", "r": "\r"}.get(found[5], found[5])


def _program_calls(text: str) -> Iterator[list[str]]:
    """Each simple command, from each word on that may be its program."""
    for words in _split_commands(text):
        readings = [words, *_expand_braces(words)]
        for each in readings:
            opened = [at + 1 for at, word in enumerate(each) if word in _OPENERS]
            if len(opened) > _MAX_STARTS:
                raise _TooMuch
            for at in (0, *opened):
                yield from _without_prefixes(each[at:])


def _without_prefixes(words: list[str]) -> Iterator[list[str]]:
    """The command without what precedes its program; zsh runs `=rm` like `rm`."""
    if words := _strip_prefix(words):
        yield words
        if len(words[0]) > 1 and words[0].startswith("="):
            yield [words[0][1:], *words[1:]]


def _strip_prefix(words: list[str]) -> list[str]:
    """Remove reserved words, assignments and empty words from the start."""
    at = 0
    while at < len(words) and (words[at] in _BEFORE_PROGRAM or _ASSIGNMENT.match(words[at])):
        at += 2 if words[at] in ("function", "repeat") else 1  # followed by a name or a number, not a program
    return words[at:]


def _nested_words(words: list[str]) -> list[str]:
    """The words that may be an inner command; a single word that contains a script is one."""
    name = _base_name(words[0])
    if name in WRAPPERS | SHELLS | _TAKES_CALLBACK:
        return words[1:]
    if name in FINDERS:
        return _words_after_action(words, _FD_ACTIONS if name.startswith("fd") else _FIND_ACTIONS)
    markers = LAUNCHERS.get(name, LAUNCHERS.get(_VERSION.sub("", name)))
    if markers is not None:
        return _words_after_launcher(words[1:], markers)
    return words if len(words) == 1 and _SCRIPT.search(words[0]) else []


def _words_after_action(words: list[str], acts: re.Pattern[str]) -> list[str]:
    """The words after the option that runs a command; with `fd` the command may be attached, as in `-Hxrm`."""
    for at, word in enumerate(words):
        if found := acts.fullmatch(word):
            return [*filter(None, found.groups()), *words[at + 1 :]]
    return []


def _runs_shell(words: list[str], given: list[str]) -> bool:
    return any(_base_name(word) in _READS_SCRIPT for word in (words[0], *given))


def _reads_body(words: list[str], given: list[str]) -> bool:
    """Whether a command may run what a here-document feeds to it: a shell, or a program such as `ssh`."""
    return _base_name(words[0]) in WRAPPERS or _runs_shell(words, given)


def _words_after_launcher(words: list[str], markers: Set[str]) -> list[str]:
    """The words from the first one on that precedes a command. The command may be attached, as in `-mpytest`, and the
    option may be a letter in a bundle, as in `-Im`. If `markers` is empty: all words."""
    letters = {word[1] for word in markers if len(word) == 2}
    options = tuple(f"{word}=" for word in markers if word.startswith("--"))
    starts = [
        at
        for at, word in enumerate(words)
        if word in markers or word.startswith(options) or (_SHORT.match(word) and letters & set(word))
    ]
    return words[starts[0] :] if starts else [] if markers else words


def _commands_in_git_settings(words: list[str]) -> list[str]:
    """Commands that git may run because of a setting among its words: directly, or by an alias as its own command."""
    values = [found[1] for word in words[1:] if (found := _SETTING.fullmatch(word))]
    return [text for value in values for text in (value, f"git {value}")]


def _expand_braces(words: list[str]) -> list[list[str]]:
    """Expand braces: bash takes `{rm,-rf,x}` for three words."""
    expanded = [each for word in words for each in _expand_word(word)]
    if expanded == words:
        return []
    if len(expanded) > _MAX_WORDS:
        raise _TooMuch
    return [expanded]


def _expand_word(word: str) -> list[str]:
    """The words that braces make of one. Of those in quotes, as JSON has, some are enough: no program is called so."""
    found = [word]
    for _ in range(_MAX_BRACE_LEVELS):
        if not any(map(_has_braces, found)) or len(found) > _MAX_STARTS:
            break
        found = [each for one in found for each in _expand_word_once(one)]
    if '"' in word:
        return found[:_MAX_FROM_JSON]
    if any(map(_has_braces, found)):
        raise _TooMuch
    return found


def _has_braces(word: str) -> bool:
    return bool(_BRACE.search(word) or _RANGE.search(word))


def _expand_word_once(word: str) -> list[str]:
    word = _RANGE.sub(r"{\1,\2}", word)  # the words between the two ends do not matter
    found = _BRACE.search(word)
    if found is None:
        return [word]
    choices = list(dict.fromkeys(found[1].split(",")))
    if len(choices) > _MAX_STARTS and '"' not in word:
        raise _TooMuch
    return [f"{word[: found.start()]}{each}{word[found.end() :]}" for each in choices[:_MAX_STARTS]]


def _possible_starts(words: list[str]) -> list[tuple[str, ...]]:
    """The inner commands that may start in these words. Which options take a value is not known, so a command may start
    at any word that is not an option, and after the letter of one: `env -Srm`."""
    starts = [at for at, word in enumerate(words) if _ASSIGNMENT.match(word) is None and word not in ("-", "--")]
    if len(starts) > _MAX_STARTS:
        raise _TooMuch
    plain = [(_strip_option_letter(words[at]), *words[at + 1 :]) for at in starts]
    return [each for each in plain if each[0]]


def _strip_option_letter(word: str) -> str:
    return "" if word.startswith("--") else word[2:] if word.startswith("-") else word.removeprefix("=")


def _scripts_in(words: list[str]) -> list[str]:
    values = [word.partition("=")[2] if word.startswith("--") else word for word in words]
    values += [word[at:] for word in words if re.match(r"-\w", word) for at in (2, 3)]
    aliased = (word[found.end() :] for word in words if (found := _ASSIGNMENT.match(word)))
    return [value for value in values if _SCRIPT.search(value)] + [value for value in aliased if value]


def _possible_output(words: list[str]) -> list[str]:
    """About what `echo` or `printf` prints of these words: as they are, and with the first one as a format."""
    plain = next((words[at:] for at, word in enumerate(words) if not word.startswith("-")), [])
    values = iter(plain[1:])
    filled = _FORMAT.sub(lambda _: next(values, ""), plain[0]) if plain else ""
    made = (" ".join(plain), " ".join(plain[1:]), filled)
    return [text.replace("\\n", "\n") for text in dict.fromkeys(made) if text]
