"""The session of one clew thread on its Codex thread.

If the app-server is lost, the outcome of the running turn is unknown: its follower gets RuntimeLost and then reads
`record`. The next use makes a new connection and resumes the thread.
"""

from __future__ import annotations

import contextlib
import logging
from collections.abc import AsyncIterator, Awaitable, Callable

import msgspec
from msgspec.structs import replace

from clew.model.events import Event, Notice, NoticeKind, TurnStarted
from clew.model.gates import Answer, Decision
from clew.model.messages import PromptMessage
from clew.model.runtime import RecordState, Seat, TurnRecord, TurnRequest
from clew.model.threads import Continuity, SessionBegan
from clew.runtimes.codex import problems, record, threads, wire
from clew.runtimes.codex.approvals import answers
from clew.runtimes.codex.approvals.pending import Pending
from clew.runtimes.codex.server.connection import Connection, Route
from clew.runtimes.codex.settings import CodexConfig
from clew.runtimes.codex.translate import Translation
from clew.runtimes.codex.turn import agent_routes
from clew.runtimes.codex.turn.agent_routes import SubAgentRoute
from clew.runtimes.codex.turn.live_turn import Live
from clew.runtimes.declined import explanation
from clew.runtimes.jsonrpc import RpcError, RpcTimeout
from clew.runtimes.server import Server
from clew.runtimes.turn_events import follow
from clew.support.errors import RuntimeLost, RuntimeTrouble
from clew.texts.catalogue import say

log = logging.getLogger(__name__)


