"""`clew ping claude`: runs every step once and times it. Errors have the same texts as everywhere."""

from __future__ import annotations

import tempfile
from collections.abc import AsyncIterator

from clew.model.messages import PromptMessage
from clew.process.scan import Marks
from clew.runtimes.claude import problems, wire
from clew.runtimes.claude.approvals.pending import Pending
from clew.runtimes.claude.program import arguments, binary
from clew.runtimes.claude.program.connection import Connection, connect
from clew.runtimes.claude.settings import ClaudeConfig
from clew.runtimes.claude.turn import prompts
from clew.runtimes.claude.turn.live_turn import Live
from clew.runtimes.probe import PROMPT, TIME_LIMIT, PingStep, answer
from clew.runtimes.turn_events import follow
from clew.support.clock import Clock

DECLINED = "Answer without any tool."


async def ping(
    config: ClaudeConfig, clock: Clock, marks: Marks, time_limit: float = TIME_LIMIT
) -> AsyncIterator[PingStep]:
    """Yield each step with its time. Raises RuntimeTrouble at the step that fails. Leaves no process and no session."""
    began = clock.monotonic()
    found = await binary.find(config, clock, marks)
    if await binary.is_logged_in(found, config, clock, marks) is False:
        raise problems.not_logged_in()
    yield PingStep("find", clock.monotonic() - began, f"{found.path}, {found.version}")
    began = clock.monotonic()
    with tempfile.TemporaryDirectory(prefix="clew-ping-") as folder:
        listener = _Listener(Live("ping", folder))
        connection = await connect(arguments.tiny(found.path, config), folder, config, clock, marks, listener)
        listener.connection = connection
        try:
            yield PingStep("start", clock.monotonic() - began, f"pid {connection.pid}")
            began = clock.monotonic()
            connection.send(prompts.as_message("ping", [PromptMessage("ping", "clew", PROMPT)]))
            text = await answer(follow(listener.live.events), time_limit)
            yield PingStep("turn", clock.monotonic() - began, text)
            began = clock.monotonic()
        finally:
            await connection.close()
        yield PingStep("stop", clock.monotonic() - began)


class _Listener:
    def __init__(self, live: Live) -> None:
        self.live = live
        self.connection: Connection | None = None
        self.on_frame = live.feed
        self.lost = live.lose

    def on_request(self, id: str, request: wire.Request) -> None:
        assert self.connection is not None
        Pending(id, request, self.connection.answer).deny(DECLINED)

    def on_taken(self, id: str) -> None:
        pass

    def on_cancelled(self, id: str) -> None:
        pass
