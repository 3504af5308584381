"""Schedules turns: one at a time per thread, as many threads in parallel as the config allows, oldest first. Woken by
commits; it never polls and never looks into a turn."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence
from contextlib import suppress
from functools import partial
from itertools import islice
from math import inf
from typing import Protocol

from clew.engine.core import Core
from clew.engine.delivery.placeholder import enqueue_placeholder
from clew.engine.turns.completion import End
from clew.engine.turns.recovery import Recovery
from clew.engine.turns.runner import Runner
from clew.model import history
from clew.model.events.kinds import EventKind
from clew.model.events.logged import TurnClaimed
from clew.model.turns import Problem, Turn, TurnState
from clew.store import Entry, Tx
from clew.store.tables import nodes, threads, turns
from clew.texts.catalogue import say

_log = logging.getLogger(__name__)
WAKING = frozenset({EventKind.TURN_QUEUED, EventKind.TURN_ENDED, EventKind.THREAD_STATUS})
FREEING = frozenset({EventKind.GATE_OPENED})  # a turn that waits at a gate does not count as running
SIGNALS = frozenset(
    {EventKind.STEER_OFFERED, EventKind.TURN_STOP_ASKED, EventKind.GATE_ANSWERED, EventKind.GATE_EXPIRED}
)


class BeforeClaim(Protocol):
    """What a thread may need before its next turn is claimed: turns that other programs ran in its session go into its
    history first."""

    def needs_preparation(self, thread: str) -> bool: ...

    async def prepare(self, thread: str) -> None: ...


class Scheduler:
    def __init__(self, core: Core, runner: Runner, recovery: Recovery, before_claim: BeforeClaim) -> None:
        self._core = core
        self._runner = runner
        self._recovery = recovery
        self._before_claim = before_claim
        self._ready: dict[str, None] = {}  # threads to look at, in order
        self._held: set[str] = set()  # threads that are not recovered yet
        self._wake = asyncio.Event()
        self._timers: dict[str, int] = {}  # threads whose turn waits for more messages, and until when
        self._running: dict[asyncio.Task[None], str] = {}  # values: turns
        self._recovering: dict[asyncio.Task[None], str] = {}  # turns that an earlier daemon started
        self._changed = runner.changed
        self._draining = False

    def committed(self, entries: Sequence[Entry]) -> None:
        """The store's listener."""
        for entry in entries:
            if entry.kind in WAKING:
                self.wake(entry.thread)
            elif entry.kind in SIGNALS:
                self._runner.signal(entry.turn, entry.kind)
            elif entry.kind in FREEING:
                self._wake.set()
                self._changed.set()

    def wake(self, thread: str) -> None:
        self._ready[thread] = None
        self._wake.set()

    def hold(self, thread: str) -> None:
        self._held.add(thread)

    def release(self, thread: str) -> None:
        self._held.discard(thread)
        self.wake(thread)

    async def run(self) -> None:
        """Claim and start ready turns, forever."""
        async with asyncio.TaskGroup() as group:
            while True:
                await self._wake.wait()
                self._wake.clear()
                for thread in self._to_prepare():
                    self.hold(thread)
                    group.create_task(self._prepare(thread))
                claimed, waiting = await self._claim()
                for thread, due in waiting.items():
                    if due < self._timers.get(thread, inf):
                        self._timers[thread] = due
                        group.create_task(self._wake_at(thread, due))
                for turn in claimed:
                    task = group.create_task(self._guarded(turn))
                    self._running[task] = turn.id
                    task.add_done_callback(self._done)

    def add_recovering(self, task: asyncio.Task[None], turn: str) -> None:
        """Count a turn as running until the task that recovers it is done."""
        self._recovering[task] = turn
        task.add_done_callback(self._done)

    async def drain(self, grace: float, *, restart: bool = False) -> None:
        """Start nothing more, and wait up to `grace` seconds for running turns. Turns that wait at a gate are not
        waited for, nor, on a restart, turns whose runtime outlives this daemon."""
        self._draining = True
        with suppress(TimeoutError):
            async with asyncio.timeout(grace):
                while self._is_busy(restart):
                    self._changed.clear()
                    await self._changed.wait()

    def _is_busy(self, restart: bool) -> bool:
        running = {*self._running.values(), *self._recovering.values()}
        return any(
            not self._runner.is_at_gate(turn) and not (restart and self._runner.outlives(turn)) for turn in running
        )

    def _to_prepare(self) -> list[str]:
        if self._draining:
            return []
        return [
            thread
            for thread in self._ready
            if thread not in self._held and self._before_claim.needs_preparation(thread)
        ]

    async def _prepare(self, thread: str) -> None:
        """Prepare a thread, then release it: if that failed, its turn is claimed all the same and fails with a
        message."""
        try:
            await self._before_claim.prepare(thread)
        except Exception:
            _log.exception("thread %s could not be prepared", thread)
        finally:
            self.release(thread)

    def _done(self, task: asyncio.Task[None]) -> None:
        self._running.pop(task, None)
        self._recovering.pop(task, None)
        self._changed.set()
        self._wake.set()

    async def _wake_at(self, thread: str, due: int) -> None:
        """Look at a thread again when its turn has waited long enough for more messages of its sender."""
        await self._core.clock.sleep(max(0, due - self._core.clock.now()) / 1000)
        if self._timers.get(thread) == due:
            del self._timers[thread]
        self.wake(thread)

    async def _claim(self) -> tuple[list[Turn], dict[str, int]]:
        """The turns that may run now, and threads whose turn waits, with the time until when."""
        free = await self._free() if self._ready else 0
        wanted = list(islice((thread for thread in self._ready if thread not in self._held), max(free, 0)))
        if not wanted:
            return [], {}
        for thread in wanted:
            del self._ready[thread]
        claimed, waiting = await self._core.write_with_retry(lambda tx: self._claim_each(tx, wanted))
        if len(claimed) < len(wanted):
            self._wake.set()  # some had nothing to run: look at the threads behind them
        return claimed, waiting

    async def _free(self) -> int:
        """How many more turns may start. Turns that wait at a gate do not count."""
        if self._draining:
            return 0
        free = self._core.config.turns.parallel - len(self._running)
        waiting = await self._core.read_with_retry(turns.waiting) if free <= 0 else frozenset()
        return free + len(waiting & set(self._running.values()))

    def _claim_each(self, tx: Tx, wanted: list[str]) -> tuple[list[Turn], dict[str, int]]:
        """The turns that were claimed, and when the others may be."""
        now = self._core.clock.now()
        nothing: tuple[Turn | None, int | None] = (None, None)
        claimed = {thread: tx.attempt(partial(self._claim_one, tx, thread, now), nothing) for thread in wanted}
        waiting = {thread: at for thread, (_, at) in claimed.items() if at is not None and at > now}
        return [turn for turn, _ in claimed.values() if turn is not None], waiting

    def _claim_one(self, tx: Tx, thread: str, now: int) -> tuple[Turn | None, int | None]:
        turn = turns.claim(tx, thread, self._core.incarnation, now)
        return (self._write_request(tx, turn), None) if turn is not None else (None, turns.due_at(tx, thread))

    def _write_request(self, tx: Tx, turn: Turn) -> Turn:
        """Append a turn's request to history when the turn is first claimed, so that history has the order of turns."""
        now = self._core.clock.now()
        tx.log(turn.thread, turn.id, now, TurnClaimed(turn.attempts))
        if turn.request_node is not None:
            return turn
        thread = threads.get(tx, turn.thread)
        assert thread is not None, turn.thread
        head = thread.head
        for said in turn.request:
            node = history.Spoken(turn.id, now, said.id, said.author, said.text, said.attachments)
            head = nodes.append(tx, turn.thread, head, node)
        if head is not None:
            turns.set_request_node(tx, turn.id, head)
        enqueue_placeholder(tx, self._core, turn, turn.conversation)
        return turn

    async def _guarded(self, turn: Turn) -> None:
        """Run a turn. A bug of clew must not end other turns, nor leave this one in the state `running`."""
        try:
            unfinished = await self._runner.run(turn)
            if unfinished is not None and unfinished.was_sent:
                await self._recovery.resolve(turn, unfinished.reason)
            elif unfinished is not None:
                await self._recovery.requeue(turn)
        except Exception:
            _log.exception("turn %s broke clew", turn.id)
            await self._look_up(turn)

    async def _look_up(self, turn: Turn) -> None:
        """Ask the runtime how the turn ended, since it may have completed; if that fails too, the turn has failed."""
        try:
            await self._recovery.resolve(turn, say("turns.clew_failed_on_it"))
        except Exception:
            _log.exception("turn %s broke clew again", turn.id)
            await self._fail(turn)

    async def _fail(self, turn: Turn) -> None:
        problem = Problem.of("internal", say("turns.internal"))
        try:
            await self._runner.end(turn, End(TurnState.FAILED, problem=problem))
        except Exception:
            _log.exception("turn %s cannot even be ended; the next start of clew looks it up", turn.id)
