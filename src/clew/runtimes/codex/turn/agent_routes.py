"""Lets a turn hear its sub-agents: those that begin while it is followed, and, if it is joined, those that exist
already. Codex runs each in a thread of its own."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable

import msgspec

from clew.runtimes.codex import record, wire
from clew.runtimes.codex.approvals.pending import Pending
from clew.runtimes.codex.server.connection import ACCOUNT_LIMITS, Connection
from clew.runtimes.codex.turn.live_turn import Live
from clew.runtimes.jsonrpc import RpcError

log = logging.getLogger(__name__)

OnEnd = Callable[[Live], None]


class SubAgentRoute:
    """Receives what concerns the thread of a sub-agent, for the turn in which it works."""

    def __init__(self, live: Live, thread: str, on_end: OnEnd) -> None:
        self._live = live
        self._thread = thread
        self._on_end = on_end
        live.agents.begin(thread)

    def on_notification(self, method: str, params: msgspec.Raw) -> None:
        if self._live.is_over or method == ACCOUNT_LIMITS:
            return
        self._live.feed_agent(self._thread, method, params)
        if self._live.is_over:
            self._on_end(self._live)

    def on_request(self, pending: Pending) -> bool:
        return not self._live.is_over and self._live.ask(pending)

    def for_sub_agent(self, thread: str, root_turn: str) -> None:
        """Its own sub-agents name the same turn as itself."""

    def resolved(self, pending: Pending) -> None:
        if not self._live.is_over:
            self._live.resolved(pending)

    def lost(self, reason: str) -> None:
        """The session is told itself."""


async def catch_up(connection: Connection, live: Live, thread: str, on_end: OnEnd) -> bool:
    """Add what was done before the turn was joined, and hear its sub-agents from now on. False: the turn is over, and
    so are its sub-agents."""
    if (turn := await record.find(connection, thread, live.turn)) is None:
        return False
    known = await record.below(connection, turn)
    for each in known:
        live.agents.know(each.agent, each.caller)
    await _hear(connection, live, thread, {each.agent.thread for each in known}, on_end)
    if (turn := await record.find(connection, thread, live.turn)) is None:
        return False
    for each in reversed(await record.below(connection, turn)):
        live.catch_up_agent(each)
    if turn.status != wire.RUNNING and not live.agents.is_working:
        return False
    live.catch_up(thread, turn)
    return True


async def _hear(connection: Connection, live: Live, thread: str, known: Iterable[str], on_end: OnEnd) -> None:
    """Listen to the sub-agents of a turn. One that works may not be in the record of the turn yet."""
    for other in await connection.loaded_threads():
        if other.id == thread or connection.hears(other.id):
            continue
        running = await _running_below(connection, other.id, live) if other.status.is_active else None
        if running is None and other.id not in known:
            continue
        connection.listen(other.id, SubAgentRoute(live, other.id, on_end))
        if running is not None:
            live.agents.join(other.id, running)
        try:  # Codex then repeats what the sub-agent asks
            await connection.ask("thread/resume", {"threadId": other.id, "excludeTurns": True}, wire.ThreadAnswer)
        except RpcError as error:
            log.warning("Codex does not let clew hear a sub-agent: %s", error.message)
            connection.forget_sub_agents([other.id])
            live.agents.lose(other.id)


async def _running_below(connection: Connection, thread: str, live: Live) -> wire.Turn | None:
    """The running turn of a thread, if it belongs to this turn."""
    try:
        newest = await anext(record.turns(connection, thread), None)
    except RpcError as error:
        log.info("Codex does not tell what runs on another thread: %s", error.message)
        return None
    is_ours = newest is not None and newest.root_turn_id == live.translation.runtime_turn
    return newest if newest is not None and is_ours and newest.status == wire.RUNNING else None
