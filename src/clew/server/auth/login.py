"""Login of a browser: a short-lived link that works once is exchanged for a cookie and a key.

The cookie contains its expiry and is signed with a secret derived from the token. So nothing is stored: cookies survive
a crash of the daemon, and a new token invalidates all of them. A browser sends the cookie to every port of this
machine, so it is useless alone: the page also sends the key, which a browser gives to no other address.
"""

from __future__ import annotations

import hashlib
import hmac
import secrets
import time
from collections.abc import Callable

from clew.server.auth.tokens import Token

LINK = 5 * 60  # seconds that a link is valid
COOKIE = 30 * 86_400  # seconds that a cookie is valid
OPEN_LINKS = 20  # at most, so that memory is bounded


class Logins:
    """`name` is the name of the cookie. Browsers share cookies between ports, so it contains our port."""

    def __init__(self, token: Token, address: str, now: Callable[[], float] = time.time) -> None:
        self._token = token
        self._address = address
        self._now = now
        self._links: dict[str, float] = {}
        self.name = f"clew-{address.rpartition(':')[2]}"

    def link(self) -> tuple[str, float]:
        """Create a link; returns it with its expiry."""
        while len(self._links) >= OPEN_LINKS:
            del self._links[next(iter(self._links))]
        code, until = secrets.token_urlsafe(32), self._now() + LINK
        self._links[code] = until
        return f"{self._address}/login?code={code}", until

    def redeem(self, code: str) -> bool:
        """Use up a link. Of two requests with the same code, one succeeds."""
        until = self._links.pop(code, None)
        return until is not None and self._now() < until

    def cookie(self) -> str:
        made = f"{int(self._now()) + COOKIE}.{secrets.token_urlsafe(12)}"
        return f"{made}.{self._sign(made)}"

    def key(self, cookie: str) -> str:
        """The key that the page has to send with this cookie."""
        secret = self._secret(b"the key of the page")
        return hmac.new(secret, cookie.encode(errors="replace"), hashlib.sha256).hexdigest()

    def accepts(self, cookie: str, key: str) -> bool:
        return hmac.compare_digest(key.encode(errors="replace"), self.key(cookie).encode()) and self.fits(cookie)

    def fits(self, cookie: str) -> bool:
        made, _, signature = cookie.rpartition(".")
        if not hmac.compare_digest(signature.encode(errors="replace"), self._sign(made).encode()):
            return False
        return self._now() < int(made.partition(".")[0])

    def _sign(self, made: str) -> str:
        named = f"{self.name}={made}".encode(errors="replace")
        return hmac.new(self._secret(b"the cookie of the page"), named, hashlib.sha256).hexdigest()

    def _secret(self, purpose: bytes) -> bytes:
        return hmac.digest(self._token.now().encode(), purpose, hashlib.sha256)
