"""Finds, starts, attaches to and ends a kept app-server: one that outlives the daemon, on a private Unix socket.

Its name is a hash of the Codex version, its folder and its keys. So a daemon with different settings starts another
server beside it.
"""

from __future__ import annotations

import hashlib
import json
import sys
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct

from clew.process import kept_programs, scan
from clew.process.kept_programs import KeptProgram
from clew.process.scan import Mark, Marks
from clew.runtimes.codex import problems
from clew.runtimes.codex.server import environment as server_environment
from clew.runtimes.codex.server.binary import Binary
from clew.runtimes.codex.settings import CodexConfig
from clew.runtimes.process import EXIT_GRACE, child_environment
from clew.runtimes.server import OnLost, ignore
from clew.support.clock import Clock
from clew.support.coded import Text
from clew.support.errors import RuntimeLost
from clew.support.home import Home
from clew.texts.catalogue import say

if TYPE_CHECKING:  # loaded by the first connection
    from clew.runtimes.codex.server.connection import Connection
    from clew.runtimes.websocket import WebSocket

KEPT = "kept"  # part of the mark of a program that outlives its daemon
NO_ANSWER = (ConnectionRefusedError, FileNotFoundError)  # a timeout raises ConnectionRefusedError too
LOOK = (sys.executable, "-P", "-m", "clew.runtimes.codex.server.busy")


class Visit:
    """The transport to an app-server that another process looks after."""

    pid = 0
    survives_disconnect = True
    stderr_tail: Sequence[str] = ()

    def __init__(self, socket: WebSocket) -> None:
        self._socket = socket

    @property
    def is_writable(self) -> bool:
        return self._socket.is_open

    @property
    def is_alive(self) -> bool:
        return self._socket.is_open

    def write(self, data: bytes) -> None:
        try:
            self._socket.write(data.rstrip(b"\n"))
        except RuntimeLost:
            raise RuntimeLost(say("codex.out_of_reach", why=self.exit_reason())) from None

    def exit_reason(self) -> str:
        return say("codex.connection_cut") if self.survives_disconnect else say("codex.has_ended")

    async def wait_exited(self) -> None:
        return

    async def end(self, grace: float = 0.0) -> None:
        await self.leave()

    async def leave(self) -> None:
        """Disconnect; the app-server goes on."""
        await self._socket.close()


class Attached(Visit):
    """The transport to a kept app-server. A lost connection does not mean that it ended: we may attach again."""

    def __init__(self, kept: KeptProgram, clock: Clock, socket: WebSocket) -> None:
        super().__init__(socket)
        self._kept = kept
        self._clock = clock
        self.pid = kept.program.pid

    @property
    def survives_disconnect(self) -> bool:  # type: ignore[override]
        return self._kept.find() is not None

    async def end(self, grace: float = 0.0) -> None:
        await self.leave()
        await kept_programs.end(self._kept, self._clock, grace)


