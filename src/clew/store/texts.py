"""How a sentence is stored: one of clew's own as its code and arguments, any other text as it is."""

from __future__ import annotations

from typing import overload

import msgspec

from clew.support.coded import Coded, Text
from clew.texts.catalogue import restore

_MARK = "code:"
_decode = msgspec.json.Decoder(Coded).decode


@overload
def stored(text: str) -> str: ...
@overload
def stored(text: None) -> None: ...
def stored(text: str | None) -> str | None:
    """The value of the column. Somebody else's text that looks like a code is stored behind a space."""
    if isinstance(text, Text):
        return f"{_MARK}{msgspec.json.encode(text.coded).decode()}"
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
        return restore(_decode(value.removeprefix(_MARK)), value)
    except ValueError:
        return value
