"""The HTTP routes of surfaces: `/surfaces/NAME/…` on the TCP listener. Each surface verifies its requests itself."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Iterable
from http import HTTPStatus
from typing import Any

import msgspec
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response

from clew.config.plugin import HttpRequest, HttpRoute
from clew.server.problems import refusal
from clew.server.routing.functions import Handler, Route, Router
from clew.texts.catalogue import say


def router(surface: str, routes: Iterable[HttpRoute]) -> Router:
    made = Router(tag="surfaces")
    made.routes += [_route(surface, each) for each in routes]
    return made


def _route(surface: str, route: HttpRoute) -> Route:
    path = f"/surfaces/{surface}/{route.path.lstrip('/')}"
    return Route(
        route.method, path, _handler(surface, route), summary=route.summary, tag="surfaces", extra=_described(route)
    )


def _handler(surface: str, route: HttpRoute) -> Handler:
    async def handle(request: Request) -> Response:
        try:
            body = await _bounded(request.stream(), route.max_body)
        except ClientDisconnect:
            return Response(status_code=HTTPStatus.BAD_REQUEST)
        if len(body) > route.max_body:
            detail = say("surfaces.webhook_too_large", bytes=route.max_body)
            return refusal(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, "too_large", detail)
        reply = await route.handle(HttpRequest(request.path_params, request.query_params, request.headers, body))
        return Response(reply.body, reply.status, dict(reply.headers), media_type=reply.media_type)

    handle.__name__ = surface
    return handle


def _described(route: HttpRoute) -> dict[str, Any]:
    """What the OpenAPI document says about it beside its summary."""
    words: dict[str, Any] = {"parameters": [_parameter(name) for name in re.findall(r"{(\w+)", route.path)]}
    if route.description:
        words["description"] = route.description
    if route.body is None:
        return words
    (schema,), components = msgspec.json.schema_components([route.body])
    named = components.get(getattr(route.body, "__name__", ""), schema)
    return {**words, "requestBody": {"required": True, "content": {"application/json": {"schema": named}}}}


def _parameter(name: str) -> dict[str, Any]:
    return {"name": name, "in": "path", "required": True, "schema": {"type": "string"}}


async def _bounded(chunks: AsyncIterator[bytes], most: int) -> bytes:
    """Read a body, at most a little beyond its size limit."""
    body = bytearray()
    async for chunk in chunks:
        body += chunk
        if len(body) > most:
            break
    return bytes(body)
