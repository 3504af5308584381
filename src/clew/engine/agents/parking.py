"""Parks a thread whose agent's account is at its usage limit, and says when it goes on. Only a refusal that the agent
reported as such counts. A turn that never began is queued again; one that had acted is continued after the wait.

While an account refuses turns, others that need it wait too, without asking the model. As long as no account does,
nothing is looked up."""

from __future__ import annotations

from collections.abc import Callable

from msgspec.structs import replace

from clew.engine.account_limits import asking_until, is_asking, record_asking, stored_refusal
from clew.engine.agents.choices import limit_waits, on_limit, wait_for, waits_with
from clew.engine.agents.fallback import cannot_work
from clew.engine.core import Core
from clew.engine.delivery import placeholder
from clew.engine.seams import ContinueLater, FailedTurn, Recourse, SendAgain
from clew.engine.turns.parked import Wait, park
from clew.model.events import NoticeKind
from clew.model.events.accounts import Refusal
from clew.model.events.logged import RuntimeNotice
from clew.model.threads import Thread, ThreadStatus
from clew.model.turns import USAGE_LIMIT, Origin, Turn
from clew.store import Tx
from clew.store.tables import parked, threads, turns
from clew.support import crash
from clew.texts import limit_messages


class Parking:
    """A guard of claims and a handler of failures."""

    def __init__(self, core: Callable[[], Core]) -> None:
        self._core_of = core

    # A turn failed

    def instead_of_failing(self, tx: Tx, failed: FailedTurn) -> Recourse | None:
        thread, turn = failed.thread, failed.turn
        refusals = _refusals(tx, self._core_of(), failed)
        if not refusals or self._never_waits(thread, turn) or thread.status is not ThreadStatus.IDLE:
            return None
        if failed.has_acted:
            self._park(tx, thread, turn, refusals[turn.runtime])
            crash.point("limits.parked")
            return ContinueLater()
        first, found = min(refusals.items(), key=lambda item: item[1].wake_at)
        if found.is_short:
            self._tell_short(tx, turn, limit_messages.short(first, found.wake_at))
        else:
            self._park(tx, thread, replace(turn, runtime=first), found)
        turns.set_tried(tx, turn.id, ())  # after the wait each may be asked again
        crash.point("limits.parked")
        return SendAgain(first)

    def _never_waits(self, thread: Thread, turn: Turn) -> bool:
        return on_limit(self._core_of(), thread) == "never" or turn.origin is Origin.GREETING

    def _park(self, tx: Tx, thread: Thread, turn: Turn, found: Refusal) -> None:
        core = self._core_of()
        now, agent = core.clock.now(), turn.runtime
        waits, asks_always = waits_with(thread, found, now), on_limit(core, thread) == "ask"
        if asks_always or waits.count > limit_waits(core, thread):
            why = limit_messages.asks(agent, found.wake_at, now, 0 if asks_always else waits.count)
            park(tx, core, thread, turn, Wait(None, why, why), waits)
        else:
            park(tx, core, thread, turn, wait_for(core, thread, agent, found), waits)

    def _tell_short(self, tx: Tx, turn: Turn, words: str) -> None:
        """Say why nothing happens, without another message."""
        core = self._core_of()
        tx.log(turn.thread, turn.id, core.clock.now(), RuntimeNotice(words, NoticeKind.WARNING))
        placeholder.show_words(tx, core, turn, words)

    # A turn would start

    def holds_back(self, tx: Tx, thread: str) -> bool:
        refusals = self._core_of().refusals
        if not refusals:
            return False
        turn = turns.claimable(tx, thread, self._core_of().clock.now())
        found = (
            stored_refusal(tx, self._core_of(), turn.runtime) if turn is not None and turn.runtime in refusals else None
        )
        row = threads.get(tx, thread) if found is not None else None
        if turn is None or found is None or row is None:
            return False
        return not parked.may_try(tx, thread) and self._waits(tx, row, turn, found)

    def _waits(self, tx: Tx, thread: Thread, turn: Turn, found: Refusal) -> bool:
        """Whether the next turn of an idle thread has to wait for its account. If the account's time has passed, one
        turn asks it, and the others wait for what becomes of that. `waking` looks at those again that are not
        parked."""
        core = self._core_of()
        if found.wake_at <= core.clock.now():
            if asking_until(tx, core, turn.runtime) is not None:
                return not is_asking(tx, turn.runtime, thread.id)
            record_asking(tx, core, turn.runtime, thread.id)
            return False
        if found.is_short:
            return True
        if self._never_waits(thread, turn):
            return False
        self._park(tx, thread, turn, found)
        return True


def _refusals(tx: Tx, core: Core, failed: FailedTurn) -> dict[str, Refusal]:
    """The accounts that refused this turn. If its agent could not work at all, those that were tried before it."""
    turn, is_refused = failed.turn, failed.problem.code == USAGE_LIMIT
    if failed.has_acted:
        names: tuple[str, ...] = (turn.runtime,) if is_refused else ()
    else:
        tried = turn.tried if cannot_work(failed.problem.code) else ()
        names = (*tried, turn.runtime) if is_refused else tried
    return {name: found for name in names if (found := stored_refusal(tx, core, name)) is not None}
