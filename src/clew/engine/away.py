"""Follow me: while the person is away, what only the desk would show goes to where they are."""

from __future__ import annotations

from clew.engine import cards
from clew.engine.core import Core
from clew.engine.owing import owed_to
from clew.model import Conversation
from clew.store import Tx, gates, places, threads, turns


def go(tx: Tx, core: Core, where: Conversation) -> None:
    """From now on; and what waits for an answer is asked there at once."""
    now = core.clock.now()
    places.set_away(tx, where, now)
    tx.log("", None, "person.away", now, where=str(where))
    for gate in gates.all_open(tx):
        thread, turn = threads.get(tx, gate.thread), turns.get(tx, gate.turn)
        if gate.card is None and thread is not None and turn is not None and owed_to(tx, core, thread, turn) == where:
            cards.show(tx, core, thread, turn, gate)


def back(tx: Tx, core: Core) -> bool:
    """False: they were not away. What was asked there can still be answered there."""
    if not places.come_back(tx):
        return False
    tx.log("", None, "person.back", core.clock.now())
    return True
