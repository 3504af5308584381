"""Unix sockets from outside: connecting to one, and whether anybody listens there."""

from __future__ import annotations

import select
import socket
import time
from collections.abc import Iterable
from pathlib import Path

PATIENCE = 10.0  # seconds for one who is there, but takes nobody in
_POLL = 0.05


def connect(path: Path | str, patience: float | None = None) -> socket.socket:
    """Raises OSError where nobody listens, and TimeoutError where one does but takes nobody in."""
    patience = PATIENCE if patience is None else min(patience, PATIENCE)
    deadline = time.monotonic() + patience
    while True:
        door = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        try:
            door.settimeout(patience)
            door.connect(str(path))
            return door
        except BlockingIOError:  # too many wait there; the system tells it at once
            door.close()
        except BaseException:
            door.close()
            raise
        if time.monotonic() > deadline:
            raise TimeoutError(f"{path} took no connection in {patience:g} s")
        time.sleep(_POLL)


def is_listening(path: Path) -> bool:
    """Raises TimeoutError."""
    try:
        connect(path).close()
    except TimeoutError:
        raise
    except OSError:
        return False
    return True


def readable(sockets: Iterable[socket.socket], patience: float) -> bool:
    """Whether one of them has something to read by then, or is closed."""
    poll = select.poll()  # select() knows only the first 1,024 descriptors
    for each in sockets:
        poll.register(each, select.POLLIN)
    return bool(poll.poll(patience * 1000))
