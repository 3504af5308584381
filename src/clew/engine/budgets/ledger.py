"""Writes down what each turn used, in the transaction that ends it: one statement, however long the history is."""

from __future__ import annotations

from collections.abc import Sequence

from clew.engine.budgets.limits import day_of, payers
from clew.engine.seams import EndedTurn
from clew.model.budgets import BudgetScope, Payer, Spent
from clew.model.threads import Thread
from clew.model.turns import Turn, Usage
from clew.store import Tx
from clew.store.tables import gates
from clew.store.tables import usage as ledger
from clew.support.clock import Clock

_NOTHING = Usage()


class Ledger:
    """A listener of a turn's end, and of attempts that were refused."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._since = clock.now()  # this daemon began

    def turn_ended(self, tx: Tx, ended: EndedTurn) -> None:
        self._add(tx, ended.thread, ended.turn, ended.usage, turns=1)

    def attempt_refused(self, tx: Tx, thread: Thread, turn: Turn, usage: Usage | None) -> None:
        """What a turn used that is sent again. It is counted as a turn when it ends."""
        self._add(tx, thread, turn, usage, turns=0)

    def _add(self, tx: Tx, thread: Thread, turn: Turn, usage: Usage | None, *, turns: int) -> None:
        """The model is known only of the thread's own agent: another one that took the turn uses its own."""
        now, used = self._clock.now(), usage or _NOTHING
        day, model = day_of(now), (thread.model or "") if turn.runtime == thread.runtime else ""
        spent = Spent(
            turns=turns,
            tokens=used.total_tokens,
            input_tokens=used.input_tokens,
            cached_input_tokens=used.cached_input_tokens,
            output_tokens=used.output_tokens,
            time=self._working_time(tx, turn, now),
            cost=used.reported_cost,
        )
        own_day = Payer(BudgetScope.THREAD, turn.thread, day)  # beside its whole life
        ledger.add(tx, (*payers(turn, day), own_day), turn.runtime, model, spent)

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
