"""A client whose responses and events are plain JSON, as a script would see them."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from typing import Any

import msgspec
from msgspec import Struct

from clew.client import requests
from clew.client.aio import TIMEOUT
from clew.client.requests import Request
from clew.client.sync import Client
from clew.client.wire import Frame, parse_frames
from clew.process.connection import Connection, Response
from clew.support.home import Home

Json = Any


class RawEvent(Struct, frozen=True):
    kind: str
    seq: int | None
    data: Json


def raw_event(frame: Frame) -> RawEvent:
    return RawEvent(frame.kind, frame.seq, msgspec.json.decode(frame.data))


def parse_sse(chunks: Iterable[bytes]) -> Iterator[RawEvent]:
    return map(raw_event, parse_frames(chunks))


def open_response(home: Home, method: str, path: str, body: Json = None) -> tuple[Connection, Response]:
    """Send one request, and leave its response to be read in pieces."""
    connection = Connection(home, TIMEOUT)
    headers = {} if body is None else {"Content-Type": "application/json"}
    connection.request(method, path, None if body is None else json.dumps(body).encode(), headers)
    return connection, connection.getresponse()


class JsonClient(Client):
    def get(self, *path: str, **query: object) -> Json:
        return self.ask(Request(Any, "GET", path, query))

    def post(self, *path: str, body: Json = None) -> Json:
        return self.ask(Request(Any, "POST", path, body={} if body is None else body))

    def patch(self, *path: str, body: Json) -> Json:
        return self.ask(Request(Any, "PATCH", path, body=body))

    def put(self, *path: str, body: Json) -> Json:
        return self.ask(Request(Any, "PUT", path, body=body))

    def delete(self, *path: str) -> Json:
        return self.ask(Request(Any, "DELETE", path))

    def verify(self, thread: str | None) -> Iterator[Json]:
        request = requests.verify(thread)
        return self.lines(Request(Any, request.method, request.path, body=request.body))

    def raw_events(self, thread: str | None, after: int | None = None) -> Iterator[RawEvent]:
        return map(raw_event, self.frames(thread, after))
