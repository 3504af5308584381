"""A JSON-RPC peer without a transport: `feed` takes incoming lines, and the `send` callback writes outgoing ones.

`feed` only decodes and dispatches, in order, and never waits, so that a slow listener cannot delay an interrupt. Answer
requests of the other side with `answer` or `refuse`, at any time.
"""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import Callable
from typing import Any, Protocol

import msgspec

from clew.support.clock import Clock
from clew.support.coded import plain
from clew.support.errors import RuntimeLost
from clew.texts.catalogue import say

log = logging.getLogger(__name__)

RequestId = int | str

INVALID_REQUEST = -32600
METHOD_NOT_FOUND = -32601
OVERLOADED = -32001
RETRIES = 5
EMPTY = msgspec.Raw(b"{}")


class RpcError(Exception):
    """The other side returned an error response."""

    def __init__(self, code: int, message: str, data: Any = None) -> None:
        """`data`: what else the other side says about it, of any shape."""
        super().__init__(f"{message} ({code})")
        self.code = code
        self.message = message
        self.data = data

    @classmethod
    def from_wire(cls, error: Any) -> RpcError:
        """Build the error from an error object of any shape, so that the waiting caller always gets one."""
        body = error if isinstance(error, dict) else {"message": error}
        code, message = body.get("code", 0), str(body.get("message") or error)
        data = body.get("data")
        return cls(code, message, data) if isinstance(code, int) else cls(0, f"{message} ({code})", data)


class RpcTimeout(RuntimeLost):
    """No response in time. It is unknown whether the request was carried out."""

    code = "runtime_silent"


class Listener(Protocol):
    """Receives the notifications and requests of the other side. Called by the reader: must not block."""

    def on_notification(self, method: str, params: msgspec.Raw) -> None: ...

    def on_request(self, id: RequestId, method: str, params: msgspec.Raw) -> None: ...


class _Incoming(msgspec.Struct):
    id: RequestId | None = None
    method: str | None = None
    params: msgspec.Raw = EMPTY
    result: msgspec.Raw = EMPTY
    error: Any = None


_decoder = msgspec.json.Decoder(_Incoming)
_encoder = msgspec.json.Encoder(enc_hook=plain)


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
        self._open: dict[RequestId, asyncio.Future[msgspec.Raw]] = {}
        self._last_id = 0
        self._lost: str | None = None

    @property
    def is_lost(self) -> bool:
        return self._lost is not None

    async def request(self, method: str, params: object = None, *, time_limit: float | None) -> msgspec.Raw:
        """Raises RpcError, RpcTimeout, or RuntimeLost. Retries with back-off if the server is overloaded."""
        for attempt in range(RETRIES):
            try:
                return await self._request_once(method, params, time_limit)
            except RpcError as error:
                if error.code != OVERLOADED:
                    raise
                log.info("%s is overloaded; retrying %s", self._name, method)
                await self._clock.sleep(0.05 * 2**attempt * (0.5 + self._clock.random()))
        return await self._request_once(method, params, time_limit)

    def notify(self, method: str, params: object = None) -> None:
        self._write({"method": method, **_params_field(params)})

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
            log.warning("%s wrote a line that is not a JSON-RPC message (%s): %.200r", self._name, error, line)
            return
        self._dispatch(message)

    def fail_all(self, reason: str) -> None:
        """Fail every open request: the transport is gone."""
        if self._lost is not None:
            return
        self._lost = reason
        for future in self._open.values():
            if not future.done():
                future.set_exception(RuntimeLost(reason))
        self._open.clear()

    def _dispatch(self, message: _Incoming) -> None:
        if message.method is None:
            self._settle(message)
            return
        try:
            if message.id is None:
                self._listener.on_notification(message.method, message.params)
            else:
                self._listener.on_request(message.id, message.method, message.params)
        except Exception:  # one bad message must not stop the reader
            log.exception("could not handle %s", message.method)

    def _settle(self, message: _Incoming) -> None:
        future = self._open.pop(message.id, None) if message.id is not None else None
        if future is None or future.done():
            log.debug("%s answered the request %r, for which nothing waits", self._name, message.id)
        elif message.error is not None:
            future.set_exception(RpcError.from_wire(message.error))
        else:
            future.set_result(message.result)

    async def _request_once(self, method: str, params: object, time_limit: float | None) -> msgspec.Raw:
        self._last_id += 1
        id = self._last_id
        future: asyncio.Future[msgspec.Raw] = asyncio.get_running_loop().create_future()
        self._open[id] = future
        try:
            self._write({"id": id, "method": method, **_params_field(params)})
            async with asyncio.timeout(time_limit):
                return await future
        except TimeoutError:
            raise RpcTimeout(self._no_response(method, time_limit)) from None
        finally:
            self._open.pop(id, None)

    def _no_response(self, method: str, time_limit: float | None) -> str:
        return say("runtimes.no_response", name=self._name, method=method, seconds=f"{time_limit:g}")

    def _write(self, message: dict[str, Any]) -> None:
        if self._lost is not None:
            raise RuntimeLost(self._lost)
        self._send(_encoder.encode({**self._head, **message}) + b"\n")


def _read(line: bytes) -> _Incoming:
    """Decode a line even if it has broken characters: agents cut strings, and name files, in any way."""
    try:
        if not line.isascii():
            line.decode()
        return _decoder.decode(line)
    except ValueError:
        return _decoder.decode(repaired(line))


def repaired(line: bytes) -> bytes:
    """Put a replacement character in place of each broken one."""
    text = json.dumps(json.loads(line.decode(errors="replace")), ensure_ascii=False)
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace").encode()


def _params_field(params: object) -> dict[str, object]:
    return {} if params is None else {"params": params}
