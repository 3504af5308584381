"""The client against a socket that behaves badly; against a real daemon it is tested by every command."""

from __future__ import annotations

import json
import re
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clew.client import requests
from clew.client.events import Hello
from clew.client.sync import Closed
from clew.client.wire import api_path
from clew.support.errors import BadInput, ClewError, OutOfReach, Stopped, error_of
from clew.support.home import Home
from tests.helpers.json_client import JsonClient as Client
from tests.helpers.json_client import RawEvent as Event
from tests.helpers.json_client import parse_sse

FRAMES = b'id: 1\nevent: hello\ndata: {"a": 1}\n\n:\n\nevent: text\ndata: {"text": "x\\n\\ny"}\n\n'


@given(st.lists(st.integers(0, len(FRAMES))))
def test_events_are_parsed_from_chunks_of_any_size(cuts: list[int]) -> None:
    edges = [0, *sorted(cuts), len(FRAMES)]
    pieces = [FRAMES[start:end] for start, end in pairwise(edges)]
    assert list(parse_sse(iter(pieces))) == [Event("hello", 1, {"a": 1}), Event("text", None, {"text": "x\n\ny"})]


def test_an_incomplete_event_is_ignored() -> None:
    assert list(parse_sse(iter([FRAMES[:-1]]))) == [Event("hello", 1, {"a": 1})]


def test_an_api_path_is_escaped() -> None:
    assert api_path("threads", "a/b c", "events", after=0, queue=True, text=None) == (
        "/api/threads/a%2Fb%20c/events?after=0&queue=true"
    )


def test_an_error_keeps_its_code_message_and_exit_code() -> None:
    error = error_of("bad_input", "what happened")
    assert (type(error), error.exit, error.message) == (BadInput, 2, "what happened")
    unheard = error_of("unheard_of", "what happened")
    assert (type(unheard), unheard.exit, unheard.code) == (ClewError, 1, "unheard_of")


Answer = Callable[[socket.socket], None]


def read_all(connection: socket.socket) -> bytes:
    """Read the complete request: closing a socket with unread data resets the connection."""
    with connection.makefile("rb") as file:
        head = b"".join(iter(file.readline, b"\r\n"))
        length = re.search(rb"Content-Length: (\d+)", head)
        return head + b"\r\n" + (file.read(int(length[1])) if length else b"")


@contextmanager
def serving(home: Home, *answers: Answer) -> Iterator[list[bytes]]:
    """A server that gives each connection one response, in this order; yields the received requests."""
    requests: list[bytes] = []
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(str(home.socket))
    listener.listen()

    def serve() -> None:
        for answer in answers:
            connection, _ = listener.accept()
            with connection:
                requests.append(read_all(connection))
                answer(connection)

    thread = threading.Thread(target=serve)
    thread.start()
    try:
        yield requests
    finally:
        thread.join()
        listener.close()


def hang_up(connection: socket.socket) -> None:
    pass


def says(body: bytes, status: str = "200 OK") -> Answer:
    head = f"HTTP/1.1 {status}\r\nContent-Length: {len(body)}\r\n\r\n".encode()
    return lambda connection: connection.sendall(head + body)


def streams(*frames: bytes) -> Answer:
    head = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
    chunks = b"".join(b"%x\r\n%s\r\n" % (len(frame), frame) for frame in frames)
    return lambda connection: connection.sendall(head + chunks)


@pytest.fixture
def home(tmp_path: Path) -> Home:
    home = Home(tmp_path)
    home.prepare()
    return home


def test_a_message_with_a_lost_response_is_resent_with_its_id(home: Home) -> None:
    with serving(home, hang_up, hang_up, says(b'{"turn": "T"}')) as requests:
        assert Client(home, start=False).post("threads", body={"message_id": "m"}) == {"turn": "T"}
    assert [json.loads(request.split(b"\r\n\r\n")[1]) for request in requests] == [{"message_id": "m"}] * 3


def test_a_request_without_message_id_is_not_sent_twice(home: Home) -> None:
    with serving(home, hang_up), pytest.raises(OutOfReach, match="went away before it answered"):
        Client(home, start=False).post("threads", "T", "fork", body={})


def test_a_problem_response_is_raised_with_its_message(home: Home) -> None:
    problem = json.dumps({"code": "bad_input", "detail": "text: too long"}).encode()
    with serving(home, says(problem, "422 Unprocessable")), pytest.raises(BadInput, match="text: too long"):
        Client(home, start=False).get("threads")


def test_an_error_response_without_problem_json_is_raised_too(home: Home) -> None:
    with serving(home, says(b"<html>", "502 Bad Gateway")), pytest.raises(ClewError, match="status 502"):
        Client(home, start=False).get("threads")


def test_a_missing_daemon_raises_out_of_reach(home: Home) -> None:
    with pytest.raises(OutOfReach) as caught:
        Client(home, start=False).get("threads")
    assert caught.value.exit == 3


def test_a_broken_stream_resumes_after_the_last_seq(home: Home) -> None:
    frames = [b"id: %d\nevent: notice\ndata: {}\n\n" % number for number in range(1, 5)]
    bye = b'event: bye\ndata: {"reason": "stopping"}\n\n'
    with serving(home, streams(frames[0], frames[1], frames[2][:9]), streams(frames[2], frames[3], bye)) as requests:
        events = Client(home, start=False).raw_events("T", 0)
        with pytest.raises(Stopped):
            seen = []
            for event in events:
                seen.append(event.seq)
    assert seen == [1, 2, 3, 4, None]
    assert [request.split()[1] for request in requests] == [
        b"/api/threads/T/events?after=0",
        b"/api/threads/T/events?after=2",
    ]


def test_a_stream_is_ended_from_another_thread(home: Home) -> None:
    def hold(connection: socket.socket) -> None:
        streams(b'id: 1\nevent: hello\ndata: {"seq": 1}\n\n')(connection)
        connection.recv(1)  # until the client is gone

    with serving(home, hold):
        client = Client(home, start=False)
        events = client.events("T", 0)
        assert next(events).what == Hello(1)
        closing = threading.Thread(target=client.close)
        closing.start()
        with pytest.raises(Closed):
            next(events)
        closing.join()


def test_a_response_that_cannot_be_read_says_what_to_do(home: Home) -> None:
    with serving(home, says(b'{"id": 5}')), pytest.raises(ClewError, match="`clew restart` starts the new version"):
        Client(home, start=False).ask(requests.thread("T"))
