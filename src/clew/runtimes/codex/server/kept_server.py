"""An app-server that outlives the daemon, on a private Unix socket: found, begun, attached to, left and ended.

Its name says what it was begun with: the version of Codex, its folder and its keys. So who needs another Codex than the
one that is kept gets another server beside it.
"""

from __future__ import annotations

import hashlib
import json
import sys
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct

from clew.config.settings import CodexConfig
from clew.process import kept_programs
from clew.process.kept_programs import KeptProgram
from clew.process.scan import Mark, Marks
from clew.runtimes.codex import problems
from clew.runtimes.codex.server import environment as server_environment
from clew.runtimes.codex.server.binary import Binary
from clew.runtimes.codex.server.connection import Connection, environment, handshake
from clew.runtimes.process import child_environment
from clew.support.clock import Clock
from clew.support.errors import RuntimeLost
from clew.support.home import Home

if TYPE_CHECKING:
    from clew.runtimes.websocket import WebSocket

KEPT = "kept"  # in the mark of what outlives the daemon that began it
DEAF = (ConnectionRefusedError, FileNotFoundError)  # no answer in time is a refusal too
LOOK = (sys.executable, "-P", "-m", "clew.runtimes.codex.server.busy")


class Visit:
    """The transport to an app-server that somebody else looks after."""

    pid = 0
    lives_on = True
    last_words: Sequence[str] = ()

    def __init__(self, socket: WebSocket) -> None:
        self.on_lost: Callable[[], None] | None = None
        self._socket = socket
        socket.on_lost = self._lost

    @property
    def hears(self) -> bool:
        return self._socket.is_open

    @property
    def is_alive(self) -> bool:
        return self._socket.is_open

    def write(self, data: bytes) -> None:
        try:
            self._socket.write(data.rstrip(b"\n"))
        except RuntimeLost:
            raise RuntimeLost(f"Codex is out of reach ({self.fate()})") from None

    def fate(self) -> str:
        return "the connection was cut" if self.lives_on else "it has ended"

    async def settled(self) -> None:
        return

    async def end(self, grace: float = 0.0) -> None:
        await self.leave()

    async def leave(self) -> None:
        """It goes on without us."""
        await self._socket.close()

    def _lost(self) -> None:
        if self.on_lost is not None:
            self.on_lost()


class Attached(Visit):
    """The transport to an app-server that is kept for us. Lost is not the same as ended: one may attach again."""

    def __init__(self, kept: KeptProgram, clock: Clock, socket: WebSocket) -> None:
        super().__init__(socket)
        self._kept = kept
        self._clock = clock
        self.pid = kept.program.pid

    @property
    def lives_on(self) -> bool:  # type: ignore[override]
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
        """Of the server that this daemon would begin."""
        seen = json.dumps([binary.version, server_environment.marks(self.config)])
        return f"codex-{hashlib.sha256(seen.encode()).hexdigest()[:8]}"

    def living(self) -> list[KeptProgram]:
        return [kept for kept in kept_programs.running(self.home) if kept.name.startswith("codex-")]

    async def connect(self, binary: Binary) -> tuple[KeptProgram, Connection]:
        """To the one that is kept, or to a new one. Raises RuntimeTrouble."""
        _framing()  # before anything is begun that could not be spoken to
        name = self.name(binary)
        kept = kept_programs.named(self.home, name)
        if kept is not None and (connection := await self.rejoin(kept, binary)) is not None:
            return kept, connection
        kept = await self._begin(name, binary)
        try:
            return kept, await self.attach(kept, binary)
        except BaseException:
            await kept_programs.end(kept, self.clock)
            raise

    async def rejoin(self, kept: KeptProgram, binary: Binary | None = None) -> Connection | None:
        """None: it has ended, perhaps in this moment. Raises RuntimeTrouble."""
        try:
            return await self.attach(kept, binary)
        except RuntimeLost:
            if kept.find() is not None:
                raise
            return None

    async def attach(self, kept: KeptProgram, binary: Binary | None = None) -> Connection:
        """One that answers nothing is as good as dead, and is made so; whatever else is wrong, it works on. Raises
        RuntimeTrouble."""
        program = binary or Binary("codex", kept.version)
        connection = Connection(self.config, self.clock, program, process=kept.mark.incarnation)
        try:
            socket = await _framing()(kept.socket, connection.feed, self.config.start_timeout)
        except OSError as error:
            if isinstance(error, DEAF):
                await kept_programs.end(kept, self.clock)
            raise RuntimeLost(f"Codex was kept, but does not answer ({error})") from error
        connection.use(Attached(kept, self.clock, socket))
        await handshake(connection, self.config.start_timeout)
        return connection

    async def _begin(self, name: str, binary: Binary) -> KeptProgram:
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
                silence = f"no answer within {self.config.start_timeout:g} s"
                raise problems.exits(binary.path, seen.fate or silence, seen.words)
            await self.clock.sleep(0.01)
        return kept

    async def _start(self, name: str, binary: Binary) -> KeptProgram:
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
            raise problems.missing(f"{binary.path}: {error.strerror}") from error
        if kept is None:
            raise problems.exits(binary.path, "its keeper did not begin")
        return kept


def _framing() -> Callable[[Path, Callable[[bytes], None], float], Awaitable[WebSocket]]:
    """Imported on need: only this transport does. Raises CodexRefuses where the library is missing."""
    try:
        from clew.runtimes.websocket import open_unix
    except ImportError as error:
        raise problems.no_framing() from error
    return open_unix
