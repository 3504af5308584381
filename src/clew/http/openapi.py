"""The description of the API: as JSON for programs, and as a plain page for people that needs no other site.

`python -m clew.http.openapi` prints what `docs/openapi.json` must be.
"""

from __future__ import annotations

import html
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from fastapi import FastAPI
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response

EXAMPLES = Path(__file__).with_name("examples.json")
KEY = {
    "name": "Idempotency-Key",
    "in": "header",
    "required": False,
    "description": "The same key and body get the same answer for a day.",
    "schema": {"type": "string", "maxLength": 200},
}
PROBLEM = {
    "type": "object",
    "required": ["title", "status", "detail", "code"],
    "properties": {
        "type": {"type": "string"},
        "title": {"type": "string"},
        "status": {"type": "integer"},
        "detail": {"type": "string", "description": "what happened and what to do next, in the words of the CLI"},
        "code": {"type": "string", "examples": ["refused", "not_found", "bad_input"]},
    },
}


def install(app: FastAPI) -> None:
    made = app.openapi

    def described() -> dict[str, Any]:
        if app.openapi_schema is None:
            app.openapi_schema = _completed(made())
        return app.openapi_schema

    app.openapi = described  # type: ignore[method-assign]
    app.add_route("/docs", _page, include_in_schema=False)


def _completed(schema: dict[str, Any]) -> dict[str, Any]:
    """What holds for all routes is said once here: how errors look, the token, the key of a POST."""
    parts = schema.setdefault("components", {})
    parts.setdefault("schemas", {})["Problem"] = PROBLEM
    parts["securitySchemes"] = {"token": {"type": "http", "scheme": "bearer"}}
    schema["security"] = [{"token": []}]
    examples = json.loads(EXAMPLES.read_text(encoding="utf-8"))
    for method, path, operation in _operations(schema):
        operation["responses"].pop("422", None)
        _show(operation, examples.get(f"{method.upper()} {path}"))
        content = {"application/problem+json": {"schema": {"$ref": "#/components/schemas/Problem"}}}
        operation["responses"]["default"] = {"description": "a problem, in words", "content": content}
        if method == "post":
            operation.setdefault("parameters", []).append(KEY)
    for unused in ("HTTPValidationError", "ValidationError"):
        parts["schemas"].pop(unused, None)
    return schema


def _operations(schema: dict[str, Any]) -> Iterator[tuple[str, str, dict[str, Any]]]:
    for path, item in schema["paths"].items():
        for method, operation in item.items():
            yield method, path, operation


def _show(operation: dict[str, Any], example: dict[str, Any] | None) -> None:
    """What it looks like: what is sent, and what comes back. Taken from a real run."""
    if example is None:
        return
    for content in operation.get("requestBody", {}).get("content", {}).values():
        content["example"] = example["request"]
    answer = operation["responses"].setdefault(str(example["status"]), {"description": "Successful Response"})
    described = answer.get("content", {}).get("application/json", {})
    answer["content"] = {example["type"]: {**described, "example": example["response"]}}


async def _page(request: Request) -> Response:
    return HTMLResponse(page(request.app.openapi()), headers={"Content-Security-Policy": "default-src 'none'"})


def page(schema: dict[str, Any]) -> str:
    rows = [_row(path, method, each) for path, item in schema["paths"].items() for method, each in item.items()]
    body = json.dumps(schema, indent=1)
    return (
        f"<!doctype html><meta charset=utf-8><title>clew {html.escape(schema['info']['version'])}: API</title>"
        "<h1>clew: API</h1><p>For programs: <a href=/openapi.json>openapi.json</a>. How to use it: docs/http.md.</p>"
        f"<table>{''.join(rows)}</table><details><summary>All of it</summary><pre>{html.escape(body)}</pre></details>"
    )


def _row(path: str, method: str, operation: dict[str, Any]) -> str:
    cells = (method.upper(), path, operation.get("summary", ""))
    return f"<tr>{''.join(f'<td>{html.escape(cell)}' for cell in cells)}"


def document() -> str:
    from clew.http.app import described_app

    return json.dumps(described_app().openapi(), indent=2, sort_keys=True) + "\n"


if __name__ == "__main__":
    print(document(), end="")
