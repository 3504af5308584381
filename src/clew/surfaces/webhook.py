"""The surface for machines: signed JSON comes in by `POST /surfaces/webhook/NAME` and goes out to the NAME's `url`.

It answers a sender only after the inbox has committed. Outbound, a delivery's body is the same bytes each time and its
id is the `Idempotency-Key`, so that a receiver takes it once however often it is sent.
"""

from __future__ import annotations

import asyncio
import json
import logging
import re
from collections.abc import AsyncIterator, Mapping
from datetime import UTC
from email.utils import parsedate_to_datetime
from http import HTTPStatus
from typing import TYPE_CHECKING, Annotated
from urllib.parse import urljoin, urlsplit

import msgspec
from msgspec import Struct, field

from clew import __version__
from clew.clock import Clock
from clew.config import WebhookConfig
from clew.errors import BadInput, ClewError, ConfigError, StoreError
from clew.model import Accepted, Conversation, Inbound
from clew.surfaces.base import Down, Inbox, InDoubt, Never, Outgoing, Receipt, SurfaceCan, TryAgain
from clew.surfaces.local import one_line
from clew.surfaces.signing import sign, verify

if TYPE_CHECKING:
    import httpx
    from starlette.requests import Request
    from starlette.responses import Response

    from clew.http.routing import Router

MAX_BODY = 1 << 20  # bytes that a sender may send
MAX_ANSWER = 1 << 16  # bytes of a receiver's answer that are read; beyond its `id` it is only for people
ANSWER_TIMEOUT = 5.0  # seconds for the rest of an answer whose status is known
RETRY_LATER = 5  # seconds, told to a sender whose message cannot be stored now

_NAME = re.compile(r"[A-Za-z0-9_-]+", re.ASCII)
_LATER = frozenset({408, 409, 425, 429})


class TooLarge(BadInput):
    code = "too_large"
    status = 413


class NotYet(StoreError):
    code = "not_yet"


class Message(msgspec.Struct, frozen=True):
    """What a sender posts."""

    id: Annotated[str, msgspec.Meta(min_length=1, max_length=256)]
    conversation: Annotated[str, msgspec.Meta(max_length=512)]
    sender: Annotated[str, msgspec.Meta(max_length=256)]
    text: Annotated[str, msgspec.Meta(min_length=1)]


class Reply(Struct, frozen=True):
    """What a sender is answered."""

    status: int
    json: Mapping[str, object]
    headers: Mapping[str, str] = field(default_factory=dict)

    @property
    def media_type(self) -> str:
        return "application/problem+json" if self.status >= 400 else "application/json"


class Target(Struct, frozen=True):
    """Where a delivery goes."""

    name: str
    url: str
    secret: str
    timeout: float

    def __str__(self) -> str:
        return f"webhook {self.name} at {origin(self.url)}"


class Answer(Struct, frozen=True):
    """What a receiver answered, as far as it was read."""

    status: int
    headers: Mapping[str, str]
    body: bytes


