"""Gives a turn that its agent cannot begin to the next one of `threads.fallback`, with a notice. Only a turn that has
done nothing moves, to each agent at most once; the next turn of the thread begins on its own agent again. If an agent
failed after it had begun, a person is asked."""

from __future__ import annotations

from collections.abc import Callable

from clew.engine.account_limits import alternative, fallback_of, is_refusing, stored_refusal
from clew.engine.agents.choices import on_limit
from clew.engine.core import Core
from clew.engine.delivery.enqueue import enqueue_notice
from clew.engine.seams import AskPerson, FailedTurn, Recourse, SendAgain
from clew.model.events import NoticeKind
from clew.model.events.accounts import Refusal
from clew.model.events.logged import RuntimeNotice
from clew.model.threads import SuspendedBy, Thread, ThreadStatus
from clew.model.turns import USAGE_LIMIT, Origin, Turn
from clew.store import Tx
from clew.store.tables import threads, turns
from clew.support import crash
from clew.texts import limit_messages
from clew.texts.catalogue import say

# Its account, or the model behind it, did not work. What its person wrote or allowed is the same for every agent, so
# `bad_request`, `context_window`, `budget`, `policy` and `denials` move nothing.
CODES = frozenset(
    {
        *("not_logged_in", "no_credit", USAGE_LIMIT, "rate_limit", "overloaded"),
        *("connection", "model_error", "silence", "never_began"),
    }
)
# How codes of runtimes end that cannot work at all; `_refuses`: it runs, but refused what clew needs to begin a turn.
KINDS = ("_missing", "_too_old", "_exits", "_not_logged_in", "_refuses")


class Fallback:
    """A guard of claims and a handler of failures."""

    def __init__(self, core: Callable[[], Core]) -> None:
        self._core_of = core

    def instead_of_failing(self, tx: Tx, failed: FailedTurn) -> Recourse | None:
        core, thread, turn, problem = self._core_of(), failed.thread, failed.turn, failed.problem
        if not fallback_of(core, thread) or not cannot_work(problem.code) or turn.origin is Origin.GREETING:
            return None
        other = alternative(core, thread, turn)
        if other is None or thread.status is not ThreadStatus.IDLE:
            return None
        is_limit = problem.code == USAGE_LIMIT
        if failed.has_acted:
            waits = is_limit and on_limit(core, thread) != "never"  # `parking` lets it wait, with the other as a choice
            return None if waits else _ask(turn, problem.text, other)
        turns.set_tried(tx, turn.id, (*turn.tried, turn.runtime))
        self._tell(tx, thread, turn, stored_refusal(tx, core, turn.runtime) if is_limit else None, other, problem.text)
        crash.point("fallback.moved")
        return SendAgain(other)

    def holds_back(self, tx: Tx, thread: str) -> bool:
        """Never: a turn whose account refuses turns now begins on the next agent."""
        core = self._core_of()
        if not core.refusals:
            return False
        turn = turns.claimable(tx, thread, core.clock.now())
        row = threads.get(tx, thread) if turn is not None and is_refusing(core, turn.runtime) else None
        if turn is None or row is None or turn.continues is not None:
            return False
        if row.wake_at is None:
            self._move(tx, row, turn)
        return False

    def _move(self, tx: Tx, thread: Thread, turn: Turn) -> None:
        core = self._core_of()
        other = alternative(core, thread, turn)
        if other is None:
            return
        turns.move_to_runtime(tx, turn, other, (*turn.tried, turn.runtime))
        self._tell(tx, thread, turn, core.refusals.get(turn.runtime), other)
        crash.point("fallback.moved")

    def _tell(self, tx: Tx, thread: Thread, turn: Turn, found: Refusal | None, other: str, why: str = "") -> None:
        core = self._core_of()
        words = limit_messages.took_over(turn.runtime, found, why, other, core.clock.now())
        enqueue_notice(tx, core, turn.conversation, words, f"{turn.id}:after-{turn.runtime}", thread.id)
        tx.log(thread.id, turn.id, core.clock.now(), RuntimeNotice(words, NoticeKind.WARNING))


def cannot_work(code: str) -> bool:
    """Whether a problem says that the agent could not work at all."""
    return code in CODES or code.endswith(KINDS)


def _ask(turn: Turn, why: str, other: str) -> AskPerson:
    question = say("limits.failed_after_acting", agent=turn.runtime, why=why, next=other)
    return AskPerson(SuspendedBy.CUT, question)
