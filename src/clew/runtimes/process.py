"""A child process in a session of its own: lines of any length in and out, stderr to the log only, and an end that
leaves nothing behind.

The transport under the JSON-RPC peer; it knows nothing of what the lines mean. Lines are handed over as they come, in
order, on the event loop; whoever takes them must not block.
"""

from __future__ import annotations

import asyncio
import logging
import os
import re
import signal
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from typing import cast

from clew.process import descriptors, scan
from clew.process.scan import Mark, Process
from clew.support import crash
from clew.support.clock import Clock
from clew.support.errors import RuntimeLost

log = logging.getLogger(__name__)

PRIVATE = ("CLEW_CRASH", scan.VARIABLE)  # ours alone: never inherited as they are
_COLOUR = re.compile(r"\x1b\[[0-9;]*m")
STDERR_LINE = 2000  # what is longer is cut in the log
STDERR_RATE = 200  # lines a second; what comes beyond that is not logged
LAST_WORDS = 20  # lines
LONGEST_LINE = 128 << 20  # bytes; what is longer is no message, and must not take the daemon's memory
GONE_GRACE = 0.2  # seconds between the end of its output and its exit; a grandchild may hold the pipe open for ever


class Lines:
    """Splits chunks into lines. With a `cap`, what a line has beyond it is dropped."""

    def __init__(self, cap: int | None = None) -> None:
        self._cap = cap
        self._open: list[bytes] = []
        self._size = 0

    def feed(self, chunk: bytes) -> list[bytes]:
        first, *rest = chunk.split(b"\n")
        self._add(first)
        lines = []
        for piece in rest:
            lines.append(self._take())
            self._add(piece)
        return lines

    def end(self) -> list[bytes]:
        """What came last without an end of line."""
        return [line] if (line := self._take()) else []

    def _add(self, piece: bytes) -> None:
        kept = piece if self._cap is None else piece[: max(0, self._cap - self._size)]
        if kept:
            self._open.append(kept)
            self._size += len(kept)

    def _take(self) -> bytes:
        line = b"".join(self._open)
        self._open, self._size = [], 0
        return line


class Child:
    """Made by `spawn`. `on_lost` is called once, when no further line can come."""

    def __init__(self, name: str, mark: Mark, clock: Clock, on_line: Callable[[bytes], None]) -> None:
        self.name = name
        self.mark = mark
        self.on_lost: Callable[[], None] | None = None
        self.last_words: deque[str] = deque(maxlen=LAST_WORDS)
        self.exit_code: int | None = None
        self.process: Process | None = None  # as it was right after the start
        self._clock = clock
        self._on_line = on_line
        self._transport: asyncio.SubprocessTransport | None = None
        self._lost = False
        self._exited = asyncio.Event()
        self._silent = asyncio.Event()  # stderr is at its end
        self._closed = asyncio.Event()
        self._ending = asyncio.Lock()
        self._is_ended = False

    @property
    def pid(self) -> int:
        assert self._transport is not None
        return self._transport.get_pid()

    @property
    def is_alive(self) -> bool:
        return not self._lost and not self._exited.is_set()

    @property
    def hears(self) -> bool:
        """One may be told of the broken way in before its end is known."""
        return self.is_alive and (stdin := self._stdin()) is not None and not stdin.is_closing()

    @property
    def lives_on(self) -> bool:
        """Not without us."""
        return False

    def write(self, data: bytes) -> None:
        if not self.is_alive or (stdin := self._stdin()) is None or stdin.is_closing():
            raise RuntimeLost(f"{self.name} is gone ({self.fate()})")
        stdin.write(data)

    def fate(self) -> str:
        """How it ended, in words."""
        if self.exit_code is None:
            return "its output has ended"
        if self.exit_code < 0:
            return f"killed by {scan.signal_name(-self.exit_code)}"
        return f"exit code {self.exit_code}"

    async def settled(self, patience: float = 2.0) -> None:
        """Wait until it has exited and said its last words; not for ever."""
        await within(patience, self._exited)
        await within(min(patience, 2.0), self._silent)

    async def end(self, grace: float = 2.0) -> None:
        """Close its stdin, then SIGTERM, then SIGKILL; then the same for whatever it left behind."""
        async with self._ending:
            if self._is_ended:
                return
            relatives = {p.key for p in await asyncio.to_thread(self._family)}
            await self._end_self(grace)
            await scan.end_all(lambda: self._leftovers(relatives), self._clock, grace)
            self._gone()
            assert self._transport is not None
            self._transport.close()
            await within(grace, self._closed)
            self._is_ended = True

    async def leave(self) -> None:
        """A child ends with whoever leaves it."""
        await self.end()

    async def _end_self(self, grace: float) -> None:
        if (stdin := self._stdin()) is not None:
            stdin.close()
        for number in (signal.SIGTERM, signal.SIGKILL):
            if await within(grace, self._exited):
                return
            if self.process is not None:
                scan.send_signal(self.process, number)
        await within(grace, self._exited)

    def _family(self) -> list[Process]:
        return scan.family(self.pid, scan.scan())

    def _leftovers(self, relatives: set[tuple[int, str]]) -> list[Process]:
        # An unreaped child of ours is still in the list while its exit is on the way; it is told once, and that is all.
        seen = scan.scan()
        return [p for p in seen if p.mark == self.mark or p.session == self.pid or p.key in relatives]

    def _stdin(self) -> asyncio.WriteTransport | None:
        assert self._transport is not None
        return cast("asyncio.WriteTransport | None", self._transport.get_pipe_transport(0))

    def _gone(self) -> None:
        if not self._lost:
            self._lost = True
            if self.on_lost is not None:
                self.on_lost()


