"""Where `run` and `watch` write: the agent's text to stdout, all that is beside it to stderr, and on a terminal a line
that tells how long one has been waiting. That line is wiped before anything else is written."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable, Iterable
from types import TracebackType

from clew.cli.output import is_terminal, painted
from clew.cli.view.columns import clock, fit
from clew.cli.view.events import DIM, Aside, Piece, TextChunk
from clew.support.text import visible

TICK = 0.12  # seconds
FRAMES = "⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏"


def frame(seconds: float) -> str:
    return FRAMES[int(seconds / TICK) % len(FRAMES)]


class Screen:
    def __init__(self) -> None:
        self._lock = threading.RLock()  # several threads write, and a signal may come in the midst of it
        self._mid_line = False
        self._waiting: str | None = None
        self._since = 0.0
        self._drawn = False
        self._over = threading.Event()
        self._ticking: threading.Thread | None = None

    def __enter__(self) -> Screen:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, tb: TracebackType | None) -> None:
        self.wait(None)
        self._over.set()
        if self._ticking:
            self._ticking.join()
        self.end_line()

    def show(self, pieces: Iterable[Piece]) -> None:
        for piece in pieces:
            match piece:
                case TextChunk(text, fresh):
                    self.words(text, fresh)
                case Aside(line, weight):
                    self.aside(line, weight)

    def words(self, text: str, fresh: bool) -> None:
        with self._lock:
            if fresh:
                self.end_line()
            self._write(lambda: print(visible(text), end="", flush=True))
            self._mid_line = not text.endswith("\n")

    def aside(self, line: str, weight: int = DIM) -> None:
        self.end_line()
        self._write(lambda: print(painted(visible(line), weight, sys.stderr), file=sys.stderr, flush=True))

    def say(self, line: str) -> None:
        """About the connection: that is no reason to break a line of the text where nobody looks at it. Both may end up
        in one file, so it begins a line of its own there."""
        with self._lock:
            if is_terminal(sys.stdout):
                self.end_line()
            begun = "\n" if self._mid_line else ""
            self._write(lambda: print(begun + visible(line), file=sys.stderr, flush=True))

    def end_line(self) -> None:
        with self._lock:
            if self._mid_line:
                self._write(lambda: print(flush=True))
                self._mid_line = False

    def wait(self, words: str | None, since: float | None = None) -> None:
        """What one waits for, until something else is said; None: for nothing."""
        with self._lock:
            self._wipe()
            self._waiting = words
            self._since = time.monotonic() if since is None else since
        if words and self._ticking is None and is_terminal(sys.stderr):
            self._ticking = threading.Thread(target=self._tick, daemon=True)
            self._ticking.start()

    def _write(self, write: Callable[[], None]) -> None:
        with self._lock:
            self._wipe()
            write()

    def _tick(self) -> None:
        while not self._over.wait(TICK):
            with self._lock:
                if self._waiting and not self._mid_line:
                    self._draw()

    def _draw(self) -> None:
        import shutil

        seconds = time.monotonic() - self._since
        line = fit(f"{frame(seconds)} {self._waiting} {clock(seconds)}", shutil.get_terminal_size().columns - 1)
        sys.stderr.write(f"\r\x1b[K{line}")
        sys.stderr.flush()
        self._drawn = True

    def _wipe(self) -> None:
        if self._drawn:
            sys.stderr.write("\r\x1b[K")
            sys.stderr.flush()
            self._drawn = False
