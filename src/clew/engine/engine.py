"""The engine: policy packages around one store, and the API that the daemon, the HTTP routes and tests use.

A message passes through inbox (admission), turns (scheduler, runner, completion) and delivery (outbox). gates asks
people, rules answer for them, turns/recovery runs at the start, places moves threads between conversations, services
is what clients read and request. No package knows Telegram or Codex.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from msgspec.structs import replace

from clew.config.settings import Config
from clew.engine.account_limits import load_limits
from clew.engine.agents.hooks import with_agents
from clew.engine.agents.prelude import PreludePreparer
from clew.engine.agents.second_opinion import Quoting
from clew.engine.agents.waking import Waking
from clew.engine.budgets.guard import BudgetGuard
from clew.engine.budgets.ledger import Ledger
from clew.engine.budgets.memory import MemoryAdmission
from clew.engine.budgets.project_cap import ProjectCap
from clew.engine.budgets.service import UsageService
from clew.engine.core import Core
from clew.engine.delivery.enqueue import enqueue_notice
from clew.engine.delivery.outbox import Outbox
from clew.engine.delivery.reactions import Reactions
from clew.engine.gates.expiry import GateExpiry
from clew.engine.inbox.access import Access
from clew.engine.inbox.admission import Admission
from clew.engine.live import Live
from clew.engine.places.fallback import take_elsewhere
from clew.engine.places.handoff import Handoffs
from clew.engine.repair import RepairService
from clew.engine.seams import Hooks
from clew.engine.services.away import AwayService
from clew.engine.services.conversations import ConversationService
from clew.engine.services.deliveries import DeliveryService
from clew.engine.services.events import EventService
from clew.engine.services.figures import Figures
from clew.engine.services.gates import GateService
from clew.engine.services.pruning import Pruning
from clew.engine.services.status import StatusService
from clew.engine.services.stored_responses import StoredResponses
from clew.engine.services.threads import ThreadService
from clew.engine.threads.adopted_sessions import AdoptedSessions
from clew.engine.threads.adoption import AdoptionService
from clew.engine.threads.shared_sessions import SharedSessions
from clew.engine.threads.tasks import TaskCompletion
from clew.engine.turns.recovery import Recovery
from clew.engine.turns.runner import Runner
from clew.engine.turns.scheduler import Scheduler
from clew.engine.turns.sessions import Sessions
from clew.engine.turns.takeover import Takeover
from clew.model.runtime import Runtime
from clew.model.surface import Surface
from clew.store import BadRow, Store, Tx
from clew.support.clock import Clock
from clew.texts.catalogue import say

_log = logging.getLogger(__name__)

NO_HOOKS = Hooks()
SNAPSHOT = 200  # threads in the snapshot of all
LAST_SENDS = 3.0  # seconds for deliveries in progress when the daemon stops


def _with_own_hooks(core: Core, budget_guard: BudgetGuard, current: Callable[[], Core]) -> Hooks:
    """The budget is looked at last: it asks only about a turn that could run. `current`: the core with these hooks."""
    ledger = Ledger(core.clock)
    listeners = (TaskCompletion(core.clock), Quoting(core.clock), ledger, *core.hooks.turn_end_listeners)
    attempts = (ledger, *core.hooks.attempt_listeners)
    hooks = with_agents(replace(core.hooks, turn_end_listeners=listeners, attempt_listeners=attempts), current)
    return replace(hooks, claim_guards=(*hooks.claim_guards, ProjectCap(core), budget_guard))


class Engine:
    def __init__(
        self,
        *,
        store: Store,
        clock: Clock,
        config: Config,
        incarnation: str,
        runtimes: Mapping[str, Runtime],
        surfaces: Mapping[str, Surface],
        workspace: str,
        live: Live | None = None,
        files: Path | None = None,
        hooks: Hooks = NO_HOOKS,
        connectable: frozenset[str] = frozenset(),
        memory: Callable[[], int] = lambda: 0,
        memory_limit: int = 0,
    ) -> None:
        """`memory`: how many bytes the agents use now. `memory_limit`: above it no further turn starts; 0: none."""
        self.live = live or Live(config.turns.longest_text)
        bare = Core(
            store, clock, config, incarnation, runtimes, surfaces, self.live, workspace, files, hooks, connectable
        )
        self._budget_guard = BudgetGuard(bare)
        self._core = replace(bare, hooks=_with_own_hooks(bare, self._budget_guard, lambda: self._core))
        self._adopted_sessions = AdoptedSessions(self._core)
        sessions = Sessions(self._core, self._adopted_sessions)
        self._shared_sessions = SharedSessions(self._core, sessions, self._adopted_sessions)
        self._runner = Runner(self._core, sessions, (PreludePreparer(self._core), *hooks.preparers))
        recovery = Recovery(self._core, sessions, self._runner)
        admission = MemoryAdmission(self._core, memory, memory_limit)
        self._scheduler = Scheduler(self._core, self._runner, recovery, self._shared_sessions, admission)
        self._waking = Waking(self._core, self._scheduler.wake)
        self._takeover = Takeover(self._core, recovery, self._scheduler)
        self.adoption = AdoptionService(self._core, self._shared_sessions, self._adopted_sessions)
        self._reactions = Reactions(self._core)
        self.inbox = Admission(self._core, self._reactions.heard)
        self.handoffs = Handoffs(self._core, self.inbox.pass_on_and_record)
        self._outbox = Outbox(
            self._core, take_elsewhere, self.handoffs.first_words_sent, self.handoffs.first_words_refused
        )
        self.gates = GateService(self._core, self.inbox)
        self.threads = ThreadService(self._core, self.gates, self._shared_sessions)
        self.deliveries = DeliveryService(self._core, self._outbox)
        self.status = StatusService(self._core)
        self.events = EventService(store)
        self.stored_responses = StoredResponses(store, clock)
        self.repair = RepairService(store, clock, self._tell_lost, self._after_repair)
        self.away = AwayService(self._core)
        self.access = Access(self._core)
        self.figures = Figures(self._core)
        self.usage = UsageService(self._core)
        self.conversations = ConversationService(self._core, self.inbox, sessions)
        self._gate_expiry = GateExpiry(self._core)
        self._pruning = Pruning(self._core)
        self._listen(store)

    def _listen(self, store: Store) -> None:
        for listener in (
            self.live.committed,
            self._waking.committed,
            self._budget_guard.committed,
            self._scheduler.committed,
            self._outbox.committed,
            self._gate_expiry.committed,
            self._pruning.committed,
            self.handoffs.committed,
        ):
            store.listen(listener)

    # Tasks

    async def run(self, ready: Callable[[], None] = lambda: None) -> None:
        """Recover, then serve until cancelled. Surfaces open at once; a thread waits until it is recovered."""
        await load_limits(self._core)
        await self._adopted_sessions.load()
        await self._budget_guard.load()
        await self._scheduler.load()
        await self._outbox.remove_sent_files()
        async with asyncio.TaskGroup() as group:
            recovered = group.create_task(self._takeover.run())
            await self._takeover.leases_taken.wait()
            group.create_task(self._scheduler.run())
            group.create_task(self._outbox.run())
            group.create_task(self._gate_expiry.run())
            group.create_task(self._waking.run())
            group.create_task(self._reactions.run())
            group.create_task(self._pruning.run())
            group.create_task(self.handoffs.run())
            group.create_task(self._shared_sessions.run())
            for surface in self._core.surfaces.values():
                group.create_task(self._receive(surface))
            ready()
            await recovered

    def _tell_lost(self, tx: Tx, bad: BadRow) -> bool:
        """Enqueue a notice where a message came from that is lost with this row. False if nobody can be told."""
        where = bad.message.where if bad.message else None
        if where is None or not self._core.can_send_to(where):
            return False

        def notify() -> bool:
            enqueue_notice(tx, self._core, where, say("daemon.message_lost"), f"{bad.key}:lost", bad.thread or "")
            return True

        return tx.attempt(notify, False)

    def _after_repair(self, done: Sequence[BadRow]) -> None:
        """Threads and conversations may go on that were held up by a row that was set aside."""
        for thread in {each.thread for each in done if each.thread}:
            self._scheduler.wake(thread)
        for surface in self._core.surfaces:
            self._outbox.wake(surface)

    async def drain(self, grace: float, *, restart: bool = False) -> None:
        """Start nothing more, and wait up to `grace` seconds for running turns."""
        await self._scheduler.drain(grace, restart=restart)
        await self._outbox.drain(LAST_SENDS)

    async def _receive(self, surface: Surface) -> None:
        """Run a surface, and restart it with back-off if it raises, so that it does not end the others."""
        wait = 1.0
        while True:
            try:
                self._core.broken.pop(surface.name, None)
                await surface.run(self.inbox)
                return
            except Exception as error:
                _log.exception("surface %s broke", surface.name)
                self._core.broken[surface.name] = say("deliveries.surface_broke", error=str(error))
            await self._core.clock.sleep(wait)
            wait = min(wait * 2, 60.0)
