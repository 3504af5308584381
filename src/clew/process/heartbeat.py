"""Asks the daemon for a sign of life, for its supervisor: after a while without one it is reported, then restarted.

Loaded by `supervisor.py`, so it imports nothing of clew either.
"""

# ruff: noqa: PTH105, PTH108, SIM105
# pathlib and contextlib alone would be a tenth of its memory.

from __future__ import annotations

import _socket  # `socket` would be a twentieth of its memory
import os
import signal
import time

HUNG = "hung"  # which daemon does not answer, since when, and when it is restarted
REPORT = 60.0  # seconds without an answer, after which that is told; or half of HANG, if that is less
LOOKS = 3  # questions in that time
SLACK = 1.0  # seconds by which we may wake up late
ABORT = 10.0  # seconds that a hung daemon has to write down what it does, before SIGKILL
QUESTION = b"GET /alive HTTP/1.1\r\nHost: clew\r\nConnection: close\r\n\r\n"  # "no such page" is a sign of life, too


class Heartbeat:
    """Whether the daemon answers. The time without an answer is counted only while we run ourselves: after a suspend, a
    stop of both or a starved machine it is counted anew. Where nobody listens nothing is counted: the daemon starts
    (and may have much to migrate), or stops."""

    def __init__(self, run: str, path: str, hang: float) -> None:
        self._note = f"{run}/{HUNG}"
        self._path = path
        self._hang = hang
        self._report = min(REPORT, hang / 2) if hang else REPORT
        self._every = self._report / LOOKS
        self._asked: _socket.socket | None = None
        self._silent = 0.0  # seconds
        self._waits = False
        self.begin(0)

    def begin(self, pid: int) -> None:
        """From now on this daemon is meant; 0: none."""
        self._pid = pid
        self._last = self._next = time.monotonic()
        self._aborted = 0.0  # when
        self._told = True  # whatever was told of another one counts no more
        self._start_anew()

    def handles(self) -> list[int]:
        return [self._asked.fileno()] if self._asked else []

    def patience(self) -> float:
        """Seconds until there is something to do."""
        return max(0.0, self._next - time.monotonic())

    def look(self, ready: list[int]) -> int:
        """What the daemon should be told now: SIGABRT, SIGKILL, or 0 for nothing."""
        now = time.monotonic()
        passed, self._last = now - self._last, now
        if self._asked and self._asked.fileno() in ready:
            self._hear()
        if passed > 2 * self._every + SLACK:
            self._silent, self._told = 0.0, False  # we did not run ourselves
        elif self._waits:
            self._silent += passed
        if now >= self._next:
            self._next = now + self._every
            self._ask()
        return self._judge(now)

    def _ask(self) -> None:
        """One question at a time: one that hung and goes on answers it then."""
        if self._asked:
            return
        try:
            self._asked = _ask(self._path)
            self._waits = True
        except BlockingIOError:  # so many wait there already that it takes nobody in
            self._waits = True
        except OSError:  # nobody listens
            self._start_anew()

    def _hear(self) -> None:
        """Closed without an answer, it has ended, or does something: nothing that hangs closes a connection."""
        assert self._asked is not None
        try:
            heard = self._asked.recv(4096)
        except OSError:
            heard = b""
        if self._told and heard:
            say(f"the daemon, pid {self._pid}, answers again")
        self._start_anew()

    def _start_anew(self) -> None:
        if self._told:
            remove(self._note)
        self._silent, self._waits, self._told = 0.0, False, False
        if self._asked:
            self._asked.close()
        self._asked = None

    def _judge(self, now: float) -> int:
        if self._silent >= self._report and not self._told:
            self._tell()
        if self._aborted:
            return signal.SIGKILL if now - self._aborted >= ABORT else 0
        if not self._hang or self._silent < self._hang:
            return 0
        self._aborted = now
        say(f"the daemon, pid {self._pid}, has not answered for {self._silent:.0f} s; SIGABRT, to see what it does:")
        return signal.SIGABRT

    def _tell(self) -> None:
        self._told = True
        what = f"it is restarted if it does not within {self._hang:g} s" if self._hang else "it is left alone"
        say(f"the daemon, pid {self._pid}, has not answered for {self._silent:.0f} s; {what}")
        since = millis() - int(self._silent * 1000)
        restart = b"%d" % (since + int(self._hang * 1000)) if self._hang else b"null"
        write_note(self._note, b'{"pid": %d, "since": %d, "restart": %s}' % (self._pid, since, restart))


def say(words: str) -> None:
    stamp = time.strftime("%Y-%m-%d %H:%M:%S")
    try:
        os.write(2, f"{stamp} supervisor: {words}\n".encode())
    except OSError:
        pass  # a full disk does not hold it up


def _ask(path: str) -> _socket.socket:
    """Ask for a sign of life, and do not wait for it."""
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
    """Whole or not at all."""
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
