"""Posts a delivery to a webhook, and reads the receiver's response."""

from __future__ import annotations

import asyncio
import json
import logging
import re
from collections.abc import Mapping
from datetime import UTC
from email.utils import parsedate_to_datetime
from typing import TYPE_CHECKING
from urllib.parse import urljoin

import msgspec
from msgspec import Struct

from clew.model.surface import Down, InDoubt, Never, Outgoing, Receipt, TryAgain
from clew.support.addresses import origin, without_secrets
from clew.support.version import __version__
from clew.surfaces.http_calls import certificates
from clew.surfaces.local import one_line
from clew.surfaces.signing import sign
from clew.texts.catalogue import say

if TYPE_CHECKING:
    import httpx

MAX_ANSWER = 1 << 16  # bytes of the response that are read; only its `id` is used, the rest is shown to people
ANSWER_TIMEOUT = 5.0  # seconds for the body after the status

_LATER = frozenset({408, 409, 425, 429})


class Target(Struct, frozen=True):
    """Where a delivery goes."""

    name: str
    url: str
    secret: str
    timeout: float

    @property
    def words(self) -> str:
        """What people call it."""
        return say("surfaces.webhook_at", name=self.name, origin=origin(self.url))

    def redact(self, words: str) -> str:
        """Remove the secret and the URL from a receiver's text or an error, which may repeat them."""
        return without_secrets(words.replace(self.secret, "[secret]"), self.url)


class Response(Struct, frozen=True):
    """A receiver's response, as far as it was read."""

    status: int
    headers: Mapping[str, str]
    body: bytes


class Sender:
    """Keeps its connections open between deliveries."""

    def __init__(self) -> None:
        self._client: httpx.AsyncClient | None = None

    async def send(self, outgoing: Outgoing, target: Target, now: int) -> Receipt:
        """`now` is in seconds. Raises one of NotSent."""
        body = encode(outgoing)
        return judge(
            outgoing, await self._post(target, body, _headers(target.secret, outgoing.id, body, now)), target, now
        )

    async def close(self) -> None:
        client, self._client = self._client, None
        if client is not None:
            await client.aclose()

    async def _post(self, target: Target, body: bytes, headers: Mapping[str, str]) -> Response:
        import httpx

        sending = self._open().stream("POST", target.url, content=body, headers=headers, timeout=target.timeout)
        try:
            # httpx limits each step only; this limits the total, against a receiver that answers byte by byte.
            async with asyncio.timeout(2 * target.timeout), sending as response:
                return Response(response.status_code, dict(response.headers), await _read(response))
        except (httpx.InvalidURL, httpx.UnsupportedProtocol) as error:
            raise Never(say("surfaces.webhook_bad_url", name=target.name, error=_describe(error, target))) from error
        except (httpx.ConnectError, httpx.ConnectTimeout, httpx.PoolTimeout, httpx.ProxyError) as error:
            raise Down(
                say("surfaces.webhook_out_of_reach", target=target.words, error=_describe(error, target))
            ) from error
        except (httpx.HTTPError, TimeoutError) as error:
            raise InDoubt(
                say("surfaces.webhook_no_answer", target=target.words, error=_describe(error, target))
            ) from error

    def _open(self) -> httpx.AsyncClient:
        if self._client is None:
            import httpx

            # At INFO httpx logs complete URLs, which may contain a token.
            logging.getLogger("httpx").setLevel(logging.WARNING)
            self._client = httpx.AsyncClient(follow_redirects=False, verify=certificates())
        return self._client


def encode(outgoing: Outgoing) -> bytes:
    """Encode a delivery: always the same bytes for the same delivery. `note` is left out if it is empty."""
    name, slash, said_in = outgoing.conversation.address.partition("/")
    fields = {
        "id": outgoing.id,
        "kind": outgoing.kind.value,
        "conversation": said_in if slash else name,
        "thread": outgoing.thread,
        "turn": outgoing.turn,
        "text": outgoing.text,
        **({"note": outgoing.note} if outgoing.note else {}),
    }
    return json.dumps(fields, separators=(",", ":")).encode()


def _headers(secret: str, key: str, body: bytes, now: int) -> dict[str, str]:
    return {
        "Content-Type": "application/json",
        "Accept-Encoding": "identity",  # so that MAX_ANSWER limits the decoded size too
        "User-Agent": f"clew/{__version__}",
        "Idempotency-Key": key,
        "X-Clew-Timestamp": str(now),
        "X-Clew-Signature": sign(secret, now, body),
    }


def judge(outgoing: Outgoing, answer: Response, target: Target, now: int) -> Receipt:
    """Return the receipt, or raise one of NotSent, depending on the receiver's response."""
    status = answer.status
    if 200 <= status < 300:
        return Receipt(outgoing.conversation, _message_id(answer.body) or outgoing.id)
    if 300 <= status < 400:
        redirect = _redirect(target.url, answer.headers)
        raise Never(say("surfaces.webhook_redirects", target=target.words, status=status, redirect=redirect))
    said = one_line(target.redact(answer.body.decode(errors="replace")))
    reason = _answered(target, status, said)
    if status in _LATER or status >= 500:
        raise TryAgain(reason, retry_after(answer.headers.get("retry-after"), now))
    raise Never(reason)


def _answered(target: Target, status: int, reply: str) -> str:
    if reply:
        return say("surfaces.webhook_answered_with", target=target.words, status=status, reply=reply)
    return say("surfaces.webhook_answered", target=target.words, status=status)


def retry_after(value: str | None, now: int) -> float | None:
    """Parse a `Retry-After` (seconds or a date) to seconds from `now`; None if it is neither."""
    if value is None:
        return None
    if re.fullmatch(r"[0-9]{1,9}", value.strip(), re.ASCII):
        return float(value)
    try:
        moment = parsedate_to_datetime(value)
    except ValueError:
        return None
    return max(0.0, (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp() - now)


async def _read(response: httpx.Response) -> bytes:
    """Read the useful part of the body. Errors are ignored: the status has already decided."""
    import httpx

    body = bytearray()
    try:
        async with asyncio.timeout(ANSWER_TIMEOUT):
            async for chunk in response.aiter_raw():
                body += chunk
                if len(body) >= MAX_ANSWER:
                    break
    except (httpx.HTTPError, TimeoutError):
        pass
    return bytes(body[:MAX_ANSWER])


def _message_id(body: bytes) -> str | None:
    try:
        answer = msgspec.json.decode(body)
    except (ValueError, RecursionError):
        return None
    given = answer.get("id") if isinstance(answer, dict) else None
    return given if isinstance(given, str) and 0 < len(given) <= 256 and given.isprintable() else None


def _redirect(url: str, headers: Mapping[str, str]) -> str:
    location = headers.get("location")
    if not location:
        return say("surfaces.redirect_nowhere")
    try:
        place = origin(urljoin(url, location))
    except ValueError:
        return say("surfaces.redirect_malformed")
    if place == origin(url):
        return say("surfaces.redirect_path", place=place)
    return say("surfaces.redirect_to", place=one_line(place))


def _describe(error: Exception, target: Target) -> str:
    return one_line(target.redact(str(error))) or type(error).__name__
