"""The engine: policy packages around one store, and the API that the daemon, the HTTP routes and tests use.

A message passes through inbox (admission), turns (scheduler, runner, completion) and delivery (outbox). gates asks
people, rules answer for them, turns/recovery runs at the start, places moves threads between conversations, services
is what clients read and request. No package knows Telegram or Codex.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Callable, Mapping
from pathlib import Path

from msgspec.structs import replace

from clew.config.settings import Config
from clew.engine.core import Core
from clew.engine.delivery.notify import notify
from clew.engine.delivery.outbox import Outbox
from clew.engine.gates.expiry import GateExpiry
from clew.engine.inbox.access import Access
from clew.engine.inbox.admission import Admission, repeated, resume_completed, write_fate
from clew.engine.inbox.sender import message_of
from clew.engine.live import Live
from clew.engine.places import away, driver
from clew.engine.places.fallback import ask_elsewhere
from clew.engine.places.handoff import Handoffs
from clew.engine.places.targets import resolve_target
from clew.engine.services import options, queries
from clew.engine.services.conversations import ConversationService
from clew.engine.services.figures import Figures
from clew.engine.services.gates import GateService
from clew.engine.services.pruning import Pruning
from clew.engine.services.transcript import transcript
from clew.engine.threads import forks, lifecycle, lookup
from clew.engine.threads.adoption import AdoptionService
from clew.engine.threads.shared_sessions import SharedSessions
from clew.engine.turns.queueing import queue_turn
from clew.engine.turns.recovery import Recovery
from clew.engine.turns.runner import Runner
from clew.engine.turns.scheduler import Scheduler
from clew.engine.turns.sessions import Sessions
from clew.engine.turns.suspension import answer_suspended
from clew.model.delivery import Delivery
from clew.model.gate_views import Verdict
from clew.model.messages import Accepted, Conversation, Fate, Inbound
from clew.model.runtime import Runtime
from clew.model.surface import Surface
from clew.model.threads import Thread, ThreadStatus
from clew.model.turns import Origin
from clew.model.views import (
    AwayView,
    ChoicesView,
    ContinuityView,
    NewThread,
    Notified,
    OwedView,
    Page,
    Passage,
    QueuedView,
    RuntimeView,
    Snapshot,
    SurfaceView,
    ThreadView,
    TurnView,
    WhereRow,
)
from clew.store import Store, Tx
from clew.store.tables import deliveries, inbox, places, turns
from clew.store.tables.inbox import Arrival
from clew.store.tables.threads import Filter, set_title
from clew.support.clock import Clock
from clew.support.errors import BadInput, Refused
from clew.support.histogram import Histogram
from clew.support.text import clean
from clew.texts.messages import cannot_resume

_log = logging.getLogger(__name__)

SNAPSHOT = 200  # threads in the snapshot of all
LAST_SENDS = 3.0  # seconds for deliveries in progress when the daemon stops

LOCAL_CLIENT = Conversation("cli")
"""The conversation of messages from local API clients, which fetch their answers themselves."""


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
    ) -> None:
        self.live = live or Live(config.turns.longest_text)
        self._core = Core(store, clock, config, incarnation, runtimes, surfaces, self.live, workspace, files)
        sessions = Sessions(self._core)
        self._runner = Runner(self._core, sessions)
        self._scheduler = Scheduler(self._core, self._runner)
        self._recovery = Recovery(self._core, sessions, self._runner, self._scheduler)
        self._outbox = Outbox(self._core, ask_elsewhere)
        self._shared_sessions = SharedSessions(self._core, sessions)
        self._scheduler.needs_preparation, self._scheduler.prepare = (
            self._shared_sessions.needs_preparation,
            self._shared_sessions.prepare,
        )
        self.adoption = AdoptionService(self._core, self._shared_sessions)
        self.inbox = Admission(self._core)
        self.handoffs = Handoffs(self._core, self.inbox.pass_on_and_record)
        self._outbox.on_handoff_sent, self._outbox.on_handoff_refused = (
            self.handoffs.first_words_sent,
            self.handoffs.first_words_refused,
        )
        self.gates = GateService(self._core, self.inbox)
        self.access = Access(self._core)
        self.figures = Figures(self._core)
        self.conversations = ConversationService(self._core, self.inbox, sessions)
        self._gate_expiry = GateExpiry(self._core)
        self._pruning = Pruning(self._core)
        for listener in (
            self.live.committed,
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
        await self._shared_sessions.load()
        await self._outbox.remove_sent_files()
        async with asyncio.TaskGroup() as group:
            recovered = group.create_task(self._recovery.run())
            await self._recovery.leases_taken.wait()
            group.create_task(self._scheduler.run())
            group.create_task(self._outbox.run())
            group.create_task(self._gate_expiry.run())
            group.create_task(self._pruning.run())
            group.create_task(self.handoffs.run())
            group.create_task(self._shared_sessions.run())
            for surface in self._core.surfaces.values():
                group.create_task(self._receive(surface))
            ready()
            await recovered

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
                self._core.broken[surface.name] = f"it broke ({error}) and is started again"
            await self._core.clock.sleep(wait)
            wait = min(wait * 2, 60.0)

    # Changes

    async def start(self, new: NewThread) -> Accepted:
        """Create a thread with its first message. A repeated message id returns the first one's thread."""
        opening = lifecycle.Opening.of_request(self._core, await self._with_home_target(new))
        inbound = Inbound(LOCAL_CLIENT, _message_id(new.message_id), new.sender, new.text, new.attachments)
        if not new.text.strip() and not new.attachments:
            raise BadInput("The first message is empty; say what there is to do.")

        def body(tx: Tx) -> Accepted:
            seen = repeated(tx, inbound)
            if seen is not None:
                return seen
            thread = lifecycle.open_thread(tx, self._core, opening)
            turn = queue_turn(tx, self._core.clock, thread.id, Origin.MESSAGE, (message_of(inbound),), LOCAL_CLIENT)
            return write_fate(tx, self._core, inbound, Arrival(Fate.TURN, thread.id, turn.id, ""))

        return await self._core.store.write(body)

    async def _with_home_target(self, new: NewThread) -> NewThread:
        """If `notify` names only a surface, replace it with the surface's home, if `/home` was said there."""
        if new.notify is None or ":" in new.notify:
            return new
        name = new.notify
        home = await self._core.store.read(lambda tx: places.home(tx, name))
        return replace(new, notify=str(home)) if home is not None else new

    async def say(self, inbound: Inbound) -> Accepted:
        return await self.inbox.accept(inbound)

    async def resume(self, thread: str, supplement: str, message_id: str, sender: str) -> Accepted:
        """Resume a completed or suspended thread. Of two concurrent requests one runs and the other is refused."""
        inbound = Inbound(LOCAL_CLIENT, _message_id(message_id), sender, supplement, thread=thread)
        accepted = await self._core.store.write(lambda tx: self._resume(tx, inbound))
        if accepted.fate is Fate.REFUSED:
            raise Refused(accepted.words)
        return accepted

    def _resume(self, tx: Tx, inbound: Inbound) -> Accepted:
        seen = repeated(tx, inbound)
        if seen is not None:
            return seen
        thread = lookup.existing_thread(tx, inbound.thread or "")
        return write_fate(tx, self._core, inbound, self._resumed(tx, thread, inbound))

    def _resumed(self, tx: Tx, thread: Thread, inbound: Inbound) -> Arrival:
        if thread.status is ThreadStatus.SUSPENDED:
            return answer_suspended(tx, self._core, thread, message_of(inbound), inbound.conversation, resumes=True)
        if thread.status is ThreadStatus.COMPLETED:
            if not inbound.text.strip():
                raise BadInput(f"Thread {thread.id} is completed; say with --supplement what to do with it now.")
            return resume_completed(tx, self._core, thread, message_of(inbound), inbound)
        status = "running" if turns.live(tx, thread.id) else str(thread.status)
        return Arrival(Fate.REFUSED, thread.id, None, cannot_resume(thread.id, status))

    async def stop(self, thread: str, by: str = "you") -> TurnView:
        turn = await self._core.store.write(
            lambda tx: lifecycle.ask_stop(tx, self._core, lookup.existing_thread(tx, thread), by)
        )
        return await self.turn(turn.id)

    async def unqueue(self, turn: str) -> TurnView:
        """Withdraw a queued turn."""
        await self._core.store.write(lambda tx: lifecycle.unqueue(tx, self._core, turn))
        return await self.turn(turn)

    async def done(self, thread: str) -> ThreadView:
        await self._core.store.write(lambda tx: lifecycle.finish(tx, self._core, lookup.existing_thread(tx, thread)))
        return await self.thread(thread)

    async def cancel(self, thread: str, by: str = "you") -> ThreadView:
        await self._core.store.write(
            lambda tx: lifecycle.cancel(tx, self._core, lookup.existing_thread(tx, thread), by)
        )
        return await self.thread(thread)

    async def fork(self, thread: str, turn: str | None, title: str | None) -> ThreadView:
        named = clean(title).strip() if title else None
        new = await self._core.store.write(
            lambda tx: forks.fork(tx, self._core, lookup.existing_thread(tx, thread), turn, named)
        )
        return await self.thread(new)

    async def drive_locally(self, thread: str, by: str = "you") -> ThreadView:
        """Make the local client the driver of the thread."""
        await self._core.store.write(
            lambda tx: driver.drive_locally(tx, self._core, lookup.existing_thread(tx, thread), by)
        )
        return await self.thread(thread)

    async def set_away(self, target: str | None) -> AwayView:
        """Redirect questions for the local client to `target` while the person is away; None: they are back."""

        def body(tx: Tx) -> None:
            if target is None:
                away.back(tx, self._core)
            else:
                away.go(tx, self._core, resolve_target(tx, self._core, target, may_choose=True))

        await self._core.store.write(body)
        return await self.away_target()

    async def away_target(self) -> AwayView:
        where = await self._core.store.read(places.away)
        return AwayView(str(where) if where else None)

    async def retitle(self, thread: str, title: str) -> ThreadView:
        named = clean(title).strip()
        if not named:
            raise BadInput("A title needs at least one visible character.")

        def body(tx: Tx) -> None:
            set_title(tx, lookup.existing_thread(tx, thread).id, named)
            tx.log(thread, None, "thread.title", self._core.clock.now(), title=named)

        await self._core.store.write(body)
        return await self.thread(thread)

    async def notify(self, *, dry_run: bool = False, retry_failed: bool = False, alone: bool = False) -> list[Notified]:
        return await notify(self._core, self._send_now, dry_run=dry_run, retry_failed=retry_failed, alone=alone)

    async def _send_now(self, delivery: Delivery) -> None:
        name = delivery.conversation.surface if delivery.conversation else ""
        surface = self._core.surfaces.get(name)
        if surface is None:
            reason = f"there is no surface {name!r}; add it to config.toml"
            await self._core.store.write(lambda tx: deliveries.record_failed(tx, delivery, reason))
            return
        await self._outbox.deliver(delivery, surface)
        self._outbox.wake(name)  # it may be due for another attempt

    # Queries

    async def find(self, prefix: str) -> str:
        return await queries.find(self._core, prefix)

    async def threads(self, wanted: Filter) -> Page:
        return await queries.page(self._core, wanted)

    async def thread(self, thread: str) -> ThreadView:
        return await queries.thread(self._core, thread)

    async def snapshot(self, thread: str | None) -> Snapshot:
        """The current state of a thread, or of all, for a client whose events have been pruned."""
        page = await self.threads(Filter(limit=SNAPSHOT)) if thread is None else None
        seen = page.threads if page else (await self.thread(thread or ""),)
        live = [view.turn for view in seen if view.status == "running" and view.turn]
        waiting = [gate for gate in await self.gates.all() if thread in (None, gate.thread)]
        return Snapshot(seen, tuple([await self.turn(name) for name in live]), tuple(waiting))

    async def turn(self, turn: str) -> TurnView:
        return await queries.turn(self._core, turn)

    async def transcript(
        self, thread: str, limit: int, before: str | None = None, *, brief: bool = False
    ) -> list[Passage]:
        return await transcript(self._core, thread, limit, before, brief=brief)

    async def queue(self, thread: str) -> list[QueuedView]:
        return await queries.queue(self._core, thread)

    async def undelivered(self, limit: int) -> list[OwedView]:
        return await queries.undelivered(self._core, limit)

    async def choices(self) -> ChoicesView:
        return await options.thread_options(self._core, await self.runtimes())

    async def refresh(self, thread: str) -> None:
        """Import the turns that other programs ran in the thread's session, before it is shown."""
        await self._shared_sessions.refresh(thread)

    async def continuity(self, thread: str) -> list[ContinuityView]:
        return await queries.continuity(self._core, thread)

    async def where(self, thread: str) -> list[WhereRow]:
        return await queries.where(self._core, thread)

    def verify(self, thread: str | None) -> AsyncIterator[Verdict]:
        return queries.verify(self._core, thread)

    async def fates(self) -> dict[str, int]:
        return await self._core.store.read(inbox.fates)

    async def runtimes(self) -> list[RuntimeView]:
        healths = [(name, await runtime.health()) for name, runtime in sorted(self._core.runtimes.items())]
        installed = [(name, health) for name, health in healths if health.is_there]
        return [RuntimeView(name, health.state, health.reason, health.pid) for name, health in installed]

    @property
    def latency(self) -> Histogram:
        """Seconds from enqueueing a delivery to sending it, since this daemon started."""
        return self._outbox.latency

    async def surfaces(self) -> list[SurfaceView]:
        return await self._core.store.read(self._surfaces)

    def _surfaces(self, tx: Tx) -> list[SurfaceView]:
        pending = deliveries.pending_by_surface(tx)
        return [self._surface(tx, name, pending.get(name, 0)) for name in sorted(self._core.surfaces)]

    def _surface(self, tx: Tx, name: str, pending: int) -> SurfaceView:
        reason, can = self._core.trouble(tx, name), self._core.surfaces[name].can
        return SurfaceView(name, "down" if reason else "up", reason, pending, can.delivery, can.backlog)


def _message_id(given: str) -> str:
    if not given or len(given) > 256:
        raise BadInput("A message needs an id of 1 to 256 characters, chosen by the sender.")
    return given
