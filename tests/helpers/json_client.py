"""A client whose responses and events are plain JSON, as a script would see them."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from http.client import HTTPResponse

from clew.client.aio import TIMEOUT
from clew.client.untyped import Json, raw_event
from clew.client.untyped import JsonClient as JsonClient
from clew.client.untyped import RawEvent as RawEvent
from clew.client.wire import parse_frames
from clew.process.connection import Connection
from clew.support.home import Home


def parse_sse(chunks: Iterable[bytes]) -> Iterator[RawEvent]:
    return map(raw_event, parse_frames(chunks))


def open_response(home: Home, method: str, path: str, body: Json = None) -> tuple[Connection, HTTPResponse]:
    """Send one request, and leave its response to be read in pieces."""
    connection = Connection(home, TIMEOUT)
    headers = {} if body is None else {"Content-Type": "application/json"}
    connection.request(method, path, None if body is None else json.dumps(body).encode(), headers)
    return connection, connection.getresponse()
