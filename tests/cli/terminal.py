"""Runs a command on a pseudo-terminal: keys in, screen text out. It never sleeps: it waits for text, or for the end."""

from __future__ import annotations

import fcntl
import os
import pty
import re
import select
import struct
import subprocess
import termios
import time
from collections.abc import Sequence
from types import TracebackType

from tests.helpers.daemons import TIMEOUT, Clew, _argv

HELD = "appeared just as you pressed Enter"
_ESCAPES = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07]*\x07|[=>78])")


class Terminal:
    """`shown` is the output so far, without control sequences."""

    def __init__(self, clew: Clew, args: Sequence[str], columns: int = 100, then: str = "") -> None:
        """`then` is a shell command to run after the command has ended."""
        self._own, child = pty.openpty()
        fcntl.ioctl(child, termios.TIOCSWINSZ, struct.pack("HHHH", 30, columns, 0, 0))
        environ = {**clew._environ(), "TERM": "xterm", "LANG": "C.UTF-8"}
        for name in ("COLUMNS", "LINES"):  # they would override the size of this terminal
            environ.pop(name, None)
        argv = ["sh", "-c", f'"$@"; {then}', "sh", *_argv(args)] if then else _argv(args)
        self.process = subprocess.Popen(
            argv, stdin=child, stdout=child, stderr=child, env=environ, start_new_session=True
        )
        os.close(child)
        self._raw = b""

    def __enter__(self) -> Terminal:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, tb: TracebackType | None) -> None:
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait(TIMEOUT)
        os.close(self._own)

    @property
    def raw(self) -> str:
        return self._raw.decode(errors="replace")

    @property
    def shown(self) -> str:
        return _ESCAPES.sub("", self.raw).replace("\r\n", "\n").replace("\r", "")

    @property
    def lines(self) -> list[str]:
        """The visible lines of a command that erases only its last line."""
        left = re.sub(r"[^\n]*\r\x1b\[K", "", self.raw)
        return [line for line in _ESCAPES.sub("", left).replace("\r", "").split("\n") if line]

    def type(self, keys: str) -> None:
        os.write(self._own, keys.encode())

    def read_until(self, words: str, times: int = 1) -> str:
        deadline = time.monotonic() + TIMEOUT
        while self.shown.count(words) < times:
            assert self._read() and time.monotonic() < deadline, f"there is no {words!r}:\n{self.shown}"
        return self.shown

    def enter(self, line: str, words: str, times: int = 1) -> str:
        """Enter a line in `clew chat` and wait for these words. If a gate appeared just before, nothing was sent: press
        Enter again."""
        return self._enter(f"{line}\r", "\r", words, times)

    def answer(self, line: str, words: str, times: int = 1) -> str:
        """The same at `clew run`, where the line has to be typed again."""
        return self._enter(f"{line}\n", f"{line}\n", words, times)

    def _enter(self, keys: str, again: str, words: str, times: int) -> str:
        held = self.shown.count(HELD)
        self.type(keys)
        deadline = time.monotonic() + TIMEOUT
        while self.shown.count(words) < times:
            assert self._read() and time.monotonic() < deadline, f"there is no {words!r}:\n{self.shown}"
            if self.shown.count(HELD) > held:
                held += 1
                self.type(again)
        return self.shown

    def find(self, pattern: str) -> str:
        """Wait for a match, and return the last one."""
        deadline = time.monotonic() + TIMEOUT
        while not (found := re.findall(pattern, self.shown)):
            assert self._read() and time.monotonic() < deadline, f"there is no {pattern!r}:\n{self.shown}"
        return str(found[-1])

    def wait(self) -> int:
        """Wait for the end; returns the exit code."""
        while self._read():
            pass
        return self.process.wait(TIMEOUT)

    def _read(self) -> bool:
        assert select.select([self._own], [], [], TIMEOUT)[0], f"nothing comes any more:\n{self.shown}"
        try:
            piece = os.read(self._own, 65536)
        except OSError:  # on Linux, the end of the terminal
            return False
        self._raw += piece
        for _ in range(piece.count(b"\x1b[6n")):  # answer the request for the cursor position
            os.write(self._own, b"\x1b[5;1R")
        return bool(piece)


def read_words(process: subprocess.Popen[str], count: int) -> str:
    """Read stdout until it has `count` words. Bypasses Python's buffer, which would also read what follows."""
    assert process.stdout is not None
    read = ""
    while len(read.split()) < count:
        piece = os.read(process.stdout.fileno(), 4096).decode()
        assert piece, f"it ended after {read!r}"
        read += piece
    return read


def read_until(process: subprocess.Popen[str], words: str, times: int = 1) -> str:
    """Read stderr up to these words."""
    assert process.stderr is not None
    said = ""
    while said.count(words) < times:
        line = process.stderr.readline()
        assert line, f"it ended without {words!r}: {said}"
        said += line
    return said
