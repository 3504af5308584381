"""How a browser comes in: by a link that counts once and soon, which becomes a cookie.

The cookie carries its own end and is signed with a key made from the token. So nothing is kept: it lives through the
death of a daemon, and a new token ends all of them.
"""

from __future__ import annotations

import hashlib
import hmac
import secrets
import time
from collections.abc import Callable

from clew.token import Token

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

    def fits(self, cookie: str) -> bool:
        made, _, signature = cookie.rpartition(".")
        if not hmac.compare_digest(signature.encode(errors="replace"), self._sign(made).encode()):
            return False
        return self._now() < int(made.partition(".")[0])

    def _sign(self, made: str) -> str:
        key = hmac.digest(self._token.now().encode(), b"the cookie of the page", hashlib.sha256)
        return hmac.new(key, f"{self.name}={made}".encode(errors="replace"), hashlib.sha256).hexdigest()
