"""One request to the daemon's Unix socket, and its response: HTTP/1.1, as far as the daemon uses it.

Commands would wait longer for http.client, which also brings TLS and a parser of e-mails, than for the daemon.
"""

from __future__ import annotations

import socket
from collections.abc import Iterator, Mapping
from contextlib import suppress
from io import BufferedReader

from clew.support.coded import worded
from clew.support.errors import ClewError, NotAnswering, OutOfReach
from clew.support.home import Home
from clew.support.sockets import connect

LONGEST_LINE = 1 << 16  # bytes of a line of the response's head
BODILESS = (204, 304)  # statuses without a body


class Broken(ConnectionError):
    """The connection ended before the response was complete, or it is no HTTP. Callers say so in their own words."""


class Connection:
    """`timeout`: seconds without a byte, after which TimeoutError is raised. `entering`: seconds within which the
    daemon must accept the connection."""

    def __init__(self, home: Home, timeout: float | None, entering: float | None = None) -> None:
        self._home = home
        self._timeout = timeout
        self._entering = entering
        self._sock: socket.socket | None = None
        self._response: Response | None = None

    @property
    def sock(self) -> socket.socket:
        assert self._sock is not None
        return self._sock

    def connect(self) -> None:
        try:
            self._sock = connect(self._home.socket, self._entering)
        except (FileNotFoundError, ConnectionRefusedError) as error:
            raise OutOfReach(worded("process.not_running", "the daemon does not run; `clew up` starts it")) from error
        except PermissionError as error:
            raise ClewError(
                worded(
                    "process.socket_not_yours",
                    "{socket} is not yours. Set CLEW_HOME to a folder of yours.",
                    socket=f"{self._home.socket}",
                )
            ) from error
        except TimeoutError as error:
            from clew.process import hung  # rarely needed, and every command imports this module

            raise NotAnswering(hung.describe(self._home)) from error
        self._sock.settimeout(self._timeout)

    def request(self, method: str, path: str, body: bytes | None, headers: Mapping[str, str]) -> None:
        """Send the request. Connects first, if that was not done."""
        if self._sock is None:
            self.connect()
        sent = {"Host": "clew", **headers}
        if body is not None:
            sent["Content-Length"] = str(len(body))
        lines = [f"{method} {path} HTTP/1.1", *(f"{name}: {value}" for name, value in sent.items()), "", ""]
        self.sock.sendall("\r\n".join(lines).encode("ascii") + (body or b""))

    def getresponse(self) -> Response:
        self._response = Response(self.sock.makefile("rb"))
        return self._response

    def shut(self) -> None:
        """End the connection while another Python thread reads from it: it gets the end of the stream."""
        if (sock := self._sock) is not None:
            with suppress(OSError):
                sock.shutdown(socket.SHUT_RDWR)

    def close(self) -> None:
        if self._response is not None:
            self._response.close()  # the socket stays open as long as it is read from
        if self._sock is not None:
            self._sock.close()
            self._sock = None


class Response:
    """Its head is read at once. Raises Broken and TimeoutError, as do its methods."""

    def __init__(self, stream: BufferedReader) -> None:
        self._stream = stream
        self.status = self._read_status()
        headers = dict(self._read_headers())
        self._is_chunked = headers.get(b"transfer-encoding", b"").lower() == b"chunked"
        self._left: int | None = None  # bytes of the body, or of its chunk; None: up to the end of the connection
        if self._is_chunked:
            self._left = 0
        elif b"content-length" in headers:
            self._left = _number(headers[b"content-length"], 10)
        elif self.status in BODILESS:
            self._left = 0

    def close(self) -> None:
        self._stream.close()

    def read(self) -> bytes:
        """The rest of the body."""
        return b"".join(iter(self.read1, b""))

    def read1(self, most: int = 1 << 16) -> bytes:
        """What has arrived of the body, at least a byte; nothing at its end."""
        if self._is_chunked and self._left == 0:
            self._left = self._read_size()
            self._is_chunked = self._left > 0  # an empty chunk is the last one
        if self._left is None:
            return self._stream.read1(most)
        piece = self._stream.read1(min(most, self._left)) if self._left else b""
        if len(piece) == 0 and self._left:
            raise Broken
        self._left -= len(piece)
        if self._is_chunked and self._left == 0:
            self._read_line()  # the end of the chunk
        return piece

    def _read_status(self) -> int:
        version, _, rest = self._read_line().partition(b" ")
        if not version.startswith(b"HTTP/1."):
            raise Broken
        return _number(rest[:3], 10)

    def _read_headers(self) -> Iterator[tuple[bytes, bytes]]:
        while line := self._read_line():
            name, _, value = line.partition(b":")
            yield name.strip().lower(), value.strip()

    def _read_size(self) -> int:
        return _number(self._read_line().partition(b";")[0], 16)

    def _read_line(self) -> bytes:
        line = self._stream.readline(LONGEST_LINE)
        if not line.endswith(b"\n"):
            raise Broken
        return line.rstrip(b"\r\n")


def _number(digits: bytes, base: int) -> int:
    if not digits.isalnum():
        raise Broken
    try:
        return int(digits, base)
    except ValueError:
        raise Broken from None
