"""Handoff: moves a thread with all its open work to another conversation. Its row stores each step, so that it goes on
after a crash, and ends completed or failed with a reason.

The receipt of its first message there completes it, in one transaction; a refusal of that message or the timeout undoes
it. At worst one empty topic stays behind, and the error says so."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Sequence
from functools import partial

from clew.engine.core import Core
from clew.engine.delivery.enqueue import deliveries_named, enqueue_handoff_notice, enqueue_notice, next_free_id
from clew.engine.places import driver
from clew.engine.places.targets import (
    HANDOFF_TIMEOUT,
    HandoffRequest,
    former_topic,
    home_of,
    notice_id,
    request_for,
    topic_at_home,
)
from clew.engine.threads.lookup import existing_thread
from clew.engine.turns.queueing import queue_turn
from clew.model.delivery import Delivery
from clew.model.events.kinds import EventKind
from clew.model.events.logged import HandoffCompleted, HandoffFailed
from clew.model.handoff import Handoff, HandoffState, HandoffView
from clew.model.messages import CLEW, Conversation, Inbound, PromptMessage
from clew.model.surface import InDoubt, Never, NotSent, Surface
from clew.model.threads import Thread, ThreadStatus
from clew.model.turns import Origin
from clew.store import Entry, Tx
from clew.store.tables import bindings, deliveries, handoffs, threads, turns
from clew.support import crash
from clew.support.coded import with_texts
from clew.support.display.as_code import plain_or_code
from clew.support.errors import NotFound, Refused, UnreadableRow
from clew.texts import gate_messages, handoff_messages
from clew.texts.catalogue import say

SWEEP = 2.0  # seconds between checks while a handoff is in progress, in case a wake-up was missed
_log = logging.getLogger(__name__)

PassOn = Callable[[Tx, Inbound, Thread], object]  # passes a message to a thread and records its fate


class Handoffs:
    def __init__(self, core: Core, pass_on: PassOn) -> None:
        self._core = core
        self._pass_on = pass_on
        self._wake = asyncio.Event()
        self._active: set[str] = set()
        self._ends: dict[str, asyncio.Event] = {}  # of the active ones
        self._reopened: set[str] = set()  # active ones that need another conversation
        self._over = asyncio.Event()  # set and replaced whenever one has ended

    def committed(self, entries: Sequence[Entry]) -> None:
        """The store's listener."""
        for entry in entries:
            if entry.kind == EventKind.HANDOFF_REQUESTED:
                self._wake.set()
            elif entry.kind in (EventKind.HANDOFF_COMPLETED, EventKind.HANDOFF_FAILED):
                self._end(str(entry.data["handoff"]))

    def _end(self, handoff: str) -> None:
        if handoff in self._ends:
            self._ends[handoff].set()
        self._over.set()
        self._over = asyncio.Event()

    async def run(self) -> None:
        """Perform requested handoffs, each in a task of its own."""
        async with asyncio.TaskGroup() as group:
            while True:
                self._wake.clear()
                for row in await self._core.read_with_retry(handoffs.all_open):
                    if row.id not in self._active:
                        self._active.add(row.id)
                        group.create_task(self._perform(row))
                await self._sleep()

    async def _sleep(self) -> None:
        try:
            async with asyncio.timeout(SWEEP if self._active else None):
                await self._wake.wait()
        except TimeoutError:
            return

    # Requests

    async def request(self, wanted: HandoffRequest) -> HandoffView:
        requested = await self._core.store.write(lambda tx: request_for(tx, self._core, wanted))
        crash.point("handoff.requested-not-told")
        return view(requested)

    async def take_back(self, name: str, by: str) -> HandoffView:
        """Cancel a handoff. Raises Refused if it has ended."""

        def body(tx: Tx) -> Handoff:
            handoff = _existing(tx, name)
            if not self._fail(tx, handoff, say("handoffs.taken_back", by=gate_messages.person(by))):
                raise Refused(handoff_messages.ended_already(name, handoff.state))
            return _existing(tx, name)

        return view(await self._core.store.write(body))

    async def look(self, name: str, wait: float = 0.0) -> HandoffView:
        """Its state, at its end or after `wait` seconds, whichever comes first."""
        until = self._core.clock.monotonic() + wait
        while True:
            over, row = self._over, await self._core.store.read(lambda tx: _existing(tx, name))
            left = until - self._core.clock.monotonic()
            if row.ended_at is not None or left <= 0:
                return view(row)
            try:
                async with asyncio.timeout(left):
                    await over.wait()
            except TimeoutError:
                continue

    async def all(self, limit: int) -> list[HandoffView]:
        return [view(row) for row in await self._core.store.read(lambda tx: handoffs.newest(tx, limit))]

    # Steps

    async def _perform(self, handoff: Handoff) -> None:
        ended = self._ends[handoff.id] = asyncio.Event()
        try:
            claimed = await self._core.write_with_retry(lambda tx: handoffs.claim(tx, handoff, self._core.incarnation))
            if claimed is None:
                return
            crash.point("handoff.claimed-not-opened")
            left = max(0.0, (claimed.expires_at - self._core.clock.now()) / 1000)
            async with asyncio.timeout(min(left, HANDOFF_TIMEOUT)):
                await self._open_until_ended(claimed, ended)
        except TimeoutError:
            await self._give_up(handoff, say("handoffs.timed_out", seconds=f"{HANDOFF_TIMEOUT:.0f}"))
        except NotSent as refusal:
            await self._give_up(handoff, refusal.reason, is_refused=isinstance(refusal, Never))
        except Refused as refusal:
            await self._give_up(handoff, refusal.words, is_refused=True)
        except Exception:  # one must not take the others down
            _log.exception("handoff %s broke clew", handoff.id)
            await self._give_up(handoff, say("handoffs.clew_failed"))
        finally:
            self._active.discard(handoff.id)
            self._ends.pop(handoff.id, None)
            self._wake.set()

    async def _open_until_ended(self, handoff: Handoff, ended: asyncio.Event) -> None:
        """Open a conversation; once more if the topic of an earlier handoff turns out to be gone."""
        while True:
            if handoff.opened is None:
                await self._open(handoff)
            await ended.wait()
            if handoff.id not in self._reopened:
                return
            self._reopened.discard(handoff.id)
            ended.clear()
            handoff = await self._core.read_with_retry(partial(_existing, name=handoff.id))

    async def _open(self, handoff: Handoff) -> None:
        """Open a conversation for it; then bind it and enqueue its first message, in one transaction."""
        surface = self._core.surfaces.get(handoff.surface)
        if surface is None:
            raise Never(say("handoffs.surface_gone", surface=repr(handoff.surface)))
        where, again = await self._open_conversation(handoff, surface)
        crash.point("handoff.opened-not-bound")
        await self._core.write_with_retry(lambda tx: self._bind(tx, handoff, where, again))
        crash.point("handoff.bound-not-told")

    async def _open_conversation(self, handoff: Handoff, surface: Surface) -> tuple[Conversation, bool]:
        """The conversation, and whether an earlier attempt may have left an unknown empty one."""
        if handoff.target is not None:
            return handoff.target, False
        home = await self._core.read_with_retry(lambda tx: home_of(tx, self._core, surface))
        if not surface.can.threads:
            return home, False
        there = await self._core.read_with_retry(lambda tx: self._known_topic(tx, handoff, home))
        if there is not None:
            return there, False
        again, wait = handoff.opening_at is not None, 1.0
        thread = await self._core.read_with_retry(lambda tx: existing_thread(tx, handoff.thread))
        now = self._core.clock.now()
        await self._core.write_with_retry(lambda tx: handoffs.record_opening(tx, handoff, now))
        while True:
            try:
                return await surface.open_thread(home, thread.title) or home, again
            except Never:
                raise
            except NotSent as failure:
                _log.warning("no place for handoff %s yet: %s", handoff.id, failure.reason)
                if isinstance(failure, InDoubt):
                    return home, True  # one more try could make another empty one
                await self._core.clock.sleep(failure.retry_after or wait)
                wait = min(wait * 2, 8.0)

    def _known_topic(self, tx: Tx, handoff: Handoff, home: Conversation) -> Conversation | None:
        return topic_at_home(tx, self._core, handoff.thread, home) or former_topic(tx, self._core, handoff, home)

    def _bind(self, tx: Tx, handoff: Handoff, where: Conversation, again: bool) -> None:
        before = bindings.thread_at(tx, where)
        drove = before is not None and bindings.driver(tx, before) == where
        if not handoffs.record_opened(tx, handoff, where, before, drove):
            self._explain_empty(tx, handoff, where)
            return
        thread = existing_thread(tx, handoff.thread)
        if before != thread.id:
            bindings.bind(tx, where, thread.id, self._core.clock.now(), drives=False)
        displaced = threads.get(tx, before) if before not in (None, thread.id) else None
        running = turns.live(tx, thread.id) is not None
        text = handoff_messages.handed(
            plain_or_code(thread.title), running, plain_or_code(displaced.title) if displaced else None, again
        )
        notice = next_free_id(tx, notice_id(handoff))
        enqueue_handoff_notice(tx, self._core, where, text, notice, thread.id, handoff.id)

    # Ends

    def first_words_sent(self, tx: Tx, delivery: Delivery, where: Conversation) -> None:
        """The first message was sent: complete the handoff and move everything, in the same transaction."""
        handoff = handoffs.get(tx, delivery.handoff or "")
        if handoff is None:
            return
        thread, now = existing_thread(tx, handoff.thread), self._core.clock.now()
        if handoff.state is not HandoffState.RUNNING:
            self._send_correction(tx, handoff, where)
            return
        if bindings.thread_at(tx, where) != thread.id:
            bindings.bind(tx, where, thread.id, now, drives=False)
        former = driver.move(tx, self._core, thread, where, handoff.asked_by, handoff.id)
        if not handoffs.complete(tx, handoff, now, former):
            raise AssertionError(f"handoff {handoff.id} changed hands within a transaction")
        tx.log(thread.id, None, now, HandoffCompleted(handoff.id, str(where)))
        if handoff.say:
            self._say(tx, handoff, where, thread)
        elif not handoff.quiet and self._is_quiet(tx, thread):
            greeting = PromptMessage(self._core.clock.ulid(), CLEW, handoff_messages.GREET)
            queue_turn(tx, self._core.clock, thread.main_session, Origin.GREETING, (greeting,), where)

    def first_words_refused(self, tx: Tx, delivery: Delivery, reason: str) -> None:
        """The platform refused the first message for good."""
        handoff = handoffs.get(tx, delivery.handoff or "")
        if handoff is not None and not self._leave_old_topic(tx, handoff):
            self._fail(tx, handoff, reason)

    def _leave_old_topic(self, tx: Tx, handoff: Handoff) -> bool:
        """The topic of an earlier handoff is gone: unbind it, and let a new one be opened. False: it is not that."""
        if handoff.target is not None or handoff.opened is None or self._core.parent_of(handoff.opened) is None:
            return False
        if handoff.displaced != handoff.thread and handoff.opened not in handoffs.opened_before(tx, handoff):
            return False
        if not handoffs.forget_opened(tx, handoff):
            return False
        bindings.unbind(tx, handoff.opened)
        tx.after(lambda: self._reopen(handoff.id))
        return True

    def _reopen(self, handoff: str) -> None:
        if handoff in self._ends:
            self._reopened.add(handoff)
            self._ends[handoff].set()

    async def _give_up(self, handoff: Handoff, reason: str, *, is_refused: bool = False) -> None:
        try:
            await self._core.write_with_retry(lambda tx: self._fail(tx, handoff, reason, is_refused=is_refused))
        except UnreadableRow as error:  # it stays open; the others must go on
            _log.error("handoff %s cannot be ended: %s", handoff.id, error.message)

    def _fail(self, tx: Tx, handoff: Handoff, reason: str, *, is_refused: bool = False) -> bool:
        """Undo the handoff in one transaction. A receipt that arrives later changes nothing. False if it has ended."""
        row, now = handoffs.get(tx, handoff.id), self._core.clock.now()
        if row is not None and row.opening_at is not None and row.opened is None and not is_refused:
            reason = say("handoffs.maybe_empty", reason=reason)
        if row is None or not handoffs.fail(tx, row, now, reason):
            return False
        if row.opened is not None:
            self._unbind(tx, row, row.opened)
            self._withdraw(tx, row, row.opened)
        text = handoff_messages.not_handed(row.surface, reason)
        enqueue_notice(tx, self._core, row.asked_in, text, f"{row.id}:failed", row.thread)
        tx.log(row.thread, None, now, HandoffFailed(row.id, reason))
        return True

    def _unbind(self, tx: Tx, handoff: Handoff, where: Conversation) -> None:
        """Restore the former binding, unless somebody has bound the conversation to another thread or has spoken there.
        A later handoff to the same conversation would restore what was bound before both."""
        handoffs.update_displaced(tx, where, handoff)
        taken = bindings.thread_at(tx, where) != handoff.thread or bindings.driver(tx, handoff.thread) == where
        if taken or handoff.displaced == handoff.thread:
            return
        bindings.unbind(tx, where)
        if handoff.displaced is not None:
            drives = handoff.displaced_drove and bindings.driver(tx, handoff.displaced) is None
            bindings.bind(tx, where, handoff.displaced, self._core.clock.now(), drives=drives)

    def _withdraw(self, tx: Tx, handoff: Handoff, where: Conversation) -> None:
        """Supersede the first message; if it may have been sent already, send a correction."""
        for notice in list(deliveries_named(tx, notice_id(handoff))):
            if deliveries.supersede(tx, notice.id) and notice.in_doubt:
                self._send_correction(tx, handoff, where)

    def _explain_empty(self, tx: Tx, handoff: Handoff, where: Conversation) -> None:
        """It was cancelled while the platform opened a conversation: explain the empty conversation there."""
        if where not in (handoff.target, home_of(tx, self._core, self._core.surfaces[where.surface])):
            self._send_correction(tx, handoff, where)

    def _send_correction(self, tx: Tx, handoff: Handoff, where: Conversation) -> None:
        enqueue_notice(
            tx,
            self._core,
            where,
            handoff_messages.HANDED_BACK,
            next_free_id(tx, f"{notice_id(handoff)}:back"),
            handoff.thread,
        )

    def _say(self, tx: Tx, handoff: Handoff, where: Conversation, thread: Thread) -> None:
        inbound = Inbound(where, f"{handoff.id}:say", handoff.asked_by, handoff.say, thread=thread.id)
        self._pass_on(tx, inbound, thread)

    def _is_quiet(self, tx: Tx, thread: Thread) -> bool:
        """Whether nothing runs or is queued, and there is something to summarize."""
        is_idle = thread.status is ThreadStatus.IDLE and thread.last_turn is not None
        return is_idle and turns.live(tx, thread.id) is None and not turns.count_queued(tx, thread.id)


def _existing(tx: Tx, name: str) -> Handoff:
    found = handoffs.get(tx, name)
    if found is None:
        raise NotFound(say("handoffs.no_handoff", name=name))
    return found


def view(row: Handoff) -> HandoffView:
    return with_texts(
        HandoffView(
            row.id,
            row.thread,
            row.surface,
            str(row.opened) if row.opened else None,
            row.state,
            row.asked_by,
            row.requested_at,
            row.ended_at,
            row.error,
        )
    )
