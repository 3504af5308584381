"""Checks for the supervisor that the daemon responds: if not, the hang is reported, and later the daemon restarted.

The supervisor loads it, so it must not import anything of clew.
"""

# ruff: noqa: PTH105, PTH108, SIM105
# pathlib and contextlib alone would add a tenth to its memory.

from __future__ import annotations

import _socket  # `socket` would add a twentieth to its memory
import os
import signal
import time

HUNG = "hung"  # the file that says which daemon hangs, since when, and when it is restarted
REPORT = 60.0  # seconds without a response after which the hang is reported; or half of HANG, if that is less
LOOKS = 3  # requests in that time
SLACK = 1.0  # seconds by which we may wake up late
ABORT = 10.0  # seconds between SIGABRT, at which a hung daemon writes its traceback, and SIGKILL
QUESTION = b"GET /alive HTTP/1.1\r\nHost: clew\r\nConnection: close\r\n\r\n"  # a 404 is a sign of life, too


class Heartbeat:
    """Measures how long the daemon has not responded. Time in which the supervisor itself did not run (suspend, SIGSTOP
    of both, an overloaded machine) does not count. If nobody listens nothing is counted: the daemon is starting (and
    may have a lot to migrate) or stopping."""

    def __init__(self, run: str, path: str, hang: float) -> None:
        self._note = f"{run}/{HUNG}"
        self._path = path
        self._hang = hang
        self._report_after = min(REPORT, hang / 2) if hang else REPORT
        self._every = self._report_after / LOOKS
        self._request: _socket.socket | None = None
        self._silent = 0.0  # seconds
        self._is_waiting = False
        self.begin(0)

    def begin(self, pid: int) -> None:
        """Watch this daemon from now on; 0: none."""
        self._pid = pid
        self._last = self._next_check = time.monotonic()
        self._aborted_at = 0.0
        self._reported = True  # so that the note about another daemon is removed
        self._reset()

    def handles(self) -> list[int]:
        return [self._request.fileno()] if self._request else []

    def next_check_in(self) -> float:
        """Seconds until there is something to do."""
        return max(0.0, self._next_check - time.monotonic())

    def look(self, ready: list[int]) -> int:
        """The signal to send to the daemon now: SIGABRT, SIGKILL, or 0 for none."""
        now = time.monotonic()
        passed, self._last = now - self._last, now
        if self._request and self._request.fileno() in ready:
            self._read_response()
        if passed > 2 * self._every + SLACK:
            self._silent, self._reported = 0.0, False  # we did not run ourselves
        elif self._is_waiting:
            self._silent += passed
        if now >= self._next_check:
            self._next_check = now + self._every
            self._ask()
        return self._decide(now)

    def _ask(self) -> None:
        """Send a request, if none is open: a daemon that hung and goes on responds to the open one."""
        if self._request:
            return
        try:
            self._request = _send_request(self._path)
            self._is_waiting = True
        except BlockingIOError:  # the daemon's backlog is full
            self._is_waiting = True
        except OSError:  # nobody listens
            self._reset()

    def _read_response(self) -> None:
        """Read the response. A connection closed without one is also a sign of life: a hung daemon closes nothing."""
        assert self._request is not None
        try:
            heard = self._request.recv(4096)
        except OSError:
            heard = b""
        if self._reported and heard:
            say(f"the daemon, pid {self._pid}, answers again")
        self._reset()

    def _reset(self) -> None:
        if self._reported:
            remove(self._note)
        self._silent, self._is_waiting, self._reported = 0.0, False, False
        if self._request:
            self._request.close()
        self._request = None

    def _decide(self, now: float) -> int:
        if self._silent >= self._report_after and not self._reported:
            self._report_hang()
        if self._aborted_at:
            return signal.SIGKILL if now - self._aborted_at >= ABORT else 0
        if not self._hang or self._silent < self._hang:
            return 0
        self._aborted_at = now
        say(f"the daemon, pid {self._pid}, has not answered for {self._silent:.0f} s; sending SIGABRT for a traceback:")
        return signal.SIGABRT

    def _report_hang(self) -> None:
        self._reported = True
        what = f"it is restarted if it does not within {self._hang:g} s" if self._hang else "it is left alone"
        say(f"the daemon, pid {self._pid}, has not answered for {self._silent:.0f} s; {what}")
        since = millis() - int(self._silent * 1000)
        restart = b"%d" % (since + int(self._hang * 1000)) if self._hang else b"null"
        write_note(self._note, b'{"pid": %d, "since": %d, "restart": %s}' % (self._pid, since, restart))


def say(words: str) -> None:
    """Write a line to stderr."""
    stamp = time.strftime("%Y-%m-%d %H:%M:%S")
    try:
        os.write(2, f"{stamp} supervisor: {words}\n".encode())
    except OSError:
        pass  # a full disk does not hold it up


def _send_request(path: str) -> _socket.socket:
    """Send a request, without waiting for the response."""
    asked = _socket.socket(_socket.AF_UNIX, _socket.SOCK_STREAM)
    try:
        asked.setblocking(False)
        asked.connect(path)
        asked.send(QUESTION)
    except OSError:
        asked.close()
        raise
    return asked


def write_note(path: str, content: bytes) -> None:
    """Write a file atomically."""
    try:
        with open(f"{path}.draft", "wb", opener=lambda name, flags: os.open(name, flags, 0o600)) as file:
            file.write(content)
        os.replace(f"{path}.draft", path)
    except OSError:
        pass  # a full disk does not hold it up


def remove(path: str) -> None:
    try:
        os.unlink(path)
    except OSError:
        pass


def millis() -> int:
    return time.time_ns() // 1_000_000
