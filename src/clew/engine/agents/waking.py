"""Wakes parked threads, with one timer for all. When an account's time has passed, one thread asks it first; after its
turn has worked, the others follow one by one. Woken by commits and by the time; it never polls while nobody waits."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from functools import partial

from msgspec import Struct

from clew.engine.account_limits import (
    DAY,
    LONGEST,
    REFUSAL,
    asking_until,
    correct_refusal,
    note_committed,
    record_asking,
    stop_asking,
    stored_refusal,
)
from clew.engine.agents.choices import wait_for
from clew.engine.agents.refusals import works_again
from clew.engine.core import Core
from clew.engine.turns.parked import end_parking, reschedule, unpark
from clew.model.events.accounts import AccountState, Refusal
from clew.model.events.kinds import EventKind
from clew.model.threads import ThreadStatus
from clew.store import Entry, Tx
from clew.store.tables import limits, parked, threads, turns
from clew.store.tables.parked import Parked
from clew.support import crash
from clew.texts.catalogue import say

LONGEST_SLEEP = 300.0  # seconds: a machine that slept, or whose clock was set, is noticed after that
ACTS = frozenset({EventKind.ACTIVITY, EventKind.GATE_OPENED})  # so the account does not refuse its turn
ENDS = frozenset({EventKind.ACCOUNT_LIMIT, EventKind.TURN_ENDED})


class Look(Struct, frozen=True):
    """What is to be done after a look."""

    next: int | None  # when the next one is due
    held: tuple[str, ...] = ()  # threads whose turn may start now, perhaps


class Waking:
    def __init__(self, core: Core, wake_scheduler: Callable[[str], None]) -> None:
        self._core = core
        self._wake_scheduler = wake_scheduler
        self._news = asyncio.Event()
        self._asking: set[str] = set()  # threads that ask an account
        self._acted: set[str] = set()  # those whose turn has done something
        self.looks = 0  # how often it looked, for tests

    def committed(self, entries: Sequence[Entry]) -> None:
        """The store's listener. It costs nothing while no account refuses turns."""
        note_committed(self._core, entries)
        for entry in entries:
            if entry.kind == EventKind.ACCOUNT_LIMIT:
                self._note(entry)
            elif self._core.refusals and (entry.kind == EventKind.THREAD_STATUS or entry.thread in self._asking):
                self._note_asking(entry)

    def _note(self, entry: Entry) -> None:
        if entry.data["state"] == AccountState.ASKED:
            self._asking.add(entry.thread)
        self._news.set()

    def _note_asking(self, entry: Entry) -> None:
        if entry.kind in ACTS:
            self._acted.add(entry.thread)
        elif entry.kind == EventKind.TURN_ENDED:
            self._asking.discard(entry.thread)
        if entry.kind in ACTS | {EventKind.TURN_ENDED, EventKind.THREAD_STATUS}:
            self._news.set()

    def look(self) -> None:
        """Look again."""
        self._news.set()

    async def run(self) -> None:
        while True:
            self._news.clear()
            acted, self._acted = self._acted, set()
            look = await self._core.write_with_retry(partial(self._look, acted=acted))
            self.looks += 1
            for thread in look.held:
                self._wake_scheduler(thread)
            await self._sleep(look.next)

    def _look(self, tx: Tx, acted: set[str]) -> Look:
        """Wake what is due."""
        now = self._core.clock.now()
        self._correct_times(tx, now)
        self._note_acted(tx, acted)
        self._release_asking(tx)
        found: dict[str, list[Parked]] = {}
        for waiting in parked.due_parked(tx, now):
            if waiting.runtime is None:
                tx.attempt(partial(self._end, tx, waiting.thread), None)
            else:
                found.setdefault(waiting.runtime, []).append(waiting)
        for runtime, due in found.items():
            self._wake_some(tx, runtime, due, now)
        times = [parked.next_wake(tx, now), *(self._next_time(tx, runtime, now) for runtime in self._core.refusals)]
        held = tuple(turns.idle_with_queued(tx))
        return Look(min((at for at in times if at is not None), default=None), held)

    def _correct_times(self, tx: Tx, now: int) -> None:
        """The clock was ahead when some times were stored: no thread waits for those."""
        for runtime in tuple(self._core.refusals):
            corrected = correct_refusal(tx, self._core, runtime)
            found = corrected or stored_refusal(tx, self._core, runtime)
            if found is not None:
                self._bring_forward(tx, runtime, found, found.wake_at + (0 if corrected else DAY))
        soon = Refusal(now, is_known=False)
        for waiting in parked.too_late(tx, now + LONGEST + 2 * DAY):
            tx.attempt(partial(self._postpone, tx, waiting, soon), None)

    def _bring_forward(self, tx: Tx, runtime: str, found: Refusal, latest: int) -> None:
        for name in parked.parked_for(tx, runtime, after=latest + 1):
            tx.attempt(partial(self._postpone, tx, Parked(name, runtime), found), None)

    def _release_asking(self, tx: Tx) -> None:
        """A thread that was to ask an account waits for something else by now, such as its budget: others may ask."""
        for runtime in self._core.refusals:
            asks = limits.asking(tx, runtime, REFUSAL)
            if asks is not None and tx.attempt(partial(_is_held, tx, asks.thread), True):
                stop_asking(tx, runtime, asks.thread)

    def _note_acted(self, tx: Tx, acted: set[str]) -> None:
        for runtime in self._core.refusals:
            asks = limits.asking(tx, runtime, REFUSAL)
            if asks is not None and asks.thread in acted:
                works_again(tx, self._core, runtime, asks.thread)

    def _next_time(self, tx: Tx, runtime: str, now: int) -> int | None:
        """When something may change about an account that refuses turns."""
        wake_at = self._core.refusals[runtime].wake_at
        return wake_at if wake_at > now else asking_until(tx, self._core, runtime)

    def _wake_some(self, tx: Tx, runtime: str, due: list[Parked], now: int) -> None:
        """Wake an account's threads: all that are due, or the first of them to ask an account that had refused."""
        found = stored_refusal(tx, self._core, runtime)
        if found is None:
            for waiting in due:
                tx.attempt(partial(self._wake, tx, waiting), False)
        elif found.wake_at > now:
            for waiting in due:
                tx.attempt(partial(self._postpone, tx, waiting, found), None)
        elif asking_until(tx, self._core, runtime) is None:
            self._wake_first(tx, runtime, due)

    def _wake_first(self, tx: Tx, runtime: str, due: list[Parked]) -> None:
        """One thread asks the account: the first whose rows can be read."""
        for waiting in due:
            if tx.attempt(partial(self._wake, tx, waiting), False):
                record_asking(tx, self._core, runtime, waiting.thread)
                crash.point("limits.probed")
                return

    def _wake(self, tx: Tx, waiting: Parked) -> bool:
        thread = threads.get(tx, waiting.thread)
        return thread is not None and unpark(tx, self._core, thread, say("limits.resumed"))

    def _postpone(self, tx: Tx, waiting: Parked, found: Refusal) -> None:
        """Wait longer: the account refused the one that asked it."""
        thread = threads.get(tx, waiting.thread)
        if thread is not None:
            wait = wait_for(self._core, thread, waiting.runtime or "", found)
            reschedule(tx, self._core, thread, wait)

    def _end(self, tx: Tx, name: str) -> None:
        thread = threads.get(tx, name)
        if thread is not None:
            end_parking(tx, self._core, thread, say("limits.resumed"))

    async def _sleep(self, due: int | None) -> None:
        wait = None if due is None else min(max(0.0, (due - self._core.clock.now()) / 1000), LONGEST_SLEEP)
        try:
            async with asyncio.timeout(wait):
                await self._news.wait()
        except TimeoutError:
            return


def _is_held(tx: Tx, name: str) -> bool:
    """Whether a thread cannot start a turn now."""
    thread = threads.get(tx, name)
    return thread is None or thread.status is not ThreadStatus.IDLE
