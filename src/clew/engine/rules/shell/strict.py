"""Parses a command line strictly, for allow rules: the simple commands that a shell would run, each as its words. Two
independent parsers must agree: a narrow lexer of our own, and tree-sitter's grammar of bash. The result is None if one
of them does not understand everything, or another shell might parse it differently. It expands nothing."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import cache
from typing import TYPE_CHECKING

from msgspec import Struct

from clew.engine.rules.shell.lenient import has_invisible, starts_with_program, unwrap_shell, word_set

if TYPE_CHECKING:
    from tree_sitter import Node, Parser

# Outside quotes: characters that no shell treats specially, and a backslash before one that is special.
_BARE = r"[A-Za-z0-9_\-./,:@%+=]|[^\x00-\x7f]"
_ESCAPED = r"\\[()\[\]{}*?;|&<>#~^$\"'`! ]"
_SINGLE = r"'[^'\n]*'(?!')"
_DOUBLE = r"\"(?:[^\"$`\\!\n]|\\[^\n!])*\""
# `HEAD~2^`: with some options zsh takes it for a pattern, which can only match names like the part before `~` or `^`.
_REVISION = r"(?<=[A-Za-z0-9@])[~^][~^0-9]*"
_WILD = r"[*?]"
_WORD = re.compile(rf"(?:{_BARE}|{_ESCAPED}|{_SINGLE}|{_DOUBLE}|{_REVISION}|{_WILD})+")
_PIECE = re.compile(
    rf"(?P<wild>{_WILD})|(?P<revision>{_REVISION})|\\(?P<escaped>.)|'(?P<single>[^']*)'|\"(?P<double>(?:[^\"\\]|\\.)*)\""
    r"|(?P<bare>.)"
)
_IN_DOUBLE = re.compile(r"\\([\"$`\\])")
# Redirections that neither write nor read a file.
_HARMLESS = re.compile(r"(?:[12]?>(?:&[12]| ?/dev/null)|< ?/dev/null)(?=[ ;|\n]|$)")
_OPERATOR = re.compile(r"(?:&&|\|\|(?!\|)|\|(?![|&])|;(?![;&|])|\n)[ \n]*")

_UNDERSTOOD_NODES = word_set(
    "program list pipeline redirected_statement command command_name word number string string_content raw_string"
    ' concatenation file_redirect file_descriptor && || ; | " > >& <'
) | {"\n"}
_WORD_NODES = word_set("command_name word number string raw_string concatenation")
_MAX_SCRIPT_LENGTH = 32_768
_MAX_COMMANDS = 30  # in a script
# In a locale such as GBK or Shift JIS, a non-ASCII character absorbs the next byte, if it is one of these.
_EATEN_BY_MULTIBYTE = re.compile(r"[^\x00-\x7f][\\|]")


class Word(Struct, frozen=True):
    """One word of a command, without its quotes."""

    text: str
    wildcards: tuple[int, ...] = ()  # positions in the text of each `*` or `?` that is not quoted
    revision_base: str | None = None  # of a revision such as `HEAD~2`: the part before `~` or `^`


class Command(Struct, frozen=True):
    words: tuple[Word, ...]
    reads_pipe: bool = False  # from the command before it


def parse_commands(script: str) -> list[Command] | None:
    """The simple commands of a script of pipes and sequences. None if the script contains, or may contain, anything
    else."""
    script = unwrap_shell(script).strip(" \n")
    if (
        len(script) > _MAX_SCRIPT_LENGTH
        or has_invisible(script.replace("\n", " "))
        or _EATEN_BY_MULTIBYTE.search(script)
    ):
        return None
    lexed, piped = _lex(script)
    if (
        not lexed
        or len(lexed) > _MAX_COMMANDS
        or lexed != _parse_with_grammar(script)
        or not all(map(_is_plain, lexed))
    ):
        return None
    return [Command(tuple(map(_parse_word, words)), at in piped) for at, words in enumerate(lexed)]


def _is_plain(written: Sequence[str]) -> bool:
    """Whether a command starts with the name of a program, and has no word that begins with `=`: zsh replaces such a
    word by the path of a program, also if a pair of quotes precedes it."""
    words = list(map(_parse_word, written))
    return not words[0].wildcards and starts_with_program([word.text for word in words])


def _lex(script: str) -> tuple[list[list[str]], set[int]]:
    """Our own lexer: the words of each command as written, empty if it does not understand the script; and the
    positions of commands that read a pipe."""
    found: list[list[str]] = [[]]
    piped: set[int] = set()
    at = 0
    while at < len(script):
        if operator := _OPERATOR.match(script, at):
            if operator[0].strip() == "|":
                piped.add(len(found))
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
            return [], piped
    if not found[-1] and script.endswith(";"):
        found.pop()
    return (found if all(found) else []), piped


def _is_word_end(script: str, at: int) -> bool:
    """Whether a word really ends here: a redirection right after it may take it for a file descriptor."""
    return at == len(script) or script[at] in " ;|\n&"


def _parse_with_grammar(script: str) -> list[list[str]] | None:
    """The words of each command by the grammar; None unless it understands the complete script."""
    try:
        root = _parser().parse(script.encode()).root_node
    except UnicodeEncodeError:
        return None
    if root.has_error or not all(_is_understood(node) for node in _nodes(root)):
        return None
    return [_node_words(node) for node in _nodes(root) if node.type == "command"]


@cache
def _parser() -> Parser:
    import tree_sitter_bash  # imported here because it slows down the start
    from tree_sitter import Language, Parser

    return Parser(Language(tree_sitter_bash.language()))


def _nodes(root: Node) -> Iterator[Node]:
    """All nodes in the order of the text, without recursion: a hostile script may nest deeply."""
    waiting = [root]
    while waiting:
        node = waiting.pop()
        yield node
        waiting.extend(reversed(node.children))


def _is_understood(node: Node) -> bool:
    """Whether we know what a node means. A redirection may hold one word only: the grammar also puts there the words
    that follow it."""
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
