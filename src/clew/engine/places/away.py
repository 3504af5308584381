"""Away mode: while the person is away, questions that only the local client would show go to a chat."""

from __future__ import annotations

from functools import partial

from clew.engine.core import Core
from clew.engine.delivery.enqueue import reachable_target
from clew.engine.gates import cards, suspension_prompt
from clew.model.events.logged import PersonAway, PersonBack
from clew.model.gates import Gate
from clew.model.messages import Conversation
from clew.model.threads import Thread, ThreadFilter, ThreadStatus
from clew.store import Tx
from clew.store.tables import bindings, gates, places, threads, turns

MAX_SUSPENDED = 100  # threads whose question is moved


def go(tx: Tx, core: Core, where: Conversation) -> None:
    """Turn away mode on, and ask open questions there at once."""
    now, before = core.clock.now(), places.away(tx)
    places.set_away(tx, where, now)
    tx.log("", None, now, PersonAway(str(where)))
    for gate in gates.all_open(tx):
        if gate.where in (None, before):
            tx.attempt(partial(_move_gate, tx, core, gate, where), None)
    for seen in threads.page(tx, ThreadFilter(status=ThreadStatus.SUSPENDED, limit=MAX_SUSPENDED)):
        if isinstance(seen.thread, Thread):
            tx.attempt(partial(_move_question, tx, core, seen.thread, where), None)


def _move_gate(tx: Tx, core: Core, gate: Gate, where: Conversation) -> None:
    thread, turn = threads.get(tx, gate.thread), turns.get(tx, gate.turn)
    if thread is None or turn is None:
        return
    if reachable_target(tx, core, thread, turn.conversation if gate.where else None) == where:
        cards.move(tx, core, thread, where, [gate])


def _move_question(tx: Tx, core: Core, thread: Thread, where: Conversation) -> None:
    if _asks_local_client(tx, core, thread, where):
        suspension_prompt.move(tx, core, thread, where)


def _asks_local_client(tx: Tx, core: Core, thread: Thread, where: Conversation) -> bool:
    """Whether the local client drives the thread, so that its question goes to `where` now."""
    is_here = bindings.driver(tx, thread.id) is None and reachable_target(tx, core, thread, None) == where
    return is_here and not suspension_prompt.asks_somebody_else(tx, thread.id)


def back(tx: Tx, core: Core) -> bool:
    """Turn away mode off; False if it was. Questions asked there can still be answered there."""
    if not places.come_back(tx):
        return False
    tx.log("", None, core.clock.now(), PersonBack())
    return True
