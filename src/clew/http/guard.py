"""Who may speak to the TCP listener: deny by default. A name that is not ours in `Host` or `Origin` is refused (DNS
rebinding, other people's pages), and so is everybody without the token. What signs its own requests passes by."""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Callable, Collection
from http import HTTPStatus

from starlette.responses import Response
from starlette.types import ASGIApp, Receive, Scope, Send

from clew.http.problems import refusal

log = logging.getLogger(__name__)

OPEN = ("/healthz",)  # nothing in it that anybody could want
FAILURES = 10  # wrong tokens in a minute, after which others wait
MINUTE = 60.0


class Guard:
    """`signed` are beginnings of paths whose requests prove themselves; `hosts` the names that we go by."""

    def __init__(
        self,
        app: ASGIApp,
        fits: Callable[[str], bool],
        hosts: Collection[str],
        signed: Collection[str] = (),
        now: Callable[[], float] = lambda: 0.0,
    ) -> None:
        self._app = app
        self._fits = fits
        self._hosts = frozenset(hosts)
        self._signed = tuple(signed)
        self._now = now
        self._failed: deque[float] = deque(maxlen=FAILURES)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return
        answer = self._refusal(scope["path"], {name.decode().lower(): _text(value) for name, value in scope["headers"]})
        await (answer or self._app)(scope, receive, send)

    def _refusal(self, path: str, headers: dict[str, str]) -> Response | None:
        if path in OPEN or path.startswith(self._signed):
            return None
        if headers.get("host", "") not in self._hosts:
            return refusal(HTTPStatus.FORBIDDEN, "host", "clew does not go by this name; `clew status` has its address")
        if not self._is_ours(headers.get("origin")):
            return refusal(HTTPStatus.FORBIDDEN, "origin", "a page of another site may not speak to clew")
        return self._without_token(headers.get("authorization", ""))

    def _is_ours(self, origin: str | None) -> bool:
        return origin is None or origin.removeprefix("http://") in self._hosts

    def _without_token(self, authorization: str) -> Response | None:
        scheme, _, given = authorization.partition(" ")
        if scheme.lower() == "bearer" and given and self._fits(given.strip()):
            return None  # also while others guess: they must not lock out whoever knows it
        if self._is_flooded():
            return refusal(HTTPStatus.TOO_MANY_REQUESTS, "too_many", "too many wrong tokens; wait a minute")
        if given:
            self._failed.append(self._now())
            log.warning("a request with a wrong token was refused")
        words = "a token is needed: `Authorization: Bearer TOKEN`; `clew token` prints it"
        return refusal(HTTPStatus.UNAUTHORIZED, "unauthorized", words)

    def _is_flooded(self) -> bool:
        return len(self._failed) == FAILURES and self._now() - self._failed[0] < MINUTE


def _text(value: bytes) -> str:
    return value.decode("latin-1")
