"""What a daemon was about to write when it died arrives late, when the next one has taken over. A lease names who holds
it, and for which time: so none of it may change anything. It takes no step of the story and draws no lots."""

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
    """Made when a daemon is dead, of what it held then."""

    def __init__(self, connection: SqliteConnection) -> None:
        self._connection = connection
        tx = Tx(connection)
        self._turns = turns.all_live(tx)
        owed = deliveries.outstanding(tx, 10_000)
        self._sending = {row.id: row for row in owed if row.state is DeliveryState.SENDING}

    def ends(self) -> None:
        """That its turns are over."""
        for turn in self._turns:
            self._write(partial(_end, turn=turn))

    def receipt(self, delivery: str) -> None:
        """That it has sent this, while the next one sends it."""
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
