"""Schedules turns: one at a time per thread, as many threads in parallel as the config allows, by priority and age.
Woken by commits; it never polls and never looks into a turn."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence
from contextlib import suppress
from functools import partial
from heapq import nsmallest
from math import inf
from typing import Protocol

from clew.engine.core import Core
from clew.engine.delivery.placeholder import enqueue_placeholder
from clew.engine.seams import Admission
from clew.engine.turns.completion import End
from clew.engine.turns.recovery import Recovery
from clew.engine.turns.runner import Runner
from clew.model import history
from clew.model.events.kinds import EventKind
from clew.model.events.logged import TurnClaimed
from clew.model.threads import Priority
from clew.model.turns import Problem, Turn, TurnState
from clew.store import Entry, Tx
from clew.store.tables import nodes, threads, turns
from clew.texts.catalogue import say

_log = logging.getLogger(__name__)
LOOK_AGAIN = 5.0  # seconds until turns that were not admitted are looked at again
WAKING = frozenset({EventKind.TURN_QUEUED, EventKind.TURN_ENDED, EventKind.THREAD_STATUS})
FREEING = frozenset({EventKind.GATE_OPENED})  # a turn that waits at a gate does not count as running
UNPARKING = frozenset({EventKind.TURN_ENDED, EventKind.GATE_OPENED})
NAMING = frozenset({EventKind.THREAD_CREATED, EventKind.THREAD_SETTINGS})
LEAD = {Priority.HIGH: 600.0, Priority.NORMAL: 0.0, Priority.LOW: -600.0}  # seconds; so one that waits rises
HELD_BACK = (None, -1)
SIGNALS = frozenset(
    {EventKind.STEER_OFFERED, EventKind.TURN_STOP_ASKED, EventKind.GATE_ANSWERED, EventKind.GATE_EXPIRED}
)


class BeforeClaim(Protocol):
    """What a thread may need before its next turn is claimed: turns that other programs ran in its session go into its
    history first."""

    def needs_preparation(self, thread: str) -> bool: ...

    async def prepare(self, thread: str) -> None: ...


class Scheduler:
    def __init__(
        self, core: Core, runner: Runner, recovery: Recovery, before_claim: BeforeClaim, admission: Admission
    ) -> None:
        self._core = core
        self._runner = runner
        self._recovery = recovery
        self._before_claim = before_claim
        self._admission = admission
        self._look_again: asyncio.Task[None] | None = None
        self._ready: dict[str, float] = {}  # threads to look at, and their places in the queue
        self._parked: dict[str, float] = {}  # threads that a guard held back, with their places
        self._unparkings = 0
        self._priorities: dict[str, Priority] = {}  # of threads whose priority is not the usual one
        self._held: set[str] = set()  # threads that are not recovered yet
        self._wake = asyncio.Event()
        self._timers: dict[str, int] = {}  # threads whose turn waits for more messages, and until when
        self._running: dict[asyncio.Task[None], str] = {}  # values: turns
        self._threads: dict[str, str] = {}  # of running turns
        self._recovering: dict[asyncio.Task[None], str] = {}  # turns that an earlier daemon started
        self._changed = runner.changed
        self._draining = False

    def committed(self, entries: Sequence[Entry]) -> None:
        """The store's listener."""
        for entry in entries:
            if entry.kind in NAMING and entry.data.get("priority"):
                self._prioritize(entry.thread, Priority(entry.data["priority"]))
            if entry.kind in UNPARKING:
                self._unpark()
            if entry.kind in WAKING:
                self.wake(entry.thread)
            elif entry.kind in SIGNALS:
                self._runner.signal(entry.turn, entry.kind)
            elif entry.kind in FREEING:
                self._wake.set()
                self._changed.set()

    async def load(self) -> None:
        """Called once, before any turn is claimed."""
        self._priorities.update(await self._core.read_with_retry(threads.priorities))

    def wake(self, thread: str) -> None:
        """One that is ready already keeps its place."""
        place = self._parked.pop(thread, None)
        if thread not in self._ready:
            self._ready[thread] = place if place is not None else self._core.clock.monotonic() - self._lead(thread)
        self._wake.set()

    def _lead(self, thread: str) -> float:
        """How many seconds a thread is ahead of one of normal priority that came at the same time."""
        return LEAD[self._priorities.get(thread, Priority.NORMAL)]

    def _prioritize(self, thread: str, priority: Priority) -> None:
        former = self._lead(thread)
        self._priorities[thread] = priority
        for places in (self._ready, self._parked):
            if thread in places:
                places[thread] += former - self._lead(thread)

    def _unpark(self) -> None:
        """A turn ended or waits, so that a guard may let another one start."""
        self._unparkings += 1
        for thread in list(self._parked):
            self.wake(thread)

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
                claimed, waiting = await self._claim(group)
                for thread, due in waiting.items():
                    if due < self._timers.get(thread, inf):
                        self._timers[thread] = due
                        group.create_task(self._wake_at(thread, due))
                for turn in claimed:
                    task = group.create_task(self._guarded(turn))
                    self._running[task] = turn.id
                    self._threads[turn.id] = turn.thread
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
        self._threads.pop(self._running.pop(task, ""), None)
        self._recovering.pop(task, None)
        self._changed.set()
        self._wake.set()

    async def _wake_at(self, thread: str, due: int) -> None:
        """Look at a thread again when its turn has waited long enough for more messages of its sender."""
        await self._core.clock.sleep(max(0, due - self._core.clock.now()) / 1000)
        if self._timers.get(thread) == due:
            del self._timers[thread]
        self.wake(thread)

    async def _claim(self, group: asyncio.TaskGroup) -> tuple[list[Turn], dict[str, int]]:
        """The turns that may run now, and threads whose turn waits, with the time until when."""
        free = await self._free() if self._ready else 0
        wanted = await self._admitted(self._first_ready(free), group)
        if not wanted:
            return [], {}
        places = {thread: self._ready.pop(thread) for thread in wanted}
        unparkings = self._unparkings
        claimed, waiting, held_back = await self._core.write_with_retry(lambda tx: self._claim_each(tx, wanted))
        self._admission.started(wanted)
        self._parked.update((thread, places[thread]) for thread in held_back if thread not in self._ready)
        if unparkings != self._unparkings:  # what held them back may have ended while they were looked at
            self._unpark()
        if len(claimed) < len(wanted):
            self._wake.set()  # some had nothing to run: look at the threads behind them
        return claimed, waiting

    def _first_ready(self, free: int) -> list[str]:
        """By priority and by how long they wait."""
        able = (thread for thread in self._ready if thread not in self._held)
        return nsmallest(max(free, 0), able, key=self._ready.__getitem__)

    async def _admitted(self, wanted: list[str], group: asyncio.TaskGroup) -> list[str]:
        """Those of these threads that may start a turn now. The others stay ready, and are looked at again."""
        if not wanted:
            return []
        admitted = await self._admission.admitted(wanted, self._working(wanted))
        if len(admitted) < len(wanted) and self._look_again is None:
            self._look_again = group.create_task(self._wake_later())
        return admitted

    def _working(self, wanted: Sequence[str]) -> int:
        """How many turns work, without those at a gate, and without those of the threads that want to start one: they
        have just ended, or nothing starts beside them."""
        running = {*self._running.values(), *self._recovering.values()}
        return sum(self._threads.get(turn) not in wanted and not self._runner.is_at_gate(turn) for turn in running)

    async def _wake_later(self) -> None:
        await self._core.clock.sleep(LOOK_AGAIN)
        self._look_again = None
        self._wake.set()

    async def _free(self) -> int:
        """How many more turns may start. Turns that wait at a gate do not count."""
        if self._draining:
            return 0
        free = self._core.config.turns.parallel - len(self._running)
        waiting = await self._core.read_with_retry(turns.waiting) if free <= 0 else frozenset()
        return free + len(waiting & set(self._running.values()))

    def _claim_each(self, tx: Tx, wanted: list[str]) -> tuple[list[Turn], dict[str, int], list[str]]:
        """The turns that were claimed, when others may be, and the threads that a guard held back."""
        now = self._core.clock.now()
        nothing: tuple[Turn | None, int | None] = (None, None)
        claimed = {thread: tx.attempt(partial(self._claim_one, tx, thread, now), nothing) for thread in wanted}
        waiting = {thread: at for thread, (_, at) in claimed.items() if at is not None and at > now}
        held_back = [thread for thread, found in claimed.items() if found == HELD_BACK]
        return [turn for turn, _ in claimed.values() if turn is not None], waiting, held_back

    def _claim_one(self, tx: Tx, thread: str, now: int) -> tuple[Turn | None, int | None]:
        if any(guard.holds_back(tx, thread) for guard in self._core.hooks.claim_guards):
            return HELD_BACK
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
