"""Signs and verifies webhook requests: HMAC-SHA256 over `timestamp.body` with a shared secret. Pure."""

from __future__ import annotations

import hashlib
import hmac
import re

from clew.support.errors import ClewError
from clew.texts.catalogue import say

WINDOW = 300  # seconds by which a timestamp may be off, in both directions

_TIMESTAMP = re.compile(r"[0-9]{1,12}", re.ASCII)


class BadSignature(ClewError):
    """The request has no valid signature."""

    status = 401

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code


def sign(secret: str, timestamp: int, body: bytes) -> str:
    digest = hmac.new(secret.encode(), b"%d." % timestamp + body, hashlib.sha256)
    return f"sha256={digest.hexdigest()}"


def verify(secret: str, timestamp: str | None, signature: str | None, body: bytes, now: int) -> int:
    """Check the two headers of a request and return its timestamp; `now` in Unix seconds. Raises BadSignature.

    The signature is checked before the time, so that only someone with the secret learns anything about our clock.
    """
    if not timestamp or not signature:
        raise BadSignature("unsigned", say("surfaces.unsigned"))
    if not _TIMESTAMP.fullmatch(timestamp):
        raise BadSignature("bad_timestamp", say("surfaces.bad_timestamp"))
    expected = sign(secret, int(timestamp), body)
    if not hmac.compare_digest(expected.encode(), signature.encode("utf-8", "replace")):
        raise BadSignature("bad_signature", say("surfaces.bad_signature"))
    if abs(now - int(timestamp)) > WINDOW:
        raise BadSignature("expired", say("surfaces.signature_expired", seconds=WINDOW))
    return int(timestamp)
