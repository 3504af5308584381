"""Errors as `application/problem+json`, in the words that the CLI uses; and what a request may weigh."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from http import HTTPStatus

import msgspec
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware.exceptions import ExceptionMiddleware
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from clew.support.errors import ClewError, NotFound

log = logging.getLogger(__name__)

MAX_BODY = 8 << 20  # bytes; the longest text is 1 MiB, and JSON may write a character in six
TOO_LARGE = HTTPStatus.REQUEST_ENTITY_TOO_LARGE


def problem(error: ClewError) -> Response:
    return _problem(error.status, error.code, error.message)


def refusal(status: int, code: str, detail: str) -> Response:
    return _problem(status, code, detail)


def unforeseen(error: Exception) -> str:
    return f"something went wrong inside clew ({type(error).__name__}); `clew logs` tells more"


def install(app: Starlette, larger: Mapping[str, int] | None = None) -> None:
    """Make every error of an app a problem; last of all, for Starlette's own handling is inside of what was added
    before. `larger` are paths that take a larger body than others."""
    handlers = {ClewError: _clew_error, HTTPException: _http_error}
    app.add_middleware(Bounded, larger=larger or {})
    app.add_middleware(ExceptionMiddleware, handlers=handlers)
    for kind, handler in handlers.items():
        app.add_exception_handler(kind, handler)
    app.add_exception_handler(Exception, _unforeseen)


class Bounded:
    """Refuses a body that is too large as soon as that is known, so that memory never grows with it."""

    def __init__(self, app: ASGIApp, larger: Mapping[str, int]) -> None:
        self.app = app
        self._larger = larger

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        read = 0
        largest = self._larger.get(scope["path"], MAX_BODY)

        async def counted() -> Message:
            nonlocal read
            message = await receive()
            read += len(message.get("body", b""))
            if read > largest:
                raise HTTPException(TOO_LARGE, f"the request is larger than {largest >> 20} MiB; attach a file instead")
            return message

        await self.app(scope, counted, send)


def _problem(status: int, code: str, detail: str) -> Response:
    body = {"type": "about:blank", "title": HTTPStatus(status).phrase, "status": status, "detail": detail, "code": code}
    return Response(msgspec.json.encode(body), status, media_type="application/problem+json")


async def _clew_error(request: Request, error: Exception) -> Response:
    assert isinstance(error, ClewError)
    if error.status >= 500:
        log.warning("%s %s: %s", request.method, request.url.path, error.message)
    return problem(error)


async def _http_error(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    if error.status_code == NotFound.status:
        return _problem(NotFound.status, NotFound.code, f"there is nothing at {request.url.path}")
    if error.status_code == TOO_LARGE:
        return _problem(TOO_LARGE, "too_large", error.detail)
    return _problem(error.status_code, "http", f"{request.method} {request.url.path}: {error.detail}")


async def _unforeseen(request: Request, error: Exception) -> Response:
    """The traceback is logged by the server."""
    return _problem(ClewError.status, ClewError.code, unforeseen(error))
