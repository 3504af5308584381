"""The state of the daemon for callers: runtimes, surfaces, what a new thread may choose, and counters."""

from __future__ import annotations

import asyncio
import logging

from msgspec import Struct
from msgspec.structs import replace

from clew.engine.account_limits import REFUSAL, is_there, note_limits
from clew.engine.core import Core
from clew.engine.services import options
from clew.engine.threads.settings import offered_models
from clew.model.events.accounts import LimitView
from clew.model.runtime import HealthState, ModelInfo, TellsLimits
from clew.model.views import ChoicesView, RuntimeView, SurfaceView
from clew.store import Tx, metrics
from clew.store.metrics import DeliveryTrouble, OpenCounts
from clew.store.tables import deliveries, inbox, limits, log, threads
from clew.store.tables.limits import SeenLimit
from clew.support.coded import Text, with_texts
from clew.support.errors import ClewError, NotFound
from clew.texts import chat_messages
from clew.texts.catalogue import say

CACHED = 60.0  # seconds that an answer about limits counts
PATIENCE = 10.0  # seconds that an agent may take for it
UNREPORTED = "unreported"
_log = logging.getLogger(__name__)


class Counts(Struct, frozen=True):
    open: OpenCounts
    newest_event: int


class StatusService:
    def __init__(self, core: Core) -> None:
        self._core = core
        self._asked: dict[str, float] = {}  # agents: when they were asked for their limits

    async def can_read_store(self) -> bool:
        try:
            await self._core.store.read(log.newest)
        except ClewError:
            return False
        return True

    def can_write_store(self) -> bool:
        return not self._core.store.trouble

    async def counts(self) -> Counts:
        """Open turns, deliveries and gates, and the number of the newest event."""
        return await self._core.store.read(lambda tx: Counts(metrics.count_open(tx), log.newest(tx)[0]))

    async def choices(self) -> ChoicesView:
        """The runtimes are those that are installed, and the default, whether it is or not."""
        there = [each for each in await self._installed() if is_there(self._core, each.name)]
        default = self._core.config.threads.runtime
        if default in self._core.runtimes and default not in {each.name for each in there}:
            there.append(RuntimeView(default, HealthState.STOPPED, "", None, installed=False))
        return await options.thread_options(self._core, there)

    async def fates(self) -> dict[str, int]:
        return await self._core.store.read(inbox.fates)

    async def runtimes(self) -> list[RuntimeView]:
        """Those that matter here: configured, the default, at work, or the agent of a thread."""
        installed = await self._installed()
        used = await self._core.store.read(threads.runtimes)
        config = self._core.config
        wanted = {config.threads.runtime, *config.runtimes, *used}
        return [each for each in installed if each.name in wanted or each.health != HealthState.STOPPED]

    async def _installed(self) -> list[RuntimeView]:
        healths = [(name, await runtime.health()) for name, runtime in sorted(self._core.runtimes.items())]
        installed = [(name, health) for name, health in healths if health.is_there]
        return [with_texts(RuntimeView(name, health.state, health.reason, health.pid)) for name, health in installed]

    async def limits(self, *, ask: bool = False) -> list[LimitView]:
        """As the agents reported them last. `ask`: ask those that can tell, each at most once a minute; those that tell
        nothing are listed too."""
        silent = await self._ask_for_limits() if ask else []
        found = [_limit_view(seen) for seen in await self._core.store.read(limits.everything)]
        known, now = {each.runtime for each in found}, self._core.clock.now()
        nothing = [LimitView(name, "", None, None, UNREPORTED, None, now) for name in silent if name not in known]
        return [*found, *nothing]

    async def _ask_for_limits(self) -> list[str]:
        """Returns the agents that can be asked."""
        able = [(name, each) for name, each in sorted(self._core.runtimes.items()) if isinstance(each, TellsLimits)]
        there = [(name, each) for name, each in able if is_there(self._core, name)]
        await asyncio.gather(*(self._ask_one(name, each) for name, each in there))
        return [name for name, _ in there]

    async def _ask_one(self, name: str, runtime: TellsLimits) -> None:
        now = self._core.clock.monotonic()
        if now - self._asked.get(name, -CACHED) < CACHED:
            return
        self._asked[name] = now
        try:
            async with asyncio.timeout(PATIENCE):
                await note_limits(self._core, name, await runtime.limits())
        except Exception as error:
            _log.info("%s does not tell its limits: %s", name, error)

    async def models(self, runtime: str) -> tuple[ModelInfo, ...]:
        """The models that a runtime offers; empty if it does not tell. Raises NotFound if there is no such runtime."""
        if runtime not in self._core.runtimes:
            raise NotFound(chat_messages.unknown_runtime(runtime, sorted(self._core.runtimes)))
        return await offered_models(self._core, runtime)

    async def surfaces(self) -> list[SurfaceView]:
        return await self._core.store.read(self._surfaces)

    async def surfaces_with_failures(self) -> list[SurfaceView]:
        """The surfaces, with failed deliveries in the reason."""
        troubles = await self._core.store.read(metrics.delivery_troubles)
        return [_with_failures(each, troubles) for each in await self.surfaces()]

    @property
    def store_id(self) -> str:
        return self._core.store.id

    def _surfaces(self, tx: Tx) -> list[SurfaceView]:
        pending = deliveries.pending_by_surface(tx)
        listed = [name for name, each in sorted(self._core.surfaces.items()) if getattr(each, "is_listed", True)]
        return [self._surface(tx, name, pending.get(name, 0)) for name in listed]

    def _surface(self, tx: Tx, name: str, pending: int) -> SurfaceView:
        reason, can = self._core.trouble(tx, name), self._core.surfaces[name].can
        return with_texts(SurfaceView(name, "down" if reason else "up", reason, pending, can.delivery, can.backlog))


def _with_failures(view: SurfaceView, delivery_troubles: list[DeliveryTrouble]) -> SurfaceView:
    """Add failed deliveries to the reason: a surface may be up while it refuses messages."""
    here = [each for each in delivery_troubles if each.surface == view.name]
    if not here:
        return view
    waiting = sum(each.count for each in here if not each.for_good)
    failed = sum(each.count for each in here if each.for_good)
    last = view.reason or say("deliveries.last_error", error=here[-1].error)
    return with_texts(replace(view, reason=say("deliveries.failures", counts=_counts(waiting, failed), last=last)))


def _counts(waiting: int, failed: int) -> Text:
    if waiting and failed:
        return say("deliveries.failures_waiting_and_failed", waiting=waiting, failed=failed)
    if waiting:
        return say("deliveries.failures_waiting", waiting=waiting)
    return say("deliveries.failures_failed", failed=failed)


def _limit_view(seen: SeenLimit) -> LimitView:
    """Of a refusal only its time is for people."""
    window, is_refusal = seen.window, seen.window.name == REFUSAL
    used, minutes = (None, None) if is_refusal else (window.used, window.minutes)
    return LimitView(seen.runtime, window.name, used, window.resets_at, window.status, minutes, seen.seen_at)
