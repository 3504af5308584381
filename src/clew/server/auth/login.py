"""How a browser comes in: by a link that counts once and soon, which becomes a cookie and a key to it.

The cookie carries its own end and is signed with a secret made from the token. So nothing is kept: it lives through the
death of a daemon, and a new token ends all of them. Browsers show it to every port of this machine, so it does nothing
alone: the page sends the key with it, which a browser gives to no other address.
"""

from __future__ import annotations

import hashlib
import hmac
import secrets
import time
from collections.abc import Callable

from clew.server.auth.tokens import Token

LINK = 5 * 60  # seconds that a link counts
COOKIE = 30 * 86_400  # seconds that a cookie does
OPEN_LINKS = 20  # at most, so that nobody fills our memory


class Logins:
    """`name` is the cookie's. Browsers do not tell ports apart, so it has ours in it."""

    def __init__(self, token: Token, address: str, now: Callable[[], float] = time.time) -> None:
        self._token = token
        self._address = address
        self._now = now
        self._links: dict[str, float] = {}
        self.name = f"clew-{address.rpartition(':')[2]}"

    def link(self) -> tuple[str, float]:
        """A new one, and when it ends."""
        while len(self._links) >= OPEN_LINKS:
            del self._links[next(iter(self._links))]
        code, until = secrets.token_urlsafe(32), self._now() + LINK
        self._links[code] = until
        return f"{self._address}/login?code={code}", until

    def redeem(self, code: str) -> bool:
        """Of two who have it, one gets in."""
        until = self._links.pop(code, None)
        return until is not None and self._now() < until

    def cookie(self) -> str:
        made = f"{int(self._now()) + COOKIE}.{secrets.token_urlsafe(12)}"
        return f"{made}.{self._sign(made)}"

    def key(self, cookie: str) -> str:
        """What the page has to show with it."""
        secret = self._secret(b"the key of the page")
        return hmac.new(secret, cookie.encode(errors="replace"), hashlib.sha256).hexdigest()

    def opens(self, cookie: str, key: str) -> bool:
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
