"""`clew ping codex`: runs every step once and times it. Errors have the same texts as everywhere."""

from __future__ import annotations

import tempfile
from collections.abc import AsyncIterator

from clew.model.gates import Policy
from clew.model.messages import PromptMessage
from clew.model.runtime import Seat
from clew.process.scan import Marks
from clew.runtimes.codex import problems, threads, wire
from clew.runtimes.codex.approvals.pending import Pending
from clew.runtimes.codex.server import binary
from clew.runtimes.codex.server.connection import Connection, connect
from clew.runtimes.codex.settings import CodexConfig
from clew.runtimes.codex.turn.live_turn import Live
from clew.runtimes.jsonrpc import RpcError
from clew.runtimes.probe import PROMPT, TIME_LIMIT, PingStep, answer
from clew.runtimes.turn_events import follow
from clew.support.clock import Clock
from clew.texts.catalogue import say


async def ping(
    config: CodexConfig, clock: Clock, marks: Marks, time_limit: float = TIME_LIMIT
) -> AsyncIterator[PingStep]:
    """Yield each step with its time. Raises RuntimeTrouble at the step that fails. Leaves no process."""
    began = clock.monotonic()
    found = await binary.find(config, clock, marks)
    yield PingStep("find", clock.monotonic() - began, f"{found.path}, {found.version}")
    began = clock.monotonic()
    connection = await connect(config, clock, marks, found)
    try:
        yield PingStep("start", clock.monotonic() - began, f"pid {connection.pid}")
        began = clock.monotonic()
        text = await _tiny_turn(connection, config, time_limit)
        yield PingStep("turn", clock.monotonic() - began, text)
        began = clock.monotonic()
    finally:
        await connection.close()
    yield PingStep("stop", clock.monotonic() - began)


async def _tiny_turn(connection: Connection, config: CodexConfig, time_limit: float) -> str:
    with tempfile.TemporaryDirectory(prefix="clew-ping-") as folder:
        seat = Seat(thread="ping", workspace=folder, policy=Policy.READ_ONLY)
        try:
            params = {**threads.settings(seat, config), "ephemeral": True}
            thread = (await connection.ask("thread/start", params, wire.ThreadAnswer)).thread.id
            listener = _Listener()
            connection.listen(thread, listener)
            given = threads.as_input([PromptMessage("ping", "clew", PROMPT)])
            await connection.ask("turn/start", {"threadId": thread, "input": given}, wire.TurnAnswer)
        except RpcError as error:
            raise problems.refuses(say("codex.do_tiny_turn"), error.message) from error
        return await answer(follow(listener.live.events), time_limit)


class _Listener:
    def __init__(self) -> None:
        self.live = Live("ping")
        self.on_notification = self.live.feed
        self.lost = self.live.lose

    def on_request(self, pending: Pending) -> bool:
        return False

    def for_sub_agent(self, thread: str, root_turn: str) -> None:
        pass

    def resolved(self, pending: Pending) -> None:
        pass
