"""Converts Markdown to plain text and Telegram's entities, whose offsets count UTF-16 units. Pure.

Bold, italic, code, fences and links become entities; everything else stays as text. So Telegram has nothing to parse
that could fail, and the text is never longer than its source.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from msgspec import Struct
from msgspec.structs import replace

LONGEST_LINK = 2048
MOST = 100  # entities of one message that Telegram shows

_FENCE = re.compile(r"^[ ]{0,3}(?P<ticks>`{3,}|~{3,})[ ]*(?P<language>[^\s`]*)[^\n`]*\n", re.MULTILINE)
_INLINE = re.compile(
    r"(?P<escaped>\\[\\`*_\[\]])"
    r"|(?<!`)(?P<ticks>`+)(?P<code>[^`\n](?:[^\n]*?[^`\n])??)(?P=ticks)(?!`)"
    r"|\[(?P<label>[^\[\]\n]+)\]\((?P<link>https?://[^\s()<>]+(?:\([^\s()<>]*\)[^\s()<>]*)*)\)"
    r"|(?<![\w*])\*\*(?=[^\s*])(?P<bold>[^\n]*?[^\s*])\*\*(?![\w*])"
    r"|(?<![\w_])__(?=[^\s_])(?P<bold_>[^\n]*?[^\s_])__(?![\w_])"
    r"|(?<![\w*])\*(?=[^\s*])(?P<italic>[^*\n]*?[^\s*])\*(?![\w*])"
    r"|(?<![\w_])_(?=[^\s_])(?P<italic_>[^_\n]*?[^\s_])_(?![\w_])"
)


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

    def __add__(self, other: Shown) -> Shown:
        moved = (replace(entity, offset=entity.offset + units(self.text)) for entity in other.entities)
        return Shown(self.text + other.text, (*self.entities, *moved))


def units(text: str) -> int:
    return len(text.encode("utf-16-le", "surrogatepass")) // 2


def shown(markdown: str, note: str = "") -> Shown:
    """Convert Markdown, with the note as a small line below."""
    whole = _joined(_blocks(markdown))
    if note:
        whole += Shown("\n\n" if whole.text else "") + _styled("italic", Shown(note))
    return replace(whole, entities=whole.entities[:MOST])


def _joined(pieces: Iterator[Shown]) -> Shown:
    """Join many pieces in one pass."""
    texts: list[str] = []
    entities: list[Entity] = []
    at = 0
    for piece in pieces:
        texts.append(piece.text)
        entities += [replace(entity, offset=entity.offset + at) for entity in piece.entities]
        at += units(piece.text)
    return Shown("".join(texts), tuple(entities))


def _blocks(text: str) -> Iterator[Shown]:
    """Yield fenced code and the text between. An unclosed fence goes to the end."""
    at = 0
    while found := _FENCE.search(text, at):
        yield from _inline(text[at : found.start()])
        ticks = found["ticks"]
        close = re.compile(rf"^[ ]{{0,3}}{re.escape(ticks[0])}{{{len(ticks)},}}[ ]*$\n?", re.MULTILINE)
        end = close.search(text, found.end())
        code = text[found.end() : end.start() if end else len(text)]
        yield from _fenced(code, found["language"])
        at = end.end() if end else len(text)
    yield from _inline(text[at:])


def _fenced(code: str, language: str) -> Iterator[Shown]:
    inner = code.removesuffix("\n")
    if inner.strip():
        yield _styled("pre", Shown(inner), language=language or None)
    yield Shown(code[len(inner) :] if inner.strip() else code)


def _inline(text: str, depth: int = 3) -> Iterator[Shown]:
    at = 0
    for found in _INLINE.finditer(text) if depth else ():
        yield Shown(text[at : found.start()])
        yield _one(found, depth)
        at = found.end()
    yield Shown(text[at:])


def _one(found: re.Match[str], depth: int) -> Shown:
    if found["code"] and found["code"].strip():
        return _styled("code", Shown(found["code"]))
    if found["link"] and found["label"].strip() and len(found["link"]) <= LONGEST_LINK:
        return _styled("text_link", Shown(found["label"]), url=found["link"])
    bold, italic = found["bold"] or found["bold_"], found["italic"] or found["italic_"]
    if bold or italic:
        return _styled("bold" if bold else "italic", _joined(_inline(bold or italic, depth - 1)))
    return Shown(found[0])


def _styled(kind: str, inner: Shown, *, language: str | None = None, url: str | None = None) -> Shown:
    entity = Entity(kind, 0, units(inner.text), language, url)
    return Shown(inner.text, (entity, *inner.entities))
