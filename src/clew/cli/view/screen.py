"""Output of `run` and `watch`: the agent's text to stdout, laid out if that is a terminal, everything else to stderr,
and on a terminal a spinner line with the waiting time, and with the newest words of the block that is being written.
The spinner is erased before anything else is written."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable, Iterable
from types import TracebackType

from clew.cli.language import in_locale
from clew.cli.output import is_terminal, painted
from clew.cli.view.events import DIM, InfoLine, Piece, TextChunk
from clew.cli.view.markdown import Blocks, laid_out
from clew.cli.view.text_width import duration, fit, fit_end
from clew.support.display.width import width
from clew.support.text import visible

TICK = 0.12  # seconds
ONE_ROW, AGAIN = "\x1b[?7l", "\x1b[?7h"  # between them the terminal cuts a line that is wider than it seems
UP = "\x1b[A\x1b[K"  # erases the line above
FRAMES = "⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏"


def frame(seconds: float) -> str:
    return FRAMES[int(seconds / TICK) % len(FRAMES)]


class Screen:
    def __init__(self) -> None:
        self._lock = threading.RLock()  # several threads and a signal handler write
        self._mid_line = False
        self._blocks = Blocks()  # of the text that is being written
        self._has_blocks = False  # whether one of them was written
        self._waiting: str | None = None
        self._since = 0.0
        self._drawn = False
        self._may_be_replaced = False  # the last line on the terminal names work that a request may now ask about
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
                    self.write_text(text, fresh)
                case InfoLine() as info:
                    self._write_info(info)

    def _write_info(self, info: InfoLine) -> None:
        with self._lock:
            if info.is_request and self._may_be_replaced:
                self._write(lambda: print(UP, end="", file=sys.stderr, flush=True))
            self.write_line(info.line, info.weight)
            self._may_be_replaced = info.gives_way and is_terminal(sys.stderr) and _is_one_row(info.line)

    def write_text(self, text: str, fresh: bool) -> None:
        """Write Markdown of an agent: laid out on a terminal, each block when it is complete."""
        with self._lock:
            if fresh:
                self.end_line()
                self._blocks.clear()
                self._has_blocks = False
            if not is_terminal(sys.stdout):
                self.write_plain(text)
                return
            for block in self._blocks.take(visible(text)):
                self._write_block(block)

    def _write_block(self, block: str) -> None:
        between = "\n" if self._has_blocks else ""
        self._has_blocks = True
        self._write(lambda: print(f"{between}{laid_out(block)}", end="", flush=True))

    def write_plain(self, text: str) -> None:
        with self._lock:
            self._write(lambda: print(visible(text), end="", flush=True))
            self._mid_line = not text.endswith("\n")

    def write_line(self, line: str, weight: int = DIM) -> None:
        self.end_line()
        self._write(lambda: print(painted(visible(line), weight, sys.stderr), file=sys.stderr, flush=True))

    def say(self, line: str) -> None:
        """Print a line about the connection. If stdout is not a terminal, its text is not broken; the line starts
        with a newline, since both streams may go to one file."""
        with self._lock:
            if is_terminal(sys.stdout):
                self.end_line()
            newline = "\n" if self._mid_line else ""
            self._write(lambda: print(newline + visible(in_locale(line)), file=sys.stderr, flush=True))

    def end_line(self) -> None:
        with self._lock:
            if block := self._blocks.flush():
                self._write_block(block)
            if self._mid_line:
                self._write(lambda: print(flush=True))
                self._mid_line = False

    def wait(self, words: str | None, since: float | None = None) -> None:
        """Show a spinner with these words until the next call; None removes it."""
        with self._lock:
            self._erase()
            self._waiting = words
            self._since = time.monotonic() if since is None else since
        if words and self._ticking is None and is_terminal(sys.stderr):
            self._ticking = threading.Thread(target=self._tick, daemon=True)
            self._ticking.start()

    def _write(self, write: Callable[[], None]) -> None:
        with self._lock:
            self._may_be_replaced = False
            self._erase()
            write()

    def _tick(self) -> None:
        while not self._over.wait(TICK):
            with self._lock:
                if self._waiting and not self._mid_line:
                    self._draw()

    def _draw(self) -> None:
        import shutil

        line = self._status(shutil.get_terminal_size().columns - 1)
        sys.stderr.write(f"\r\x1b[K{ONE_ROW}{line}{AGAIN}")
        sys.stderr.flush()
        self._drawn = True

    def _status(self, columns: int) -> str:
        seconds = time.monotonic() - self._since
        begin, end = f"{frame(seconds)} ", f" {duration(seconds)}"
        if newest := self._blocks.newest_words:
            return fit(f"{begin}{fit_end(newest, columns - len(begin) - len(end) - 1)} {end}", columns)
        return fit(f"{begin}{self._waiting}{end}", columns)

    def _erase(self) -> None:
        if self._drawn:
            sys.stderr.write("\r\x1b[K")
            sys.stderr.flush()
            self._drawn = False


def _is_one_row(line: str) -> bool:
    import shutil

    return width(visible(line)) < shutil.get_terminal_size().columns
