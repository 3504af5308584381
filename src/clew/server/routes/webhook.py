"""The HTTP side of the webhook surface: one route, whose requests are signed by the sender."""

from __future__ import annotations

from collections.abc import AsyncIterator
from http import HTTPStatus

import msgspec
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response

from clew.model.surface import Inbox
from clew.server.routing.functions import Router
from clew.surfaces.webhook import WebhookSurface
from clew.surfaces.webhook.receiving import MAX_BODY, Message


def router(surface: WebhookSurface, inbox: Inbox | None = None) -> Router:
    """The route that receives messages. Without `inbox` it uses the one of `run`, and answers 503 until then."""
    routes = Router(tag="surfaces")

    @routes.post(
        "/surfaces/webhook/{name}",
        summary="Send a message from a program",
        extra={"requestBody": {"required": True, "content": {"application/json": {"schema": _schema()}}}},
    )
    async def webhook(name: str, request: Request) -> Response:
        """Signed: `X-Clew-Timestamp` and `X-Clew-Signature: sha256=` + hex HMAC-SHA256 of `timestamp.body`."""
        try:
            body = await _bounded(request.stream())
        except ClientDisconnect:
            return Response(status_code=HTTPStatus.BAD_REQUEST)
        reply = await surface.receive(name, request.headers, body, inbox or surface.inbox)
        content = msgspec.json.encode(reply.json)
        return Response(content, reply.status, dict(reply.headers), media_type=reply.media_type)

    return routes


def _schema() -> object:
    _, components = msgspec.json.schema_components([Message])
    return components["Message"]


async def _bounded(chunks: AsyncIterator[bytes]) -> bytes:
    """Read a body, at most a little beyond its size limit."""
    body = bytearray()
    async for chunk in chunks:
        body += chunk
        if len(body) > MAX_BODY:
            break
    return bytes(body)
