"""Sends pending deliveries, each once, and stores the receipts. If it is unknown whether a send arrived, it proceeds as
promise 5 says. It never decides what is sent; a surface that is down does not use up attempts."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial
from math import inf
from pathlib import Path

from msgspec.structs import replace

from clew.engine.core import Core
from clew.engine.delivery.artifacts import FOLDER
from clew.engine.delivery.headline import headline
from clew.engine.delivery.language import localized
from clew.engine.delivery.placeholder import placeholder_of
from clew.model.delivery import Delivery, DeliveryKind
from clew.model.events.kinds import EventKind
from clew.model.events.logged import DeliveryFailed, DeliverySent
from clew.model.messages import Conversation
from clew.model.surface import Down, Gone, InDoubt, Never, NotSent, Outgoing, Receipt, Surface
from clew.store import Entry, Tx
from clew.store.tables import deliveries, gates
from clew.support import crash
from clew.support.files import delete
from clew.support.histogram import Histogram
from clew.texts import chat_messages
from clew.texts.catalogue import say

PARALLEL = 8  # deliveries in progress at once, per surface
LONGEST_WAIT = 60.0  # seconds of back-off
SET_BACK = 5.0  # seconds by which the clock must have been set back to matter
LONGEST_RETRY_AFTER = 3600.0  # seconds; a longer Retry-After of a platform is cut to this
_NEEDED = frozenset({DeliveryKind.ASK, DeliveryKind.FINAL, DeliveryKind.FILE})  # somebody waits for them
_log = logging.getLogger(__name__)

OnHandoffSent = Callable[[Tx, Delivery, Conversation], None]
OnHandoffRefused = Callable[[Tx, Delivery, str], None]

OnRefused = Callable[[Tx, Core, Delivery, bool], None]  # the last: its conversation is gone


class Outbox:
    def __init__(
        self, core: Core, on_refused: OnRefused, on_handoff_sent: OnHandoffSent, on_handoff_refused: OnHandoffRefused
    ) -> None:
        self._core = core
        self._on_refused = on_refused  # called if a question or an answer is refused for good
        self._on_handoff_sent = on_handoff_sent  # the first message of a handoff
        self._on_handoff_refused = on_handoff_refused
        self._wakes = {name: asyncio.Event() for name in core.surfaces}
        self._downs: dict[str, int] = {}  # failed sends in a row, by surface that is down
        self._sends: set[asyncio.Task[None]] = set()
        self._claiming = {name: asyncio.Lock() for name in core.surfaces}
        self._clock_offset = self._read_clock_offset()
        self.latency = Histogram()  # seconds from enqueued to sent

    def committed(self, entries: Sequence[Entry]) -> None:
        """The store's listener."""
        for entry in entries:
            if entry.kind == EventKind.DELIVERY_OWED:
                self.wake(str(entry.data.get("surface")))

    def wake(self, surface: str) -> None:
        if surface in self._wakes:
            self._wakes[surface].set()

    async def run(self) -> None:
        await self._refuse_unknown()
        async with asyncio.TaskGroup() as group:
            for surface in self._core.surfaces.values():
                if surface.can.send:
                    group.create_task(self._serve(surface))

    async def drain(self, grace: float) -> None:
        """Start no more sends, and wait for those in progress, so that a normal stop leaves no unknown outcome."""
        with suppress(TimeoutError):
            async with asyncio.timeout(grace):
                for claiming in self._claiming.values():
                    await claiming.acquire()
                if self._sends:
                    await asyncio.wait(set(self._sends))

    async def deliver(self, delivery: Delivery, surface: Surface) -> None:
        """Send one claimed delivery and record the result."""
        outcome = await self._try(delivery, surface)
        if isinstance(outcome, Down):
            self._core.down[surface.name] = outcome.reason
            self._downs[surface.name] = self._downs.get(surface.name, 0) + 1
        elif outcome is not None:
            self._core.down.pop(surface.name, None)
            self._downs.pop(surface.name, None)
        if outcome is None:
            await self._core.write_with_retry(lambda tx: deliveries.drop_edit(tx, delivery))
            return
        if isinstance(outcome, NotSent):
            await self._core.write_with_retry(partial(self._not_sent, delivery=delivery, failure=outcome))
            return
        crash.point("outbox.sent-not-recorded")
        self.latency.add(max(0, self._core.clock.now() - delivery.created_at) / 1000)
        await self._core.write_with_retry(partial(self._sent, delivery=delivery, receipt=outcome))
        if delivery.file is not None:
            await asyncio.to_thread(_delete_file, Path(delivery.file.path))

    async def remove_sent_files(self) -> None:
        """At the start: delete copied files that no pending delivery needs. A daemon may have died before it deleted
        them, or before the turn ended, which then copies them again."""
        if self._core.files is None:
            return
        copied = await asyncio.to_thread(_copied_files, self._core.files)
        unsent = {path.parts[-2:] for path in await self._core.read_with_retry(deliveries.unsent_files)}
        for path in copied:
            if path.parts[-2:] not in unsent:
                await asyncio.to_thread(_delete_file, path)

    async def _serve(self, surface: Surface) -> None:
        """Send due deliveries of a surface, forever; sleep until one is enqueued or due."""
        wake = self._wakes[surface.name]
        sends: set[asyncio.Task[None]] = set()

        def done(task: asyncio.Task[None]) -> None:
            sends.discard(task)
            self._sends.discard(task)
            wake.set()

        async with asyncio.TaskGroup() as group:
            while True:
                wake.clear()
                async with self._claiming[surface.name]:
                    claimed, due = await self._claim(surface, PARALLEL - len(sends))
                    for delivery in claimed:
                        task = group.create_task(self.deliver(delivery, surface))
                        sends.add(task)
                        self._sends.add(task)
                        task.add_done_callback(done)
                await self._sleep(wake, None if len(sends) >= PARALLEL else due)

    async def _sleep(self, wake: asyncio.Event, due: int | None) -> None:
        """Sleep until a delivery is enqueued, sent or due."""
        wait = None if due is None else max(0.0, (due - self._core.clock.now()) / 1000)
        try:
            async with asyncio.timeout(wait):
                await wake.wait()
        except TimeoutError:
            return

    async def _claim(self, surface: Surface, free: int) -> tuple[list[Delivery], int | None]:
        """Claim the deliveries that can be sent now; also returns when the next one is due."""
        now = self._core.clock.now()
        owner = self._core.incarnation
        was_set_back = self._was_set_back()
        # With an idempotency window sending twice is harmless; recording the first send with the claim saves a commit.
        first_sent_at = now if surface.can.idempotency_window else None

        def body(tx: Tx) -> tuple[list[Delivery], int | None]:
            if was_set_back:
                deliveries.retry_now(tx, now)
            waiting = deliveries.next_to_send(tx, surface.name, free + 1)
            ready = [id for id, due in waiting[:free] if due <= now]
            claimed = [
                tx.attempt(partial(deliveries.claim_pending, tx, id, owner, first_sent_at), None) for id in ready
            ]
            next_due = waiting[len(ready)][1] if len(waiting) > len(ready) else None
            return [delivery for delivery in claimed if delivery is not None], next_due

        return await self._core.write_with_retry(body)

    def _was_set_back(self) -> bool:
        """Whether the clock was set back since the last call: due times are then too far in the future."""
        before, self._clock_offset = self._clock_offset, self._read_clock_offset()
        return self._clock_offset < before - SET_BACK

    def _read_clock_offset(self) -> float:
        return self._core.clock.now() / 1000 - self._core.clock.monotonic()

    async def _try(self, delivery: Delivery, surface: Surface) -> Receipt | NotSent | None:
        try:
            if delivery.edits is not None:
                return await self._edit(delivery, delivery.edits, surface)
            return await self._send(delivery, surface)
        except NotSent as failure:
            return failure
        except Exception as error:  # a bug of the surface: retry this delivery, go on with the others
            _log.exception("surface %s broke on delivery %s", surface.name, delivery.id)
            return InDoubt(say("deliveries.surface_failed", surface=surface.name, error=str(error)))

    async def _send(self, delivery: Delivery, surface: Surface) -> Receipt:
        outgoing = outgoing_of(delivery)
        if delivery.kind is DeliveryKind.ASK:
            is_silent = await self._core.read_with_retry(lambda tx: _is_asked_by_sub_agents(tx, delivery))
            outgoing = replace(outgoing, silent=is_silent)
        if delivery.in_doubt:
            return await self._resend(delivery, surface, outgoing)
        if delivery.first_sent_at is None:
            await self._record_first_send(delivery)
        if surface.can.headline:
            line = await self._core.read_with_retry(lambda tx: headline(tx, delivery))
            outgoing = replace(outgoing, headline=await self._localized(outgoing.conversation, line))
        crash.point("outbox.claimed-not-sent")
        return await self._send_or_explain(outgoing, surface)

    async def _edit(self, delivery: Delivery, earlier: str, surface: Surface) -> Receipt | None:
        """Edit an earlier message; idempotent. None: there is nothing to edit."""
        receipt = await self._receipt(earlier)
        if receipt is not None and await self._is_answer(receipt):
            return None  # `_resend` has edited it into the answer
        if receipt is not None and surface.can.edit:
            async with self._core.editing(receipt):  # an edit of the placeholder may be on its way
                await surface.edit(receipt, outgoing_of(delivery))
            crash.point("outbox.edited-not-recorded")
        return receipt

    async def _resend(self, delivery: Delivery, surface: Surface, outgoing: Outgoing) -> Receipt:
        """Send a delivery that may have arrived already."""
        age = (self._core.clock.now() - (delivery.first_sent_at or 0)) / 1000
        window = surface.can.idempotency_window
        if 0 <= age < window or window == inf:  # an infinite window does not depend on the clock
            return await self._send_or_explain(replace(outgoing, again=True), surface)
        if surface.can.read_back:
            return await surface.find(outgoing) or await self._send_or_explain(outgoing, surface)
        placeholder = await self._placeholder(delivery)
        recovered = await self._noted(outgoing, chat_messages.RECOVERED)
        if placeholder is not None and surface.can.edit and await _edit_into_answer(placeholder, recovered, surface):
            return placeholder
        return await self._send_or_explain(await self._noted(outgoing, chat_messages.POSSIBLE_REPEAT), surface)

    async def _send_or_explain(self, outgoing: Outgoing, surface: Surface) -> Receipt:
        """Send. Instead of a file that cannot be read or that the platform refuses, send a line that says so."""
        if outgoing.file is None:
            return await surface.send(outgoing)
        try:
            return await surface.send(outgoing)
        except Never as refused:
            why = refused.reason
        except OSError as error:
            if str(error.filename) != outgoing.file.path:  # the network's, or the surface's own
                raise
            why = (
                chat_messages.FILE_GONE
                if isinstance(error, FileNotFoundError)
                else error.strerror or chat_messages.FILE_GONE
            )
        line = await self._localized(outgoing.conversation, chat_messages.file_stays(outgoing.file.name, why))
        return await surface.send(replace(outgoing, file=None, text=line))

    async def _noted(self, outgoing: Outgoing, note: str) -> Outgoing:
        said = await self._localized(outgoing.conversation, note)
        return replace(outgoing, note=f"{outgoing.note} {said}".strip())

    async def _localized(self, where: Conversation, text: str) -> str:
        return await self._core.read_with_retry(lambda tx: localized(tx, self._core, where, text))

    async def _placeholder(self, delivery: Delivery) -> Receipt | None:
        if delivery.kind is not DeliveryKind.FINAL or delivery.part != 1:
            return None  # only the first part of an answer may replace the placeholder
        return _receipt_of(await self._core.read_with_retry(lambda tx: placeholder_of(tx, delivery)))

    async def _receipt(self, name: str) -> Receipt | None:
        return _receipt_of(await self._core.read_with_retry(lambda tx: deliveries.get(tx, name)))

    async def _is_answer(self, receipt: Receipt) -> bool:
        where, id = receipt.conversation, receipt.message_id
        return await self._core.read_with_retry(lambda tx: deliveries.is_answer(tx, where, id))

    async def _record_first_send(self, delivery: Delivery) -> None:
        """Record the time before sending: if we die from here on, it is unknown whether it arrived."""
        now = self._core.clock.now()
        await self._core.write_with_retry(lambda tx: deliveries.record_first_send(tx, delivery, now))

    def _sent(self, tx: Tx, delivery: Delivery, receipt: Receipt) -> None:
        now = self._core.clock.now()
        if deliveries.record_sent(tx, delivery, receipt.message_id, now, receipt.conversation):
            tx.log(delivery.thread, delivery.turn, now, DeliverySent(delivery.id))
            if delivery.kind is DeliveryKind.HANDOFF:
                tx.attempt(partial(self._on_handoff_sent, tx, delivery, receipt.conversation), None)

    def _not_sent(self, tx: Tx, delivery: Delivery, failure: NotSent) -> None:
        now = self._core.clock.now()
        if isinstance(failure, Never):
            deliveries.record_failed(tx, delivery, failure.reason)
            tx.log(delivery.thread, delivery.turn, now, DeliveryFailed(delivery.id, failure.reason))
            if delivery.kind is DeliveryKind.HANDOFF:
                tx.attempt(partial(self._on_handoff_refused, tx, delivery, failure.reason), None)
            if delivery.kind in _NEEDED or delivery.part is not None:
                is_gone = isinstance(failure, Gone)
                tx.attempt(partial(self._on_refused, tx, self._core, delivery, is_gone), None)
            return
        in_doubt = isinstance(failure, InDoubt) or delivery.in_doubt
        due = now + int(self._wait(delivery, failure) * 1000)
        deliveries.postpone(tx, delivery, due, failure.reason, in_doubt=in_doubt, uncounted=isinstance(failure, Down))

    def _wait(self, delivery: Delivery, failure: NotSent) -> float:
        if failure.retry_after is not None:
            return min(failure.retry_after, LONGEST_RETRY_AFTER)
        name = delivery.conversation.surface if delivery.conversation else ""
        tried = self._downs.get(name, 1) if isinstance(failure, Down) else delivery.attempts
        steps = min(tried - 1, 10)
        return float(min(LONGEST_WAIT, 2.0**steps) * (0.5 + self._core.clock.random() / 2))

    async def _refuse_unknown(self) -> None:
        """Fail the deliveries to surfaces that are no longer configured, with that reason."""

        def body(tx: Tx) -> None:
            for name in deliveries.surfaces_pending(tx):
                if name not in self._core.surfaces:
                    deliveries.fail_all(tx, name, chat_messages.surface_gone(name))

        await self._core.write_with_retry(body)