class WebhookSurface:
    """Its addresses are `NAME`, which a person types, and `NAME/CONVERSATION` for what a sender calls a conversation.

    A NAME holds no slash, so the first one divides the two, whatever the sender's words are.
    """

    name = "webhook"
    trouble = ""
    can = SurfaceCan(idempotency_window=float("inf"))

    def __init__(self, config: Mapping[str, WebhookConfig], clock: Clock) -> None:
        for name, settings in config.items():
            _check(name, settings)
        self.inbox: Inbox | None = None
        self._config = config
        self._clock = clock
        self._decoy = clock.token()
        self._client: httpx.AsyncClient | None = None

    def resolve(self, address: str) -> Conversation:
        self._target(address)
        return Conversation(self.name, address)

    async def run(self, inbox: Inbox) -> None:
        """The router receives; this keeps the inbox for it, until cancelled."""
        self.inbox = inbox
        try:
            await asyncio.Event().wait()
        finally:
            self.inbox = None

    async def send(self, outgoing: Outgoing) -> Receipt:
        try:
            target = self._target(outgoing.conversation.address)
        except BadInput as error:
            raise Never(error.message) from error
        return judge(outgoing, await self._post(target, outgoing.id, encode(outgoing)), target, self._seconds())

    async def edit(self, receipt: Receipt, outgoing: Outgoing) -> None:
        raise Never("what was posted to a webhook cannot be edited")

    async def find(self, outgoing: Outgoing) -> Receipt | None:
        return None

    async def open_thread(self, parent: Conversation, title: str) -> Conversation | None:
        return None

    async def close(self) -> None:
        client, self._client = self._client, None
        if client is not None:
            await client.aclose()

    async def receive(self, name: str, headers: Mapping[str, str], body: bytes, inbox: Inbox | None) -> Reply:
        """All of the inbound way but HTTP itself."""
        try:
            if len(body) > MAX_BODY:
                raise TooLarge(f"a message may have {MAX_BODY} bytes at most")
            self._verify(name, headers, body)
            return _reply(await _accept(inbox, _inbound(name, self._config[name], parse(body))))
        except StoreError as error:
            return _problem(error, "clew cannot store this now; send it again", {"Retry-After": str(RETRY_LATER)})
        except ClewError as error:
            return _problem(error, error.message)

    def _verify(self, name: str, headers: Mapping[str, str], body: bytes) -> None:
        """An unknown NAME has a secret that nobody knows: it looks like a bad signature, and takes as long."""
        settings = self._config.get(name)
        secret = settings.secret if settings else self._decoy
        given = {key.lower(): value for key, value in headers.items()}
        verify(secret, given.get("x-clew-timestamp"), given.get("x-clew-signature"), body, self._seconds())

    def _target(self, address: str) -> Target:
        name = address.partition("/")[0]
        settings = self._config.get(name)
        if settings is None:
            known = ", ".join(sorted(self._config)) or "none"
            raise BadInput(f"there is no webhook {one_line(name)!r}; known: {known}. Each is a [surfaces.webhook.NAME]")
        if settings.url is None:
            raise BadInput(f"webhook {name} only receives: set `url` in [surfaces.webhook.{name}] to send there")
        return Target(name, settings.url, settings.secret, settings.timeout)

    def _seconds(self) -> int:
        return self._clock.now() // 1000

    def _headers(self, secret: str, key: str, body: bytes) -> dict[str, str]:
        now = self._seconds()
        return {
            "Content-Type": "application/json",
            "Accept-Encoding": "identity",  # so that the bound on what is read is a bound on what is kept
            "User-Agent": f"clew/{__version__}",
            "Idempotency-Key": key,
            "X-Clew-Timestamp": str(now),
            "X-Clew-Signature": sign(secret, now, body),
        }

    async def _post(self, target: Target, key: str, body: bytes) -> Answer:
        import httpx

        headers = self._headers(target.secret, key, body)
        sending = self._open().stream("POST", target.url, content=body, headers=headers, timeout=target.timeout)
        try:
            # httpx bounds each step; the whole is bounded too, against a receiver that trickles.
            async with asyncio.timeout(2 * target.timeout), sending as response:
                return Answer(response.status_code, dict(response.headers), await _read(response))
        except (httpx.InvalidURL, httpx.UnsupportedProtocol) as error:
            raise Never(f"the url of webhook {target.name} cannot be used: {_words(error)}") from error
        except (httpx.ConnectError, httpx.ConnectTimeout, httpx.PoolTimeout, httpx.ProxyError) as error:
            raise Down(f"{target} is out of reach: {_words(error)}") from error
        except (httpx.HTTPError, TimeoutError) as error:
            raise InDoubt(f"{target} gave no answer to what was sent: {_words(error)}") from error

    def _open(self) -> httpx.AsyncClient:
        if self._client is None:
            import httpx

            # At INFO httpx logs whole addresses, and an address may hold a token.
            logging.getLogger("httpx").setLevel(logging.WARNING)
            self._client = httpx.AsyncClient(follow_redirects=False)
        return self._client


def router(surface: WebhookSurface, inbox: Inbox | None = None) -> Router:
    """The HTTP side of receiving. Without an inbox it uses the one that `run` was given, and says 503 until then."""
    from starlette.requests import ClientDisconnect
    from starlette.responses import Response

    from clew.http.routing import Router

    routes = Router(tag="surfaces")

    @routes.post(
        "/surfaces/webhook/{name}",
        summary="Say something, as a machine",
        extra={"requestBody": {"required": True, "content": {"application/json": {"schema": _schema()}}}},
    )
    async def webhook(name: str, request: Request) -> Response:
        """Signed: `X-Clew-Timestamp` and `X-Clew-Signature: sha256=` + hex HMAC-SHA256 of `timestamp.body`."""
        try:
            body = await _bounded(request.stream())
        except ClientDisconnect:
            return Response(status_code=HTTPStatus.BAD_REQUEST)
        reply = await surface.receive(name, request.headers, body, inbox or surface.inbox)
        content = msgspec.json.encode(reply.json)
        return Response(content, reply.status, dict(reply.headers), media_type=reply.media_type)

    return routes


def encode(outgoing: Outgoing) -> bytes:
    """The body of a delivery: the same bytes for the same delivery. A note is there only where there is one."""
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


