"""Separates a script from its comments and here-documents, for deny and ask rules: a quote in one of those would hide
the rest of the script."""

from __future__ import annotations

import re
from collections.abc import Iterator

from msgspec import Struct

_MAX_DOCUMENTS = 50  # in a script; with more of them it is read as it is
_MAX_LINES = 1_000  # of a body that are read one by one
_PIECE = re.compile(
    r"""(?P<joined>\\\n)
    | (?P<quoted>\\.?|\$'(?:[^'\\]|\\.)*'?|'[^']*'?|"(?:[^"\\]|\\.)*"?)
    | (?P<comment>\#)
    | (?P<here><<(?!<)(?P<dash>-?)[ \t]*(?P<delimiter>(?:[^\s\\'"<>;&|()`]|\\.|'[^'\n]*'|"[^"\n]*")+))
    | (?P<newline>\n)
    | (?P<between>[ \t;&|()`]+)
    | (?P<text><<<|[^\s\\'"\#<;&|()`$]+|.)""",
    re.DOTALL | re.VERBOSE,
)
_ANYWHERE = re.compile(
    r"""<<-?[ \t]*(?P<quote>['"\\]?)(?P<delimiter>\w+)(?P<rest>[^\n]*\n)(?P<body>.*?)^\t*(?P=delimiter)$""",
    re.DOTALL | re.MULTILINE | re.VERBOSE,
)
_MAY_NEST = re.compile(r"\$\(|`|\$\{|\$\[|\(\(")  # quotes and `#` may mean something else in there
_SUBSTITUTION = re.compile(r"\$\(|`")
_REMOVE_QUOTES = str.maketrans("", "", "\"'\\")


class Separated(Struct, frozen=True):
    script: str
    others: tuple[str, ...] = ()  # other readings of the script, if it is not certain where quotes begin
    bodies: tuple[str, ...] = ()  # of here-documents
    substituted: tuple[str, ...] = ()  # parts of bodies that the shell itself runs, without their quotes

    def lines_of_bodies(self) -> Iterator[str]:
        """Each body and each of its lines, for a script that may feed them to a shell."""
        for body in self.bodies:
            yield body
            yield from body.splitlines()[:_MAX_LINES]


def separate(script: str) -> Separated:
    documents = script.count("<<")
    if documents > _MAX_DOCUMENTS or not (documents or "#" in script):
        return Separated(script)
    plain, bodies, substituted = _separate(script)
    if not _MAY_NEST.search(plain):
        return Separated(plain, (), tuple(bodies), tuple(substituted))
    bodies += [found["body"] for found in _ANYWHERE.finditer(script)]
    cut = _ANYWHERE.sub(r"\g<rest>", script)
    return Separated(script, (plain, cut, _separate(cut)[0]), tuple(bodies), tuple(substituted))


def _separate(script: str) -> tuple[str, list[str], list[str]]:
    """The script without its comments and here-documents; their bodies; and what the shell runs inside of these. A
    here-document that does not end is left as it is."""
    kept: list[str] = []
    bodies: list[str] = []
    substituted: list[str] = []
    waiting: list[re.Match[str]] = []
    at, is_start = 0, True  # of a word
    while at < len(script):
        piece = _PIECE.match(script, at)
        if piece is None:
            break
        at = piece.end()
        if piece["comment"] and is_start:
            at = _end_of_line(script, at)
            continue
        kept.append(piece[0])
        is_start = is_start if piece["joined"] else bool(piece["newline"] or piece["between"])
        if piece["here"]:
            waiting.append(piece)
        for opened in waiting if piece["newline"] else ():
            body, at = _read_body(script, at, opened)
            bodies.append(body)
            substituted += _substituted(body, opened["delimiter"])
        waiting = [] if piece["newline"] else waiting
    return "".join(kept), [body for body in bodies if body], substituted


def _end_of_line(script: str, at: int) -> int:
    found = script.find("\n", at)
    return len(script) if found < 0 else found


def _read_body(script: str, at: int, opened: re.Match[str]) -> tuple[str, int]:
    """The body that starts here, and the position after its last line."""
    delimiter = opened["delimiter"].translate(_REMOVE_QUOTES)
    tabs = r"\t*" if opened["dash"] else ""
    end = re.compile(rf"^{tabs}{re.escape(delimiter)}$", re.MULTILINE).search(script, at)
    return (script[at : end.start()], end.end()) if end else ("", at)


def _substituted(body: str, delimiter: str) -> list[str]:
    """What the shell runs while it reads the body, if the delimiter is not quoted."""
    found = _SUBSTITUTION.search(body) if delimiter == delimiter.translate(_REMOVE_QUOTES) else None
    return [body[found.start() :].translate(_REMOVE_QUOTES)] if found else []
