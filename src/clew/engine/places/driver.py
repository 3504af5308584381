"""Tracks which conversation drives a thread. At most one binding does; if none, the local client. Speaking in a bound
conversation makes it the driver; a move also takes the running turn, the queue and the open questions along. The former
driver is notified once. It never opens a conversation (`handoff` does)."""

from __future__ import annotations

from clew.engine.core import Core
from clew.engine.delivery import placeholder
from clew.engine.delivery.enqueue import enqueue_notice
from clew.engine.gates import cards, suspension_prompt
from clew.model.events.logged import DriverChanged
from clew.model.messages import Conversation, Inbound
from clew.model.threads import Thread, ThreadStatus
from clew.store import Tx
from clew.store.tables import bindings, gates, turns
from clew.texts import handoff_messages


def record_speaker(tx: Tx, core: Core, thread: Thread, inbound: Inbound) -> None:
    """Make the sender's conversation the driver. Nothing else moves, since answers go to where they were asked for."""
    where, former = inbound.conversation, bindings.driver(tx, thread.id)
    is_bound = bindings.thread_at(tx, where) == thread.id
    if not is_bound and where.surface != core.local_surface:
        return  # quoting an old answer from another conversation does not change the driver
    if former == (where if is_bound else None):
        return
    bindings.set_driver(tx, where, thread.id)
    _notify_former(tx, core, thread, former, where, inbound.sender, f"{inbound.message_id}@{where}")


def move(tx: Tx, core: Core, thread: Thread, to: Conversation, by: str, name: str) -> Conversation | None:
    """Move the thread with all its open work to a conversation. Returns the former driver. `name`: id of the cause, for
    the id of the notice."""
    former, running = bindings.driver(tx, thread.id), turns.live(tx, thread.id)
    bindings.set_driver(tx, to, thread.id)
    turns.redirect_answers(tx, thread.id, to)
    cards.move(tx, core, thread, to, gates.open_in(tx, thread.id))
    if running is not None:
        placeholder.move(tx, core, running, to)
    if thread.status is ThreadStatus.SUSPENDED:
        suspension_prompt.move(tx, core, thread, to)
    if former != to:
        _notify_former(tx, core, thread, former, to, by, name)
    return former


def _notify_former(
    tx: Tx, core: Core, thread: Thread, former: Conversation | None, to: Conversation, by: str, name: str
) -> None:
    text = handoff_messages.taken_up(by, to.surface, core.local_surface)
    if former is not None and former != to:
        enqueue_notice(tx, core, former, text, f"{name}:wheel", thread.id)
    tx.log(thread.id, None, core.clock.now(), DriverChanged(to.surface, by))


def drive_locally(tx: Tx, core: Core, thread: Thread, by: str) -> None:
    """Make the local client the driver, if a conversation is."""
    if bindings.driver(tx, thread.id) is not None:
        move(tx, core, thread, Conversation(core.local_surface), by, core.clock.ulid())
