"""Runs a POST with an `Idempotency-Key` once: for a day, the same request gets the same response, and a different
request with that key is refused. A request that a crash cut off is run again; that is safe, because messages have
their own ids and every change of state is a compare-and-set."""

from __future__ import annotations

import asyncio
import hashlib
import logging
from collections.abc import Collection
from http import HTTPStatus
from weakref import WeakValueDictionary

from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from clew.engine.services.stored_responses import StoredResponse, StoredResponses
from clew.server.problems import refusal
from clew.support.errors import StoreError
from clew.texts.catalogue import say

log = logging.getLogger(__name__)

MAX_KEY = 200  # characters of a key
MAX_BODY = 1 << 20  # bytes of a stored response


class IdempotencyMiddleware:
    """`streams` are paths whose response is a stream: a repeated request is passed on, and joins the stream there."""

    def __init__(
        self,
        app: ASGIApp,
        responses: StoredResponses,
        streams: Collection[str] = (),
    ) -> None:
        self._app = app
        self._responses = responses
        self._streams = frozenset(streams)
        self._busy: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()  # by key; only while in use

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        key = _key(scope)
        if key is None:
            await self._app(scope, receive, send)
        elif not key or len(key) > MAX_KEY:
            words = say("daemon.bad_idempotency_key", most=MAX_KEY)
            await refusal(HTTPStatus.UNPROCESSABLE_ENTITY, "bad_input", words)(scope, receive, send)
        else:
            await self._one_at_a_time(key, scope, receive, send)

    async def _one_at_a_time(self, key: str, scope: Scope, receive: Receive, send: Send) -> None:
        """Of two concurrent requests with the same key, the second waits and gets the response of the first."""
        lock = self._busy.setdefault(key, asyncio.Lock())
        async with lock:
            stream_receive = await self._handle(key, scope, receive, send)
        if stream_receive is not None:
            await self._app(scope, stream_receive, send)

    async def _handle(self, key: str, scope: Scope, receive: Receive, send: Send) -> Receive | None:
        """Handle the request. For a stream, return its `receive`, so that it runs after the lock is released."""
        body = await _read_body(receive)
        if body is None:
            return None  # the client aborted the request
        digest = hashlib.sha256(b"\0".join((scope["path"].encode(), scope["query_string"], body))).hexdigest()
        known = await self._responses.find(key)
        if (known is None or known.digest == digest) and scope["path"] in self._streams:
            await self._store_response(StoredResponse(key, digest, 0, "", ""))
            return _replay(body, receive)
        if known is None:
            await self._run_and_store(StoredResponse(key, digest, 0, "", ""), body, scope, receive, send)
        elif known.digest != digest:
            words = say("daemon.idempotency_key_used")
            await refusal(HTTPStatus.CONFLICT, "refused", words)(scope, receive, send)
        else:
            await Response(known.body, known.status, media_type=known.media_type)(scope, receive, send)
        return None

    async def _run_and_store(
        self, kept: StoredResponse, body: bytes, scope: Scope, receive: Receive, send: Send
    ) -> None:
        recorder = _Recorder(send)
        await self._app(scope, _replay(body, receive), recorder)
        recorded = recorder.body
        if recorder.status < 500 and recorder.media_type.startswith("application/") and recorded is not None:
            await self._try_to_store(
                StoredResponse(kept.key, kept.digest, recorder.status, recorder.media_type, recorded.decode())
            )

    async def _try_to_store(self, answer: StoredResponse) -> None:
        """The client has its response already, so a failure to store it is only logged."""
        try:
            await self._store_response(answer)
        except StoreError as error:
            log.warning("a response for an Idempotency-Key was not stored: %s", error.message)

    async def _store_response(self, answer: StoredResponse) -> None:
        await self._responses.save(answer)


class _Recorder:
    """Passes a response on, and records it."""

    def __init__(self, send: Send) -> None:
        self._send = send
        self.status = 500
        self.media_type = ""
        self._pieces: list[bytes] = []
        self._size = 0

    async def __call__(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self.status = message["status"]
            headers = {name.lower(): value for name, value in message["headers"]}
            self.media_type = headers.get(b"content-type", b"").decode()
        elif self._size <= MAX_BODY:
            self._pieces.append(message.get("body", b""))
            self._size += len(self._pieces[-1])
        await self._send(message)

    @property
    def body(self) -> bytes | None:
        """None: it is too large to be stored."""
        return b"".join(self._pieces) if self._size <= MAX_BODY else None


def _key(scope: Scope) -> str | None:
    if scope["type"] != "http" or scope["method"] != "POST":
        return None
    found = [value for name, value in scope["headers"] if name.lower() == b"idempotency-key"]
    return found[0].decode("latin-1").strip() if found else None


async def _read_body(receive: Receive) -> bytes | None:
    """The complete body; None if the client disconnected before its end."""
    pieces: list[bytes] = []
    while True:
        message = await receive()
        if message["type"] != "http.request":
            return None
        pieces.append(message.get("body", b""))
        if not message.get("more_body"):
            return b"".join(pieces)


def _replay(body: bytes, receive: Receive) -> Receive:
    """A `receive` that returns the body again, then what follows."""
    given = False

    async def read() -> Message:
        nonlocal given
        if given:
            return await receive()
        given = True
        return {"type": "http.request", "body": body, "more_body": False}

    return read
