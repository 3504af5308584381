"""The schemas of server-sent events, by kind: `event` is the kind, `id` the number in the log, `data` what is sent."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from msgspec import Struct

from clew.model.events.live import ControlEvent, TurnOutput
from clew.model.events.logged import Logged
from clew.model.events.stream import KINDS

STREAM_EVENT = "StreamEvent"
_REF = "#/components/schemas/"
_TEXT, _NUMBER = {"type": "string"}, {"type": "integer"}
_TEXT_OR_NULL = {"anyOf": [_TEXT, {"type": "null"}]}

STREAM = {"text/event-stream": {"schema": {"$ref": f"{_REF}{STREAM_EVENT}"}}}


def event_schemas(data: Mapping[type[Struct], dict[str, Any]], named: Mapping[str, Any]) -> dict[str, Any]:
    """One schema for each kind, and the union of them. `data` maps the struct of each kind to its schema."""
    events = {f"{kind.__name__}Event": _event(kind, data[kind], named) for kind in KINDS.values()}
    mapping = {kind.event.value: f"{_REF}{kind.__name__}Event" for kind in KINDS.values()}
    union = {
        "title": STREAM_EVENT,
        "description": "A server-sent event. There may be other kinds later: ignore the ones that you do not know.",
        "oneOf": [{"$ref": each} for each in mapping.values()],
        "discriminator": {"propertyName": "event", "mapping": mapping},
    }
    return {**events, STREAM_EVENT: union}


def _event(kind: type[Struct], data: dict[str, Any], named: Mapping[str, Any]) -> dict[str, Any]:
    name = {"const": kind.event.value}  # type: ignore[attr-defined]
    if issubclass(kind, Logged):
        sent = {"seq": _NUMBER, "thread": _TEXT, "turn": _TEXT_OR_NULL, "kind": name, "at": _NUMBER, "data": data}
        return _object(kind, {"event": name, "id": _NUMBER, "data": _object(None, sent)})
    if issubclass(kind, ControlEvent):
        number = {"id": _NUMBER} if "seq" in kind.__struct_fields__ else {}
        return _object(kind, {"event": name, **number, "data": data})
    fields = named[data["$ref"].removeprefix(_REF)]["properties"]
    turn = _TEXT if issubclass(kind, TurnOutput) else _TEXT_OR_NULL
    return _object(kind, {"event": name, "data": _object(None, {"thread": _TEXT, "turn": turn, **fields})})


def _object(kind: type[Struct] | None, properties: dict[str, Any]) -> dict[str, Any]:
    about = {"title": f"{kind.__name__}Event", "description": kind.__doc__} if kind else {}
    return {**about, "type": "object", "required": list(properties), "properties": properties}
