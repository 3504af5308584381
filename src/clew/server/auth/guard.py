"""Checks requests to the TCP listener; denies by default. A foreign name in `Host` or `Origin` is refused (DNS
rebinding, pages of other sites), and so is a request without the token or the cookie of the page. Routes that verify
a signature themselves are let through."""

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
from clew.texts.catalogue import say

log = logging.getLogger(__name__)

PUBLIC = ("/healthz",)  # contains nothing private
SHELL = ("/", "/login")  # the page without data, and the login
FILES = "/page/"
KEY = "x-clew-key"  # the header with the key that belongs to the cookie
SAFE_METHODS = ("GET", "HEAD")  # they change nothing
FAILURES = 10  # wrong tokens per minute, after which further wrong ones are throttled
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

    def accepts(self, cookie: str, key: str) -> bool: ...


class Guard:
    """`signed` are prefixes of paths whose routes verify a signature; `hosts` are the allowed values of `Host`."""

    def __init__(
        self,
        app: ASGIApp,
        is_token: Callable[[str], bool],
        hosts: Collection[str],
        signed: Collection[str] = (),
        now: Callable[[], float] = lambda: 0.0,
        cookies: Cookies | None = None,
    ) -> None:
        self._app = app
        self._is_token = is_token
        self._hosts = frozenset(hosts)
        self._signed = tuple(signed)
        self._now = now
        self._cookies = cookies
        self._failed: deque[float] = deque(maxlen=FAILURES)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return
        headers = {name.decode().lower(): _text(value) for name, value in scope["headers"]}
        refused = self._refusal(scope["method"], scope["path"], headers)
        await (refused or self._app)(scope, receive, _with_security_headers(send))

    def _refusal(self, method: str, path: str, headers: dict[str, str]) -> Response | None:
        if path in PUBLIC or path.startswith(self._signed):
            return None
        if headers.get("host", "") not in self._hosts:
            return refusal(HTTPStatus.FORBIDDEN, "host", say("daemon.wrong_host"))
        if not self._is_ours(headers.get("origin")):
            return refusal(HTTPStatus.FORBIDDEN, "origin", say("daemon.other_site"))
        if method in SAFE_METHODS and (path in SHELL or path.startswith(FILES)):
            return None
        if "authorization" not in headers and self._has_cookie(headers.get("cookie", ""), headers.get(KEY, "")):
            return self._refuse_other_page(method, headers)
        return self._check_token(headers.get("authorization", ""))

    def _is_ours(self, origin: str | None) -> bool:
        return origin is None or origin.removeprefix("http://") in self._hosts

    def _has_cookie(self, cookies: str, key: str) -> bool:
        if self._cookies is None:
            return False
        found = cookie_parser(cookies).get(self._cookies.name)
        return found is not None and self._cookies.accepts(found, key)

    def _refuse_other_page(self, method: str, headers: dict[str, str]) -> Response | None:
        """A browser sends the cookie also for requests of other pages, such as one on another local port. Refuse
        those."""
        site = headers.get("sec-fetch-site", "same-origin")
        if site in ("same-origin", "none") and (method in SAFE_METHODS or "origin" in headers):
            return None
        return refusal(HTTPStatus.FORBIDDEN, "origin", say("daemon.other_page"))

    def _check_token(self, authorization: str) -> Response | None:
        scheme, _, given = authorization.partition(" ")
        if scheme.lower() == "bearer" and given and self._is_token(given.strip()):
            return None  # also while others guess: they must not lock out the owner
        if given and self._is_flooded():
            return refusal(HTTPStatus.TOO_MANY_REQUESTS, "too_many", say("daemon.too_many_tokens"))
        if given:
            self._failed.append(self._now())
            log.warning("a request with a wrong token was refused")
        return refusal(HTTPStatus.UNAUTHORIZED, "unauthorized", say("daemon.needs_token"))

    def _is_flooded(self) -> bool:
        return len(self._failed) == FAILURES and self._now() - self._failed[0] < MINUTE


def _with_security_headers(send: Send) -> Send:
    """Adds the security headers to each response. A header that a route sets itself stays."""

    async def send_with_headers(message: Message) -> None:
        if message["type"] == "http.response.start":
            headers = MutableHeaders(scope=message)
            for name, value in HEADERS.items():
                headers.setdefault(name, value)
        await send(message)

    return send_with_headers


def _text(value: bytes) -> str:
    return value.decode("latin-1")
