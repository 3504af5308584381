"""Client side of Unix sockets: connecting, and checking whether anybody listens."""

from __future__ import annotations

import select
import socket
import time
from collections.abc import Iterable
from pathlib import Path

TIMEOUT = 10.0  # seconds, if somebody listens but accepts no connection
_POLL = 0.05


def connect(path: Path | str, timeout: float | None = None) -> socket.socket:
    """Raises OSError if nobody listens, and TimeoutError if the listener accepts no connection in time."""
    timeout = TIMEOUT if timeout is None else min(timeout, TIMEOUT)
    deadline = time.monotonic() + timeout
    while True:
        client = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        try:
            client.settimeout(timeout)
            client.connect(str(path))
            return client
        except BlockingIOError:  # the listener's backlog is full; the kernel reports it at once
            client.close()
        except BaseException:
            client.close()
            raise
        if time.monotonic() > deadline:
            raise TimeoutError(f"{path} accepted no connection in {timeout:g} s")
        time.sleep(_POLL)


def is_listening(path: Path) -> bool:
    """Whether somebody listens at the socket. Raises TimeoutError if they accept no connection."""
    try:
        connect(path).close()
    except TimeoutError:
        raise
    except OSError:
        return False
    return True


def readable(sockets: Iterable[socket.socket], timeout: float) -> bool:
    """Whether one of them has something to read, or is closed, within the timeout."""
    poll = select.poll()  # select() supports only the first 1,024 descriptors
    for each in sockets:
        poll.register(each, select.POLLIN)
    return bool(poll.poll(timeout * 1000))
