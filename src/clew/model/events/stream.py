"""The events of a stream, typed: one closed union, and how an event of any version becomes one of it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, get_args

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from clew.model.events.live import AnyLive
from clew.model.events.logged import AnyLogged


class Unknown(Struct, frozen=True):
    """Of a kind that this version does not know, or without the fields that it needs."""


StreamEvent = AnyLogged | AnyLive | Unknown

KINDS: Mapping[str, type[AnyLogged | AnyLive]] = {
    each.event: each for each in (*get_args(AnyLogged), *get_args(AnyLive))
}


class Envelope(Struct, frozen=True):
    """What is around the data of an event."""

    thread: str | None = None
    turn: str | None = None
    at: int | None = None  # of a stored one: milliseconds since 1970
    data: dict[str, Any] | None = None  # never None once it is opened


_decode = msgspec.json.Decoder(Envelope).decode
_decode_all = msgspec.json.Decoder(dict[str, Any]).decode


def opened(body: bytes) -> Envelope:
    """The envelope of an event, with its data: stored events have it in `data`, live ones at the top level."""
    envelope = _decode(body)
    if envelope.data is not None:
        return envelope
    data = {name: value for name, value in _decode_all(body).items() if name not in ("thread", "turn")}
    return replace(envelope, data=data)


def typed(kind: str, data: Mapping[str, Any]) -> StreamEvent:
    """The data of an event, typed by its kind. Never fails: a newer daemon may send kinds and fields of its own."""
    found = KINDS.get(kind)
    if found is None:
        return Unknown()
    try:
        return msgspec.convert(data, found)
    except msgspec.ValidationError:
        return Unknown()
