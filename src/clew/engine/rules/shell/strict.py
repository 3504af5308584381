"""Reads a command line strictly, before something is allowed: the simple commands that a shell would run, each as its
words. Two independent readers have to agree: a narrow lexer of our own, and tree-sitter's grammar of bash. Whatever one
of them does not fully explain, or another shell might read differently, has no reading. It expands nothing."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import cache
from typing import TYPE_CHECKING

from msgspec import Struct

from clew.engine.rules.shell.lenient import has_invisible, starts_with_program, unwrap_shell, word_set

if TYPE_CHECKING:
    from tree_sitter import Node, Parser

# Outside of quotes: characters that no shell treats specially, and a backslash before one that it would.
_BARE = r"[A-Za-z0-9_\-./,:@%+=]|[^\x00-\x7f]"
_ESCAPED = r"\\[()\[\]{}*?;|&<>#~^$\"'`! ]"
_SINGLE = r"'[^'\n]*'(?!')"
_DOUBLE = r"\"(?:[^\"$`\\!\n]|\\[^\n!])*\""
# `HEAD~2^`: to some zsh that is a pattern, which can only stand for what precedes the sign.
_REVISION = r"(?<=[A-Za-z0-9@])[~^][~^0-9]*"
_WILD = r"[*?]"
_WORD = re.compile(rf"(?:{_BARE}|{_ESCAPED}|{_SINGLE}|{_DOUBLE}|{_REVISION}|{_WILD})+")
_PIECE = re.compile(
    rf"(?P<wild>{_WILD})|(?P<revision>{_REVISION})|\\(?P<escaped>.)|'(?P<single>[^']*)'|\"(?P<double>(?:[^\"\\]|\\.)*)\""
    r"|(?P<bare>.)"
)
_IN_DOUBLE = re.compile(r"\\([\"$`\\])")
# Redirections that write and read no file.
_HARMLESS = re.compile(r"(?:[12]?>(?:&[12]| ?/dev/null)|< ?/dev/null)(?=[ ;|\n]|$)")
_OPERATOR = re.compile(r"(?:&&|\|\|(?!\|)|\|(?![|&])|;(?![;&|])|\n)[ \n]*")

_UNDERSTOOD_NODES = word_set(
    "program list pipeline redirected_statement command command_name word number string string_content raw_string"
    ' concatenation file_redirect file_descriptor && || ; | " > >& <'
) | {"\n"}
_WORD_NODES = word_set("command_name word number string raw_string concatenation")
_MAX_SCRIPT_LENGTH = 32_768
_MAX_COMMANDS = 30  # commands of a script
# In a locale such as GBK or Shift JIS a character that is no ASCII takes the next byte along, if it is one of these.
_EATEN_BY_MULTIBYTE = re.compile(r"[^\x00-\x7f][\\|]")


class Word(Struct, frozen=True):
    """One word of a command, without its quotes."""

    text: str
    wildcards: tuple[int, ...] = ()  # where in the text a `*` or `?` stands for other characters
    revision_base: str | None = None  # of a revision such as `HEAD~2`: what precedes the sign


class Command(Struct, frozen=True):
    words: tuple[Word, ...]
    reads_pipe: bool = False  # through a pipe, by the command before it


def parse_commands(script: str) -> list[Command] | None:
    """The simple commands of a script of pipes and sequences. None if it is, or may be, anything else."""
    script = unwrap_shell(script).strip(" \n")
    if (
        len(script) > _MAX_SCRIPT_LENGTH
        or has_invisible(script.replace("\n", " "))
        or _EATEN_BY_MULTIBYTE.search(script)
    ):
        return None
    lexed, fed = _lex(script)
    if (
        not lexed
        or len(lexed) > _MAX_COMMANDS
        or lexed != _parse_with_grammar(script)
        or not all(map(_is_plain, lexed))
    ):
        return None
    return [Command(tuple(map(_parse_word, words)), at in fed) for at, words in enumerate(lexed)]


def _is_plain(written: Sequence[str]) -> bool:
    """Zsh takes a word that begins with `=` for the path of a program, also if a pair of quotes precedes the sign."""
    words = list(map(_parse_word, written))
    return not words[0].wildcards and starts_with_program([word.text for word in words])


def _lex(script: str) -> tuple[list[list[str]], set[int]]:
    """Our own reading: the words of each command as they are written, none if there is no reading; and which of the
    commands are fed by the one before."""
    found: list[list[str]] = [[]]
    fed: set[int] = set()
    at = 0
    while at < len(script):
        if operator := _OPERATOR.match(script, at):
            if operator[0].strip() == "|":
                fed.add(len(found))
            found.append([])
            at = operator.end()
        elif redirect := _HARMLESS.match(script, at):
            at = redirect.end()
        elif (word := _WORD.match(script, at)) and _is_word_end(script, word.end()):
            found[-1].append(word[0])
            at = word.end()
        elif script[at] == " ":
            at += 1
        else:
            return [], fed
    if not found[-1] and script.endswith(";"):
        found.pop()
    return (found if all(found) else []), fed


def _is_word_end(script: str, at: int) -> bool:
    """A word that is followed by a redirection without a blank may be its number."""
    return at == len(script) or script[at] in " ;|\n&"


def _parse_with_grammar(script: str) -> list[list[str]] | None:
    """The grammar's reading; None unless it explains every part of the script."""
    try:
        root = _parser().parse(script.encode()).root_node
    except UnicodeEncodeError:
        return None
    if root.has_error or not all(_is_understood(node) for node in _nodes(root)):
        return None
    return [_node_words(node) for node in _nodes(root) if node.type == "command"]


@cache
def _parser() -> Parser:
    import tree_sitter_bash  # here: every start of clew would pay for it
    from tree_sitter import Language, Parser

    return Parser(Language(tree_sitter_bash.language()))


def _nodes(root: Node) -> Iterator[Node]:
    """In the order of the text, without recursion: a hostile script may nest deeply."""
    waiting = [root]
    while waiting:
        node = waiting.pop()
        yield node
        waiting.extend(reversed(node.children))


def _is_understood(node: Node) -> bool:
    """A redirection may hold no further words: the grammar puts those there that come after it."""
    targets = [child for child in node.children if child.type in _WORD_NODES]
    return node.type in _UNDERSTOOD_NODES and (node.type != "file_redirect" or len(targets) == 1)


def _node_words(command: Node) -> list[str]:
    return [(child.text or b"").decode() for child in command.children if child.type in _WORD_NODES]


def _parse_word(written: str) -> Word:
    text, wild, before_sign = "", [], None
    for piece in _PIECE.finditer(written):
        if piece["wild"]:
            wild.append(len(text))
        if piece["revision"] and before_sign is None:
            before_sign = text
        text += _unquote(piece)
    return Word(text, tuple(wild), before_sign)


def _unquote(piece: re.Match[str]) -> str:
    if piece["double"] is not None:
        return _IN_DOUBLE.sub(r"\1", piece["double"])
    return piece[piece.lastgroup or 0]


def word_texts(command: Command) -> tuple[str, ...]:
    return tuple(word.text for word in command.words)
