"""Unix sockets from outside: connecting to one, and whether anybody listens there."""

from __future__ import annotations

import socket
import time
from pathlib import Path

PATIENCE = 10.0  # seconds for one who is there, but takes nobody in
_POLL = 0.05


def connect(path: Path | str) -> socket.socket:
    """Raises OSError where nobody listens, and TimeoutError where one does but takes nobody in."""
    deadline = time.monotonic() + PATIENCE
    while True:
        door = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        try:
            door.settimeout(PATIENCE)
            door.connect(str(path))
            return door
        except BlockingIOError:  # too many wait there; the system tells it at once
            door.close()
        except BaseException:
            door.close()
            raise
        if time.monotonic() > deadline:
            raise TimeoutError(f"{path} took no connection in {PATIENCE:g} s")
        time.sleep(_POLL)


def listens(path: Path) -> bool:
    """Raises TimeoutError."""
    try:
        connect(path).close()
    except TimeoutError:
        raise
    except OSError:
        return False
    return True
