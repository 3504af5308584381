"""One clew thread on its agent's session.

The agent keeps no record that we could ask: what it said is known from what we stored as it spoke. Where it does not
know the thread (a new process that cannot come back, a session that is of no use any more), it gets a new session, and
is told what was said before."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator
from contextlib import suppress

import msgspec
from msgspec.structs import replace

from clew.config.settings import AcpConfig
from clew.model.events import Event, TurnEnded, TurnStarted
from clew.model.gates import Answer, Decision
from clew.model.messages import PromptMessage
from clew.model.runtime import Continuity, RecordState, Seat, TurnRecord, TurnRequest
from clew.model.turns import TurnState
from clew.runtimes.acp import open_session, problems, replay, wire
from clew.runtimes.acp.client.files import is_folder
from clew.runtimes.acp.client.requests import Desk
from clew.runtimes.acp.client.terminals import Terminals
from clew.runtimes.acp.connection import Connection
from clew.runtimes.acp.ending import ended_by, ended_with
from clew.runtimes.acp.live_turn import Live
from clew.runtimes.acp.open_session import Position
from clew.runtimes.jsonrpc import RequestId, RpcError
from clew.runtimes.process import within
from clew.runtimes.server import Server
from clew.runtimes.turn_events import follow
from clew.support.clock import Clock
from clew.support.errors import RuntimeLost, RuntimeTrouble

log = logging.getLogger(__name__)

TRIES = 2  # sessions that one turn is given to
_RECORDS = {TurnState.COMPLETED: RecordState.COMPLETED, TurnState.FAILED: RecordState.FAILED}


class AcpSession:
    """Made by `AcpRuntime.open`, which lets it `enter`."""

    def __init__(self, server: Server[Connection], config: AcpConfig, clock: Clock, seat: Seat) -> None:
        self._server = server
        self._config = config
        self._clock = clock
        self._seat = seat
        self._position = Position.read(seat.continuity) if seat.continuity is not None else None
        self._connection: Connection | None = None  # the one on which our session is
        self._live: Live | None = None
        self._desk: Desk | None = None
        self._terminals = Terminals(seat.workspace, clock)
        self._records: dict[str, TurnRecord] = {}  # of the newest turns
        self._replayed = 0
        self._is_new = False  # the agent knows nothing of what was said before
        self._burials: set[asyncio.Future[None]] = set()

    async def enter(self) -> None:
        await self._ready()

    def continuity(self) -> Continuity | None:
        return self._position.continuity() if self._position is not None else None

    async def run(self, request: TurnRequest) -> AsyncIterator[Event]:
        if self._live is not None and not self._live.is_over:
            raise RuntimeTrouble(f"A turn already runs on this thread ({self._live.turn}).")
        live = self._live = Live(request.turn, self._seat.longest_text, lambda ref: self._opened(live, ref))
        self._server.begin(live)
        working: asyncio.Future[None] | None = None
        try:
            connection = await self._ready()
            yield TurnStarted(f"{self._session}:{request.turn}")
            working = asyncio.ensure_future(self._work(connection, live, request))
            async for event in follow(live.events):
                yield event
        finally:
            live.over.set()
            if working is not None:
                working.cancel()
            self._server.done(live, well=request.turn in self._records)

    async def attach(self, turn: str) -> AsyncIterator[Event]:
        if self._live is None or self._live.turn != turn or self._live.is_over:
            raise RuntimeLost("The turn does not run any more.")
        async for event in follow(self._live.events):
            yield event

    async def steer(self, message: PromptMessage) -> bool:
        """The protocol has no way to say something into a turn."""
        return False

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
        return live.answer(pending, answer)

    async def record(self, turn: str) -> TurnRecord | None:
        live = self._live
        if live is not None and live.turn == turn and not live.is_over:
            return TurnRecord(RecordState.ALIVE, f"{self._session}:{turn}")
        return self._records.get(turn)

    async def close(self) -> None:
        connection, self._connection = self._connection, None
        if self._live is not None:
            self._live.lose("The session was closed.")
        if connection is not None and self._position is not None:
            connection.forget(self._position.session, self)
        await self._terminals.end_all()

    # What the connection tells us; called by its reader.

    def updated(self, update: msgspec.Raw) -> None:
        if self._live is not None and not self._live.is_over and self._desk is not None:
            self._live.feed(update)
        else:
            self._replayed += 1

    def asked(self, id: RequestId, method: str, params: msgspec.Raw) -> bool:
        live = self._live
        if live is None or live.is_over or self._desk is None:
            return False
        return self._desk.take(id, method, params)

    def lost(self, reason: str) -> None:
        self._connection = None
        self._later(self._terminals.end_all())
        if (live := self._live) is None or live.is_over:
            return
        if live.is_interrupted:
            live.end(TurnEnded(TurnState.INTERRUPTED))  # which was wanted
        else:
            live.lose(reason)

    def _opened(self, live: Live, ref: str) -> None:
        if (patience := self._patience) is not None:
            self._later(self._run_out(live, ref, patience))

    @property
    def _session(self) -> str:
        assert self._position is not None, "entered"
        return self._position.session

    @property
    def _patience(self) -> float | None:
        return self._connection.entry.quirks.patience if self._connection is not None else None

    async def _ready(self) -> Connection:
        """The connection, with our session on it."""
        if not is_folder(self._seat.workspace):
            raise problems.workspace_gone(self._seat.workspace)
        connection = await self._server.connect()
        if connection is not self._connection or self._session in connection.spoilt:
            await self._get_onto(connection)
        return connection

    async def _get_onto(self, connection: Connection) -> None:
        """We listen before we ask: an agent that comes back tells its past at once."""
        self._connection, self._replayed, entered = connection, 0, None
        if self._position is not None and self._position.session not in connection.spoilt:
            connection.listen(self._position.session, self)
            entered = await open_session.come_back(connection, self._position, self._seat, lambda: self._replayed)
        self._is_new = entered is None
        if entered is None:
            entered = await self._begin_anew(connection)
        await open_session.settle(connection, self._session, entered, self._seat, self._config)

    async def _begin_anew(self, connection: Connection) -> wire.Entered:
        if self._position is not None:
            connection.forget(self._position.session, self)
        entered = await open_session.begin(connection, self._seat)
        self._position = Position(entered.session_id)
        connection.listen(entered.session_id, self)
        return entered

    async def _work(self, connection: Connection, live: Live, request: TurnRequest) -> None:
        """Until the turn has its end."""
        self._desk = Desk(connection, live, self._seat.workspace, self._terminals)
        try:
            ended = await self._prompted(connection, live, request)
            if live.is_ending and connection.entry.quirks.spoilt_by_cancel:
                connection.spoilt.add(self._session)
            await self._replace_spoilt(connection)
            self._finish(live, request, ended)
        except RuntimeLost as lost:
            self.lost(lost.message)
        except RuntimeTrouble as bad:
            self._finish(live, request, ended_with(bad))
        except Exception:  # nobody waits for this task: whoever follows the turn would wait in vain
            log.exception("turn %s broke clew", live.turn)
            live.fail(problems.OWN_FAILURE)
        finally:
            self._desk.close()
            self._desk = None
            if live.is_stopped:  # a command may have been on its way when the others were ended
                self._later(self._terminals.end_all())

    async def _prompted(self, connection: Connection, live: Live, request: TurnRequest) -> TurnEnded:
        """A session that turns out to be of no use is replaced, and the turn given to the new one."""
        quirks = connection.entry.quirks
        for _ in range(TRIES):
            try:
                prompted = await self._prompt(connection, live, request)
            except RpcError as error:
                return ended_by(connection.entry, live, error)
            unknown = quirks.refuses_unknown and prompted.stop_reason == "refusal" and live.translation.is_empty
            stuck = not live.translation.has_acted and quirks.is_stuck(live.translation.text)
            if live.is_ending or not (unknown or stuck):
                break
            log.warning("%s: session %s is of no use any more; it is replaced", connection.entry.title, self._session)
            live.tell(live.translation.give_up())
            connection.spoilt.add(self._session)
            await self._get_onto(connection)
        return ended_by(connection.entry, live, prompted)

    async def _prompt(self, connection: Connection, live: Live, request: TurnRequest) -> wire.Prompted:
        past = replay.history(await self._seat.history()) if self._is_new else []
        said = replay.as_prompt(request.messages, images=connection.agent.agent_capabilities.prompt_capabilities.image)
        if live.is_ending:
            return wire.Prompted("cancelled")
        assert self._position is not None
        self._position = replace_turns(self._position)
        prompted = await connection.prompt({"sessionId": self._session, "prompt": [*past, *said]})
        self._is_new = False
        return prompted

    async def _replace_spoilt(self, connection: Connection) -> None:
        """Now, so that whoever stores our continuity behind this turn stores one that is of use."""
        if self._session in connection.spoilt and connection.is_alive:
            with suppress(RuntimeTrouble):
                await self._get_onto(connection)

    def _finish(self, live: Live, request: TurnRequest, ended: TurnEnded) -> None:
        said = frozenset({request.turn, *(message.id for message in request.messages)})
        ended = replace(ended, messages=said)
        live.end(ended)
        state = _RECORDS.get(ended.state, RecordState.CUT)
        activities = live.translation.activities
        known = TurnRecord(state, f"{self._session}:{live.turn}", ended.text, ended.problem, None, activities, said)
        self._records = {live.turn: known}

    async def _stop(self, connection: Connection, live: Live) -> None:
        """What is open is cancelled first: there are agents that obey a yes which comes after the cancel. One that does
        not end its turn is ended."""
        with suppress(RuntimeLost):
            live.cancel_gates()
            connection.notify("session/cancel", {"sessionId": self._session})
        await self._terminals.end_all()
        if not await within(self._config.interrupt_timeout, live.over):
            log.warning("%s does not end a turn that was stopped; it is ended", connection.entry.title)
            await connection.bury()

    async def _run_out(self, live: Live, ref: str, patience: float) -> None:
        """The agent is about to deny by itself what nobody has answered. So that the person is asked anew, the turn is
        cut off here, and clew continues it."""
        await self._clock.sleep(patience)
        if ref in live.gates and not live.is_ending and (connection := self._connection) is not None:
            live.ran_out = True
            await self._stop(connection, live)

    def _later(self, work: object) -> None:
        task: asyncio.Future[None] = asyncio.ensure_future(work)  # type: ignore[call-overload]
        self._burials.add(task)
        task.add_done_callback(self._burials.discard)


def replace_turns(position: Position) -> Position:
    return msgspec.structs.replace(position, turns=position.turns + 1)
