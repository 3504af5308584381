"""Errors as `application/problem+json`, with the messages of the CLI; and the size limit of requests."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from http import HTTPStatus

import msgspec
from starlette.exceptions import HTTPException
from starlette.middleware.exceptions import ExceptionMiddleware
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from clew.support.coded import coded_in
from clew.support.errors import ClewError, NotFound
from clew.texts.catalogue import say

log = logging.getLogger(__name__)

MAX_BODY = 8 << 20  # bytes; the longest text is 1 MiB, and JSON may escape a character as six bytes
TOO_LARGE = HTTPStatus.REQUEST_ENTITY_TOO_LARGE


def problem(error: ClewError) -> Response:
    return _problem(error.status, error.code, error.words)


def refusal(status: int, code: str, detail: str) -> Response:
    return _problem(status, code, detail)


def unexpected(error: Exception) -> str:
    return say("daemon.unexpected", error=type(error).__name__)


class Handled(ExceptionMiddleware):
    """Turns the errors of an app into problem responses."""

    def __init__(self, app: ASGIApp) -> None:
        super().__init__(app, {ClewError: _clew_error, HTTPException: _http_error})


class LastResort:
    """Answers an error that nothing else has handled, and raises it again: the server logs it."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        has_begun = False

        async def noted(message: Message) -> None:
            nonlocal has_begun
            has_begun = has_begun or message["type"] == "http.response.start"
            await send(message)

        try:
            await self.app(scope, receive, noted)
        except Exception as error:
            if not has_begun:
                await _problem(ClewError.status, ClewError.code, unexpected(error))(scope, receive, send)
            raise


class BodyLimit:
    """Refuses a body that is too large while it is read, so that memory stays bounded."""

    def __init__(self, app: ASGIApp, larger: Mapping[str, int]) -> None:
        self.app = app
        self._larger = larger

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        read = 0
        largest = self._larger.get(scope["path"], MAX_BODY)

        async def limited_receive() -> Message:
            nonlocal read
            message = await receive()
            read += len(message.get("body", b""))
            if read > largest:
                raise HTTPException(TOO_LARGE, say("daemon.request_too_large", size=largest >> 20))
            return message

        await self.app(scope, limited_receive, send)


def _problem(status: int, code: str, detail: str) -> Response:
    body: dict[str, object] = {
        "type": "about:blank",
        "title": HTTPStatus(status).phrase,
        "status": status,
        "detail": str.__str__(detail),
        "code": code,
    }
    if texts := coded_in(detail=detail):
        body["texts"] = texts
    return Response(msgspec.json.encode(body), status, media_type="application/problem+json")


async def _clew_error(request: Request, error: Exception) -> Response:
    assert isinstance(error, ClewError)
    if error.status >= 500:
        log.warning("%s %s: %s", request.method, request.url.path, error.message)
    return problem(error)


async def _http_error(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    if error.status_code == NotFound.status:
        return _problem(NotFound.status, NotFound.code, say("daemon.no_such_path", path=request.url.path))
    if error.status_code == TOO_LARGE:
        return _problem(TOO_LARGE, "too_large", error.detail)
    words = say("daemon.http", method=request.method, path=request.url.path, detail=error.detail)
    return _problem(error.status_code, "http", words)
