"""A JSON-RPC peer, apart from its transport: lines go in by `feed`, lines go out by the `send` it was given.

`feed` only decodes and dispatches, in order, and never waits: a slow listener must not hold up an interrupt. Requests
of the other side are answered by `answer` or `refuse`, from anywhere, at any time.
"""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import Callable
from typing import Any, Protocol

import msgspec

from clew.support.clock import Clock
from clew.support.errors import RuntimeLost

log = logging.getLogger(__name__)

RequestId = int | str

INVALID_REQUEST = -32600
METHOD_NOT_FOUND = -32601
OVERLOADED = -32001
RETRIES = 5
EMPTY = msgspec.Raw(b"{}")


class RpcError(Exception):
    """The other side answered with an error."""

    def __init__(self, code: int, message: str) -> None:
        super().__init__(f"{message} ({code})")
        self.code = code
        self.message = message

    @classmethod
    def told(cls, error: Any) -> RpcError:
        """Whatever its shape: who waits for an answer must not wait for a better one."""
        body = error if isinstance(error, dict) else {"message": error}
        code, message = body.get("code", 0), str(body.get("message") or error)
        return cls(code, message) if isinstance(code, int) else cls(0, f"{message} ({code})")


class RpcTimeout(RuntimeLost):
    """No answer in time: whether the request was done is not known."""

    code = "runtime_silent"


class Listener(Protocol):
    """Who hears what the other side says on its own. Called by the reader: must not block."""

    def notified(self, method: str, params: msgspec.Raw) -> None: ...

    def asked(self, id: RequestId, method: str, params: msgspec.Raw) -> None: ...


class _Incoming(msgspec.Struct):
    id: RequestId | None = None
    method: str | None = None
    params: msgspec.Raw = EMPTY
    result: msgspec.Raw = EMPTY
    error: Any = None


_decoder = msgspec.json.Decoder(_Incoming)
_encoder = msgspec.json.Encoder()


class Peer:
    def __init__(
        self,
        send: Callable[[bytes], None],
        listener: Listener,
        clock: Clock,
        *,
        name: str = "the peer",
        with_version: bool = False,
    ) -> None:
        self._send = send
        self._listener = listener
        self._clock = clock
        self._name = name
        self._head: dict[str, Any] = {"jsonrpc": "2.0"} if with_version else {}
        self._waiting: dict[RequestId, asyncio.Future[msgspec.Raw]] = {}
        self._last_id = 0
        self._lost: str | None = None

    @property
    def is_lost(self) -> bool:
        return self._lost is not None

    async def request(self, method: str, params: object = None, *, within: float | None) -> msgspec.Raw:
        """Raises RpcError, RpcTimeout, or RuntimeLost. An overloaded server is asked again, later and later."""
        for attempt in range(RETRIES):
            try:
                return await self._request_once(method, params, within)
            except RpcError as error:
                if error.code != OVERLOADED:
                    raise
                log.info("%s is overloaded; asking for %s again", self._name, method)
                await self._clock.sleep(0.05 * 2**attempt * (0.5 + self._clock.random()))
        return await self._request_once(method, params, within)

    def notify(self, method: str, params: object = None) -> None:
        self._write({"method": method, **_given(params)})

    def answer(self, id: RequestId, result: object) -> None:
        self._write({"id": id, "result": result})

    def refuse(self, id: RequestId, code: int, message: str) -> None:
        self._write({"id": id, "error": {"code": code, "message": message}})

    def feed(self, line: bytes) -> None:
        if not line.strip():
            return
        try:
            message = _read(line)
        except (ValueError, RecursionError) as error:
            log.warning("%s wrote a line that is no message (%s): %.200r", self._name, error, line)
            return
        self._dispatch(message)

    def lost(self, reason: str) -> None:
        """The transport is gone: every request still open fails."""
        if self._lost is not None:
            return
        self._lost = reason
        for future in self._waiting.values():
            if not future.done():
                future.set_exception(RuntimeLost(reason))
        self._waiting.clear()

    def _dispatch(self, message: _Incoming) -> None:
        if message.method is None:
            self._settle(message)
            return
        try:
            if message.id is None:
                self._listener.notified(message.method, message.params)
            else:
                self._listener.asked(message.id, message.method, message.params)
        except Exception:  # the reader's edge: what one message does wrong must not end all that are to come
            log.exception("could not take in %s", message.method)

    def _settle(self, message: _Incoming) -> None:
        future = self._waiting.pop(message.id, None) if message.id is not None else None
        if future is None or future.done():
            log.debug("%s answered %r, which nobody waits for", self._name, message.id)
        elif message.error is not None:
            future.set_exception(RpcError.told(message.error))
        else:
            future.set_result(message.result)

    async def _request_once(self, method: str, params: object, within: float | None) -> msgspec.Raw:
        self._last_id += 1
        id = self._last_id
        future: asyncio.Future[msgspec.Raw] = asyncio.get_running_loop().create_future()
        self._waiting[id] = future
        try:
            self._write({"id": id, "method": method, **_given(params)})
            async with asyncio.timeout(within):
                return await future
        except TimeoutError:
            raise RpcTimeout(f"{self._name} did not answer {method} within {within:g} s") from None
        finally:
            self._waiting.pop(id, None)

    def _write(self, message: dict[str, Any]) -> None:
        if self._lost is not None:
            raise RuntimeLost(self._lost)
        self._send(_encoder.encode({**self._head, **message}) + b"\n")


def _read(line: bytes) -> _Incoming:
    """Half a character must not cost the line that it stands in: agents cut strings, and name files, in any way."""
    try:
        if not line.isascii():
            line.decode()
        return _decoder.decode(line)
    except ValueError:
        return _decoder.decode(_mended(line))


def _mended(line: bytes) -> bytes:
    """With a replacement character for each half of one."""
    text = json.dumps(json.loads(line.decode(errors="replace")), ensure_ascii=False)
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace").encode()


def _given(params: object) -> dict[str, object]:
    return {} if params is None else {"params": params}