class Flood:
    """Lets so many lines a second into the log, that a child which says too much does not keep us from all else."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._second = 0
        self._left = STDERR_RATE
        self._missed = 0

    def keep(self, lines: list[bytes]) -> tuple[list[bytes], int]:
        """Those that may be logged now, and how many were left out before them."""
        missed = 0
        if (now := int(self._clock.monotonic())) != self._second:
            missed, self._missed = self._missed, 0
            self._second, self._left = now, STDERR_RATE
        kept = lines[: self._left]
        self._left -= len(kept)
        self._missed += len(lines) - len(kept)
        return kept, missed


class _Pipes(asyncio.SubprocessProtocol):
    def __init__(self, child: Child) -> None:
        self._child = child
        self._out = Lines(LONGEST_LINE)
        self._err = Lines(STDERR_LINE)
        self._flood = Flood(child._clock)
        self._out_ended = False
        self._log = logging.getLogger(f"clew.child.{child.name}")

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._child._transport = cast("asyncio.SubprocessTransport", transport)

    def pipe_data_received(self, fd: int, data: bytes) -> None:
        if fd == 1:
            for line in self._out.feed(data):
                self._child._on_line(line)
        else:
            self._note(self._err.feed(data))

    def pipe_connection_lost(self, fd: int, exc: Exception | None) -> None:
        if fd == 1:
            for line in self._out.end():
                self._child._on_line(line)
            self._out_ended = True
            self._gone_soon()
        elif fd == 2:
            self._note(self._err.end())
            self._child._silent.set()

    def process_exited(self) -> None:
        child = self._child
        assert child._transport is not None
        child.exit_code = child._transport.get_returncode()
        child._exited.set()
        self._gone_soon()

    def connection_lost(self, exc: Exception | None) -> None:
        self._child._closed.set()

    def _gone_soon(self) -> None:
        """At once when both its output and itself have ended; the second of them may be late, or never come."""
        both = self._out_ended and self._child.exit_code is not None
        asyncio.get_running_loop().call_later(0 if both else GONE_GRACE, self._child._gone)

    def _note(self, lines: list[bytes]) -> None:
        kept, missed = self._flood.keep(lines)
        if missed:
            self._log.warning("%d lines were left out here: it says too much", missed)
        for line in kept:
            if text := _text(line):
                self._log.info("%s", text)
        self._child.last_words.extend(filter(None, map(_text, lines[-LAST_WORDS:])))


async def spawn(
    argv: Sequence[str],
    mark: Mark,
    clock: Clock,
    on_line: Callable[[bytes], None],
    *,
    name: str,
    env: Mapping[str, str] | None = None,
    cwd: str | None = None,
) -> Child:
    """Raises OSError where the program cannot be started at all."""
    child = Child(name, mark, clock, on_line)
    await asyncio.get_running_loop().subprocess_exec(
        lambda: _Pipes(child), *argv, env=child_environment(mark, env or {}), cwd=cwd, start_new_session=True
    )
    descriptors.restore_limit(child.pid)
    crash.point("child.started-not-known")
    child.process = scan.get(child.pid)
    log.debug("started %s: pid %d, mark %s", name, child.pid, mark)
    return child


def _text(line: bytes) -> str:
    return _COLOUR.sub("", line.decode(errors="replace")).strip()


def child_environment(mark: Mark, extra: Mapping[str, str]) -> dict[str, str]:
    """The environment of a child."""
    inherited = {name: value for name, value in os.environ.items() if name not in PRIVATE}
    return {**inherited, **extra, scan.VARIABLE: str(mark)}


async def within(seconds: float, event: asyncio.Event) -> bool:
    """Wait for it, but not for ever; False: it did not happen in time. Also in the clean-up of a task that was
    cancelled, where in older Pythons (Debian 12's) the end of an `asyncio.timeout` is another cancellation."""
    waiting = asyncio.ensure_future(event.wait())
    try:
        done, _ = await asyncio.wait({waiting}, timeout=seconds)
    finally:
        waiting.cancel()
    return bool(done)
