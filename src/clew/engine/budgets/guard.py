"""The one check before each turn: if a budget of it is used up, its thread is suspended with a question, and the turn
waits. It costs no statement while there are no budgets, and never stops what runs."""

from __future__ import annotations

from collections.abc import Sequence

from clew.engine.budgets import wording
from clew.engine.budgets.limits import has_budgets, may_pass, reached
from clew.engine.core import Core
from clew.engine.gates import suspension_prompt
from clew.engine.turns.completion import log_status
from clew.model.budgets import Reached
from clew.model.events.kinds import EventKind
from clew.model.threads import SuspendedBy, ThreadStatus
from clew.model.turns import Turn
from clew.store import Entry, Tx
from clew.store.tables import threads, turns, usage
from clew.support import crash


class BudgetGuard:
    """A guard of a claim."""

    def __init__(self, core: Core) -> None:
        self._core = core
        self._has_config = has_budgets(core.config.budgets)
        self._own: set[str] = set()  # threads that may have limits of their own

    async def load(self) -> None:
        """Called once, before any turn is claimed."""
        self._own |= await self._core.read_with_retry(usage.threads_with_limits)

    def committed(self, entries: Sequence[Entry]) -> None:
        """The store's listener."""
        changed = (entry for entry in entries if entry.kind == EventKind.THREAD_SETTINGS)
        self._own.update(entry.thread for entry in changed if entry.data.get("budget"))

    def holds_back(self, tx: Tx, thread: str) -> bool:
        if not self._has_config and thread not in self._own:
            return False
        turn = turns.claimable(tx, thread, self._core.clock.now())
        if turn is None or may_pass(tx, turn):
            return False
        used_up = reached(tx, self._core, turn)
        return bool(used_up) and self._suspend(tx, turn, used_up[0])

    def _suspend(self, tx: Tx, turn: Turn, used_up: Reached) -> bool:
        thread, question = threads.get(tx, turn.thread), wording.question(used_up)
        if thread is None or not threads.suspend(tx, turn.thread, SuspendedBy.BUDGET, question):
            return False
        log_status(tx, self._core, turn.thread, ThreadStatus.SUSPENDED)
        suspension_prompt.ask(tx, self._core, thread, turn, SuspendedBy.BUDGET, question)
        crash.point("budget.suspended")
        return True
