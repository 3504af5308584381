"""How a webhook's two ends know each other: HMAC-SHA256 over `timestamp.body` with a shared secret. Pure."""

from __future__ import annotations

import hashlib
import hmac
import re

from clew.support.errors import ClewError

WINDOW = 300  # seconds that a signed request stays good, in both directions: clocks differ either way

_TIMESTAMP = re.compile(r"[0-9]{1,12}", re.ASCII)


class BadSignature(ClewError):
    """A request that is not proven to come from somebody who holds the secret."""

    status = 401

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code


def sign(secret: str, timestamp: int, body: bytes) -> str:
    digest = hmac.new(secret.encode(), b"%d." % timestamp + body, hashlib.sha256)
    return f"sha256={digest.hexdigest()}"


def verify(secret: str, timestamp: str | None, signature: str | None, body: bytes, now: int) -> int:
    """Check the two headers of a request and give its timestamp; `now` in Unix seconds. Raises BadSignature with the
    reason.

    The signature is judged before the time, so that only who holds the secret learns anything about our clock.
    """
    if not timestamp or not signature:
        raise BadSignature("unsigned", "X-Clew-Timestamp and X-Clew-Signature are both needed")
    if not _TIMESTAMP.fullmatch(timestamp):
        raise BadSignature("bad_timestamp", "X-Clew-Timestamp must be Unix time in whole seconds")
    expected = sign(secret, int(timestamp), body)
    if not hmac.compare_digest(expected.encode(), signature.encode("utf-8", "replace")):
        raise BadSignature("bad_signature", "X-Clew-Signature is not that of this timestamp and body")
    if abs(now - int(timestamp)) > WINDOW:
        raise BadSignature(
            "expired", f"X-Clew-Timestamp is more than {WINDOW} seconds off; sign again, check the clock"
        )
    return int(timestamp)
