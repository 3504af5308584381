"""Late writes: what a dead daemon was about to write arrives after the next one has taken over. Its lease is old, so
none of it may have an effect. It uses no step and no random number of the story."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from clew.model.delivery import Delivery, DeliveryState
from clew.model.messages import Conversation
from clew.model.turns import Turn, TurnState
from clew.store import Tx
from clew.store.sqlite.driver import SqliteConnection
from clew.store.tables import deliveries, turns


class Late:
    """Made after a daemon's death, from what it held."""

    def __init__(self, connection: SqliteConnection) -> None:
        self._connection = connection
        tx = Tx(connection)
        self._turns = turns.all_live(tx)
        owed = deliveries.outstanding(tx, 10_000)
        self._sending = {row.id: row for row in owed if row.state is DeliveryState.SENDING}

    def ends(self) -> None:
        """Write that its turns have ended."""
        for turn in self._turns:
            self._write(partial(_end, turn=turn))

    def receipt(self, delivery: str) -> None:
        """Write that it has sent this delivery, while the next daemon sends it."""
        if (row := self._sending.pop(delivery, None)) is not None:
            self._write(partial(_sent, row=row))

    def _write(self, body: Callable[[Tx], object]) -> None:
        self._connection.raw.execute("BEGIN IMMEDIATE")
        body(Tx(self._connection))
        self._connection.raw.execute("COMMIT")


def _end(tx: Tx, turn: Turn) -> None:
    turns.end(tx, turn, TurnState.COMPLETED, turn.queued_at, turn.request_node or "", None, None)


def _sent(tx: Tx, row: Delivery) -> None:
    deliveries.record_sent(tx, row, "never", row.created_at, row.conversation or Conversation("simulated"))
