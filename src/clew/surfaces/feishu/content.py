"""Parses a Feishu message of any kind into text and file keys. Lenient: what is not understood gives no text. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import msgspec
from msgspec import Struct

LANGUAGES = ("zh_cn", "en_us", "ja_jp")  # a post may be nested below one


class File(Struct, frozen=True):
    key: str
    kind: str  # image or file, for the download
    name: str = ""


class Content(Struct, frozen=True):
    text: str = ""
    files: tuple[File, ...] = ()
    struck: bool = False  # all of its text is struck out


def read(kind: str, content: str) -> Content:
    try:
        given = msgspec.json.decode(content)
    except (msgspec.DecodeError, UnicodeError, RecursionError):
        return Content()
    if not isinstance(given, dict):
        return Content()
    if kind == "text":
        return Content(_text(given, "text"))
    if kind == "post":
        return _post(given)
    return Content(files=tuple(_file(kind, given)))


def _file(kind: str, given: Mapping[str, object]) -> Iterator[File]:
    """Yield the file of a message: a picture has an `image_key`; files, sounds and videos have a `file_key`."""
    if kind == "image" and (key := _text(given, "image_key")):
        yield File(key, "image")
    elif kind in ("file", "audio", "media") and (key := _text(given, "file_key")):
        yield File(key, "file", _text(given, "file_name"))


def _post(given: Mapping[str, object]) -> Content:
    body = next((given[name] for name in LANGUAGES if isinstance(given.get(name), dict)), given)
    assert isinstance(body, Mapping)
    rows = body.get("content")
    pieces = [[piece for piece in row if isinstance(piece, dict)] for row in _list(rows) if isinstance(row, list)]
    lines = ["".join(map(_as_text, row)) for row in pieces]
    title = [_text(body, "title")] if _text(body, "title") else []
    files = (file for row in pieces for piece in row for file in _file(_kind(piece), piece))
    said = [piece for row in pieces for piece in row if _as_text(piece).strip() and _text(piece, "tag") != "at"]
    struck = bool(said) and not title and all("lineThrough" in _list(piece.get("style")) for piece in said)
    return Content("\n".join([*title, *lines]).strip("\n"), tuple(files), struck)


def _kind(piece: Mapping[str, object]) -> str:
    return {"img": "image"}.get(_text(piece, "tag"), _text(piece, "tag"))


def _as_text(piece: Mapping[str, object]) -> str:
    text = _text(piece, "text")
    match _text(piece, "tag"):
        case "a":
            link = _text(piece, "href")
            return f"[{text}]({link})" if text and text != link else link
        case "at":
            return _text(piece, "user_id")  # the key of a mention, as in a text message
        case "code_block":
            return f"```{_text(piece, 'language').lower()}\n{text.rstrip(chr(10))}\n```"
        case "emotion":
            return f":{_text(piece, 'emoji_type')}:"
        case _:
            return text


def _text(given: Mapping[str, object], name: str) -> str:
    value = given.get(name)
    return value if isinstance(value, str) else ""


def _list(value: object) -> list[object]:
    return value if isinstance(value, list) else []
