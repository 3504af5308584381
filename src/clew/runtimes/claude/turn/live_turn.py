"""State of a turn that Claude works on: its events and its open requests."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from contextlib import suppress

from clew.model.events import Event, GateClosed, GateOpened, Notice, NoticeKind
from clew.model.gates import Asked
from clew.model.runtime import has_no_rules
from clew.model.turns import TurnState, Usage
from clew.runtimes.claude import items, wire
from clew.runtimes.claude.approvals import answers, requests
from clew.runtimes.claude.approvals.pending import Pending
from clew.runtimes.claude.approvals.requests import Checked
from clew.runtimes.claude.turn.translate import Translation
from clew.runtimes.process import within
from clew.runtimes.turn_events import Events
from clew.support.errors import RuntimeLost
from clew.support.text import LONGEST, clean
from clew.texts.catalogue import say

log = logging.getLogger(__name__)


class Live:
    def __init__(
        self,
        turn: str,
        workspace: str,
        longest_text: int = LONGEST,
        asked_tools: frozenset[str] = frozenset(),
        is_restricted: Callable[[Asked], Awaitable[bool]] = has_no_rules,
    ) -> None:
        """`asked_tools`: about which the folder wants to be asked; `is_restricted`: by a rule of clew."""
        self.turn = turn
        self._asked_tools = asked_tools
        self._is_restricted = is_restricted
        self.translation = Translation(turn, workspace, longest_text)
        self.events: Events = asyncio.Queue()
        self.gates: dict[str, Pending] = {}  # open requests
        self._workspace = workspace
        self._looking: set[asyncio.Task[None]] = set()
        self._heard = asyncio.Event()  # Claude has our message
        self._started = asyncio.Event()  # it can be interrupted, or is over
        self.over = asyncio.Event()
        self.is_interrupted = False

    @property
    def is_over(self) -> bool:
        return self.over.is_set()

    @property
    def is_drained(self) -> bool:
        """Whether the turn is over and all its events were read."""
        return self.is_over and self.events.empty()

    def feed(self, frame: wire.Frame, spent: Usage | None = None) -> None:
        self._close_done_gates(frame)
        self._put(self.translation.feed(frame, spent))

    def ask(self, pending: Pending) -> None:
        """Open a gate for the request, or answer it at once."""
        if not self.translation.is_started or self.is_over:
            pending.deny(answers.NOBODY)
        elif self.is_interrupted:
            pending.deny(answers.CANCELLED)
        else:
            self._put(self.translation.begin_asked(pending.request))
            self.gates[pending.ref] = pending
            task = asyncio.get_running_loop().create_task(self._look_and_ask(pending))
            self._looking.add(task)
            task.add_done_callback(self._looking.discard)

    async def _look_and_ask(self, pending: Pending) -> None:
        """Look at the files that it is about, then open the gate, unless it was answered or taken back meanwhile."""
        try:
            checked, is_free = await asyncio.to_thread(self._check, pending)
            is_free = is_free and not await self._is_restricted(checked.asked)
        except Exception:  # nobody can be asked, and Claude must not wait for ever
            log.exception("a request of Claude cannot be read")
            self.gates.pop(pending.ref, None)
            about = clean(pending.request.tool_name)
            self.events.put_nowait(Notice(NoticeKind.DECLINED, say("claude.declined", about=about)))
            with suppress(RuntimeLost):
                pending.deny(answers.NOBODY)
            return
        if pending.is_answered or self.is_over or pending.ref not in self.gates:
            return
        if is_free:
            del self.gates[pending.ref]
            with suppress(RuntimeLost):
                pending.allow()
            return
        pending.checked = checked
        self.events.put_nowait(GateOpened(pending.ref, checked.asked))

    def _check(self, pending: Pending) -> tuple[Checked, bool]:
        """What it asks, and whether clew allows it by itself."""
        request = pending.request
        is_wanted = requests.is_wanted_asked(request, self._asked_tools)
        is_plan = request.tool_name == items.PLAN_READY
        plan = self.translation.detail_of(request.tool_use_id) or self.translation.said if is_plan else ""
        agents = self.translation.agents_of(request)
        checked = requests.read(request, self._workspace, plan, agents, is_wanted=is_wanted)
        return checked, not is_wanted and requests.is_free(request, self._workspace)

    def closed(self, ref: str) -> None:
        """Claude has read the answer, or wants none any more."""
        pending = self.gates.pop(ref, None)
        if pending is None:
            return
        pending.is_answered = True
        if pending.checked is not None:
            self.events.put_nowait(GateClosed(ref, changed=pending.has_changed))

    def cancel_gates(self) -> None:
        for pending in list(self.gates.values()):
            with suppress(RuntimeLost):
                pending.deny(answers.CANCELLED)

    async def wait_heard(self, time_limit: float) -> bool:
        return await within(time_limit, self._heard)

    async def wait_started(self, time_limit: float) -> bool:
        """Wait until the turn can be interrupted."""
        return await within(time_limit, self._started) and not self.is_over

    async def wait_over(self, time_limit: float) -> bool:
        return await within(time_limit, self.over)

    def stop(self) -> None:
        """End it as interrupted: Claude has not begun it, and never will."""
        self._put(self.translation.end(TurnState.INTERRUPTED))

    def finish(self, events: list[Event]) -> None:
        """Claude had finished it before: these are the events of its end."""
        self.translation.is_ended = True
        self._put(events)

    def _put(self, events: list[Event]) -> None:
        if self.translation.is_ended:
            for ref in list(self.gates):
                self.closed(ref)
        for event in events:
            self.events.put_nowait(event)
        self._signal()

    def lose(self, reason: str) -> None:
        if not self.is_over:
            self.over.set()
            self.events.put_nowait(RuntimeLost(reason))
            self._signal()

    def _close_done_gates(self, frame: wire.Frame) -> None:
        """A result closes the gate of its call, even if Claude did not say that it read the answer."""
        if frame.type != "user" or not self.gates:
            return
        done = {block.tool_use_id for block in wire.message(frame.message).blocks if block.type == "tool_result"}
        for ref, pending in list(self.gates.items()):
            if pending.request.tool_use_id in done:
                self.closed(ref)

    def _signal(self) -> None:
        translation = self.translation
        if translation.is_ended:
            self.over.set()
        if translation.is_queued or translation.is_started or translation.is_repeated or self.is_over:
            self._heard.set()
        if translation.is_started or self.is_over:
            self._started.set()
