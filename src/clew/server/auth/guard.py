"""Who may speak to the TCP listener: deny by default. A name that is not ours in `Host` or `Origin` is refused (DNS
rebinding, other people's pages), and so is everybody without the token, or the cookie of the page. What signs its own
requests passes by."""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Callable, Collection
from http import HTTPStatus
from typing import Protocol

from starlette.datastructures import MutableHeaders
from starlette.requests import cookie_parser
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from clew.server.problems import refusal

log = logging.getLogger(__name__)

OPEN = ("/healthz",)  # nothing in it that anybody could want
SHELL = ("/", "/login")  # the page without what it shows, and the way in
FILES = "/page/"
KEY = "x-clew-key"  # the header with the key to the cookie
LOOKS = ("GET", "HEAD")  # they change nothing
FAILURES = 10  # wrong tokens in a minute, after which others wait
MINUTE = 60.0
HEADERS = {
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Content-Security-Policy": "default-src 'none'; frame-ancestors 'none'",
    "Cache-Control": "no-store",
}


class Cookies(Protocol):
    name: str

    def opens(self, cookie: str, key: str) -> bool: ...


class Guard:
    """`signed` are beginnings of paths whose requests prove themselves; `hosts` the names that we go by."""

    def __init__(
        self,
        app: ASGIApp,
        fits: Callable[[str], bool],
        hosts: Collection[str],
        signed: Collection[str] = (),
        now: Callable[[], float] = lambda: 0.0,
        cookies: Cookies | None = None,
    ) -> None:
        self._app = app
        self._fits = fits
        self._hosts = frozenset(hosts)
        self._signed = tuple(signed)
        self._now = now
        self._cookies = cookies
        self._failed: deque[float] = deque(maxlen=FAILURES)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return
        headers = {name.decode().lower(): _text(value) for name, value in scope["headers"]}
        answer = self._refusal(scope["method"], scope["path"], headers)
        await (answer or self._app)(scope, receive, _wary(send))

    def _refusal(self, method: str, path: str, headers: dict[str, str]) -> Response | None:
        if path in OPEN or path.startswith(self._signed):
            return None
        if headers.get("host", "") not in self._hosts:
            return refusal(HTTPStatus.FORBIDDEN, "host", "clew does not go by this name; `clew status` has its address")
        if not self._is_ours(headers.get("origin")):
            return refusal(HTTPStatus.FORBIDDEN, "origin", "a page of another site may not speak to clew")
        if method in LOOKS and (path in SHELL or path.startswith(FILES)):
            return None
        if "authorization" not in headers and self._knows(headers.get("cookie", ""), headers.get(KEY, "")):
            return self._of_another_page(method, headers)
        return self._without_token(headers.get("authorization", ""))

    def _is_ours(self, origin: str | None) -> bool:
        return origin is None or origin.removeprefix("http://") in self._hosts

    def _knows(self, cookies: str, key: str) -> bool:
        if self._cookies is None:
            return False
        found = cookie_parser(cookies).get(self._cookies.name)
        return found is not None and self._cookies.opens(found, key)

    def _of_another_page(self, method: str, headers: dict[str, str]) -> Response | None:
        """A browser sends the cookie whoever made it ask, a page on another port of this machine too. Only ours may."""
        site = headers.get("sec-fetch-site", "same-origin")
        if site in ("same-origin", "none") and (method in LOOKS or "origin" in headers):
            return None
        return refusal(HTTPStatus.FORBIDDEN, "origin", "with the cookie only the page itself may speak to clew")

    def _without_token(self, authorization: str) -> Response | None:
        scheme, _, given = authorization.partition(" ")
        if scheme.lower() == "bearer" and given and self._fits(given.strip()):
            return None  # also while others guess: they must not lock out whoever knows it
        if given and self._is_flooded():
            return refusal(HTTPStatus.TOO_MANY_REQUESTS, "too_many", "too many wrong tokens; wait a minute")
        if given:
            self._failed.append(self._now())
            log.warning("a request with a wrong token was refused")
        words = "a token is needed: `Authorization: Bearer TOKEN`; `clew token` prints it. A browser needs `clew web`"
        return refusal(HTTPStatus.UNAUTHORIZED, "unauthorized", words)

    def _is_flooded(self) -> bool:
        return len(self._failed) == FAILURES and self._now() - self._failed[0] < MINUTE


def _wary(send: Send) -> Send:
    """Tells browsers to take an answer for what it says it is, and for nobody else. What a route says itself stays."""

    async def said(message: Message) -> None:
        if message["type"] == "http.response.start":
            headers = MutableHeaders(scope=message)
            for name, value in HEADERS.items():
                headers.setdefault(name, value)
        await send(message)

    return said


def _text(value: bytes) -> str:
    return value.decode("latin-1")
