"""A POST with an `Idempotency-Key` is done once: the same again gets the same answer for a day, another request under
the same key is refused. What a death cuts off is done again, and that is in order: messages have ids of their own, and
every change of state is a compare-and-set."""

from __future__ import annotations

import asyncio
import hashlib
import logging
import time
from collections.abc import Callable, Collection
from http import HTTPStatus
from weakref import WeakValueDictionary

from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from clew.server.problems import refusal
from clew.store import Store
from clew.store.tables import idempotency
from clew.store.tables.idempotency import StoredResponse
from clew.support.errors import StoreError

log = logging.getLogger(__name__)

DAY = 24 * 3600 * 1000  # milliseconds
LONGEST = 200  # characters of a key
LARGEST = 1 << 20  # bytes of an answer that is kept


class Once:
    """`joined` are paths whose answer is a stream: the same request again is let through, and joins it there."""

    def __init__(
        self,
        app: ASGIApp,
        store: Store,
        now: Callable[[], int] = lambda: int(time.time() * 1000),
        joined: Collection[str] = (),
    ) -> None:
        self._app = app
        self._store = store
        self._joined = frozenset(joined)
        self._now = now
        self._busy: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()  # there while anybody has it

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        key = _key(scope)
        if key is None:
            await self._app(scope, receive, send)
        elif not key or len(key) > LONGEST:
            words = f"an Idempotency-Key has 1 to {LONGEST} characters"
            await refusal(HTTPStatus.UNPROCESSABLE_ENTITY, "bad_input", words)(scope, receive, send)
        else:
            await self._alone(key, scope, receive, send)

    async def _alone(self, key: str, scope: Scope, receive: Receive, send: Send) -> None:
        """Of two at the same moment the second waits, and gets what the first got."""
        lock = self._busy.setdefault(key, asyncio.Lock())
        async with lock:
            goes_on = await self._once(key, scope, receive, send)
        if goes_on is not None:
            await self._app(scope, goes_on, send)

    async def _once(self, key: str, scope: Scope, receive: Receive, send: Send) -> Receive | None:
        """What is left to be read by a stream, which nobody has to wait for; else it is done."""
        body = await _whole(receive)
        if body is None:
            return None  # it broke off in the middle: nothing was asked
        digest = hashlib.sha256(b"\0".join((scope["path"].encode(), scope["query_string"], body))).hexdigest()
        known = await self._store.read(lambda tx: idempotency.find(tx, key, self._now() - DAY))
        if (known is None or known.digest == digest) and scope["path"] in self._joined:
            await self._keep(StoredResponse(key, digest, 0, "", ""))
            return _again(body, receive)
        if known is None:
            await self._first(StoredResponse(key, digest, 0, "", ""), body, scope, receive, send)
        elif known.digest != digest:
            words = "this Idempotency-Key was used for another request; take a new one"
            await refusal(HTTPStatus.CONFLICT, "refused", words)(scope, receive, send)
        else:
            await Response(known.body, known.status, media_type=known.media_type)(scope, receive, send)
        return None

    async def _first(self, kept: StoredResponse, body: bytes, scope: Scope, receive: Receive, send: Send) -> None:
        said = _Said(send)
        await self._app(scope, _again(body, receive), said)
        body_said = said.body
        if said.status < 500 and said.media_type.startswith("application/") and body_said is not None:
            await self._keep_said(
                StoredResponse(kept.key, kept.digest, said.status, said.media_type, body_said.decode())
            )

    async def _keep_said(self, answer: StoredResponse) -> None:
        """Whoever asked has the answer: that it cannot be kept is no trouble of theirs."""
        try:
            await self._keep(answer)
        except StoreError as error:
            log.warning("an answer under an Idempotency-Key was not kept: %s", error.message)

    async def _keep(self, answer: StoredResponse) -> None:
        now = self._now()
        await self._store.write(lambda tx: idempotency.save(tx, answer, now, now - DAY))


class _Said:
    """Passes an answer on, and remembers it."""

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
        elif self._size <= LARGEST:
            self._pieces.append(message.get("body", b""))
            self._size += len(self._pieces[-1])
        await self._send(message)

    @property
    def body(self) -> bytes | None:
        """None: it is too large to be kept."""
        return b"".join(self._pieces) if self._size <= LARGEST else None


def _key(scope: Scope) -> str | None:
    if scope["type"] != "http" or scope["method"] != "POST":
        return None
    found = [value for name, value in scope["headers"] if name.lower() == b"idempotency-key"]
    return found[0].decode("latin-1").strip() if found else None


async def _whole(receive: Receive) -> bytes | None:
    """None: whoever sent it went away before its end."""
    pieces: list[bytes] = []
    while True:
        message = await receive()
        if message["type"] != "http.request":
            return None
        pieces.append(message.get("body", b""))
        if not message.get("more_body"):
            return b"".join(pieces)


def _again(body: bytes, receive: Receive) -> Receive:
    """The body once more, for the one who answers; then what else comes."""
    given = False

    async def read() -> Message:
        nonlocal given
        if given:
            return await receive()
        given = True
        return {"type": "http.request", "body": body, "more_body": False}

    return read
