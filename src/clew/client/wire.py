"""What goes over the wire: paths, bodies, error responses and server-sent events. Pure; a `Transport` does the I/O.

Untyped JSON has its only names here (`JsonObject`); everything above decodes into views and typed events.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Iterable, Iterator, Mapping
from typing import Any, Protocol
from urllib.parse import quote, urlencode

from msgspec import Struct

from clew.support.coded import Coded, with_code
from clew.support.errors import BadInput, ClewError, error_of
from clew.texts.catalogue import say

JsonObject = Mapping[str, Any]  # a decoded JSON object whose fields only its reader knows


class Lost(Exception):
    """The connection was lost, or the daemon closed it before the response was complete."""


class Response(Protocol):
    status: int

    async def read(self) -> bytes: ...
    def chunks(self) -> AsyncGenerator[bytes]: ...
    async def close(self) -> None: ...


class Transport(Protocol):
    """Sends requests to the daemon. `open`, `read` and `chunks` raise `Lost` and `TimeoutError`; `open` raises
    `OutOfReach` if no daemon runs and none is started."""

    async def open(self, method: str, path: str, body: bytes | None, max_wait: float | None) -> Response: ...
    async def sleep(self, seconds: float) -> None: ...


class Frame(Struct, frozen=True):
    """One server-sent event. `data` is JSON, as the daemon sent it."""

    kind: str
    seq: int | None  # None for live events, which are not stored
    data: bytes


class FrameParser:
    """Parses server-sent events from chunks of any size. An incomplete event at the end is dropped."""

    def __init__(self) -> None:
        self._rest = b""

    def feed(self, chunk: bytes) -> Iterator[Frame]:
        *blocks, self._rest = (self._rest + chunk).split(b"\n\n")
        for block in blocks:
            if frame := _frame(block):
                yield frame


def parse_frames(chunks: Iterable[bytes]) -> Iterator[Frame]:
    parser = FrameParser()
    for chunk in chunks:
        yield from parser.feed(chunk)


def _frame(block: bytes) -> Frame | None:
    fields = dict(line.split(b": ", 1) for line in block.split(b"\n") if not line.startswith(b":"))
    if b"data" not in fields:
        return None
    seq = int(fields[b"id"]) if b"id" in fields else None
    return Frame(fields[b"event"].decode(), seq, fields[b"data"])


def api_path(*path: str, **query: object) -> str:
    """`/api/…` with the query; parameters that are None are left out."""
    for part in path:
        if not isinstance(part, str):
            raise BadInput(say("process.id_not_text", kind=type(part).__name__, given=f"{part!r}"))
    given = {name: _query_value(value) for name, value in query.items() if value is not None}
    return "/".join(["/api", *(quote(part, safe="") for part in path)]) + (f"?{urlencode(given)}" if given else "")


def _query_value(value: object) -> str:
    return ("false", "true")[value] if isinstance(value, bool) else str(value)


def encode_body(body: Mapping[str, object]) -> bytes:
    import json  # only requests with a body need it; unlike msgspec, it can encode any file name

    try:
        return json.dumps(body, allow_nan=False).encode()
    except (TypeError, ValueError) as error:
        raise BadInput(say("process.arguments_not_json", error=str(error))) from error


class _Problem(Struct, frozen=True):
    code: str
    detail: str
    texts: dict[str, Coded] = {}


def problem_of(status: int, body: bytes) -> ClewError:
    """The error in a response with an error status."""
    import msgspec

    try:
        problem = msgspec.json.decode(body, type=_Problem)
    except msgspec.DecodeError:
        return ClewError(say("process.http_status", status=status))
    return error_of(problem.code, with_code(problem.detail, problem.texts.get("detail")))
