"""Converts Markdown to plain text and Telegram's entities, whose offsets count UTF-16 units. Pure.

Agents write what they want, so nothing may be lost or refused: what would be lost, or would make the message too long,
is shown as it was written. Telegram has nothing to parse that could fail.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache
from itertools import accumulate
from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

from clew.support.display.width import pad, width

if TYPE_CHECKING:
    from markdown_it import MarkdownIt
    from markdown_it.token import Token

LONGEST = 4096  # of a message
LONGEST_LINK = 2048
MOST = 100  # entities of one message that Telegram shows
DEEPEST = 50  # levels of nesting
CELLS = 2000  # of a table that is aligned; short rows are filled up, so a few characters can mean many cells
RULE = "———"

_STYLES = {"strong": "bold", "em": "italic", "s": "strikethrough"}
_ALWAYS = frozenset({"text_link", "pre"})  # kept first if there are too many: without them something would be lost
_ALONE = frozenset({"pre", "code"})  # Telegram nests nothing in them, and styles cannot contain them
_PRE = frozenset({"pre"})  # a quote cannot contain it


class Entity(Struct, frozen=True):
    type: str
    offset: int
    length: int
    language: str | None = None
    url: str | None = None

    def fields(self) -> dict[str, object]:
        every = {"type": self.type, "offset": self.offset, "length": self.length}
        return every | {name: value for name in ("language", "url") if (value := getattr(self, name))}


class Shown(Struct, frozen=True):
    text: str
    entities: tuple[Entity, ...] = ()


class _Span(Struct, frozen=True):
    """A part of the text, in characters."""

    type: str
    start: int
    end: int
    language: str | None = None
    url: str | None = None


def units(text: str) -> int:
    return len(text.encode("utf-16-le", "surrogatepass")) // 2


def shown(markdown: str, note: str = "") -> Shown:
    """Convert Markdown, with the note as a small line below."""
    for align in (True, False):
        look = _formatted(markdown, align=align)
        whole = _with_note(look, note)
        if units(whole.text) <= LONGEST and _has_all(_with_note(look, ""), markdown):
            return whole
    return _with_note(_Text(markdown), note)


class _Text:
    """The text so far, and its spans."""

    def __init__(self, text: str = "") -> None:
        self.text = text
        self.spans: list[_Span] = []

    def add(self, text: str) -> None:
        self.text += text

    def styled(self, type: str, start: int, *, language: str | None = None, url: str | None = None) -> None:
        """What was added since `start` is of this type."""
        self.spans.append(_Span(type, start, len(self.text), language, url))


def _with_note(look: _Text, note: str) -> Shown:
    whole = _Text(look.text)
    whole.spans = list(look.spans)
    if note:
        whole.add("\n\n" if whole.text else "")
        start = len(whole.text)
        whole.add(note)
        whole.styled("italic", start)
    entities = list(_entities(whole.text, whole.spans))
    kept = frozenset(sorted(entities, key=lambda each: each.type in _ALWAYS, reverse=True)[:MOST])
    return Shown(whole.text, tuple(each for each in entities if each in kept))


def _has_all(whole: Shown, markdown: str) -> bool:
    """Whether every letter and digit is shown, as text, address or language."""
    extra = (value for each in whole.entities for value in (each.language, each.url) if value)
    there = Counter(char for text in (whole.text, *extra) for char in text if char.isalnum())
    return bool(whole.text.strip()) and Counter(filter(str.isalnum, markdown)) <= there


def _formatted(markdown: str, *, align: bool) -> _Text:
    writer = _Blocks(markdown.split("\n"), align)
    for token in _parser().parse(markdown):
        writer.take(token)
    return writer.look


@cache
def _parser() -> MarkdownIt:
    from clew.support.display.markdown import parser

    markdown = parser({"maxNesting": DEEPEST})
    # An entity such as &#8238; would bring back what was removed; `Title` above a line of dashes is no heading to
    # agents, who separate sections by such lines.
    markdown.disable(["entity", "lheading"])
    markdown.validateLink = _is_web  # type: ignore[method-assign]  # other addresses stay text
    markdown.normalizeLink = _as_written  # type: ignore[method-assign]
    return markdown


def _as_written(url: str) -> str:
    return url


def _is_web(url: str) -> bool:
    return url.lower().startswith(("http://", "https://")) and len(url) <= LONGEST_LINK and not set(url) & set(" \n")


class _Blocks:
    """Writes the blocks of a document: each on a new line, with a blank line between if the source has one."""

    def __init__(self, lines: Sequence[str], align: bool) -> None:
        self.look = _Text()
        self._lines = lines
        self._align = align
        self._at = 0  # the source line after the last block
        self._quotes: list[int] = []  # where the open quotes begin
        self._items: list[str] = []  # of each open list item: the indent of its further blocks
        self._marker: str | None = None  # of an item of which nothing is written yet
        self._item: Token | None = None  # that item
        self._in_heading = False
        self._table: list[list[str]] | None = None
        self._source: Token | None = None  # of the table

    def take(self, token: Token) -> None:
        match token.type:
            case "inline" if self._table is not None:
                self._table[-1].append(_cell(token.children or []))
            case "inline":
                self._paragraph(token)
            case "fence" | "code_block":
                self._code(token)
            case "hr":
                self._begin(token)
                self.look.add(RULE)
            case "heading_open" | "heading_close":
                self._in_heading = token.nesting > 0
            case "blockquote_open":
                self._quotes.append(-1)
            case "blockquote_close":
                self._end_quote()
            case "list_item_open":
                self._begin_item(token)
            case "list_item_close":
                self._end_item()
            case "table_open":
                self._table, self._source = [], token
            case "tr_open" if self._table is not None:
                self._table.append([])
            case "table_close":
                self._end_table()

    def _begin(self, token: Token) -> None:
        """Begin a block on a new line."""
        start, end = token.map or (self._at, self._at)
        if self.look.text:
            self.look.add("\n\n" if start > self._at else "\n")
        self._at = end
        if self._quotes and self._quotes[0] < 0:
            self._quotes[0] = len(self.look.text)
        self.look.add(self._marker if self._marker is not None else self._indent())
        self._marker = None

    def _indent(self) -> str:
        return "".join(self._items)

    def _paragraph(self, token: Token) -> None:
        self._begin(token)
        start = len(self.look.text)
        _inline(self.look, token.children or [], self._indent())
        if self._in_heading:
            self.look.styled("bold", start)

    def _code(self, token: Token) -> None:
        language, _, more = token.info.strip().partition(" ")
        self._block(token, token.content.removesuffix("\n"), language or None, more)

    def _block(self, token: Token, text: str, language: str | None = None, above: str = "") -> None:
        """Write fixed-width lines, at the margin even in a list."""
        marker, self._marker = self._marker, None
        above = f"{marker or ''}{above}".rstrip()
        items, self._items = self._items, []
        self._begin(token)
        self._items = items
        if above:
            self.look.add(f"{above}\n" if text.strip() else above)
        start = len(self.look.text)
        self.look.add(text)
        if text.strip():
            self.look.styled("pre", start, language=language)

    def _end_quote(self) -> None:
        start = self._quotes.pop()
        if not self._quotes and start >= 0:  # Telegram has no quotes in quotes
            self.look.styled("blockquote", start)

    def _begin_item(self, token: Token) -> None:
        marker = f"{token.info}{token.markup} " if token.info else "• "
        before = self._marker if self._marker is not None else self._indent()
        self._marker = f"{before}{marker}"
        self._item = token
        self._items.append(" " * len(marker))

    def _end_item(self) -> None:
        if self._marker is not None and self._item is not None:  # nothing is in it
            self._begin(self._item)
        self._items.pop()

    def _end_table(self) -> None:
        rows, self._table = self._table or [], None
        assert self._source is not None
        start, end = self._source.map or (0, 0)
        if self._align and sum(map(len, rows)) <= CELLS:
            self._block(self._source, "\n".join(_aligned(rows)))
        else:
            self._block(self._source, "\n".join(self._lines[start:end]))


def _inline(look: _Text, tokens: Sequence[Token], indent: str) -> None:
    opened: list[tuple[int, str]] = []  # where it begins, and the address of a link
    for token in tokens:
        start = len(look.text)
        if token.nesting > 0:
            opened.append((start, str(token.attrGet("href") or "")))
        elif token.nesting < 0:
            _end_inline(look, token, *opened.pop())
        elif token.type == "code_inline":
            look.add(token.content)
            if token.content.strip() and not any(url for _, url in opened):  # Telegram has no code in links
                look.styled("code", start)
        elif token.type == "image":
            look.add(token.content or "image")
            if token.attrGet("src") and not any(url for _, url in opened):
                look.styled("text_link", start, url=str(token.attrGet("src")))
        else:
            look.add(f"\n{indent}" if token.type in ("softbreak", "hardbreak") else token.content)


def _end_inline(look: _Text, token: Token, start: int, url: str) -> None:
    if token.type != "link_close":
        look.styled(_STYLES[token.tag], start)
    elif url and look.text[start:] != url:  # Telegram finds bare addresses itself
        look.styled("text_link", start, url=url)


def _cell(tokens: Sequence[Token]) -> str:
    """A cell of a table, in which nothing can be formatted: an address follows its label."""
    look = _Text()
    _inline(look, tokens, "")
    text = look.text
    for link in reversed([span for span in look.spans if span.url]):
        text = f"{text[: link.end]} ({link.url}){text[link.end :]}"
    return " ".join(text.split())


def _aligned(rows: Sequence[Sequence[str]]) -> Iterator[str]:
    widths = [max(map(width, column)) for column in zip(*rows, strict=True)]
    for number, row in enumerate(rows):
        yield "  ".join(pad(cell, columns) for cell, columns in zip(row, widths, strict=True)).rstrip()
        if not number:
            yield "  ".join("─" * columns for columns in widths)


def _entities(text: str, spans: Sequence[_Span]) -> Iterator[Entity]:
    """Spans as Telegram takes them: nested, or apart; no style around code; not empty."""
    at = list(accumulate((1 + (char > "\uffff") for char in text), initial=0))
    barriers = {types: _starting(spans, types) for types in (_ALONE, _PRE)}
    cut = [piece for span in _outermost(spans) for piece in _pieces(span, barriers)]
    trimmed = (span if span.type == "pre" else _trimmed(text, span) for span in cut)
    kept = [span for span in trimmed if span.start < span.end]
    for span in sorted(kept, key=lambda span: (span.start, -span.end)):
        yield Entity(span.type, at[span.start], at[span.end] - at[span.start], span.language, span.url)


def _outermost(spans: Iterable[_Span]) -> Iterator[_Span]:
    """The spans without those that another one of their type contains."""
    reached: dict[str, int] = {}  # by type: where the spans so far end
    for span in sorted(spans, key=lambda span: (span.start, -span.end)):
        if span.end > reached.get(span.type, -1):
            reached[span.type] = span.end
            yield span


def _starting(spans: Iterable[_Span], types: frozenset[str]) -> list[_Span]:
    return sorted((span for span in spans if span.type in types), key=_start)


def _start(span: _Span) -> int:
    return span.start


def _pieces(span: _Span, barriers: Mapping[frozenset[str], Sequence[_Span]]) -> Iterator[_Span]:
    """The span without what it may not contain."""
    kind = _ALONE if span.type in _STYLES.values() else _PRE if span.type == "blockquote" else None
    found = barriers[kind] if kind is not None else ()
    start = span.start
    first, last = (bisect_left(found, at, key=_start) for at in (span.start, span.end))
    for each in found[first:last]:
        yield replace(span, start=start, end=each.start)
        start = each.end
    yield replace(span, start=start)


def _trimmed(text: str, span: _Span) -> _Span:
    """Without blanks around it, which Telegram removes."""
    inner = text[span.start : span.end]
    start = span.start + len(inner) - len(inner.lstrip())
    return replace(span, start=start, end=max(start, span.end - (len(inner) - len(inner.rstrip()))))
