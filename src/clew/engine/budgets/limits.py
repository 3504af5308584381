"""Says whose usage a turn counts as, which budgets hold for it, and which of them are used up. It changes nothing but
limits that a person sets."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from functools import cache

from clew.config.settings import Budget, BudgetsConfig
from clew.engine.core import Core
from clew.model.budgets import BudgetScope, Measure, Payer, Reached
from clew.model.messages import CLEW
from clew.model.turns import Turn
from clew.store import Tx
from clew.store.tables import turns, usage
from clew.support.durations import parse_duration

Limits = Mapping[tuple[Payer, Measure], int]
LIFE = ""  # the day of a thread's whole life
_NONE = Budget()


def day_of(millis: int) -> str:
    """The day of this machine's time zone, such as `2026-11-18`."""
    return datetime.fromtimestamp(millis / 1000).astimezone().date().isoformat()


def person_of(turn: Turn) -> str:
    """Who asked for it; empty: nobody."""
    return next((said.person or said.author for said in turn.request if said.author != CLEW), "")


def payers(turn: Turn, day: str) -> tuple[Payer, ...]:
    """Whose budgets a turn uses, the narrowest first."""
    person = person_of(turn)
    return (
        Payer(BudgetScope.THREAD, turn.thread, LIFE),
        *([Payer(BudgetScope.PERSON, person, day)] if person else []),
        Payer(BudgetScope.ACCOUNT, turn.runtime, day),
        Payer(BudgetScope.DAY, "", day),
    )


def has_budgets(config: BudgetsConfig) -> bool:
    return config != BudgetsConfig()


def limits_of(tx: Tx, core: Core, of: tuple[Payer, ...]) -> Limits:
    """The config's limits, and those that a person set for a thread, or raised."""
    found = {(payer, measure): limit for payer in of for measure, limit in configured(core, payer).items()}
    return with_changes(found, usage.limits(tx, of))


def with_changes(configured: Limits, changed: Limits) -> Limits:
    """A thread's own limit replaces that of the config. A raised one holds only where there is one to raise."""
    own = {key: value for key, value in changed.items() if key[0].scope is BudgetScope.THREAD}
    raised = {key: max(value, configured[key]) for key, value in changed.items() if key in configured}
    return {**configured, **raised, **own}


def configured(core: Core, payer: Payer) -> Mapping[Measure, int]:
    config = core.config.budgets
    match payer.scope:
        case BudgetScope.THREAD:
            return _limits(config.thread)
        case BudgetScope.PERSON:
            return _limits(config.person)
        case BudgetScope.ACCOUNT:
            return _limits(config.account.get(payer.name, _NONE))
        case BudgetScope.DAY:
            return _limits(config.day)


@cache
def _limits(budget: Budget) -> Mapping[Measure, int]:
    found = {
        Measure.TOKENS: budget.tokens,
        Measure.TURNS: budget.turns,
        Measure.TIME: parse_duration(budget.time) if budget.time else None,
    }
    return {measure: limit for measure, limit in found.items() if limit is not None}


def reached(tx: Tx, core: Core, turn: Turn) -> list[Reached]:
    """The budgets of a turn that are used up. By primary keys only: the cost does not grow with history."""
    of = payers(turn, day_of(core.clock.now()))
    limits = limits_of(tx, core, of)
    if not limits:
        return []
    spent = usage.totals(tx, of)
    used = {(payer, measure): spent[payer].of(measure) for payer, measure in limits if payer in spent}
    return [
        Reached(payer, measure, used[payer, measure], limit)
        for (payer, measure), limit in limits.items()
        if used.get((payer, measure), 0) >= limit
    ]


def may_pass(tx: Tx, turn: Turn) -> bool:
    """Whether a person let this turn, or one that it continues, run above its budgets."""
    now: Turn | None = turn
    while now is not None:
        if usage.may_pass(tx, now.id):
            return True
        now = turns.get(tx, now.continues) if now.continues else None
    return False


def raise_limit(tx: Tx, core: Core, used_up: Reached, by: str) -> Reached:
    """Double a limit until it is above what is used. It holds until the day is over; of a thread, for good."""
    limit = used_up.limit
    while limit <= used_up.used:
        limit *= 2
    usage.set_limit(tx, used_up.payer, used_up.measure, limit, by, core.clock.now())
    return Reached(used_up.payer, used_up.measure, used_up.used, limit)
