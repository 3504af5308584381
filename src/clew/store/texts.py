"""How a sentence is stored: one of clew's own as its code and arguments, with its words; any other text as it is."""

from __future__ import annotations

from typing import overload

import msgspec
from msgspec import Struct, field

from clew.support.coded import Coded, Text
from clew.texts.catalogue import restore

_MARK = "code:"


class _Stored(Struct, frozen=True, omit_defaults=True):
    """A sentence with its code, and with its words for a version that does not know the code."""

    code: str
    words: str
    args: dict[str, str | int | Coded] = field(default_factory=dict)


_decode = msgspec.json.Decoder(_Stored).decode


@overload
def stored(text: str) -> str: ...
@overload
def stored(text: None) -> None: ...
def stored(text: str | None) -> str | None:
    """The value of the column. Somebody else's text that looks like a code is stored behind a space."""
    if isinstance(text, Text):
        kept = _Stored(text.coded.code, str.__str__(text), text.coded.args)
        return f"{_MARK}{msgspec.json.encode(kept).decode()}"
    return f" {text}" if text is not None and text.startswith(f"{_MARK}{{") else text


@overload
def loaded(value: str) -> str: ...
@overload
def loaded(value: None) -> None: ...
def loaded(value: str | None) -> str | None:
    """The text of a column: a `Text` if it holds a code. A row of an older version, and a damaged one, keep what they
    say."""
    if value is None or not value.startswith(f"{_MARK}{{"):
        return value
    try:
        kept = _decode(value.removeprefix(_MARK))
        return restore(Coded(kept.code, kept.args), kept.words)
    except ValueError:
        return value
