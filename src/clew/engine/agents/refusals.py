"""Records which accounts refuse turns because of their usage limits, and which work again. It decides nothing else."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from clew.engine.account_limits import record_refusal, record_success, stop_asking
from clew.engine.agents.choices import wait_in_line
from clew.engine.core import Core
from clew.engine.seams import EndedTurn, FailedTurn, Follow
from clew.engine.turns.parked import reschedule
from clew.model.turns import USAGE_LIMIT, TurnState
from clew.store import Tx
from clew.store.tables import parked, threads

SPREAD = 1_000  # milliseconds between two threads of an account that works again


class Refusals:
    """A handler of failures, the first of them, which rescues no turn; and a listener of ends."""

    def __init__(self, core: Callable[[], Core]) -> None:
        self._core_of = core

    def instead_of_failing(self, tx: Tx, failed: FailedTurn) -> None:
        if failed.problem.code == USAGE_LIMIT:
            record_refusal(tx, self._core_of(), failed.turn, failed.problem.until)
            parked.use_try(tx, failed.thread.id)

    def turn_ended(self, tx: Tx, ended: EndedTurn) -> None:
        if ended.state is TurnState.COMPLETED and ended.thread.limit_waits:
            parked.forget_waits(tx, ended.thread.id)
        if ended.thread.wake_at is not None and ended.follow in (Follow.ANSWER, Follow.SILENCE):
            parked.use_try(tx, ended.thread.id)  # a turn that was cut off showed nothing; its continuation may try too
        if ended.turn.runtime not in self._core_of().refusals:
            return
        stop_asking(tx, ended.turn.runtime, ended.thread.id)
        if ended.state is TurnState.COMPLETED:
            works_again(tx, self._core_of(), ended.turn.runtime, ended.thread.id)


def works_again(tx: Tx, core: Core, runtime: str, thread: str) -> None:
    """An account works, as a turn of this thread has shown. The threads that wait for it follow one by one."""
    record_success(tx, core, runtime, thread)
    now = core.clock.now()
    for number, waiting in enumerate(parked.parked_for(tx, runtime)):
        tx.attempt(partial(_follow, tx, core, waiting, runtime, now + number * SPREAD), None)


def _follow(tx: Tx, core: Core, name: str, runtime: str, at: int) -> None:
    thread = threads.get(tx, name)
    if thread is not None:
        reschedule(tx, core, thread, wait_in_line(core, thread, runtime, at))
