"""A thin, synchronous client of the daemon's API over its Unix socket.

It imports only `http.client` and `json`, because every command pays for the import. A request with a message id is
retried after a lost connection: the daemon accepts each id once.
"""

from __future__ import annotations

import http.client
import json
import os
import time
from collections.abc import Callable, Iterator
from typing import Any
from urllib.parse import quote, urlencode

from msgspec import Struct

from clew.process.connection import Connection
from clew.support.errors import BadInput, ClewError, NotAnswering, OutOfReach, Stopped, error_of
from clew.support.home import Home
from clew.support.sockets import connect, readable

Json = Any  # decoded JSON from the wire; its fields are in `clew.model.views` and docs/reference/cli.md

TIMEOUT = 120.0  # seconds to wait for a response
SILENCE = 45.0  # seconds without a heartbeat, after which a stream counts as lost
TRIES = 5  # of a request that may be retried

UNASKED = 1.0  # seconds without a response, after which the daemon is pinged
NO_SIGN = 1.0  # seconds without a pong, after which the person is told that the command waits
SURE = 1.7  # the same if `looks` is set: then the client gives up
_LOST = (ConnectionError, http.client.HTTPException)


class Event(Struct, frozen=True):
    kind: str
    seq: int | None  # None for live events, which are not stored
    data: Json


def new_message_id() -> str:
    """Create an id before the first try, so that the daemon recognizes a retry as the same message."""
    return os.urandom(16).hex()


class Client:
    """`say` is called with a line whenever the client waits. With `start`, a missing daemon is started; else it is an
    error. With `looks`, a daemon that gives no sign of life within 3 seconds is an error: for commands that report its
    state."""

    def __init__(
        self,
        home: Home,
        *,
        start: bool = True,
        say: Callable[[str], None] = lambda line: None,
        timeout: float | None = TIMEOUT,
        looks: bool = False,
    ) -> None:
        self._home = home
        self._start = start
        self._say = say
        self._timeout = timeout
        self._looks = looks
        self._supervised = False
        self._is_lost = False

    def get(self, *path: str, **query: object) -> Json:
        return self._request("GET", api_path(*path, **query), None, tries=TRIES)

    def post(self, *path: str, body: Json = None) -> Json:
        body = {} if body is None else body
        return self._request("POST", api_path(*path), body, tries=TRIES if "message_id" in body else 1)

    def patch(self, *path: str, body: Json) -> Json:
        return self._request("PATCH", api_path(*path), body, tries=TRIES)

    def put(self, *path: str, body: Json) -> Json:
        return self._request("PUT", api_path(*path), body, tries=TRIES)

    def delete(self, *path: str) -> Json:
        return self._request("DELETE", api_path(*path), None, tries=1)

    def lines(self, *path: str, body: Json) -> Iterator[Json]:
        """Send a request whose response is lines of JSON."""
        connection, response = self._open("POST", api_path(*path), body, self._timeout)
        try:
            for line in response:
                yield _raise_error(json.loads(line))
        except _LOST as error:
            raise OutOfReach("the daemon went away before its response was complete; try again") from error
        finally:
            connection.close()

    def events(self, thread: str | None, after: int | None = None) -> Iterator[Event]:
        """Stream events without gaps or repeats, also across restarts of the daemon. Raises Stopped when it is stopped.

        `hello` comes after each connect: from then on nothing is missed.
        """
        pause = 0.0
        while True:
            try:
                for event in self._stream(thread, after):
                    pause = 0.0
                    self._is_lost = self._is_lost and event.kind != "hello"
                    after = after if event.seq is None else event.seq
                    yield event
                    if event.kind == "bye" and event.data["reason"] != "restarting":
                        raise Stopped("the daemon was stopped; `clew up` starts it again, and open work continues")
            except (*_LOST, TimeoutError):
                pass
            self._report_lost("connection lost; reconnecting…")
            time.sleep(pause)
            pause = min(2.0, pause * 2 + 0.1)

    def _request(self, method: str, path: str, body: Json, tries: int) -> Json:
        while True:
            tries -= 1
            try:
                return self._once(method, path, body)
            except _LOST as error:
                if not tries:
                    raise OutOfReach("the daemon went away before it answered; `clew logs` tells more") from error
            except TimeoutError as error:
                raise OutOfReach(
                    f"the daemon did not answer within {self._timeout:g} s; `clew logs` tells more"
                ) from error
            self._report_lost("connection lost; retrying…")

    def _report_lost(self, words: str) -> None:
        """Say it once per loss: requests and streams notice the same loss, and retries may fail several times."""
        if not self._is_lost:
            self._say(words)
        self._is_lost = True

    def _once(self, method: str, path: str, body: Json) -> Json:
        connection, response = self._open(method, path, body, self._timeout)
        try:
            return json.loads(response.read())
        finally:
            connection.close()

    def _stream(self, thread: str | None, after: int | None) -> Iterator[Event]:
        path = ("threads", thread, "events") if thread else ("events",)
        connection, response = self._open("GET", api_path(*path, after=after), None, SILENCE)
        try:
            yield from parse_sse(iter(lambda: response.read1(1 << 16), b""))
        finally:
            connection.close()

    def _open(
        self, method: str, path: str, body: Json, timeout: float | None
    ) -> tuple[Connection, http.client.HTTPResponse]:
        connection = self._connect(timeout)
        headers = {"Content-Type": "application/json"} if body is not None else {}
        try:
            connection.request(method, path, None if body is None else json.dumps(body).encode(), headers)
            self._wait(connection, timeout)
            response = connection.getresponse()
            if response.status >= 400:
                raise _error(response)
        except BaseException:
            connection.close()
            raise
        return connection, response

    def _wait(self, connection: Connection, timeout: float | None) -> None:
        """Wait for the response. A slow response is fine if the daemon answers a ping; if not, it hangs."""
        if timeout is not None and timeout < UNASKED + NO_SIGN:
            return
        if readable([connection.sock], UNASKED) or self._is_alive(connection):
            return
        from clew.process import hung

        words = hung.describe(self._home)
        if self._looks:
            raise NotAnswering(words)
        self._say(f"waiting: {words}")

    def _is_alive(self, connection: Connection) -> bool:
        """Whether the daemon answers the request, or at least a ping."""
        from clew.process.heartbeat import QUESTION

        timeout = SURE if self._looks else NO_SIGN
        try:
            with connect(self._home.socket, timeout) as ping:
                ping.sendall(QUESTION)
                return readable([ping, connection.sock], timeout)
        except TimeoutError:
            return False
        except OSError:
            return True  # the daemon is just stopping; the request itself reports that better

    def _connect(self, timeout: float | None) -> Connection:
        """Connect; nothing is sent yet, so a missing daemon can be started safely, several times if need be."""
        connection = Connection(self._home, timeout, UNASKED + SURE if self._looks else None)
        for _ in range(TRIES):
            try:
                connection.connect()
                self._ensure_supervisor()
                return connection
            except NotAnswering:
                raise
            except OutOfReach:
                if not self._start:
                    raise
            from clew.process.start import ensure_daemon

            ensure_daemon(self._home, self._say)
        connection.connect()
        return connection

    def _ensure_supervisor(self) -> None:
        """Once per client: give the daemon a supervisor, so that it is restarted after a crash."""
        if self._start and not self._supervised:
            from clew.process.start import ensure_supervisor

            self._supervised = True
            ensure_supervisor(self._home)


