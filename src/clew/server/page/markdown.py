"""Renders the text of agents as HTML for the page: Markdown without raw HTML, then sanitized with an allow-list.

A text that is being written is rendered repeatedly, so the result says which part is stable: a block is closed by the
next one. This holds because link definitions, which change earlier blocks, are disabled.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from html import escape
from urllib.parse import unquote

import nh3
from markdown_it import MarkdownIt
from markdown_it.rules_core import StateCore
from markdown_it.token import Token
from msgspec import Struct

from clew.support.display.markdown import parser

# Larger texts are shown unrendered: rendering them takes seconds.
LARGEST = 60_000  # characters
QUOTED = 20_000  # lines times the depth of the deepest quote
CELLS = 20_000  # of tables; short rows are filled up, so a few characters can mean many cells
DEEPEST = 24  # levels of nesting
LONGEST = 4_000  # characters of a paragraph with emphasis and links: parsing them can take quadratic time

_ALLOWED = re.compile(r"(?:https?://|mailto:)", re.IGNORECASE)
_BARE = re.compile(r"""https?://[^\s<>"'`\]）】」]*[^\s<>"'`\].,;:!?)，。；：！？、）】」]""")
_NEWLINE = re.compile(r"\r\n?|\n")
_CLASS = re.compile(r"path|language-[A-Za-z0-9_+#-]{1,30}")
_DELIMITER = re.compile(r"^[ \t>|:-]*\|[ \t|:-]*$|^[ \t>]*:?-+:?[ \t]*$", re.MULTILINE)
_QUOTE = re.compile(r"^[ \t]*>[ \t>]*", re.MULTILINE)
_COLUMN = re.compile(r"-+")
_SIDE = re.compile(r"left|center|right")
_BLOCK_TAGS = {"blockquote", "h1", "h2", "h3", "h4", "h5", "h6", "hr", "li", "ol", "p", "pre", "ul"}
_TABLE_TAGS = {"table", "tbody", "td", "th", "thead", "tr"}
_TAGS = {*_BLOCK_TAGS, *_TABLE_TAGS, "a", "br", "code", "em", "s", "span", "strong"}
_ATTRIBUTES = {
    "a": {"href"},
    "code": {"class"},
    "ol": {"start"},
    "span": {"class", "title"},
    "td": {"align"},
    "th": {"align"},
}


class Rendered(Struct, frozen=True):
    html: str
    stable: int  # length, in UTF-16 code units, of the text whose HTML will not change if more text follows
    html_stable: str  # the HTML of that part: a prefix of `html`


def render(text: str) -> Rendered:
    tokens = _MARKDOWN.parse(text) if _is_quick(text) else None
    if tokens is None or any(token.level >= DEEPEST for token in tokens):
        return Rendered(f"<pre>{escape(text)}</pre>", 0, "")
    line, offset = _open_from(text)
    cut = next((at for at, token in enumerate(tokens) if _begins(token) >= line), 0) if line else 0
    stable = _html(tokens[:cut])
    return Rendered(stable + _html(tokens[cut:]), len(text[:offset].encode("utf-16-le")) // 2, stable)


def _is_quick(text: str) -> bool:
    if len(text) > LARGEST or _cells(text) > CELLS:
        return False
    deepest = max((found[0].count(">") for found in _QUOTE.finditer(text)), default=0)
    return deepest * text.count("\n") <= QUOTED


def _cells(text: str) -> int:
    """An upper bound of the number of table cells."""
    columns = max((len(_COLUMN.findall(found[0])) for found in _DELIMITER.finditer(text)), default=0)
    return columns * (text.count("\n") + text.count("\r"))


def _html(tokens: Sequence[Token]) -> str:
    return nh3.clean(
        _MARKDOWN.renderer.render(tokens, _MARKDOWN.options, {}),
        tags=_TAGS,
        attributes=_ATTRIBUTES,
        attribute_filter=_allowed_attribute,
        link_rel="noopener noreferrer nofollow",
        set_tag_attribute_values={"a": {"target": "_blank"}},
        url_schemes={"http", "https", "mailto"},
        url_relative="deny",
    )


def _allowed_attribute(tag: str, name: str, value: str) -> str | None:
    rule = {"class": _CLASS, "align": _SIDE}.get(name)
    return value if rule is None or rule.fullmatch(value) else None


def _open_from(text: str) -> tuple[int, int]:
    """The line and offset of the last block that may still change. An unfinished line could become anything, so it
    closes no block."""
    ends = [found.end() for found in _NEWLINE.finditer(text.removesuffix("\r"))]
    if not ends:
        return 0, 0
    line = max(map(_begins, _BLOCKS.parse(text[: ends[-1]])), default=0)
    return (line, ends[line - 1]) if line > 0 else (0, 0)


def _begins(token: Token) -> int:
    """The line on which a top-level block begins; else -1."""
    return token.map[0] if token.map and token.level == 0 else -1


def _inline(state: StateCore) -> None:
    """Replaces the markdown-it rule `inline`: a very long paragraph stays plain text, and `_linked` decides what is a
    link."""
    for token in state.tokens:
        if style := token.attrGet("style"):
            token.attrs = {"align": str(style).rpartition(":")[2]}
        if token.type == "inline" and len(token.content) > LONGEST:
            token.children = [_text(token.content)]
        elif token.type == "inline":
            token.children = []
            state.md.inline.parse(token.content, state.md, state.env, token.children)
            token.children = list(_linked(token.children))


def _linked(tokens: Sequence[Token]) -> Iterator[Token]:
    """Only web and mail addresses become links: a path is shown as a path, an image as a link to it."""
    within: list[str] = []
    for token in tokens:
        if token.type == "link_open":
            yield (opened := _opened(str(token.attrGet("href"))))
            within.append(opened.tag)
        elif token.type == "link_close":
            yield Token("link_close", within.pop(), -1)
        elif token.type == "image":
            shown = _text(token.content or "image")
            yield from [shown] if within else _link(str(token.attrGet("src")), shown)
        elif token.type == "text" and not within:
            yield from _with_bare_links(token.content)
        else:
            yield token


def _with_bare_links(text: str) -> Iterator[Token]:
    done = 0
    for found in _BARE.finditer(text):
        yield _text(text[done : found.start()])
        yield from _link(found[0], _text(found[0]))
        done = found.end()
    yield _text(text[done:])


def _link(href: str, shown: Token) -> list[Token]:
    opened = _opened(href)
    return [opened, shown, Token("link_close", opened.tag, -1)]


def _opened(href: str) -> Token:
    if _ALLOWED.match(href):
        return Token("link_open", "a", 1, attrs={"href": href})
    return Token("link_open", "span", 1, attrs={"class": "path", "title": unquote(href)})


def _text(content: str) -> Token:
    return Token("text", "", 0, content=content)


def _markdown() -> MarkdownIt:
    return parser({"maxNesting": DEEPEST + 1})


_MARKDOWN = _markdown()
_MARKDOWN.core.ruler.at("inline", _inline)
_BLOCKS = _markdown()
_BLOCKS.core.ruler.enableOnly(["normalize", "block"])
