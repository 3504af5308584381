"""Validates requests, with messages such as `title: must not be empty`."""

from __future__ import annotations

import re
from typing import Any, Literal, TypeVar, get_args, get_origin, get_type_hints

import msgspec

from clew.support.errors import BadInput
from clew.texts.catalogue import say

T = TypeVar("T")

_PLACE = re.compile(r"^(?P<what>.*?)(?: - at `\$(?P<at>.*)`)?$", re.DOTALL)
_KINDS = {
    "str": "daemon.must_be_text",
    "bool": "daemon.must_be_bool",
    "int": "daemon.must_be_whole",
    "float": "daemon.must_be_number",
    "array": "daemon.must_be_list",
    "object": "daemon.must_be_an_object",
}
_BOUNDS = {">=": "daemon.at_least", "<=": "daemon.at_most", ">": "daemon.more_than", "<": "daemon.less_than"}


class Body(msgspec.Struct, forbid_unknown_fields=True):
    """Base of the JSON bodies of requests."""


def read_json(body: bytes, kind: type[T]) -> T:
    try:
        return msgspec.json.decode(body, type=kind)
    except msgspec.ValidationError as error:
        raise BadInput(_words(str(error), kind)) from None
    except (msgspec.DecodeError, UnicodeDecodeError):
        raise BadInput(say("daemon.not_json")) from None


def read_text(name: str, text: str, kind: Any) -> Any:
    """Convert a value of a path, a query or a header."""
    try:
        return msgspec.convert(text, kind, strict=False)
    except msgspec.ValidationError as error:
        raise BadInput(say("daemon.field", field=name, rule=_rule(str(error), kind))) from None


def _words(message: str, kind: type) -> str:
    found = _PLACE.match(message)
    assert found is not None
    what, at = found["what"], _path(found["at"] or "")
    if field := re.fullmatch(r"Object missing required field `(.*)`", what, re.DOTALL):
        return say("daemon.field", field=".".join((*at, field[1])), rule=say("daemon.must_be_given"))
    if field := re.fullmatch(r"Object contains unknown field `(.*)`", what, re.DOTALL):
        return say("daemon.field", field=".".join((*at, field[1])), rule=say("daemon.unknown_field"))
    if not at:
        return say("daemon.must_be_object")
    rule = _rule(what, get_type_hints(kind, include_extras=True).get(at[0]))
    return say("daemon.field", field=".".join(at), rule=rule)


def _path(at: str) -> tuple[str, ...]:
    """Split `.replies[0][1]` into parts. msgspec writes indexes as `...`, which are dropped."""
    return tuple(part for part in re.split(r"[.\[\]]+", at) if part and part != "...")


def _rule(what: str, kind: Any) -> str:
    if what.startswith("Invalid enum value"):
        return say("daemon.must_be", listed=_listed(_literals(kind)))
    if "matching regex" in what:
        return say("daemon.must_be_name")
    if length := re.search(r"Expected `(\w+)` of length (\S+) (\d+)", what):
        return _length(length[1], length[2], int(length[3]))
    if bound := re.search(r"Expected `\w+` (\S+) (\S+?)(?:\.0)?$", what):
        return say(_BOUNDS[bound[1]], bound=bound[2])
    expected = re.search(r"Expected `(\w+)", what)
    known = _KINDS.get(expected[1] if expected else _name(kind))
    return say(known) if known else what


def _length(kind: str, sign: str, bound: int) -> str:
    if sign == ">=":
        return say("daemon.not_empty")
    return say("daemon.too_long", bound=bound) if kind == "str" else say("daemon.too_many", bound=bound)


def _literals(kind: Any) -> list[str]:
    if get_origin(kind) is Literal:
        return [repr(value) for value in get_args(kind)]
    return [value for part in get_args(kind) for value in _literals(part)]


def _listed(values: list[str]) -> str:
    return say("daemon.or", some=", ".join(values[:-1]), last=values[-1]) if values[1:] else values[0]


def _name(kind: Any) -> str:
    """The name of the first plain type in an annotation, which the text could not be converted to."""
    while get_args(kind):
        kind = get_args(kind)[0]
    return str(getattr(kind, "__name__", kind))
