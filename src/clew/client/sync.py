"""A thin, synchronous client of the daemon's API over its Unix socket.

Only `http.client` and `json` are imported here, because every command pays for it. A request that carries a message id
is sent again after a lost connection: the daemon accepts an id once.
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

Json = Any  # what came over the wire, decoded; its shapes are in `clew.model.views` and docs/reference/cli.md

PATIENCE = 120.0  # seconds for an answer
SILENCE = 45.0  # seconds without even a heartbeat, after which a stream counts as lost
TRIES = 5  # of a request that may be repeated

UNASKED = 1.0  # seconds without an answer, after which it is asked for a sign of life
NO_SIGN = 1.0  # seconds without that, after which it is told that we wait
SURE = 1.7  # seconds without that, after which who only looks gives up
_LOST = (ConnectionError, http.client.HTTPException)


class Event(Struct, frozen=True):
    kind: str
    seq: int | None  # None for what is only live
    data: Json


def new_message_id() -> str:
    """Made before the first try, so that a second one is known as the same message."""
    return os.urandom(16).hex()


class Client:
    """`say` gets a line at every wait. Without `start` a missing daemon is an error, else it is started. With `looks` a
    daemon that gives no sign of life within 3 seconds is not waited for: for commands that tell how it is."""

    def __init__(
        self,
        home: Home,
        *,
        start: bool = True,
        say: Callable[[str], None] = lambda line: None,
        patience: float | None = PATIENCE,
        looks: bool = False,
    ) -> None:
        self._home = home
        self._start = start
        self._say = say
        self._patience = patience
        self._looks = looks
        self._seen_to = False
        self._is_lost = False

    def get(self, *path: str, **query: object) -> Json:
        return self._ask("GET", api_path(*path, **query), None, tries=TRIES)

    def post(self, *path: str, body: Json = None) -> Json:
        body = {} if body is None else body
        return self._ask("POST", api_path(*path), body, tries=TRIES if "message_id" in body else 1)

    def patch(self, *path: str, body: Json) -> Json:
        return self._ask("PATCH", api_path(*path), body, tries=TRIES)

    def put(self, *path: str, body: Json) -> Json:
        return self._ask("PUT", api_path(*path), body, tries=TRIES)

    def delete(self, *path: str) -> Json:
        return self._ask("DELETE", api_path(*path), None, tries=1)

    def lines(self, *path: str, body: Json) -> Iterator[Json]:
        """An answer that comes as lines of JSON."""
        connection, response = self._open("POST", api_path(*path), body, self._patience)
        try:
            for line in response:
                yield _raise_error(json.loads(line))
        except _LOST as error:
            raise OutOfReach("the daemon went away before its answer was complete; try again") from error
        finally:
            connection.close()

    def events(self, thread: str | None, after: int | None = None) -> Iterator[Event]:
        """What happens, without a gap or a double, through restarts of the daemon. Raises Stopped at its end.

        `hello` comes whenever a connection stands: from there on nothing is missed.
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
                        raise Stopped("the daemon was stopped; `clew up` starts it again, and open work goes on then")
            except (*_LOST, TimeoutError):
                pass
            self._lost("the connection was lost; coming back…")
            time.sleep(pause)
            pause = min(2.0, pause * 2 + 0.1)

    def _ask(self, method: str, path: str, body: Json, tries: int) -> Json:
        while True:
            tries -= 1
            try:
                return self._once(method, path, body)
            except _LOST as error:
                if not tries:
                    raise OutOfReach("the daemon went away before it answered; `clew logs` tells more") from error
            except TimeoutError as error:
                raise OutOfReach(
                    f"the daemon gave no answer in {self._patience:g} s; `clew logs` tells more"
                ) from error
            self._lost("the connection was lost; trying again…")

    def _lost(self, words: str) -> None:
        """Said once: the same loss meets requests and streams, and may take several tries."""
        if not self._is_lost:
            self._say(words)
        self._is_lost = True

    def _once(self, method: str, path: str, body: Json) -> Json:
        connection, response = self._open(method, path, body, self._patience)
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
        """An answer may take long, if much is asked for; a daemon that hangs answers nobody."""
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
        """Whether the daemon answers anything: what was asked, or a question that costs it nothing."""
        from clew.process.heartbeat import QUESTION

        patience = SURE if self._looks else NO_SIGN
        try:
            with connect(self._home.socket, patience) as asked:
                asked.sendall(QUESTION)
                return readable([asked, connection.sock], patience)
        except TimeoutError:
            return False
        except OSError:
            return True  # it goes away just now; what was asked tells that better

    def _connect(self, timeout: float | None) -> Connection:
        """Nothing is sent yet, so a daemon that is missing can be started, and one that just went away again."""
        connection = Connection(self._home, timeout, UNASKED + SURE if self._looks else None)
        for _ in range(TRIES):
            try:
                connection.connect()
                self._see_to_its_supervisor()
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

    def _see_to_its_supervisor(self) -> None:
        """Once: who would start a daemon also wants it to come back after a crash."""
        if self._start and not self._seen_to:
            from clew.process.start import ensure_supervisor

            self._seen_to = True
            ensure_supervisor(self._home)


def api_path(*path: str, **query: object) -> str:
    """`/api/…`, with what is None left out."""
    for part in path:
        if not isinstance(part, str):
            raise BadInput(f"an id must be text, not {type(part).__name__}: {part!r}")
    given = {name: _word(value) for name, value in query.items() if value is not None}
    return "/".join(["/api", *(quote(part, safe="") for part in path)]) + (f"?{urlencode(given)}" if given else "")


def parse_sse(chunks: Iterator[bytes]) -> Iterator[Event]:
    """Server-sent events, out of pieces of any size; half of one at the end counts for nothing."""
    rest = b""
    for chunk in chunks:
        *whole, rest = (rest + chunk).split(b"\n\n")
        for block in whole:
            if event := _event(block):
                yield event


def _event(block: bytes) -> Event | None:
    fields = dict(line.split(b": ", 1) for line in block.split(b"\n") if not line.startswith(b":"))
    if b"data" not in fields:
        return None
    seq = int(fields[b"id"]) if b"id" in fields else None
    return Event(fields[b"event"].decode(), seq, json.loads(fields[b"data"]))


def _word(value: object) -> str:
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