def _copied_files(files: Path) -> list[Path]:
    """Empty if they cannot be listed."""
    try:
        return [path for folder in files.glob(f"{FOLDER}*") for path in folder.iterdir()]
    except OSError as error:
        _log.warning("the files in %s cannot be listed: %s", files, error)
        return []


def _delete_file(kept: Path) -> None:
    try:
        delete(kept)
    except OSError as error:  # harmless
        _log.warning("%s is not needed any more, but cannot be deleted: %s", kept, error)


async def _edit_into_answer(placeholder: Receipt, recovered: Outgoing, surface: Surface) -> bool:
    """Edit the placeholder into the answer. False: it does not exist any more (people can delete messages)."""
    try:
        await surface.edit(placeholder, recovered)
    except Never:
        return False
    crash.point("outbox.edited-not-recorded")
    return True


def _is_asked_by_sub_agents(tx: Tx, card: Delivery) -> bool:
    """Whether all gates that it shows are those of sub-agents, which never ring."""
    own = gates.get(tx, card.gate) if card.gate is not None else None
    shown = gates.on_card(tx, card.id) or ([own] if own is not None else [])
    return bool(shown) and all(gate.asked.agents for gate in shown)


def outgoing_of(delivery: Delivery) -> Outgoing:
    assert delivery.conversation is not None, delivery.id
    return Outgoing(
        delivery.id,
        delivery.kind,
        delivery.conversation,
        delivery.thread,
        delivery.turn,
        delivery.body,
        delivery.note,
        delivery.buttons,
        delivery.file,
        reply_to=delivery.reply_to,
    )


def _receipt_of(row: Delivery | None) -> Receipt | None:
    if row is None or row.message_id is None or row.conversation is None:
        return None
    return Receipt(row.conversation, row.message_id)
