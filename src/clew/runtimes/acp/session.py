"""The session of one clew thread on its agent.

The agent has no record that clew could read: what it did is known only from the stored events. If the agent does not
know the thread (a new process that cannot reload it, or an unusable session), it gets a new session and the history."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import suppress
from typing import Any

import msgspec
from msgspec.structs import replace

from clew.model.events import Event, TurnEnded, TurnStarted
from clew.model.gates import Answer, Decision
from clew.model.messages import PromptMessage
from clew.model.runtime import RecordState, Seat, TurnRecord, TurnRequest
from clew.model.threads import Continuity, SessionBegan
from clew.model.turns import TurnState
from clew.runtimes.acp import problems, replay, wire
from clew.runtimes.acp.agents.settings import AcpConfig
from clew.runtimes.acp.client.files import is_folder
from clew.runtimes.acp.client.requests import RequestHandler
from clew.runtimes.acp.client.terminals import Terminals
from clew.runtimes.acp.connection import Connection
from clew.runtimes.acp.opening import models, modes, sessions
from clew.runtimes.acp.opening.sessions import Position
from clew.runtimes.acp.turn import silence
from clew.runtimes.acp.turn.ending import end_from_error, end_from_response, spent_before
from clew.runtimes.acp.turn.live_turn import Live
from clew.runtimes.declined import explanation
from clew.runtimes.jsonrpc import RequestId, RpcError
from clew.runtimes.process import within
from clew.runtimes.server import Server
from clew.runtimes.turn_events import follow
from clew.support.clock import Clock
from clew.support.errors import RuntimeLost, RuntimeTrouble
from clew.texts.catalogue import say

log = logging.getLogger(__name__)

REPLAYED = ("user_message_chunk", "agent_message_chunk", "tool_call")  # updates of past turns
MODE_UPDATE, OPTION_UPDATE = "current_mode_update", "config_option_update"
NO_SESSION = Position("")  # the next turn begins a new one
TRIES = 2  # sessions that one turn is tried on
_RECORDS = {TurnState.COMPLETED: RecordState.COMPLETED, TurnState.FAILED: RecordState.FAILED}


async def _nothing_to_leave(seat: Seat) -> None:
    return


class AcpSession:
    """Made by `AcpRuntime.open`, which then calls `enter`."""

    def __init__(
        self,
        server: Server[Connection],
        config: AcpConfig,
        clock: Clock,
        seat: Seat,
        on_models: Callable[[tuple[str, ...]], None] = lambda names: None,
        on_close: Callable[[Seat], Awaitable[None]] = _nothing_to_leave,
    ) -> None:
        """`on_models` is told which models the agent offers."""
        self._on_close = on_close
        self._on_models = on_models
        self._server = server
        self._config = config
        self._clock = clock
        self._seat = seat
        self._position = Position.read(seat.continuity) if seat.continuity is not None else None
        self._connection: Connection | None = None  # on which our session is
        self._live: Live | None = None
        self._requests: RequestHandler | None = None
        self._terminals = Terminals(seat.workspace, clock)
        self._records: dict[str, TurnRecord] = {}  # of the newest turn
        self._replayed = 0
        self._entered: wire.Entered | None = None  # what the agent said when our session was opened
        self._mode = ""  # the agent's mode now, if it says
        self._is_new = False  # the agent does not know the history
        self._past = ""  # what the running turn tells it of that
        self._began = SessionBegan.FRESH
        self._background: set[asyncio.Future[None]] = set()

    async def enter(self) -> None:
        await self._ready()

    def continuity(self) -> Continuity | None:
        return self._position.continuity() if self._position is not None else None

    def began(self) -> SessionBegan:
        return self._began

    async def reseat(self, seat: Seat) -> None:
        before, self._seat = self._seat, seat
        connection, entered = self._connection, self._entered
        has_changed = (seat.model, seat.policy) != (before.model, before.policy)
        if has_changed and connection is not None and connection.is_alive and entered is not None:
            await self._set_up(connection, entered)

    async def run(self, request: TurnRequest) -> AsyncIterator[Event]:
        if self._live is not None and not self._live.is_over:
            raise RuntimeTrouble(say("runtimes.turn_already_runs", turn=self._live.turn))
        live = self._live = self._new_turn(request.turn)
        self._server.mark_busy(live)
        working: list[asyncio.Future[None]] = []
        connection: Connection | None = None
        try:
            connection = await self._ready()
            connection.turns.add(live)
            live.hear()  # the agent may have taken long to start
            self._past = await self._past_for(request)
            yield TurnStarted(f"{self._session}:{request.turn}")
            working += [asyncio.ensure_future(self._work(connection, live, request))]
            working += [asyncio.ensure_future(silence.watch(live, self._clock))]
            async for event in follow(live.events):
                yield event
        finally:
            live.over.set()
            for each in working:
                each.cancel()
            if connection is not None:
                connection.end_turn(live)
            self._server.mark_idle(live, succeeded=request.turn in self._records)

    async def attach(self, turn: str) -> AsyncIterator[Event]:
        if self._live is None or self._live.turn != turn or self._live.is_over:
            raise RuntimeLost(say("runtimes.turn_over"))
        async for event in follow(self._live.events):
            yield event

    async def steer(self, message: PromptMessage) -> bool:
        """Beyond the protocol: only if the agent says that it can."""
        live, connection = self._live, self._connection
        if live is None or live.is_ending or connection is None or not connection.agent.takes_steers:
            return False
        prompt = self._as_prompt(connection, (message,))
        live.steers.add(message.id)  # before it is sent: the turn may end while the agent answers
        if not (taken := await connection.steer(self._session, prompt)):
            live.steers.discard(message.id)
        return taken

    async def interrupt(self) -> None:
        live, connection = self._live, self._connection
        if live is None or connection is None or live.is_ending:
            return
        live.is_interrupted = True
        await self._stop(connection, live)

    async def answer(self, ref: str, answer: Answer) -> bool:
        live, connection = self._live, self._connection
        pending = live.gates.get(ref) if live is not None and not live.is_ending else None
        if live is None or connection is None or pending is None:
            return False
        if answer.decision is Decision.CANCEL:
            await self.interrupt()
            return True
        is_taken = live.answer(pending, answer)
        if is_taken and answer.decision is Decision.DECLINE and answer.reason:
            await self._explain(connection, live, explanation(pending.ref, pending.asked.title, answer), answer)
        return is_taken

    async def record(self, turn: str) -> TurnRecord | None:
        live = self._live
        if live is not None and live.turn == turn and not live.is_over:
            return TurnRecord(RecordState.ALIVE, f"{self._session}:{turn}")
        return self._records.get(turn)

    async def close(self) -> None:
        connection, self._connection = self._connection, None
        if self._live is not None:
            self._live.lose(say("runtimes.session_closed"))
        if connection is not None and self._position is not None:
            connection.forget(self._position.session, self)
        await self._terminals.end_all()
        await self._on_close(self._seat)

    # Callbacks of the connection's reader.

    def updated(self, update: msgspec.Raw) -> None:
        kind = (wire.read(update, wire.Kind) or wire.Kind()).session_update
        if kind == MODE_UPDATE:
            self._hear_mode((wire.read(update, wire.ModeUpdate) or wire.ModeUpdate()).current_mode_id)
        elif kind == OPTION_UPDATE:
            self._hear_options(wire.read(update, wire.OptionUpdate) or wire.OptionUpdate())
        if self._live is not None and not self._live.is_over and self._requests is not None:
            self._live.feed(update)
        elif kind in REPLAYED:
            self._replayed += 1

    def on_request(self, id: RequestId, method: str, params: msgspec.Raw) -> bool:
        live = self._live
        if live is None or live.is_over or self._requests is None:
            return False
        return self._requests.start(id, method, params)

    def lost(self, reason: str) -> None:
        connection, self._connection = self._connection, None
        self._in_background(self._terminals.end_all())
        if (live := self._live) is None or live.is_over:
            return
        if live.is_interrupted:
            if connection is not None and connection.entry.quirks.unusable_after_cancel:
                self._position = NO_SESSION
            live.end(TurnEnded(TurnState.INTERRUPTED))  # as requested
        else:
            live.lose(reason)

    def _hear_mode(self, mode: str) -> None:
        """Put the agent back if it goes into a mode in which it does not ask."""
        self._mode = mode
        connection, entered = self._connection, self._entered
        if connection is None or entered is None:
            return
        if not modes.asks(connection.entry.quirks.asking, entered, mode):
            self._in_background(self._ask_again(connection, entered))

    def _hear_options(self, update: wire.OptionUpdate) -> None:
        """The same if the agent tells it as an option."""
        if self._entered is None:
            return
        self._entered = replace(self._entered, config_options=update.config_options)
        told = modes.current(replace(self._entered, modes=None))
        self._hear_mode(told or self._mode)

    async def _ask_again(self, connection: Connection, entered: wire.Entered) -> None:
        try:
            await self._set_up(connection, entered)
        except RuntimeTrouble as trouble:
            log.warning("%s does not ask any more; its turn is stopped: %s", connection.entry.title, trouble.message)
            await self.interrupt()

    def _new_turn(self, turn: str) -> Live:
        live = Live(turn, self._seat.longest_text, lambda ref: self._opened(live, ref), self._clock.monotonic)
        return live

    def _opened(self, live: Live, ref: str) -> None:
        if (gate_timeout := self._gate_timeout) is not None:
            self._in_background(self._time_out(live, ref, gate_timeout))

    @property
    def _session(self) -> str:
        assert self._position is not None, "entered"
        return self._position.session

    @property
    def _gate_timeout(self) -> float | None:
        return self._connection.entry.quirks.gate_timeout if self._connection is not None else None

    async def _ready(self) -> Connection:
        """Return the connection, with our session open on it."""
        if not is_folder(self._seat.workspace):
            raise problems.workspace_gone(self._seat.workspace)
        connection = await self._server.connect()
        if connection is not self._connection or self._session in connection.unusable:
            await self._load_session(connection)
        return connection

    async def _load_session(self, connection: Connection) -> None:
        """Reopen our session or start a new one. Listen first: an agent that reloads sends the history at once."""
        self._connection, self._replayed, entered = connection, 0, None
        if self._position is not None and self._position.session not in {"", *connection.unusable}:
            connection.listen(self._position.session, self)
            entered = await sessions.reopen(connection, self._position, self._seat, lambda: self._replayed)
        self._is_new, self._began = entered is None or self._is_untold, SessionBegan.RESUMED
        if entered is None:
            entered = await self._new_session(connection)
        if self._is_new:
            self._began = SessionBegan.REBUILT if self._seat.has_past else SessionBegan.FRESH
        self._entered, self._mode = entered, modes.current(entered)
        self._on_models(models.offered(entered))
        await self._set_up(connection, entered)

    async def _set_up(self, connection: Connection, entered: wire.Entered) -> None:
        await sessions.set_up(connection, self._session, entered, self._seat, self._config, self._mode)

    @property
    def _is_untold(self) -> bool:
        """Whether no turn was sent to our session, as after a crash just after it was begun: then the agent reopens it
        without the history, which goes with the first turn."""
        return self._position is not None and not self._position.turns and not self._replayed

    async def _new_session(self, connection: Connection) -> wire.Entered:
        if self._position is not None:
            connection.forget(self._position.session, self)
        entered = await sessions.start(connection, self._seat)
        self._position = Position(entered.session_id)
        connection.listen(entered.session_id, self)
        return entered

    async def _work(self, connection: Connection, live: Live, request: TurnRequest) -> None:
        """Run the turn to its end."""
        self._requests = RequestHandler(connection, live, self._seat.workspace, self._terminals)
        try:
            ended = await self._prompted(connection, live, request)
            quirks, has_failed = connection.entry.quirks, ended.state is TurnState.FAILED
            if (live.is_ending and quirks.unusable_after_cancel) or (has_failed and quirks.unusable_after_failure):
                connection.unusable.add(self._session)
            await self._replace_unusable(connection)
            self._finish(live, request, ended)
        except RuntimeLost as lost:
            self.lost(lost.words)
        except RuntimeTrouble as bad:
            self._finish(live, request, end_from_error(bad))
        except Exception:  # nobody awaits this task, and the follower would wait for ever
            log.exception("clew failed on turn %s", live.turn)
            live.fail(problems.OWN_FAILURE)
        finally:
            self._requests.close()
            self._requests = None
            if live.is_stopped:  # a command may have started while the others were ended
                self._in_background(self._terminals.end_all())

    async def _explain(self, connection: Connection, live: Live, message: PromptMessage, answer: Answer) -> None:
        """Tell the agent why the answer was no, for which the protocol has no place: at once if it can be steered, else
        by another prompt at the end of the turn. Only a person's reason is worth that: its answer is the turn's."""
        if not (answer.judged or answer.expired):
            live.untold[message.id] = message
        if connection.agent.takes_steers and await connection.steer(
            self._session, self._as_prompt(connection, (message,))
        ):
            live.untold.pop(message.id, None)

    async def _prompted(self, connection: Connection, live: Live, request: TurnRequest) -> TurnEnded:
        try:
            prompted = await self._prompt_usable(connection, live, request)
            while (messages := live.take_untold()) and not live.is_ending:
                spent_before(live, prompted)
                live.add_events(live.translation.end_message())
                prompted = await self._send(connection, self._as_prompt(connection, messages))
        except RpcError as error:
            return end_from_response(connection.entry, live, error)
        return end_from_response(connection.entry, live, prompted)

    async def _prompt_usable(self, connection: Connection, live: Live, request: TurnRequest) -> wire.Prompted:
        """Send the prompt. If the session turns out to be unusable, replace it and send the prompt again."""
        quirks = connection.entry.quirks
        for _ in range(TRIES):
            prompted = await self._prompt(connection, live, request)
            unknown = quirks.refuses_unknown and prompted.stop_reason == "refusal" and live.translation.is_empty
            stuck = not live.translation.has_acted and quirks.is_stuck(live.translation.text)
            if live.is_ending or not (unknown or stuck):
                break
            log.warning("%s: replacing the unusable session %s", connection.entry.title, self._session)
            live.add_events(live.translation.discard())
            connection.unusable.add(self._session)
            await self._load_session(connection)
            self._past = await self._past_for(request)
        return prompted

    async def _prompt(self, connection: Connection, live: Live, request: TurnRequest) -> wire.Prompted:
        said = self._as_prompt(connection, request.messages, self._past)
        if live.is_ending:
            return wire.Prompted("cancelled")
        assert self._position is not None
        self._position = replace_turns(self._position)
        prompted = await self._send(connection, said)
        self._is_new = False
        return prompted

    async def _send(self, connection: Connection, said: list[dict[str, Any]]) -> wire.Prompted:
        return await connection.prompt({"sessionId": self._session, "prompt": said})

    def _as_prompt(
        self, connection: Connection, messages: tuple[PromptMessage, ...], past: str = ""
    ) -> list[dict[str, Any]]:
        images = connection.agent.agent_capabilities.prompt_capabilities.image
        return replay.as_prompt(messages, past, images=images, leaves_at=connection.entry.quirks.leaves_at)

    async def _past_for(self, request: TurnRequest) -> str:
        """What the agent must be told of the past: all of it, if its session was replaced since the last turn."""
        past = await request.whole() if self._is_new else request.prelude
        if self._is_new and past:
            self._began = SessionBegan.REBUILT
        return past

    async def _replace_unusable(self, connection: Connection) -> None:
        """Replace an unusable session now, so that the continuity stored after this turn is usable."""
        if self._session in connection.unusable and connection.is_alive:
            with suppress(RuntimeTrouble):
                await self._load_session(connection)

    def _finish(self, live: Live, request: TurnRequest, ended: TurnEnded) -> None:
        said = frozenset({request.turn, *live.steers, *(message.id for message in request.messages)})
        ended = replace(ended, messages=said)
        live.end(ended)
        state = _RECORDS.get(ended.state, RecordState.CUT)
        activities = live.translation.activities
        known = TurnRecord(state, f"{self._session}:{live.turn}", ended.text, ended.problem, None, activities, said)
        self._records = {live.turn: known}

    async def _stop(self, connection: Connection, live: Live) -> None:
        """Cancel open requests first, because some agents act on a yes that comes after the cancel. End the agent if it
        does not end its turn: at once, or after the turns of other threads that run on it."""
        with suppress(RuntimeLost):
            live.cancel_gates()
            connection.notify("session/cancel", {"sessionId": self._session})
        await self._terminals.end_all()
        if not await within(self._config.interrupt_timeout, live.over):
            log.warning("%s does not end a stopped turn; ending it", connection.entry.title)
            await self._give_up(connection, live)

    async def _give_up(self, connection: Connection, live: Live) -> None:
        if connection.turns <= {live}:
            await connection.kill()
            return
        connection.retire()
        connection.forget(self._session, self)  # what the agent still asks for this turn is refused
        self._position, self._connection = NO_SESSION, None  # the agent still works on that session
        live.end(TurnEnded(TurnState.INTERRUPTED))

    async def _time_out(self, live: Live, ref: str, gate_timeout: float) -> None:
        """Stop the turn before the agent denies an unanswered request by itself. clew then continues the turn and asks
        the person again."""
        await self._clock.sleep(gate_timeout)
        if ref in live.gates and not live.is_ending and (connection := self._connection) is not None:
            live.timed_out = True
            await self._stop(connection, live)

    def _in_background(self, work: object) -> None:
        task: asyncio.Future[None] = asyncio.ensure_future(work)  # type: ignore[call-overload]
        self._background.add(task)
        task.add_done_callback(self._background.discard)


def replace_turns(position: Position) -> Position:
    return msgspec.structs.replace(position, turns=position.turns + 1)
