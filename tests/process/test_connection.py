"""The HTTP of commands, against a socket that sends what a daemon sends, and what it never should."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from clew.process.connection import Broken, Connection
from clew.support.errors import OutOfReach
from clew.support.home import Home

HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n"


class Peer:
    """Plays the daemon: answers one request with the given bytes, and closes the connection."""

    def __init__(self, home: Home) -> None:
        self.home = home
        self._listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self._listener.bind(str(home.socket))
        self._listener.listen()

    def answer(self, response: bytes, method: str = "GET", body: bytes | None = None) -> tuple[Connection, bytes]:
        """The connection with its response sent, and the request."""
        connection = Connection(self.home, 5)
        connection.request(method, "/x", body, {"X-A": "b"})
        taken, _ = self._listener.accept()
        with closing(taken):
            request = taken.recv(1 << 16)
            taken.sendall(response)
        return connection, request

    def close(self) -> None:
        self._listener.close()


@pytest.fixture
def home(tmp_path: Path) -> Home:
    return Home(tmp_path / "home")


@pytest.fixture
def peer(home: Home) -> Iterator[Peer]:
    home.prepare()
    with closing(Peer(home)) as peer:
        yield peer


def test_a_request_has_its_headers_and_its_body(peer: Peer) -> None:
    connection, request = peer.answer(HEAD + b"Content-Length: 2\r\n\r\nok", "POST", b"{}")
    with closing(connection):
        assert connection.getresponse().read() == b"ok"
    assert request == b"POST /x HTTP/1.1\r\nHost: clew\r\nX-A: b\r\nContent-Length: 2\r\n\r\n{}"


@pytest.mark.parametrize(
    "rest",
    [
        b"Content-Length: 7\r\n\r\nab\ncd\r\nmore",
        b"transfer-encoding: Chunked\r\n\r\n2;x=y\r\nab\r\n5\r\n\ncd\r\n\r\n0\r\n\r\n",
        b"\r\nab\ncd\r\n",
    ],
    ids=["length", "chunks", "end of connection"],
)
def test_a_body_is_read_as_its_head_says(peer: Peer, rest: bytes) -> None:
    connection, _ = peer.answer(HEAD + rest)
    with closing(connection):
        response = connection.getresponse()
        assert (response.status, response.read(), response.read()) == (200, b"ab\ncd\r\n", b"")


def test_pieces_are_no_longer_than_asked_for(peer: Peer) -> None:
    connection, _ = peer.answer(HEAD + b"Transfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n3\r\ndef\r\n0\r\n\r\n")
    with closing(connection):
        response = connection.getresponse()
        assert list(iter(lambda: response.read1(2), b"")) == [b"ab", b"c", b"de", b"f"]


def test_a_response_without_a_body_ends_at_once(peer: Peer) -> None:
    connection, _ = peer.answer(b"HTTP/1.1 204 No Content\r\n\r\n")
    with closing(connection):
        assert connection.getresponse().read() == b""


@pytest.mark.parametrize(
    "response",
    [
        b"",
        b"HTTP/1.1 200 OK\r\nContent-",
        b"SSH-2.0-x\r\n",
        b"HTTP/1.1 ??? OK\r\n\r\n",
        HEAD + b"Content-Length: -1\r\n\r\n",
        HEAD + b"Content-Length: 5\r\n\r\nabc",
        HEAD + b"Transfer-Encoding: chunked\r\n\r\n5\r\nabc",
        HEAD + b"Transfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n",
        HEAD + b"Transfer-Encoding: chunked\r\n\r\nxyz\r\nabc\r\n",
    ],
)
def test_a_response_that_is_cut_or_no_http_is_broken(peer: Peer, response: bytes) -> None:
    connection, _ = peer.answer(response)
    with closing(connection), pytest.raises(Broken):
        connection.getresponse().read()


def test_without_a_daemon_it_is_out_of_reach(home: Home) -> None:
    with pytest.raises(OutOfReach):
        Connection(home, 5).connect()