class Keeping(Struct, frozen=True):
    home: Home
    config: CodexConfig
    clock: Clock
    marks: Marks

    def name(self, binary: Binary) -> str:
        """Return the name of the server that this daemon would start."""
        seen = json.dumps([binary.version, server_environment.marks(self.config)])
        return f"codex-{hashlib.sha256(seen.encode()).hexdigest()[:8]}"

    async def connect(self, binary: Binary, on_lost: OnLost) -> tuple[KeptProgram, Connection]:
        """Connect to the kept server, or start a new one. Raises RuntimeTrouble."""
        _import_websocket()  # fail before starting a server that we cannot talk to
        name = self.name(binary)
        kept = kept_programs.named(self.home, name)
        if kept is not None and (connection := await self.rejoin(kept, on_lost, binary)) is not None:
            return kept, connection
        kept = await self._start_and_wait(name, binary)
        try:
            return kept, await self.attach(kept, on_lost, binary)
        except RuntimeLost as lost:
            died = await self._has_died(kept)
            await kept_programs.end(kept, self.clock)
            raise (problems.exits(binary.path, lost.words) if died else lost) from None
        except BaseException:
            await kept_programs.end(kept, self.clock)
            raise

    async def _has_died(self, kept: KeptProgram) -> bool:
        """Whether the program has ended. It closes its connections a moment before."""
        process = kept.find()
        return process is None or await scan.wait_gone(process, self.clock, EXIT_GRACE)

    async def rejoin(self, kept: KeptProgram, on_lost: OnLost, binary: Binary | None = None) -> Connection | None:
        """Attach again; None: it has ended, perhaps just now. Raises RuntimeTrouble."""
        try:
            return await self.attach(kept, on_lost, binary)
        except RuntimeLost:
            if kept.find() is not None:
                raise
            return None

    async def attach(self, kept: KeptProgram, on_lost: OnLost = ignore, binary: Binary | None = None) -> Connection:
        """Attach to a kept server. If it does not answer at all, end it; after any other error it goes on. Raises
        RuntimeTrouble."""
        from clew.runtimes.codex.server.connection import Connection, handshake

        program = binary or Binary("codex", kept.version)
        connection = Connection(self.config, self.clock, program, process=kept.mark.incarnation, on_lost=on_lost)
        try:
            open_unix, limit = _import_websocket(), self.config.start_timeout
            socket = await open_unix(kept.socket, connection.feed, connection.lost, limit)
        except OSError as error:
            if isinstance(error, NO_ANSWER):
                await kept_programs.end(kept, self.clock)
            raise RuntimeLost(say("codex.kept_silent", error=_words(error))) from error
        connection.use(Attached(kept, self.clock, socket))
        await handshake(connection, self.config.start_timeout)
        return connection

    async def _start_and_wait(self, name: str, binary: Binary) -> KeptProgram:
        at = self.home.place(f"{name}.sock")
        await kept_programs.end_leftovers(self.home, self.clock)
        if await kept_programs.listens(at):
            raise problems.socket_taken(str(at))
        kept = await self._start(name, binary)
        deadline = self.clock.monotonic() + self.config.start_timeout
        while not await kept_programs.listens(at):
            seen = kept_programs.read(kept_programs.record(self.home, name)) or kept
            if seen.fate or self.clock.monotonic() > deadline:
                await kept_programs.end(kept, self.clock)
                silence = say("runtimes.silent_for", seconds=f"{self.config.start_timeout:g}")
                raise problems.exits(binary.path, seen.fate or silence, seen.words, died=bool(seen.fate))
            await self.clock.sleep(0.01)
        return kept

    async def _start(self, name: str, binary: Binary) -> KeptProgram:
        from clew.runtimes.codex.server.connection import environment

        at = self.home.place(f"{name}.sock")
        mark = Mark(self.marks.store, f"{KEPT}.{self.clock.token()[:16]}", 1)
        try:
            kept = await kept_programs.start(
                self.home,
                name,
                [binary.path, "app-server", "--listen", f"unix://{at}"],
                look=[*LOOK, str(at)],
                mark=mark,
                env=child_environment(mark, environment(self.config)),
                keep_alive=self.config.keep_alive,
                version=binary.version,
            )
        except OSError as error:
            raise problems.cannot_start(binary.path, error) from error
        if kept is None:
            raise problems.exits(binary.path, say("codex.keeper_missing"))
        return kept


def _words(error: OSError) -> str:
    """What the system says, or a sentence of clew with its code."""
    return next((text for text in error.args if isinstance(text, Text)), str(error))


def _import_websocket() -> Callable[[Path, Callable[[bytes], None], Callable[[], None], float], Awaitable[WebSocket]]:
    """Import the WebSocket transport only if it is used. Raises CodexMissing if the library is not installed."""
    try:
        from clew.runtimes.websocket import open_unix
    except ImportError as error:
        raise problems.no_framing() from error
    return open_unix
