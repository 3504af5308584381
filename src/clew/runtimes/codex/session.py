"""One clew thread on its Codex thread.

A turn that runs is `Live`: its events are kept from the moment they arrive, so that whoever follows may come late or
leave. When the app-server is lost, nothing is concluded: the follower gets RuntimeLost, and `record` is asked.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import AsyncIterator

import msgspec

from clew.config import CodexConfig
from clew.errors import RuntimeLost, RuntimeTrouble
from clew.events import Event, Notice, NoticeKind, TurnEnded
from clew.model import Said
from clew.runtimes.base import Continuity, RecordState, Seat, TurnRecord, TurnRequest
from clew.runtimes.codex import record, threads, trouble, wire
from clew.runtimes.codex.connection import Connection
from clew.runtimes.codex.requests import Declined
from clew.runtimes.codex.server import Server
from clew.runtimes.codex.translate import Translation
from clew.runtimes.jsonrpc import RpcError

log = logging.getLogger(__name__)


class Live:
    """A turn that Codex works on, as far as it has come."""

    def __init__(self, turn: str, runtime_turn: str | None = None) -> None:
        self.turn = turn
        self.translation = Translation(runtime_turn)
        self.events: asyncio.Queue[Event | RuntimeLost] = asyncio.Queue()
        self.known = asyncio.Event()  # Codex's id of it is known
        self.started = asyncio.Event()  # it can be interrupted; or it is over
        self.is_over = False
        self.is_interrupted = False
        self._signal()

    def feed(self, method: str, params: msgspec.Raw) -> None:
        for event in self.translation.feed(method, params):
            self.events.put_nowait(event)
        self._signal()

    @property
    def is_told(self) -> bool:
        """Nothing is left to follow."""
        return self.is_over and self.events.empty()

    def answered(self, runtime_turn: str) -> None:
        """`turn/start` was answered. Its notifications may have been read before."""
        self.translation.runtime_turn = self.translation.runtime_turn or runtime_turn
        self._signal()

    def lose(self, reason: str) -> None:
        self.is_over = True
        self.events.put_nowait(RuntimeLost(reason))
        self._signal()

    def _signal(self) -> None:
        self.is_over = self.is_over or self.translation.is_ended
        if self.is_over or self.translation.runtime_turn is not None:
            self.known.set()
        if self.is_over or self.translation.is_started:
            self.started.set()


class CodexSession:
    def __init__(self, server: Server, config: CodexConfig, seat: Seat, connection: Connection, thread: str) -> None:
        self._server = server
        self._config = config
        self._seat = seat
        self._thread = thread
        self._connection: Connection | None = None  # the one on which our thread is loaded
        self._live: Live | None = None
        self._running: set[str] = set()  # turns that Codex has begun and not ended, whoever asked for them
        self._is_renewed = False  # there is a new Codex thread that nobody has asked our continuity about
        self._adopt(connection, thread)

    def continuity(self) -> Continuity:
        self._is_renewed = False
        return threads.Position(self._thread).continuity()

    async def run(self, request: TurnRequest) -> AsyncIterator[Event]:
        live = await self._begin(request)
        async for event in self._follow(live):
            yield event

    async def attach(self, turn: str) -> AsyncIterator[Event]:
        live = self._live
        if live is None or live.turn != turn or live.is_told:
            live = await self._join(turn)
        async for event in self._follow(live):
            yield event

    async def steer(self, message: Said) -> bool:
        live, connection = self._live, self._connection
        if live is None or connection is None:
            return False
        await live.known.wait()
        if live.is_over:
            return False
        params = {
            "threadId": self._thread,
            "expectedTurnId": live.translation.runtime_turn,
            "input": threads.as_input([message]),
            "clientUserMessageId": message.id,
        }
        try:
            await connection.ask("turn/steer", params, dict)
        except RpcError as error:
            log.info("Codex did not take a steer: %s", error.message)
            return False
        return True

    async def interrupt(self) -> None:
        """Codex refuses an interrupt before the turn has begun, and leaves a second one unanswered."""
        live, connection = self._live, self._connection
        if live is None or connection is None or live.is_interrupted:
            return
        live.is_interrupted = True
        try:
            async with asyncio.timeout(self._config.interrupt_timeout):
                await live.started.wait()
        except TimeoutError:
            live.is_interrupted = False
            raise RuntimeTrouble("Codex has not begun the turn yet, so it cannot be stopped. Try again.") from None
        if not live.is_over:
            await self._interrupt(connection, live)

    async def record(self, turn: str) -> TurnRecord | None:
        live = self._live
        if live is not None and live.turn == turn and not live.is_over:
            return TurnRecord(RecordState.ALIVE, live.translation.runtime_turn or "")
        connection = await self._ready()
        try:
            return await record.find(connection, self._thread, turn)
        except RpcError as error:
            raise trouble.refuses("list the turns of a thread", error.message) from error

    async def close(self) -> None:
        connection, self._connection = self._connection, None
        if connection is None or not connection.is_alive:
            return
        connection.forget(self._thread)
        if self._live is not None:
            self._end(self._live, well=False)
        with contextlib.suppress(RuntimeTrouble, RpcError):
            await connection.ask("thread/unsubscribe", {"threadId": self._thread}, dict)

    # What the connection tells us; called by its reader.

    def notified(self, method: str, params: msgspec.Raw) -> None:
        self._watch(method, params)
        if (live := self._live) is None or live.is_over:
            log.debug("dropped %s: no turn of ours is running", method)
            return
        live.feed(method, params)
        if live.is_over:
            self._end(live, well=True)

    def declined(self, declined: Declined) -> None:
        if self._live is not None and not self._live.is_over:
            about = declined.about or self._live.translation.title_of(declined.item)
            text = f"declined: nobody can be asked yet: {about}" if about else "declined: nobody can be asked yet"
            self._live.events.put_nowait(Notice(NoticeKind.DECLINED, text))

    def lost(self, reason: str) -> None:
        self._connection = None
        self._running.clear()
        if self._live is not None and not self._live.is_over:
            self._live.lose(reason)
            self._end(self._live, well=False)

    async def _begin(self, request: TurnRequest) -> Live:
        if self._live is not None and not self._live.is_over:
            raise RuntimeTrouble(f"A turn already runs on this thread ({self._live.turn}).")
        connection = await self._ready()
        if self._is_renewed:
            # The thread we had was never written. Whoever stored our continuity must store the new one before a turn
            # runs, or a crash could not find it.
            raise RuntimeLost("Codex had forgotten the thread; a new one was begun.")
        if self._running:
            # Codex would not queue it but push it into the turn that runs.
            raise RuntimeTrouble("Codex is busy with a turn of its own on this thread. Try again when it has ended.")
        live = self._live = Live(request.turn)
        self._server.begin(live)
        await self._start(connection, live, request)
        return live

    async def _start(self, connection: Connection, live: Live, request: TurnRequest) -> None:
        params = {
            "threadId": self._thread,
            "input": threads.as_input(request.messages),
            "clientUserMessageId": request.turn,
            **threads.turn_settings(self._seat, self._config),
        }
        try:
            answer = await connection.ask("turn/start", params, wire.TurnAnswer)
        except RpcError as error:
            live.lose(error.message)
            self._end(live, well=False)
            raise trouble.refuses("start the turn", error.message) from error
        live.answered(answer.turn.id)

    async def _join(self, turn: str) -> Live:
        """Follow a turn that was begun by an earlier session on the same app-server."""
        found = await self.record(turn)
        if found is None or found.state is not RecordState.ALIVE:
            raise RuntimeLost("The turn does not run any more.")
        live = self._live = Live(turn, found.runtime_turn)
        self._server.begin(live)
        connection = await self._ready()
        again = await record.find(connection, self._thread, turn)
        if not live.is_over and (again is None or again.state is not RecordState.ALIVE):
            live.lose("The turn ended before it could be followed.")
            self._end(live, well=False)
        return live

    async def _follow(self, live: Live) -> AsyncIterator[Event]:
        while True:
            event = await live.events.get()
            if isinstance(event, RuntimeLost):
                raise event
            yield event
            if isinstance(event, TurnEnded):
                return

    async def _interrupt(self, connection: Connection, live: Live) -> None:
        params = {"threadId": self._thread, "turnId": live.translation.runtime_turn}
        try:
            await connection.ask("turn/interrupt", params, dict, within=self._config.interrupt_timeout)
            # The interrupt ends the turn, not the command that it runs.
            await connection.ask("thread/backgroundTerminals/clean", {"threadId": self._thread}, dict)
        except RpcError as error:
            log.info("Codex had nothing to interrupt: %s", error.message)

    async def _ready(self) -> Connection:
        """The connection, with our thread loaded on it."""
        connection = await self._server.connect()
        if connection is self._connection:
            return connection
        if await threads.resume(connection, self._thread, self._seat, self._config):
            self._adopt(connection, self._thread)
        else:
            self._adopt(connection, await threads.start(connection, self._seat, self._config))
            self._is_renewed = True
        return connection

    def _adopt(self, connection: Connection, thread: str) -> None:
        self._connection = connection
        self._thread = thread
        connection.listen(thread, self)

    def _watch(self, method: str, params: msgspec.Raw) -> None:
        if method not in ("turn/started", "turn/completed"):
            return
        if (note := wire.read(params, wire.TurnNote)) is None:
            return
        if method == "turn/started":
            self._running.add(note.turn.id)
        else:
            self._running.discard(note.turn.id)

    def _end(self, live: Live, *, well: bool) -> None:
        self._server.done(live, well=well)