def api_path(*path: str, **query: object) -> str:
    """`/api/…` with the query; parameters that are None are left out."""
    for part in path:
        if not isinstance(part, str):
            raise BadInput(f"an id must be text, not {type(part).__name__}: {part!r}")
    given = {name: _query_value(value) for name, value in query.items() if value is not None}
    return "/".join(["/api", *(quote(part, safe="") for part in path)]) + (f"?{urlencode(given)}" if given else "")


def parse_sse(chunks: Iterator[bytes]) -> Iterator[Event]:
    """Parse server-sent events from chunks of any size. An incomplete event at the end is dropped."""
    rest = b""
    for chunk in chunks:
        *blocks, rest = (rest + chunk).split(b"\n\n")
        for block in blocks:
            if event := _event(block):
                yield event


def _event(block: bytes) -> Event | None:
    fields = dict(line.split(b": ", 1) for line in block.split(b"\n") if not line.startswith(b":"))
    if b"data" not in fields:
        return None
    seq = int(fields[b"id"]) if b"id" in fields else None
    return Event(fields[b"event"].decode(), seq, json.loads(fields[b"data"]))


def _query_value(value: object) -> str:
    return ("false", "true")[value] if isinstance(value, bool) else str(value)


def _error(response: http.client.HTTPResponse) -> ClewError:
    try:
        problem = json.loads(response.read())
        return error_of(problem["code"], problem["detail"])
    except (ValueError, KeyError, TypeError):
        return ClewError(f"the daemon answered with HTTP status {response.status}; `clew logs` tells more")


def _raise_error(line: Json) -> Json:
    if "error" in line and isinstance(line["error"], dict):
        raise error_of(line["error"]["code"], line["error"]["message"])
    return line
