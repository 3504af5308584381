"""A lock so that only one clew polls a bot. Two homes of one person may use the same bot, and each would get only some
of the messages. It is a kernel lock, which ends with its process. Telegram itself reports other programs (409)."""

from __future__ import annotations

import fcntl
import hashlib
import os
import tempfile
from collections.abc import Callable
from pathlib import Path
from types import TracebackType

from clew.support.clock import Clock
from clew.texts.catalogue import say

EVERY = 5.0  # seconds between two attempts


class PollLock:
    """Waits for the lock on entry; meanwhile `tell` gets the text that another clew has it."""

    def __init__(self, token: str, clock: Clock, tell: Callable[[str], None]) -> None:
        name = hashlib.sha256(f"telegram {token}".encode()).hexdigest()[:24]
        self._path = Path(tempfile.gettempdir()) / f"clew-{os.getuid()}-{name}.lock"
        self._clock = clock
        self._tell = tell
        self._handle: int | None = None

    async def __aenter__(self) -> None:
        while not self._take():
            self._tell(say("surfaces.telegram_held"))
            await self._clock.sleep(EVERY)
        self._tell("")

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, tb: TracebackType | None
    ) -> None:
        handle, self._handle = self._handle, None
        if handle is not None:
            self._path.unlink(missing_ok=True)
            os.close(handle)

    def _take(self) -> bool:
        """Try to get the lock. If the lock file cannot be opened at all, go on without it."""
        try:
            handle = os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
        except OSError:
            return True
        if not self._lock(handle):
            os.close(handle)
            return False
        self._handle = handle
        return True

    def _lock(self, handle: int) -> bool:
        """Also False if the last holder has just removed the file; the next attempt makes a new one."""
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return os.fstat(handle).st_ino == self._path.stat().st_ino
        except OSError:
            return False
