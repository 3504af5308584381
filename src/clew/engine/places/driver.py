"""The wheel of a thread: of the places that are bound to it one drives, and so does the desk where none does. Whoever
speaks takes the wheel; a move carries along what runs, what waits and what is asked. The place that drove before is
told, once. It never opens a place (`handoff` does)."""

from __future__ import annotations

from clew.engine.core import Core
from clew.engine.delivery import placeholder
from clew.engine.delivery.enqueue import enqueue_notice
from clew.engine.gates import cards, suspension_prompt
from clew.model.messages import Conversation, Inbound
from clew.model.threads import Thread, ThreadStatus
from clew.store import Tx
from clew.store.tables import bindings, gates, turns
from clew.texts import handoff_messages


def record_speaker(tx: Tx, core: Core, thread: Thread, inbound: Inbound) -> None:
    """Answers go to where they are asked, so nothing moves; only who drives does."""
    where, former = inbound.conversation, bindings.driver(tx, thread.id)
    is_bound = bindings.thread_at(tx, where) == thread.id
    if not is_bound and where.surface != core.local_surface:
        return  # a reply to an old answer, quoted from elsewhere, takes nothing from anybody
    if former == (where if is_bound else None):
        return
    bindings.set_driver(tx, where, thread.id)
    _tell(tx, core, thread, former, where, inbound.sender, f"{inbound.message_id}@{where}")


def move(tx: Tx, core: Core, thread: Thread, to: Conversation, by: str, name: str) -> Conversation | None:
    """All that is under way goes on there. Returns the place that drove before. `name` is of what moves it."""
    former, running = bindings.driver(tx, thread.id), turns.live(tx, thread.id)
    bindings.set_driver(tx, to, thread.id)
    turns.redirect_answers(tx, thread.id, to)
    cards.move(tx, core, thread, to, gates.open_in(tx, thread.id))
    if running is not None:
        placeholder.move(tx, core, running, to)
    if thread.status is ThreadStatus.SUSPENDED:
        suspension_prompt.move(tx, core, thread, to)
    if former != to:
        _tell(tx, core, thread, former, to, by, name)
    return former


def _tell(
    tx: Tx, core: Core, thread: Thread, former: Conversation | None, to: Conversation, by: str, name: str
) -> None:
    told = handoff_messages.taken_up(by, to.surface, core.local_surface)
    if former is not None and former != to:
        enqueue_notice(tx, core, former, told, f"{name}:wheel", thread.id)
    tx.log(thread.id, None, "thread.wheel", core.clock.now(), where=to.surface, by=by)


def drive_locally(tx: Tx, core: Core, thread: Thread, by: str) -> None:
    """Somebody comes back to it. Where nobody else drives, there is nothing to take."""
    if bindings.driver(tx, thread.id) is not None:
        move(tx, core, thread, Conversation(core.local_surface), by, core.clock.ulid())
