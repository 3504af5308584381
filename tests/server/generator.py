"""Generates requests from the OpenAPI document: valid ones and slightly wrong ones. It knows only the JSON Schema
keywords that docs/openapi.json uses."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from hypothesis import strategies as st

Schema = Mapping[str, Any]
Value = st.SearchStrategy[Any]

ANYTHING: Value = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-5, 2**70)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
    max_leaves=4,
)
ODD = st.text(max_size=12) | st.sampled_from(["../..", "%2e%2e", "\0", "-1", "9" * 30, "a" * 300, "☂", "' OR 1=1 --"])


@dataclass(frozen=True, slots=True)
class Call:
    method: str
    path: str
    query: dict[str, str] = field(default_factory=dict)
    headers: dict[str, str] = field(default_factory=dict)
    body: Any = None


@dataclass(frozen=True, slots=True)
class Operation:
    method: str
    path: str
    spec: Schema

    def __str__(self) -> str:
        return f"{self.method} {self.path}"

    @property
    def is_file(self) -> bool:
        return "text/plain" in self.spec.get("requestBody", {}).get("content", {})

    @property
    def body(self) -> Schema | None:
        content = self.spec.get("requestBody", {}).get("content", {})
        return content["application/json"]["schema"] if "application/json" in content else None


def operations(document: Schema) -> Iterator[Operation]:
    for path, item in document["paths"].items():
        for method, spec in item.items():
            yield Operation(method.upper(), path, spec)


def calls(document: Schema, operation: Operation, known: Mapping[str, Sequence[str]]) -> Value:
    """`known` are values for path parameters, so that not every request is answered with `not found`."""
    return st.builds(
        Call,
        st.just(operation.method),
        _path(operation, known),
        _parameters(document, operation, "query"),
        _parameters(document, operation, "header"),
        _bodies(document, operation.body)
        if operation.body
        else st.text(max_size=9)
        if operation.is_file
        else st.none(),
    )


def _path(operation: Operation, known: Mapping[str, Sequence[str]]) -> Value:
    names = [part[1:-1] for part in operation.path.split("/") if part.startswith("{")]
    values = {
        name: st.sampled_from(known.get(name) or ["x"]) | st.sampled_from(known.get(name) or ["x"]) | ODD
        for name in names
    }
    return st.fixed_dictionaries(values).map(
        lambda given: operation.path.format(**{n: _quoted(v) for n, v in given.items()})
    )


def _quoted(text: str) -> str:
    return "".join(f"%{byte:02X}" for byte in text.encode("utf-8", "replace")) or "%20"


def _parameters(document: Schema, operation: Operation, place: str) -> Value:
    found = [each for each in operation.spec.get("parameters", ()) if each["in"] == place]
    optional: dict[str, Value] = {each["name"]: values(document, each["schema"]).map(_plain) | ODD for each in found}
    if place == "header":
        optional = {name: each.map(_in_header) for name, each in optional.items()}
    return st.fixed_dictionaries({}, optional=optional).map(
        lambda given: {name: value for name, value in given.items() if value is not None}
    )


def _in_header(text: str | None) -> str | None:
    return "".join(char for char in text if " " < char <= "~") or None if text else None


def _plain(value: Any) -> str | None:
    return None if value is None else str(value).lower() if isinstance(value, bool) else str(value)


def _bodies(document: Schema, schema: Schema) -> Value:
    fit = values(document, schema)
    changed = st.tuples(
        fit, st.dictionaries(st.sampled_from([*_fields(document, schema), "else"]), ANYTHING, max_size=2)
    )
    return fit | changed.map(lambda pair: {**pair[0], **pair[1]} if isinstance(pair[0], dict) else pair[1]) | ANYTHING


def _fields(document: Schema, schema: Schema) -> list[str]:
    return list(_resolved(document, schema).get("properties", {}))


def _resolved(document: Schema, schema: Schema) -> Schema:
    if "$ref" not in schema:
        return schema
    name = schema["$ref"].rpartition("/")[2]
    found: Schema = document["components"]["schemas"][name]
    return found


def values(document: Schema, schema: Schema) -> Value:
    """Values that match a schema."""
    schema = _resolved(document, schema)
    if "anyOf" in schema:
        return st.one_of(*(values(document, each) for each in schema["anyOf"]))
    if "enum" in schema or "const" in schema:
        return st.sampled_from(schema.get("enum") or [schema["const"]])
    match schema.get("type"):
        case "object":
            return _objects(document, schema)
        case "array":
            return st.lists(values(document, schema["items"]), max_size=min(3, schema.get("maxItems", 3)))
        case "string":
            return _strings(schema)
        case "integer":
            return st.integers(schema.get("minimum", -5), schema.get("maximum", 2**40))
        case "number":
            return st.floats(
                schema.get("exclusiveMinimum", schema.get("minimum", -5)) + 0.5, schema.get("maximum", 1e6)
            )
        case "boolean":
            return st.booleans()
        case "null":
            return st.none()
    return ANYTHING


def _objects(document: Schema, schema: Schema) -> Value:
    fields = {name: values(document, each) for name, each in schema.get("properties", {}).items()}
    required = {name: fields.pop(name) for name in schema.get("required", ())}
    return st.fixed_dictionaries(required, optional=fields)


def _strings(schema: Schema) -> Value:
    if "pattern" in schema:
        return st.from_regex(schema["pattern"].removesuffix(r"$(?!\n)") + r"\Z")
    return st.text(min_size=schema.get("minLength", 0), max_size=min(20, schema.get("maxLength", 20)))
