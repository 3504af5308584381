"""The OpenAPI description of the API: as JSON for programs, and as a plain page for people that loads nothing else.

`python -m clew.server.openapi` prints the content of `docs/openapi.json`.
"""

from __future__ import annotations

import html
import inspect
import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import msgspec

from clew.model.events.stream import KINDS
from clew.server.routing.event_schemas import STREAM, event_schemas
from clew.server.routing.functions import Route, Value
from clew.support.version import __version__

EXAMPLES = Path(__file__).with_name("routing") / "examples.json"
KEY = {
    "name": "Idempotency-Key",
    "in": "header",
    "required": False,
    "description": "For a day, the same key and body get the same response.",
    "schema": {"type": "string", "maxLength": 200},
}
PROBLEM = {
    "type": "object",
    "required": ["title", "status", "detail", "code"],
    "properties": {
        "type": {"type": "string"},
        "title": {"type": "string"},
        "status": {"type": "integer"},
        "detail": {
            "type": "string",
            "description": "what happened and what to do next; the same message as in the CLI",
        },
        "code": {"type": "string", "examples": ["refused", "not_found", "bad_input"]},
        "texts": {
            "type": "object",
            "additionalProperties": {"$ref": "#/components/schemas/Coded"},
            "description": "the code of `detail`, if it is a sentence of clew",
        },
    },
}
A_PROBLEM = {
    "description": "an error",
    "content": {"application/problem+json": {"schema": {"$ref": "#/components/schemas/Problem"}}},
}


def describe(routes: Sequence[Route]) -> dict[str, Any]:
    """The OpenAPI document. Errors, the token and the key of a POST are the same for all routes."""
    schemas = _Schemas(routes)
    paths: dict[str, dict[str, Any]] = {}
    examples = json.loads(EXAMPLES.read_text(encoding="utf-8"))
    for route in routes:
        operation = _operation(route, schemas)
        _add_example(operation, examples.get(f"{route.method} {route.path}"))
        paths.setdefault(route.path, {})[route.method.lower()] = operation
    return {
        "openapi": "3.1.0",
        "info": {"title": "clew", "version": __version__},
        "paths": paths,
        "components": {
            "schemas": {**schemas.named, "Problem": PROBLEM},
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
        },
        "security": [{"token": []}],
    }


class _Schemas:
    """The schemas of all inputs and outputs of the routes, and of all events: created together, so that names are
    unique."""

    def __init__(self, routes: Sequence[Route]) -> None:
        types = [kind for route in routes for kind in _types(route)]
        events = list(KINDS.values())
        made, named = msgspec.json.schema_components([*types, *events], ref_template="#/components/schemas/{name}")
        self._made = dict(zip(map(str, types), made, strict=False))
        self.named = {**named, **event_schemas(dict(zip(events, made[len(types) :], strict=True)), named)}

    def of(self, kind: Any) -> dict[str, Any]:
        return self._made[str(kind)]


def _types(route: Route) -> Iterator[Any]:
    yield from (value.kind for value in route.takes.values if value.shown)
    yield from (kind for kind in (route.takes.body, route.gives) if kind is not None)


def _operation(route: Route, schemas: _Schemas) -> dict[str, Any]:
    answer: dict[str, Any] = {"description": "success"}
    if route.gives is not None:
        answer["content"] = {"application/json": {"schema": schemas.of(route.gives)}}
    if route.streams:
        answer["content"] = STREAM
    operation: dict[str, Any] = {
        "tags": [route.tag],
        "summary": route.summary,
        "operationId": route.name,
        "parameters": [_parameter(value, schemas) for value in route.takes.values if value.shown],
        "responses": {str(route.status): answer, "default": A_PROBLEM},
        **route.extra,
    }
    if words := inspect.getdoc(route.handler):
        operation.setdefault("description", " ".join(words.split()))
    if route.takes.body is not None:
        content = {"application/json": {"schema": schemas.of(route.takes.body)}}
        operation["requestBody"] = {"required": True, "content": content}
    if route.method == "POST":
        operation["parameters"].append(KEY)
    return operation


def _parameter(value: Value, schemas: _Schemas) -> dict[str, Any]:
    schema = dict(schemas.of(value.kind))
    words = {"description": schema.pop("description")} if "description" in schema else {}
    if not value.required:
        schema["default"] = value.default
    return {"name": value.key, "in": value.place, "required": value.required, "schema": schema, **words}


def _add_example(operation: dict[str, Any], example: dict[str, Any] | None) -> None:
    """Add an example request and response, recorded from a real run."""
    if example is None:
        return
    for content in operation.get("requestBody", {}).get("content", {}).values():
        content["example"] = example["request"]
    answer = operation["responses"].setdefault(str(example["status"]), {"description": "success"})
    content = answer.get("content", {})
    described = content.get(example["type"]) or content.get("application/json", {})
    answer["content"] = {example["type"]: {**described, "example": example["response"]}}


def page(schema: dict[str, Any]) -> str:
    rows = [_row(path, method, each) for path, item in schema["paths"].items() for method, each in item.items()]
    body = json.dumps(schema, indent=1)
    return (
        f"<!doctype html><meta charset=utf-8><title>clew {html.escape(schema['info']['version'])}: API</title>"
        "<h1>clew: API</h1><p>For programs: <a href=/openapi.json>openapi.json</a>. "
        "How to use it: docs/reference/http.md.</p>"
        f"<table>{''.join(rows)}</table><details><summary>All of it</summary><pre>{html.escape(body)}</pre></details>"
    )


def _row(path: str, method: str, operation: dict[str, Any]) -> str:
    cells = (method.upper(), path, operation.get("summary", ""))
    return f"<tr>{''.join(f'<td>{html.escape(cell)}' for cell in cells)}"


def document() -> str:
    from clew.server.routes.table import ROUTES

    return json.dumps(describe(ROUTES), indent=2, sort_keys=True) + "\n"


if __name__ == "__main__":
    print(document(), end="")
