"""Takes over what an earlier daemon left: its leases, deliveries that were being sent, and running turns."""

from __future__ import annotations

import asyncio
import logging
from functools import partial

from clew.engine.core import Core
from clew.engine.turns.recovery import Recovery
from clew.engine.turns.scheduler import Scheduler
from clew.engine.turns.suspension import hold_backlog
from clew.model.turns import Steer, SteerState, Turn
from clew.store import Tx
from clew.store.tables import deliveries, inbox, log, turns
from clew.support import crash
from clew.texts.catalogue import say

_log = logging.getLogger(__name__)


class Takeover:
    def __init__(self, core: Core, recovery: Recovery, scheduler: Scheduler) -> None:
        self._core = core
        self._recovery = recovery
        self._scheduler = scheduler
        self.leases_taken = asyncio.Event()

    async def run(self) -> None:
        """Recover all turns, once, at the start. A thread with a running turn starts nothing until it is recovered."""
        orphans, waiting, in_doubt = await self._core.store.write(self._take_over)
        self._recovery.in_doubt.update(in_doubt)
        for turn in orphans:
            self._scheduler.hold(turn.thread)
        for thread in waiting:
            self._scheduler.wake(thread)
        self.leases_taken.set()
        async with asyncio.TaskGroup() as group:
            for turn in orphans:
                task = group.create_task(self._recover(turn))
                self._scheduler.add_recovering(task, turn.id)

    def _take_over(self, tx: Tx) -> tuple[list[Turn], list[str], dict[str, list[Steer]]]:
        """Take the leases of dead daemons over, in one transaction."""
        now = self._core.clock.now()
        self._hold_backlog(tx, now)
        deliveries.release_sending(tx, now, self._core.incarnation)
        deliveries.retry_now(tx, now)
        adopted = [turns.adopt(tx, turn, self._core.incarnation) for turn in turns.all_live(tx)]
        orphans = [turn for turn in adopted if turn is not None]
        nothing: list[Steer] = []
        in_doubt = {turn.id: tx.attempt(partial(_offered, tx, turn), nothing) for turn in orphans}
        return orphans, turns.threads_with_queued(tx), in_doubt

    def _hold_backlog(self, tx: Tx, now: int) -> None:
        """After a long downtime, suspend threads with queued turns and ask once, instead of running all at once."""
        _, last_alive = log.newest(tx)
        if now - last_alive <= self._core.config.inbox.stale_after * 1000:
            return
        busy = {turn.thread for turn in turns.all_live(tx)}  # these are recovered instead
        for thread in turns.threads_with_queued(tx):
            if thread not in busy:
                tx.attempt(partial(hold_backlog, tx, self._core, thread), None)

    async def _recover(self, turn: Turn) -> None:
        crash.point("recovery.taken-over-not-looked-up")
        try:
            await self._recovery.resolve(turn, say("turns.left_running"))
        except Exception:
            _log.exception("turn %s could not be recovered", turn.id)
            await self._ask(turn)
        finally:
            self._scheduler.release(turn.thread)

    async def _ask(self, turn: Turn) -> None:
        """Ask a person; if that fails too, the turn waits for the next start. It must not cost the other turns."""
        try:
            await self._recovery.ask_about_unknown(turn, say("turns.clew_failed"))
        except Exception:
            _log.exception("nobody can be asked about turn %s", turn.id)


def _offered(tx: Tx, turn: Turn) -> list[Steer]:
    return [steer for steer in inbox.open_steers(tx, turn.id) if steer.state is SteerState.OFFERED]
