"""What clew says about budgets. Pure functions."""

from __future__ import annotations

from collections.abc import Sequence

from clew.model.budgets import BudgetScope, Measure, Reached
from clew.support.coded import Text
from clew.support.display.as_code import plain_or_code
from clew.texts.catalogue import say

_QUESTIONS = {
    BudgetScope.THREAD: "budgets.thread_used_up",
    BudgetScope.PERSON: "budgets.person_used_up",
    BudgetScope.ACCOUNT: "budgets.account_used_up",
    BudgetScope.DAY: "budgets.day_used_up",
}


def question(used_up: Reached) -> Text:
    used, limit = amount(used_up.measure, used_up.used), amount(used_up.measure, used_up.limit)
    name = plain_or_code(used_up.payer.name)
    return say(_QUESTIONS[used_up.payer.scope], name=name, used=used, limit=limit)


def amount(measure: Measure, value: int) -> Text:
    match measure:
        case Measure.TOKENS:
            return say("budgets.tokens", count=f"{value:,}")
        case Measure.TURNS:
            return say("budgets.turns", count=f"{value:,}")
        case Measure.TIME:
            return _time(value // 1000)


def _time(seconds: int) -> Text:
    if seconds < 60:
        return say("budgets.seconds", seconds=seconds)
    if seconds < 3600:
        return say("budgets.minutes", minutes=seconds // 60)
    return say("budgets.hours", hours=seconds // 3600, minutes=f"{seconds % 3600 // 60:02}")


def raised(limits: Sequence[Reached]) -> Text:
    newest = limits[0]
    return say("budgets.raised", limit=amount(newest.measure, newest.limit))
