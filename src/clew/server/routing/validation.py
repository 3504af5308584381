"""Validates requests, with messages such as `title: must not be empty`."""

from __future__ import annotations

import re
from typing import Any, Literal, TypeVar, get_args, get_origin, get_type_hints

import msgspec

from clew.support.errors import BadInput

T = TypeVar("T")

_PLACE = re.compile(r"^(?P<what>.*?)(?: - at `\$(?P<at>.*)`)?$", re.DOTALL)
_KINDS = {
    "str": "must be text",
    "bool": "must be true or false",
    "int": "must be a whole number",
    "float": "must be a number",
    "array": "must be a list",
    "object": "must be an object",
}
_BOUNDS = {">=": "at least", "<=": "at most", ">": "more than", "<": "less than"}


class Body(msgspec.Struct, forbid_unknown_fields=True):
    """Base of the JSON bodies of requests."""


def read_json(body: bytes, kind: type[T]) -> T:
    try:
        return msgspec.json.decode(body, type=kind)
    except msgspec.ValidationError as error:
        raise BadInput(_words(str(error), kind)) from None
    except (msgspec.DecodeError, UnicodeDecodeError):
        raise BadInput("the body is not JSON") from None


def read_text(name: str, text: str, kind: Any) -> Any:
    """Convert a value of a path, a query or a header."""
    try:
        return msgspec.convert(text, kind, strict=False)
    except msgspec.ValidationError as error:
        raise BadInput(f"{name}: {_rule(str(error), kind)}") from None


def _words(message: str, kind: type) -> str:
    found = _PLACE.match(message)
    assert found is not None
    what, at = found["what"], _path(found["at"] or "")
    if field := re.fullmatch(r"Object missing required field `(.*)`", what, re.DOTALL):
        return f"{'.'.join((*at, field[1]))}: must be given"
    if field := re.fullmatch(r"Object contains unknown field `(.*)`", what, re.DOTALL):
        return f"{'.'.join((*at, field[1]))}: is not a known field"
    if not at:
        return "the body must be an object"
    return f"{'.'.join(at)}: {_rule(what, get_type_hints(kind, include_extras=True).get(at[0]))}"


def _path(at: str) -> tuple[str, ...]:
    """Split `.replies[0][1]` into parts. msgspec writes indexes as `...`, which are dropped."""
    return tuple(part for part in re.split(r"[.\[\]]+", at) if part and part != "...")


def _rule(what: str, kind: Any) -> str:
    if what.startswith("Invalid enum value"):
        return f"must be {_listed(_literals(kind))}"
    if "matching regex" in what:
        return "must be letters, digits and _ . : - only, at most 128 of them"
    if length := re.search(r"Expected `(\w+)` of length (\S+) (\d+)", what):
        return _length(length[1], length[2], int(length[3]))
    if bound := re.search(r"Expected `\w+` (\S+) (\S+?)(?:\.0)?$", what):
        return f"must be {_BOUNDS[bound[1]]} {bound[2]}"
    expected = re.search(r"Expected `(\w+)", what)
    return _KINDS.get(expected[1] if expected else _name(kind), what)


def _length(kind: str, sign: str, bound: int) -> str:
    if sign == ">=":
        return "must not be empty"
    return (
        f"must not be longer than {bound} characters" if kind == "str" else f"must not have more than {bound} entries"
    )


def _literals(kind: Any) -> list[str]:
    if get_origin(kind) is Literal:
        return [repr(value) for value in get_args(kind)]
    return [value for part in get_args(kind) for value in _literals(part)]


def _listed(values: list[str]) -> str:
    return " or ".join(filter(None, (", ".join(values[:-1]), values[-1])))


def _name(kind: Any) -> str:
    """The name of the first plain type in an annotation, which the text could not be converted to."""
    while get_args(kind):
        kind = get_args(kind)[0]
    return str(getattr(kind, "__name__", kind))
