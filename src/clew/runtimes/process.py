"""A child process in its own session: reads and writes lines, logs stderr, and leaves no process behind when it ends.

This is the transport below the JSON-RPC peer; it does not know what the lines mean. It passes each line to a callback
on the event loop, in order. The callback must not block.
"""

from __future__ import annotations

import asyncio
import logging
import os
import re
import signal
from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import cast

from clew.process import descriptors, scan
from clew.process.scan import Mark, Process
from clew.support import crash
from clew.support.clock import Clock
from clew.support.errors import RuntimeLost
from clew.texts.catalogue import say

log = logging.getLogger(__name__)

PRIVATE = ("CLEW_CRASH", scan.VARIABLE)  # clew's own variables, which children must not inherit
_hidden: set[str] = set()  # other variables that no child gets: the secrets of surfaces
_COLOUR = re.compile(r"\x1b\[[0-9;]*m")
STDERR_LINE = 2000  # bytes; longer lines are cut in the log
STDERR_RATE = 200  # lines a second; more are not logged
STDERR_TAIL = 20  # lines
LONGEST_LINE = 128 << 20  # bytes; a longer line is cut, to protect the daemon's memory
EXIT_GRACE = 0.2  # seconds between end of output and exit; a grandchild may keep the pipe open for ever


class Lines:
    """Splits chunks into lines. `cap` is the longest line in bytes; the rest of a longer line is dropped."""

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
        """Return the last line if it has no newline."""
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
    """Made by `spawn`."""

    def __init__(
        self, name: str, mark: Mark, clock: Clock, on_line: Callable[[bytes], None], on_lost: Callable[[], None]
    ) -> None:
        self.name = name
        self.mark = mark
        self.stderr_tail: deque[str] = deque(maxlen=STDERR_TAIL)
        self.exit_code: int | None = None
        self.process: Process | None = None  # as found right after the start
        self._clock = clock
        self._on_line = on_line
        self._on_lost = on_lost
        self._transport: asyncio.SubprocessTransport | None = None
        self._lost = False
        self._exited = asyncio.Event()
        self._stderr_ended = asyncio.Event()  # stderr has reached its end
        self._closed = asyncio.Event()
        self._end_lock = asyncio.Lock()
        self._is_ended = False

    @property
    def pid(self) -> int:
        assert self._transport is not None
        return self._transport.get_pid()

    @property
    def is_alive(self) -> bool:
        return not self._lost and not self._exited.is_set()

    @property
    def is_writable(self) -> bool:
        """Whether stdin is open. It may break before the exit of the process is known."""
        return self.is_alive and (stdin := self._stdin()) is not None and not stdin.is_closing()

    @property
    def survives_disconnect(self) -> bool:
        """A child ends with its parent."""
        return False

    def write(self, data: bytes) -> None:
        if not self.is_alive or (stdin := self._stdin()) is None or stdin.is_closing():
            raise RuntimeLost(say("runtimes.program_gone", name=self.name, fate=self.exit_reason()))
        stdin.write(data)

    def exit_reason(self) -> str:
        """How the process ended, in words."""
        if self.exit_code is None:
            return say("runtimes.output_ended")
        if self.exit_code < 0:
            return say("runtimes.killed", signal=scan.signal_name(-self.exit_code))
        return say("runtimes.exit_code", code=self.exit_code)

    async def wait_exited(self, time_limit: float = 2.0) -> None:
        """Wait until the process has exited and its stderr is read, up to `time_limit` seconds."""
        await within(time_limit, self._exited)
        await within(min(time_limit, 2.0), self._stderr_ended)

    async def end(self, grace: float = 2.0) -> None:
        """Close stdin, then send SIGTERM, then SIGKILL. Then end all processes that it left behind."""
        async with self._end_lock:
            if self._is_ended:
                return
            relatives = {p.key for p in await asyncio.to_thread(self._family)}
            await self._end_self(grace)
            await scan.end_all(lambda: self._leftovers(relatives), self._clock, grace)
            self._report_lost()
            assert self._transport is not None
            self._transport.close()
            await within(grace, self._closed)
            self._is_ended = True

    async def leave(self) -> None:
        """End the child: it cannot live without its parent."""
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
        # May include a child that has exited and is not reaped yet; signalling it once more does no harm.
        seen = scan.scan()
        return [p for p in seen if p.mark == self.mark or p.session == self.pid or p.key in relatives]

    def _stdin(self) -> asyncio.WriteTransport | None:
        assert self._transport is not None
        return cast("asyncio.WriteTransport | None", self._transport.get_pipe_transport(0))

    def _report_lost(self) -> None:
        if not self._lost:
            self._lost = True
            self._on_lost()


