"""Follows a conversation that got another address from its platform, such as a Telegram group that became a supergroup,
with everything that belongs to it: in one transaction. Doing it again changes nothing."""

from __future__ import annotations

import logging

from clew.engine.core import Core
from clew.engine.delivery import placeholder
from clew.engine.gates import cards, suspension_prompt
from clew.model.messages import Conversation
from clew.model.threads import ThreadStatus
from clew.store import Tx
from clew.store.tables import bindings, deliveries, gates, handoffs, places, threads, turns

_log = logging.getLogger(__name__)


def follow(tx: Tx, core: Core, old: Conversation, new: Conversation) -> None:
    """Move binding, settings, home, away mode, notices, turns, deliveries, handoffs and open questions. What was asked
    there is asked again, since messages at the old address can neither be edited nor answered."""
    places.move(tx, old, new)
    handoffs.move(tx, old, new)
    bound = bindings.move(tx, old, new)
    running = turns.move(tx, old, new)
    _move_gates(tx, core, old, new)
    for turn in running:
        placeholder.move(tx, core, turn, new)
    thread = threads.get(tx, bound) if bound is not None else None
    if thread is not None and thread.status is ThreadStatus.SUSPENDED:
        suspension_prompt.move(tx, core, thread, new)
    deliveries.move(tx, old, new)
    if thread is not None:
        _log.info("%s is %s now; thread %s goes on there", old, new, thread.id)


def _move_gates(tx: Tx, core: Core, old: Conversation, new: Conversation) -> None:
    for gate in gates.open_at(tx, old):
        thread = threads.get(tx, gate.thread)
        if thread is not None:
            cards.move(tx, core, thread, new, [gate])
