"""Converts Markdown to what Feishu shows: a post, or a card for buttons, tables and messages that are edited later.
Pure.

It disables mentions (`<at …>`). Pictures, which would have to be uploaded first, become links.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from enum import StrEnum

import msgspec

from clew.model.delivery import Button
from clew.support.coded import Text
from clew.support.display.markdown import spaced
from clew.support.text import clean
from clew.texts.bilingual import zh

TABLES = 5  # in one card
SUMMARY = 80  # characters of a card in the list of chats
NOTHING = "…"  # the platform takes no empty message
BLANK = "\u200b"  # an element may not be empty

_FENCE = re.compile(r" {0,3}(`{3,}|~{3,})(.*)")
_RULE = re.compile(r" {0,3}\|?[ \t]*:?-+:?[ \t]*(?:\|[ \t]*:?-+:?[ \t]*)*\|?[ \t]*")
_AT = re.compile(r"<(?=/?at\b)", re.IGNORECASE)
_PICTURE = re.compile(r"!(?=\[[^\[\]\n]*\]\()")
_HEADING = re.compile(r"^ {0,3}#{1,6}[ \t]+(?P<title>.*?)[ \t#]*$", re.MULTILINE)


class Kind(StrEnum):
    TEXT = "text"
    CODE = "code"
    TABLE = "table"


def has_table(text: str) -> bool:
    return any(kind is Kind.TABLE for kind, _ in pieces(text))


def post(text: str, note: str = "") -> str:
    """Return the content of a post. Headings become bold: a post has none."""
    shown = "\n".join(_in_post(kind, piece) for kind, piece in pieces(_text_or_placeholder(text)))
    rows = [[{"tag": "md", "text": shown}]]
    if note:
        rows.append([{"tag": "md", "text": f"*{_without_mentions(note)}*"}])
    return _json({"zh_cn": {"content": rows}})


def localized_post(text: Text) -> str:
    """Return the content of a post with a sentence of clew; the platform shows it in the language of the reader."""
    both = {"en_us": text, "zh_cn": zh(text)}
    return _json({name: {"content": [[{"tag": "text", "text": str.__str__(each)}]]} for name, each in both.items()})


def card(text: str, note: str = "", buttons: tuple[Button, ...] = (), thread: str | None = None) -> str:
    """Return the content of a card. A button's value includes its thread, because the platform does not send it."""
    elements: list[dict[str, object]] = [{"tag": "markdown", "content": markdown(text)}]
    elements += _row(buttons, thread)
    if note:
        elements.append({"tag": "markdown", "content": _without_mentions(note), "text_size": "notation"})
    config = {"update_multi": True, "enable_forward": not buttons, "summary": {"content": _summary(text)}}
    return _json({"schema": "2.0", "config": config, "body": {"elements": elements}})


def streaming(text: str, buttons: tuple[Button, ...] = (), thread: str | None = None) -> str:
    """Return the content of a card whose elements `head` and `said` are updated one by one."""
    elements: list[dict[str, object]] = [
        {"tag": "markdown", "element_id": "head", "content": markdown(text)},
        {"tag": "markdown", "element_id": "said", "content": BLANK},
        *_row(buttons, thread, has_primary=False),
    ]
    config = {"update_multi": True, "streaming_mode": True, "summary": {"content": _summary(text)}}
    config["streaming_config"] = {"print_strategy": "fast"}  # show new text at once
    return _json({"schema": "2.0", "config": config, "body": {"elements": elements}})


def markdown(text: str) -> str:
    """Return the content of a Markdown element of a card."""
    return "\n".join(_in_card(_text_or_placeholder(text)))


def _summary(text: str) -> str:
    return " ".join(_text_or_placeholder(text).split())[:SUMMARY]


def plain(text: str, note: str = "") -> str:
    """Return the content of a plain text message, for when nothing else is accepted."""
    return _json(
        {"text": _without_mentions(f"{_text_or_placeholder(text)}\n\n{note}" if note else _text_or_placeholder(text))}
    )


def pieces(text: str) -> Iterator[tuple[Kind, str]]:
    """Split a text into fenced code, tables and the text between. Joined by newlines they are the text."""
    lines, at, start = text.split("\n"), 0, 0
    while at < len(lines):
        kind, end = _special(lines, at)
        if kind is Kind.TEXT:
            at += 1
            continue
        if start < at:
            yield Kind.TEXT, "\n".join(lines[start:at])
        yield kind, "\n".join(lines[at:end])
        at = start = end
    if start < len(lines):
        yield Kind.TEXT, "\n".join(lines[start:])


def _special(lines: list[str], at: int) -> tuple[Kind, int]:
    if fence := _FENCE.fullmatch(lines[at]):
        return Kind.CODE, _after_fence(lines, at + 1, fence[1])
    under = lines[at + 1] if at + 1 < len(lines) else ""
    if "|" in lines[at] and "|" in under and _RULE.fullmatch(under):
        end = at + 2
        while end < len(lines) and "|" in lines[end] and not _FENCE.fullmatch(lines[end]):
            end += 1
        return Kind.TABLE, end
    return Kind.TEXT, at + 1


def _after_fence(lines: list[str], at: int, ticks: str) -> int:
    """Return the line after the closing fence; an unclosed fence goes to the end."""
    for number in range(at, len(lines)):
        close = _FENCE.fullmatch(lines[number])
        if close and close[1].startswith(ticks) and not close[2].strip():
            return number + 1
    return len(lines)


def _in_card(text: str) -> Iterator[str]:
    tables = 0
    for kind, piece in pieces(text):
        tables += kind is Kind.TABLE
        if kind is Kind.TABLE and tables > TABLES:
            yield f"```\n{_without_mentions(piece)}\n```"
        else:
            yield _without_mentions(piece) if kind is Kind.CODE else _formatted(piece)


def _in_post(kind: Kind, piece: str) -> str:
    if kind is Kind.CODE:
        return _without_mentions(piece)
    return _HEADING.sub(lambda found: f"**{found['title'].replace('**', '')}**", _formatted(piece))


def _formatted(piece: str) -> str:
    """Text or a table. Feishu keeps the stars of bold text beside Chinese characters, unless there is a space."""
    return spaced(_PICTURE.sub("", _without_mentions(piece)))


def _row(buttons: tuple[Button, ...], thread: str | None, *, has_primary: bool = True) -> list[dict[str, object]]:
    columns = [_column(button, has_primary and number == 0, thread) for number, button in enumerate(buttons)]
    return [{"tag": "column_set", "flex_mode": "flow", "columns": columns}] if columns else []


def _column(button: Button, is_first: bool, thread: str | None) -> dict[str, object]:
    value = {"says": button.says, **({"thread": thread} if thread else {})}
    key = {
        "tag": "button",
        "text": {"tag": "plain_text", "content": clean(button.label)},
        "type": "primary" if is_first else "default",
        "behaviors": [{"type": "callback", "value": value}],
    }
    return {"tag": "column", "width": "auto", "elements": [key]}


def _text_or_placeholder(text: str) -> str:
    return clean(text) if text.strip() else NOTHING


def _without_mentions(text: str) -> str:
    """Insert an invisible space, so that `<at` is not a mention."""
    return _AT.sub("<\u200b", clean(text))


def _json(value: object) -> str:
    return msgspec.json.encode(value).decode()