class LogLimit:
    """Limits how many lines a second are logged, so that a noisy child cannot keep the daemon busy."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._second = 0
        self._left = STDERR_RATE
        self._missed = 0

    def allow(self, lines: list[bytes]) -> tuple[list[bytes], int]:
        """Return the lines to log now, and how many earlier lines were dropped."""
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
        self._limit = LogLimit(child._clock)
        self._out_ended = False
        self._log = logging.getLogger(f"clew.child.{child.name}")

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._child._transport = cast("asyncio.SubprocessTransport", transport)

    def pipe_data_received(self, fd: int, data: bytes) -> None:
        if fd == 1:
            for line in self._out.feed(data):
                self._child._on_line(line)
        else:
            self._log_stderr(self._err.feed(data))

    def pipe_connection_lost(self, fd: int, exc: Exception | None) -> None:
        if fd == 1:
            for line in self._out.end():
                self._child._on_line(line)
            self._out_ended = True
            self._report_lost_soon()
        elif fd == 2:
            self._log_stderr(self._err.end())
            self._child._stderr_ended.set()

    def process_exited(self) -> None:
        child = self._child
        assert child._transport is not None
        child.exit_code = child._transport.get_returncode()
        child._exited.set()
        self._report_lost_soon()

    def connection_lost(self, exc: Exception | None) -> None:
        self._child._closed.set()

    def _report_lost_soon(self) -> None:
        """Report at once if the output has ended and the process has exited; if only one has, after a short wait."""
        both = self._out_ended and self._child.exit_code is not None
        asyncio.get_running_loop().call_later(0 if both else EXIT_GRACE, self._child._report_lost)

    def _log_stderr(self, lines: list[bytes]) -> None:
        kept, missed = self._limit.allow(lines)
        if missed:
            self._log.warning("%d lines were not logged: more than the limit per second", missed)
        for line in kept:
            if text := _text(line):
                self._log.info("%s", text)
        self._child.stderr_tail.extend(filter(None, map(_text, lines[-STDERR_TAIL:])))


async def spawn(
    argv: Sequence[str],
    mark: Mark,
    clock: Clock,
    on_line: Callable[[bytes], None],
    *,
    name: str,
    env: Mapping[str, str] | None = None,
    cwd: str | None = None,
    on_lost: Callable[[], None] = lambda: None,
) -> Child:
    """Start a program as a child. Raises OSError if it cannot be started. `on_lost` is called once, when no more lines
    can come."""
    child = Child(name, mark, clock, on_line, on_lost)
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


def hide_variables(names: Iterable[str]) -> None:
    """Keep these variables of ours from every child from now on. An agent could answer its own gates with the token of
    a chat."""
    _hidden.update(names)


def inherited_environment() -> dict[str, str]:
    """Return our environment without what no child may have."""
    return {name: value for name, value in os.environ.items() if name not in PRIVATE and name not in _hidden}


def child_environment(mark: Mark, extra: Mapping[str, str]) -> dict[str, str]:
    """Return the environment for a child: ours, `extra`, and its mark."""
    return {**inherited_environment(), **extra, scan.VARIABLE: str(mark)}


async def within(seconds: float, event: asyncio.Event) -> bool:
    """Wait for the event up to `seconds`; False: it was not set in time. Also works while a cancelled task cleans up,
    where `asyncio.timeout` in older Pythons (Debian 12) would raise another cancellation."""
    waiting = asyncio.ensure_future(event.wait())
    try:
        done, _ = await asyncio.wait({waiting}, timeout=seconds)
    finally:
        waiting.cancel()
    return bool(done)
