"""The session of one clew thread on its session of Claude, which has a process of its own.

Our turn id is the id of the message that begins the turn, and Claude runs a message with the same id once: one that it
finished is told from its transcript, without asking the model again. If the process is lost, the outcome of the running
turn is unknown: its follower gets RuntimeLost and then reads `record`. The next use starts a process that resumes the
session.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Callable, Collection, Coroutine
from contextlib import suppress
from pathlib import Path

from msgspec.structs import replace

from clew.model.events import Event, Notice, NoticeKind, TextDone, TurnEnded, TurnStarted, Usage
from clew.model.gates import Answer, Decision
from clew.model.messages import PromptMessage
from clew.model.runtime import Health, ModelInfo, RecordState, Seat, TurnRecord, TurnRequest
from clew.model.threads import Continuity, SessionBegan
from clew.model.turns import TurnState
from clew.model.turns import Usage as Spent
from clew.process.scan import Marks
from clew.runtimes.claude import problems, spending, wire
from clew.runtimes.claude.approvals.pending import Pending
from clew.runtimes.claude.program import arguments, binary, trust
from clew.runtimes.claude.program.arguments import Begin
from clew.runtimes.claude.program.connection import Connection, Refused, connect
from clew.runtimes.claude.record import external_sessions, lookup, open_sessions, transcript
from clew.runtimes.claude.record.orphans import Orphan, Orphans
from clew.runtimes.claude.record.position import Position, new_id
from clew.runtimes.claude.record.transcript import STEERED
from clew.runtimes.claude.settings import ClaudeConfig
from clew.runtimes.claude.spending import Meter
from clew.runtimes.claude.turn import prompts
from clew.runtimes.claude.turn.live_turn import Live
from clew.runtimes.claude.turn.translate import is_unasked
from clew.runtimes.claude.wire import CostState
from clew.runtimes.server import OnLost, Server
from clew.runtimes.turn_events import follow
from clew.support.clock import Clock
from clew.support.errors import RuntimeLost, RuntimeTrouble
from clew.texts.catalogue import say

log = logging.getLogger(__name__)

NOBODY_FOLLOWS = "Nobody asked for this turn, so nobody can be asked about this: it was declined."
_STATES = {RecordState.COMPLETED: TurnState.COMPLETED, RecordState.FAILED: TurnState.FAILED}


class ClaudeSession:
    """Made by `ClaudeRuntime.open`, which then calls `enter`."""

    def __init__(
        self,
        config: ClaudeConfig,
        clock: Clock,
        marks: Marks,
        seat: Seat,
        orphans: Orphans,
        on_closed: Callable[[ClaudeSession], None] = lambda session: None,
    ) -> None:
        self._orphans = orphans
        self._on_closed = on_closed
        self._config = config
        self._clock = clock
        self._marks = marks
        self._seat = seat
        self._position = Position.read(seat.continuity) if seat.continuity is not None else None
        self._server: Server[Connection] = Server("Claude", self._start, clock, config.idle_stop)
        self._connection: Connection | None = None
        self._live: Live | None = None
        self._began = SessionBegan.FRESH
        self._background: set[asyncio.Task[None]] = set()
        self._has_lost_record = False  # Claude has lost the session, and nobody was told yet
        self._leaves_out: bool | None = None  # settings of the folder do not count, and nobody was told yet
        self._meter = Meter()
        self._asked_tools: frozenset[str] = frozenset()  # about which the folder wants to be asked
        self._settings = _settings(seat)  # with which the process was started

    async def enter(self) -> None:
        """Find out whether Claude knows the session, and start its process, unless an earlier one still uses it."""
        await self._settle_position()
        if self._orphan is None:
            await self._ready()

    def continuity(self) -> Continuity:
        assert self._position is not None, "entered"
        return self._position.continuity()

    def began(self) -> SessionBegan:
        return self._began

    async def reseat(self, seat: Seat) -> None:
        """The policy is clew's own matter. A process keeps its model: the next turn starts another one."""
        self._seat = seat
        if _settings(seat) != self._settings:
            await self._restart()

    async def run(self, request: TurnRequest) -> AsyncIterator[Event]:
        live = await self._begin(request)
        async for event in follow(live.events):
            yield event
            if self._has_lost_record and isinstance(event, TurnStarted):
                self._has_lost_record = False
                yield Notice(NoticeKind.WARNING, say("claude.record_lost"))
            if self._leaves_out and isinstance(event, TurnStarted):
                self._leaves_out = False
                yield Notice(NoticeKind.WARNING, say("claude.untrusted", folder=self._seat.workspace))

    async def attach(self, turn: str) -> AsyncIterator[Event]:
        live = self._live
        if live is None and (orphan := self._orphan) is not None:
            async for event in self._follow_orphan(orphan, turn):
                yield event
            return
        if live is None or live.turn != turn or live.is_drained:
            raise RuntimeLost(say("runtimes.turn_over"))
        async for event in follow(live.events):
            yield event

    async def _follow_orphan(self, orphan: Orphan, turn: str) -> AsyncIterator[Event]:
        """It tells nothing but its transcript, whose growth is a sign of life."""
        while not orphan.is_over:
            await orphan.rows.wait()
            found = await asyncio.to_thread(self._look, turn)
            if found is not None and found.usage is not None:
                yield Usage(found.usage)
        if (found := await asyncio.to_thread(self._look, turn)) is None:
            raise RuntimeLost(say("runtimes.turn_over"))
        for event in _as_events(turn, found):
            yield event

    async def steer(self, message: PromptMessage) -> bool:
        """Claude reads it in the running turn, or right behind it. Then it belongs to this turn all the same."""
        live, connection = self._live, self._connection
        if live is None or connection is None or not await live.wait_started(self._config.request_timeout):
            return False
        if live.is_interrupted:
            return False
        id = f"{live.turn}{STEERED}{message.id}"
        prompt = await asyncio.to_thread(prompts.as_message, id, [message])
        if live.is_over:
            return False
        live.translation.give(id)
        connection.send(prompt)
        return True

    async def interrupt(self) -> None:
        live, connection = self._live, self._connection
        if live is None and (orphan := self._orphan) is not None:
            await orphan.end()
        if live is None or connection is None or live.is_interrupted or live.is_over:
            return
        live.is_interrupted = live.translation.is_interrupted = True
        live.cancel_gates()
        await self._stop(connection, live)

    async def answer(self, ref: str, answer: Answer) -> bool:
        live = self._live
        pending = live.gates.get(ref) if live is not None and not live.is_over and not live.is_interrupted else None
        if pending is None:
            return False
        if answer.decision is Decision.CANCEL:
            await self.interrupt()
            return True
        return pending.answer(answer)

    async def record(self, turn: str) -> TurnRecord | None:
        live = self._live
        if live is not None and live.turn == turn and not live.is_over:
            return TurnRecord(RecordState.ALIVE, turn)
        if live is None and self._orphan is not None:
            return TurnRecord(RecordState.ALIVE, turn)
        return await asyncio.to_thread(self._look, turn)

    async def close(self) -> None:
        self._lose(say("runtimes.session_closed"))
        self._connection = None
        await asyncio.gather(*self._background, return_exceptions=True)
        await self._server.close()
        self._on_closed(self)

    def health(self) -> Health:
        return self._server.health()

    @property
    def models(self) -> tuple[ModelInfo, ...]:
        """Which models Claude offered when its process began."""
        return self._connection.models if self._connection is not None else ()

    # Callbacks of the connection's reader.

    def on_frame(self, frame: wire.Frame) -> None:
        live, spent = self._live, self._meter.spent(frame) if frame.type == "result" else None
        if live is None or live.is_over:
            if frame.type == "result":
                self._in_background(self._tell_unasked())
            return
        if is_unasked(frame):
            self._in_background(self._tell_unasked())
        live.feed(frame, spent)
        if live.translation.is_repeated and not live.is_over:
            self._finish_repeated(live)
        if live.is_over:
            self._server.mark_idle(live, succeeded=True)

    def on_request(self, id: str, request: wire.Request) -> None:
        assert self._connection is not None
        pending = Pending(id, request, self._connection.answer)
        if self._live is None:
            pending.deny(NOBODY_FOLLOWS)
        else:
            self._live.ask(pending)

    def on_taken(self, id: str) -> None:
        if self._live is not None:
            self._live.closed(id)

    def on_cancelled(self, id: str) -> None:
        if self._live is not None:
            self._live.closed(id)

    def lost(self, reason: str) -> None:
        self._connection = None
        self._lose(reason)

    # A turn

    async def _begin(self, request: TurnRequest) -> Live:
        if self._live is not None and not self._live.is_over:
            raise RuntimeTrouble(say("runtimes.turn_already_runs", turn=self._live.turn))
        connection = await self._ready()
        past = request.prelude or (await request.whole() if self._is_untold else "")
        prompt = await asyncio.to_thread(prompts.as_message, request.turn, request.messages, past)
        seat = self._seat
        live = Live(request.turn, seat.workspace, seat.longest_text, self._asked_tools, seat.is_restricted)
        self._live = live
        self._server.mark_busy(live)
        try:
            connection.send(prompt)
            if not await live.wait_heard(self._config.request_timeout):
                await connection.kill()
                raise RuntimeLost(say("claude.silent_turn", seconds=f"{self._config.request_timeout:g}"))
            self._note_told()
        except RuntimeLost as lost:
            self._lose(lost.words)
        return live

    @property
    def _is_untold(self) -> bool:
        return self._position is not None and self._position.is_untold

    def _note_told(self) -> None:
        assert self._position is not None
        self._position = Position(self._position.session)

    def _finish_repeated(self, live: Live) -> None:
        """Claude has finished this turn before. Its transcript has the answer, and the model is not asked again."""
        found = self._look(live.turn)
        if found is None:
            live.lose(say("claude.repeated_unknown"))
            return
        live.finish([TurnStarted(live.turn), *_as_events(live.turn, found)])

    async def _stop(self, connection: Connection, live: Live) -> None:
        """Interrupt the turn; one that Claude has not begun is taken back, and then there is no end of it."""
        try:
            raw = await connection.ask("interrupt", self._config.interrupt_timeout, cancel_queued=True)
        except Refused as error:
            log.info("Claude had nothing to interrupt: %s", error)
            return
        told = wire.read(raw, dict) or {}
        taken_back = told.get("cancelled")
        ids = [str(each) for each in taken_back] if isinstance(taken_back, list) else []
        live.translation.take_back(ids)
        if live.turn in ids and not live.is_over:
            live.stop()
            self._server.mark_idle(live, succeeded=True)
        elif not live.is_over and not await live.wait_over(self._config.interrupt_timeout):
            log.warning("Claude does not end a stopped turn; it is ended")
            await connection.kill()

    def _look(self, turn: str) -> TurnRecord | None:
        path = self._file()
        return lookup.look(path, turn, self._seat.longest_text) if path is not None else None

    def _lose(self, reason: str) -> None:
        """Tell the follower of the running turn that its outcome is unknown."""
        if self._live is not None and not self._live.is_over:
            self._live.lose(reason)
            self._server.mark_idle(self._live, succeeded=False)

    async def _tell_unasked(self) -> None:
        """Tell of the newest turn that nobody asked for. Its rows are there: the result is the last of it."""
        path = await asyncio.to_thread(self._file)
        found = await asyncio.to_thread(external_sessions.newest_unasked, path) if path is not None else None
        if found is not None:
            self._seat.on_unasked(found)

    def _in_background(self, work: Coroutine[object, object, None]) -> None:
        task = asyncio.get_running_loop().create_task(work)
        self._background.add(task)
        task.add_done_callback(self._background.discard)

    # The process and the session

    def _file(self) -> Path | None:
        return transcript.find(self._config, self._position.session) if self._position is not None else None

    @property
    def _orphan(self) -> Orphan | None:
        """The process of an earlier daemon that still uses the session."""
        return self._orphans.of(self._position.session) if self._position is not None else None

    async def _ready(self) -> Connection:
        """Return the connection to the process of our session."""
        self._connection = await self._server.connect()
        return self._connection

    async def _restart(self) -> None:
        self._settings = _settings(self._seat)
        await self._server.close()
        self._connection = None
        self._server = Server("Claude", self._start, self._clock, self._config.idle_stop)

    async def _settle_position(self) -> None:
        """Decide how the session begins. A new one gets the history, if there is any, with its first turn."""
        path = await asyncio.to_thread(self._file)
        if path is not None and await asyncio.to_thread(transcript.has_turns, path):
            self._note_told()
            self._began = SessionBegan.RESUMED
            return
        if self._seat.lent:
            raise problems.gone(self._position.session if self._position is not None else "")
        before, self._position = self._position, await self._new_position()
        is_copy = self._position.source is not None
        untold = self._position.is_untold
        self._began = SessionBegan.RESUMED if is_copy else SessionBegan.REBUILT if untold else SessionBegan.FRESH
        self._has_lost_record = untold and before is not None and not before.is_untold

    async def _new_position(self) -> Position:
        """The stored one, if Claude was killed before it wrote anything; else a new one."""
        if self._position is not None and self._position.source is not None:
            return self._position
        session = self._position.session if self._position is not None else new_id(self._clock)
        fork = self._seat.fork
        source = Position.read(fork.continuity) if fork is not None and self._position is None else None
        if fork is not None and source is not None:
            found = await asyncio.to_thread(transcript.find, self._config, source.session)
            if found is not None:
                at = await asyncio.to_thread(_last_message, found, fork.runtime_turn)
                return Position(session, source=source.session, at=at)
        return Position(session, is_untold=self._seat.has_past)

    async def _start(self, on_lost: OnLost) -> Connection:
        """Start the process. Which of the two ways of beginning is right, Claude knows better than we."""
        found = await binary.find(self._config, self._clock, self._marks)
        if (orphan := self._orphan) is not None:
            await orphan.end()
        await self._check_not_held()
        begin = await asyncio.to_thread(self._how_to_begin)
        try:
            return await self._connect(found.path, begin, on_lost)
        except problems.ClaudeExits as error:
            if problems.UNKNOWN_SESSION in error.message and begin.is_known:
                return await self._connect(found.path, replace(begin, is_known=False), on_lost)
            if problems.KNOWN_SESSION in error.message and not begin.is_known:
                return await self._connect(found.path, Begin(begin.session, is_known=True), on_lost)
            raise

    async def _connect(self, path: str, begin: Begin, on_lost: OnLost) -> Connection:
        self._meter = Meter(await asyncio.to_thread(self._used_before, begin))
        rules = await asyncio.to_thread(trust.restrictions, self._config, self._seat.workspace)
        self._asked_tools = rules.asked_tools
        argv = await asyncio.to_thread(arguments.command_line, path, begin, self._seat, self._config)
        if self._leaves_out is None:
            self._leaves_out = await asyncio.to_thread(trust.leaves_out, self._config, self._seat.workspace)
        return await connect(argv, self._seat.workspace, self._config, self._clock, self._marks, self, on_lost)

    def _used_before(self, begin: Begin) -> Spent:
        source = begin.source or (begin.session if begin.is_known else "")
        path = transcript.find(self._config, source) if source else None
        told = transcript.cost_state(path) if path is not None else CostState()
        return spending.totals(told.model_usage, told.total_cost) or Spent()

    def _how_to_begin(self) -> Begin:
        assert self._position is not None, "entered"
        path = self._file()
        if path is not None and transcript.has_turns(path):
            return Begin(self._position.session, is_known=True)
        return Begin(self._position.session, source=self._position.source, at=self._position.at)

    async def _check_not_held(self) -> None:
        """Two programs that write one session hide each other's turns, and Claude does not prevent it."""
        assert self._position is not None, "entered"
        sessions: Collection[str] = {self._position.session}
        held = await asyncio.to_thread(open_sessions.holders, self._config, sessions, self._marks.store)
        for session, who in held.items():
            raise problems.held_elsewhere(session, who)


def _as_events(turn: str, found: TurnRecord) -> list[Event]:
    """The end of a turn by its record."""
    ended = TurnEnded(_STATES.get(found.state, TurnState.INTERRUPTED), found.text, found.problem, found.messages)
    spent = [Usage(found.usage)] if found.usage is not None else []
    texts = [TextDone(f"{turn}:answer", found.text)] if found.text else []
    return [*found.activities, *spent, *texts, ended]


def _settings(seat: Seat) -> tuple[str | None, str | None]:
    return seat.model, seat.effort


def _last_message(path: Path, turn: str | None) -> str | None:
    """The id of the last message of a turn; None: the whole session is copied."""
    found = transcript.newest_turn(path, turn) if turn is not None else None
    with suppress(IndexError):
        return found.rows[-1].id if found is not None else None
    return None