class CodexSession:
    """Made by `CodexRuntime.open`, which then calls `enter`."""

    def __init__(
        self,
        find: Callable[[str | None], Awaitable[Server[Connection]]],
        config: CodexConfig,
        seat: Seat,
        close_server: Callable[[], Awaitable[None]] | None = None,
    ) -> None:
        """`find` returns the app-server of a thread. `close_server` ends it with the session, if it serves no other."""
        self._find = find
        self._server: Server[Connection]  # of our thread; chosen again while no turn runs
        self._close_server = close_server
        self._config = config
        self._seat = seat
        self._position = threads.Position.read(seat.continuity) if seat.continuity is not None else None
        self._began = SessionBegan.FRESH
        self._connection: Connection | None = None  # on which our thread is loaded
        self._live: Live | None = None
        self._unclaimed: list[Pending] = []  # requests of a turn that nobody follows yet
        self._is_foreign_turn = False  # the running turn is not ours: its requests are declined
        self._sandbox = ""  # with which our thread is loaded
        self._is_renewed = False  # a new Codex thread was started, and the caller has not stored its continuity yet
        self._has_lost_record = False  # Codex has lost its record of the thread, and nobody was told yet

    async def enter(self) -> None:
        """Load the Codex thread: resume it if Codex still knows it, otherwise fork or start one."""
        await self._ready()
        self._is_renewed = False

    def continuity(self) -> Continuity:
        self._is_renewed = False
        assert self._position is not None, "entered"
        return self._position.continuity()

    def began(self) -> SessionBegan:
        return self._began

    async def reseat(self, seat: Seat) -> None:
        """Codex gets its settings with every turn."""
        self._seat = seat

    @property
    def _thread(self) -> str:
        assert self._position is not None, "entered"
        return self._position.thread

    async def run(self, request: TurnRequest) -> AsyncIterator[Event]:
        live = await self._begin(request)
        async for event in follow(live.events):
            yield event
            if self._has_lost_record and isinstance(event, TurnStarted):
                self._has_lost_record = False
                yield Notice(NoticeKind.WARNING, say("codex.record_lost"))

    async def attach(self, turn: str) -> AsyncIterator[Event]:
        live = self._live
        if live is None or live.turn != turn or live.is_drained:
            live = await self._join(turn)
        async for event in follow(live.events):
            yield event

    async def steer(self, message: PromptMessage) -> bool:
        live, connection = self._live, self._connection
        if live is None or connection is None or not await live.wait_for_id(self._config.request_timeout):
            return False
        return await self._steer(connection, live, message)

    async def interrupt(self) -> None:
        """Interrupt once the turn has started: Codex refuses it before, and never answers a second one."""
        live, connection = self._live, self._connection
        if live is None or connection is None or live.is_interrupted:
            return
        live.is_interrupted = True
        if await live.wait_started(self._config.interrupt_timeout):
            await self._stop(connection, live)
        elif not live.is_over:
            live.is_interrupted = False
            raise RuntimeTrouble(say("codex.not_begun"))

    async def answer(self, ref: str, answer: Answer) -> bool:
        live, connection = self._live, self._connection
        pending = live.gates.get(ref) if live is not None and not live.is_over else None
        if live is None or connection is None or pending is None:
            return False
        if answer.decision is Decision.CANCEL:
            return await self._cancel(connection, live, pending)
        is_taken = pending.answer(answer)
        if is_taken and answer.decision is Decision.DECLINE and answer.reason:
            await self._explain(connection, live, pending, answer)
        return is_taken

    async def record(self, turn: str) -> TurnRecord | None:
        live = self._live
        if live is not None and live.turn == turn and not live.is_over:
            return TurnRecord(RecordState.ALIVE, live.translation.runtime_turn or "")
        return await self._look(turn)

    async def close(self) -> None:
        connection, self._connection = self._connection, None
        self._unclaimed = []
        if connection is not None and connection.is_alive:
            await self._leave(connection)
        if self._close_server is not None:
            await self._close_server()

    async def _leave(self, connection: Connection) -> None:
        self._lose(say("runtimes.session_closed"))
        if connection.forget(self._thread, self):
            with contextlib.suppress(RuntimeTrouble, RpcError):
                await connection.ask("thread/unsubscribe", {"threadId": self._thread}, dict)

    # Callbacks of the connection's reader.

    def on_notification(self, method: str, params: msgspec.Raw) -> None:
        if (live := self._live) is None or live.is_over:
            log.debug("dropped %s: no turn of ours is running", method)
            return
        live.feed(method, params)
        if live.is_over:
            self._note_end(live)

    def on_request(self, pending: Pending) -> bool:
        """Pass the request to the running turn. If none is followed, keep it for a turn that may be joined soon."""
        if self._live is not None and not self._live.is_over:
            return self._live.ask(pending)
        if self._is_foreign_turn or pending.request.turn_id is None:
            return False
        self._unclaimed.append(pending)
        return True

    def for_sub_agent(self, thread: str, root_turn: str) -> Route | None:
        live = self._live
        if live is None or live.is_over or live.translation.runtime_turn != root_turn:
            return None
        return SubAgentRoute(live, thread, self._note_end)

    def _note_end(self, live: Live) -> None:
        """The turn is over: its sub-agents are no longer heard."""
        if self._connection is not None:
            self._connection.forget_sub_agents(live.agents.threads)
        self._server.mark_idle(live, succeeded=True)

    def resolved(self, pending: Pending) -> None:
        self._unclaimed = [each for each in self._unclaimed if each is not pending]
        if self._live is not None and not self._live.is_over:
            self._live.resolved(pending)

    def lost(self, reason: str) -> None:
        self._connection = None
        self._unclaimed = []
        self._lose(reason)

    async def _begin(self, request: TurnRequest) -> Live:
        if self._live is not None and not self._live.is_over:
            raise RuntimeTrouble(say("runtimes.turn_already_runs", turn=self._live.turn))
        connection = await self._ready()
        if self._is_renewed:
            # The old thread was never written. The caller must store the new continuity before a turn runs; otherwise
            # the thread could not be found after a crash.
            raise RuntimeLost(say("codex.thread_forgotten"))
        if self._thread in connection.working:
            # Codex would not queue the message but steer the running turn with it. That turn is not ours: decline its
            # requests, so that it ends.
            self._is_foreign_turn = True
            self._claim(None)
            raise RuntimeTrouble(say("codex.busy_elsewhere"))
        self._is_foreign_turn = False
        live = self._live = self._follow(request.turn)
        self._server.mark_busy(live)
        await self._start(connection, live, request)
        return live

    def _follow(self, turn: str, runtime_turn: str | None = None) -> Live:
        is_sandboxed, workspace = threads.is_sandboxed(self._seat), self._seat.workspace
        return Live(turn, runtime_turn, self._seat.longest_text, is_sandboxed=is_sandboxed, workspace=workspace)

    async def _start(self, connection: Connection, live: Live, request: TurnRequest) -> None:
        assert self._position is not None, "entered"
        params = {
            "threadId": self._thread,
            "input": threads.as_input(request.messages, request.prelude),
            "clientUserMessageId": request.turn,
            **threads.turn_settings(self._seat, self._config, self._sandbox),
        }
        try:
            answer = await connection.ask("turn/start", params, wire.TurnAnswer)
        except RpcError as error:
            self._lose(error.message)
            self._connection = None  # the next turn resumes the thread first
            raise problems.refuses(say("codex.do_start_turn"), error.message) from error
        except problems.CodexRefuses as odd:  # an unreadable response: the turn may run all the same
            self._lose(odd.words)
            self._live = self._connection = None  # the next `attach` joins it
            raise RuntimeLost(odd.words) from odd
        self._position = threads.Position(self._thread)
        live.set_runtime_turn(answer.turn.id)

    async def _join(self, turn: str) -> Live:
        """Follow a turn that an earlier session started on the same app-server."""
        self._is_foreign_turn = False
        try:
            return await self._join_alive(turn)
        except problems.CodexRefuses as refused:  # to tell of it: the turn may run all the same
            raise RuntimeLost(refused.words) from refused

    async def _join_alive(self, turn: str) -> Live:
        found = await self.record(turn)
        if found is None or found.state is not RecordState.ALIVE:
            raise RuntimeLost(say("runtimes.turn_over"))
        live = self._live = self._follow(turn, found.runtime_turn)
        self._server.mark_busy(live)
        self._claim(live)
        if not await self._catch_up(live):
            self._lose(say("codex.ended_before"))
        elif live.is_over:
            self._note_end(live)
        return live

    async def _catch_up(self, live: Live) -> bool:
        try:
            return await agent_routes.catch_up(await self._ready(), live, self._thread, self._note_end)
        except RpcError as error:
            raise problems.refuses(say("codex.do_list_turns"), error.message) from error

    def _claim(self, live: Live | None) -> None:
        waiting, self._unclaimed = self._unclaimed, []
        for pending in waiting:
            if live is None or not live.ask(pending):
                pending.answer(answers.NO)

    async def _steer(self, connection: Connection, live: Live, message: PromptMessage) -> bool:
        return await self._send_into(connection, self._thread, live.translation, message)

    async def _explain(self, connection: Connection, live: Live, pending: Pending, answer: Answer) -> None:
        """Tell who asked, the agent or a sub-agent, why the answer was no."""
        title, agent = pending.asked.title if pending.asked else "", live.agents.get(pending.thread)
        message = explanation(pending.ref, title, answer)
        if agent is None:
            await self._steer(connection, live, message)
        else:
            await self._send_into(connection, pending.thread, agent.translation, message)

    async def _send_into(self, connection: Connection, thread: str, turn: Translation, message: PromptMessage) -> bool:
        params = {
            "threadId": thread,
            "expectedTurnId": turn.runtime_turn,
            "input": threads.as_input([message]),
            "clientUserMessageId": message.id,
        }
        try:
            await connection.ask("turn/steer", params, dict)
        except RpcError as error:
            log.info("Codex did not take a steer: %s", error.message)
            return False
        return True

    async def _cancel(self, connection: Connection, live: Live, pending: Pending) -> bool:
        if not live.cancel(pending):
            return False
        live.is_interrupted = True
        await self._stop(connection, live)
        return True

    async def _stop(self, connection: Connection, live: Live) -> None:
        """Cancel open requests first. If that already ends the turn, send no interrupt: Codex would never answer it."""
        live.cancel_gates()
        params = {"threadId": self._thread, "turnId": live.translation.runtime_turn}
        try:
            for thread, turn in live.running_agents():
                await self._stop_agent(connection, thread, turn)
            if not live.is_ending and not live.translation.is_ended:
                await connection.ask("turn/interrupt", params, dict, time_limit=self._config.interrupt_timeout)
            # The interrupt ends the turn, but not the command that it runs.
            await connection.ask("thread/backgroundTerminals/clean", {"threadId": self._thread}, dict)
        except RpcError as error:
            log.info("Codex had nothing to interrupt: %s", error.message)
        except RpcTimeout:
            if not live.is_over:
                raise

    async def _stop_agent(self, connection: Connection, thread: str, turn: str) -> None:
        given = {"threadId": thread, "turnId": turn}
        with contextlib.suppress(RpcError):
            await connection.ask("turn/interrupt", given, dict, time_limit=self._config.interrupt_timeout)
            await connection.ask("thread/backgroundTerminals/clean", {"threadId": thread}, dict)

    async def _look(self, turn: str) -> TurnRecord | None:
        found = await self._find_turn(turn)
        if found is None:
            return None
        told, workspace = record.as_record(found, self._seat.longest_text, self._seat.workspace), self._seat.workspace
        below = await record.below(await self._ready(), found)
        is_over = told.state in (RecordState.COMPLETED, RecordState.FAILED)
        if is_over and any(each.is_working for each in below):  # the turn ends after its sub-agents
            told = replace(told, state=RecordState.ALIVE)
        return replace(told, activities=(*told.activities, *record.acts_below(below, workspace)))

    async def _find_turn(self, turn: str) -> wire.Turn | None:
        connection = await self._ready()
        try:
            return await record.find(connection, self._thread, turn)
        except RpcError as error:
            raise problems.refuses(say("codex.do_list_turns"), error.message) from error

    async def _ready(self) -> Connection:
        """Return the connection, with our thread loaded on it."""
        if self._live is None or self._live.is_over:
            self._server = await self._find(self._position.thread if self._position else None)
        connection = await self._server.connect()
        if connection is not self._connection and not await self._resume(connection):
            if self._seat.lent:
                raise problems.gone(self._thread)
            await self._start_thread(connection)
        self._connection = connection
        return connection

    async def _resume(self, connection: Connection) -> bool:
        """Resume our thread. Listen first: a resumed thread may start to work at once."""
        if self._position is None:
            return False
        connection.listen(self._position.thread, self)
        if (found := await threads.resume(connection, self._position.thread, self._seat, self._config)) is None:
            connection.forget(self._position.thread, self)
            return False
        connection.note_status(found.thread)
        self._sandbox = found.sandbox.type
        if self._position.is_untold and await record.has_turns(connection, found.thread.id):
            self._position = threads.Position(found.thread.id)  # it got the history, and we died before we stored that
        self._began = SessionBegan.REBUILT if self._position.is_untold else SessionBegan.RESUMED
        return True

    async def _start_thread(self, connection: Connection) -> None:
        """Fork the thread, or start a new one. A new one gets the history, if there is any, with its first turn: the
        caller sees in `began` that it needs it."""
        made = None
        if self._position is None and self._seat.fork is not None:
            made = await threads.fork(connection, self._seat.fork, self._seat, self._config)
        is_untold = made is None and self._seat.has_past
        self._began = _began(is_forked=made is not None, is_untold=is_untold)
        self._has_lost_record = is_untold and self._position is not None and not self._position.is_untold
        made = made or await threads.start(connection, self._seat, self._config)
        connection.listen(made.thread.id, self)
        self._position = threads.Position(made.thread.id, is_untold)
        self._sandbox = made.sandbox.type
        self._is_renewed = True

    def _lose(self, reason: str) -> None:
        """Tell the follower of the running turn that its outcome is unknown."""
        if self._live is not None and not self._live.is_over:
            if self._connection is not None:
                self._connection.forget_sub_agents(self._live.agents.threads)
            self._live.lose(reason)
            self._server.mark_idle(self._live, succeeded=False)


def _began(*, is_forked: bool, is_untold: bool) -> SessionBegan:
    if is_forked:
        return SessionBegan.RESUMED
    return SessionBegan.REBUILT if is_untold else SessionBegan.FRESH