def judge(outgoing: Outgoing, answer: Answer, target: Target, now: int) -> Receipt:
    """What a receiver's answer means for a delivery. Raises one of NotSent."""
    status = answer.status
    if 200 <= status < 300:
        return Receipt(outgoing.conversation, _message_id(answer.body) or outgoing.id)
    if 300 <= status < 400:
        raise Never(
            f"{target} answered {status}, {_pointing(target.url, answer.headers)}; set `url` to where it listens"
        )
    said = one_line(answer.body.decode(errors="replace").replace(target.secret, "[secret]"))
    reason = f"{target} answered {status}: {said}" if said else f"{target} answered {status}"
    if status in _LATER or status >= 500:
        raise TryAgain(reason, retry_after(answer.headers.get("retry-after"), now))
    raise Never(reason)


def retry_after(value: str | None, now: int) -> float | None:
    """A `Retry-After`, which is seconds or a date, in seconds from `now` on; None where it is neither."""
    if value is None:
        return None
    if re.fullmatch(r"[0-9]{1,9}", value.strip(), re.ASCII):
        return float(value)
    try:
        moment = parsedate_to_datetime(value)
    except ValueError:
        return None
    return max(0.0, (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp() - now)


def origin(url: str) -> str:
    """The part of an address that may be shown: a path or a query may hold a token."""
    parts = urlsplit(url)
    host = f"[{parts.hostname}]" if ":" in (parts.hostname or "") else parts.hostname
    return f"{parts.scheme}://{host}:{parts.port}" if parts.port else f"{parts.scheme}://{host}"


def parse(body: bytes) -> Message:
    try:
        message = msgspec.json.decode(body, type=Message)
    except msgspec.ValidationError as error:
        raise BadInput(f"the body does not fit: {error}") from error
    except (ValueError, RecursionError) as error:
        raise BadInput("the body is not JSON in UTF-8") from error
    for name in Message.__struct_fields__:
        if "\0" in getattr(message, name):  # PostgreSQL cannot store one
            raise BadInput(f"the body does not fit: a NUL character - at `$.{name}`")
    return message


def _check(name: str, settings: WebhookConfig) -> None:
    """What the surface itself relies on, wherever its settings come from."""
    if not _NAME.fullmatch(name):
        raise ConfigError(f"[surfaces.webhook.{name!r}]: a webhook's name has letters, digits, `_` and `-` only")
    if not settings.secret:
        raise ConfigError(f"[surfaces.webhook.{name}]: `secret` is empty; make one with `openssl rand -hex 32`")


def _inbound(name: str, settings: WebhookConfig, message: Message) -> Inbound:
    conversation = Conversation(WebhookSurface.name, f"{name}/{message.conversation}")
    return Inbound(
        conversation,
        message.id,
        message.sender,
        message.text,
        runtime=settings.runtime,
        workspace=settings.workspace,
    )


async def _accept(inbox: Inbox | None, inbound: Inbound) -> Accepted:
    if inbox is None:
        raise NotYet("the webhook surface does not run yet")
    return await inbox.accept(inbound)


def _reply(accepted: Accepted) -> Reply:
    fields = {
        "fate": accepted.fate.value,
        "thread": accepted.thread,
        "turn": accepted.turn,
        "state": accepted.state,
        "words": accepted.words,
        "repeated": accepted.repeated,
    }
    return Reply(HTTPStatus.OK, fields)


def _problem(error: ClewError, detail: str, headers: Mapping[str, str] | None = None) -> Reply:
    title = HTTPStatus(error.status).phrase
    fields = {"type": "about:blank", "title": title, "status": error.status, "detail": detail, "code": error.code}
    return Reply(error.status, fields, headers or {})


def _schema() -> object:
    _, components = msgspec.json.schema_components([Message])
    return components["Message"]


async def _bounded(chunks: AsyncIterator[bytes]) -> bytes:
    """A body, read no further than to know that it is too large."""
    body = bytearray()
    async for chunk in chunks:
        body += chunk
        if len(body) > MAX_BODY:
            break
    return bytes(body)


async def _read(response: httpx.Response) -> bytes:
    """As much of an answer as is of use. Its status has decided already, so what goes wrong here changes nothing."""
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


def _pointing(url: str, headers: Mapping[str, str]) -> str:
    location = headers.get("location")
    if not location:
        return "a redirect to nowhere"
    try:
        place = origin(urljoin(url, location))
    except ValueError:
        return "a redirect to a malformed address"
    return f"a redirect to another path of {place}" if place == origin(url) else f"a redirect to {one_line(place)}"


def _words(error: Exception) -> str:
    return one_line(str(error)) or type(error).__name__
