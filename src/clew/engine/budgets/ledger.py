"""Writes down what each turn used, in the transaction that ends it: one statement, however long the history is."""

from __future__ import annotations

from collections.abc import Sequence

from clew.engine.budgets.limits import day_of, payers
from clew.engine.seams import EndedTurn
from clew.model.budgets import BudgetScope, Payer, Spent
from clew.model.turns import Turn, Usage
from clew.store import Tx
from clew.store.tables import gates, usage
from clew.support.clock import Clock

_NOTHING = Usage()


class Ledger:
    """A listener of a turn's end."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._since = clock.now()  # this daemon began

    def turn_ended(self, tx: Tx, ended: EndedTurn) -> None:
        now, turn, used = self._clock.now(), ended.turn, ended.usage or _NOTHING
        day = day_of(now)
        spent = Spent(
            turns=1,
            tokens=used.total_tokens,
            input_tokens=used.input_tokens,
            cached_input_tokens=used.cached_input_tokens,
            output_tokens=used.output_tokens,
            time=self._working_time(tx, turn, now),
            cost=used.reported_cost,
        )
        own_day = Payer(BudgetScope.THREAD, turn.thread, day)  # beside its whole life
        usage.add(tx, (*payers(turn, day), own_day), turn.runtime, ended.thread.model or "", spent)

    def _working_time(self, tx: Tx, turn: Turn, now: int) -> int:
        """Without the time at gates. Of a turn that an earlier daemon began, only the time under this one: nobody knows
        how long it worked while no daemon ran."""
        is_taken_over = turn.generation > turn.attempts
        begin = turn.started_at if turn.started_at is not None else now
        begin = max(begin, self._since) if is_taken_over else begin
        return max(0, now - begin - overlap(gates.waits_of_turn(tx, turn.id, now), begin, now))


def overlap(spans: Sequence[tuple[int, int]], begin: int, end: int) -> int:
    """How much of the time from `begin` to `end` these spans cover together. Pure."""
    covered, at = 0, begin
    for since, until in sorted(spans):
        since, until = max(since, at), min(until, end)
        if until > since:
            covered, at = covered + until - since, until
    return covered
