"""What turns have used, and the budgets that hold today: what the HTTP API and the page ask for. It changes only the
limits of one thread."""

from __future__ import annotations

from datetime import date
from itertools import groupby

from clew.engine.budgets.limits import LIFE, Limits, configured, day_of, with_changes
from clew.engine.budgets.prices import MILLION, estimate
from clew.engine.core import Core
from clew.engine.threads.lookup import existing_thread
from clew.model.budgets import BudgetRow, BudgetScope, Measure, Payer, Spent, UsageRow, UsageView
from clew.model.events.logged import SettingsChanged
from clew.store import Tx
from clew.store.tables import people, threads, usage
from clew.store.tables.usage import ModelUsage
from clew.support.durations import parse_duration
from clew.support.errors import BadInput
from clew.texts.catalogue import say

MOST = 500  # threads and persons whose budgets are shown
DAYS = 30 * 24 * 3600 * 1000  # milliseconds that a list by day goes back
LONGEST_LIMIT = 1 << 50


class UsageService:
    def __init__(self, core: Core) -> None:
        self._core = core

    async def show(self, by: BudgetScope, since: str | None) -> UsageView:
        """`since`: a day, or a length of time such as `7d`. Not given: today; of a list by day, the last 30."""
        now = self._core.clock.now()
        begin = self._begin(since, now) if since else day_of(now - DAYS if by is BudgetScope.DAY else now)
        return await self._core.store.read(lambda tx: self._view(tx, by, begin, day_of(now)))

    async def set_for_thread(self, thread: str, limits: dict[Measure, int | None], by: str) -> None:
        """Give a thread limits of its own. None: that of the config holds again."""
        for limit in limits.values():
            if limit is not None and not 0 < limit < LONGEST_LIMIT:
                raise BadInput(say("budgets.not_a_limit", limit=str(limit)))

        def body(tx: Tx) -> None:
            name, now = existing_thread(tx, thread).id, self._core.clock.now()
            for measure, limit in limits.items():
                usage.set_limit(tx, Payer(BudgetScope.THREAD, name, LIFE), measure, limit, by, now)
            tx.log(name, None, now, SettingsChanged(by, budget=listed(limits)))

        await self._core.store.write(body)

    def _begin(self, since: str, now: int) -> str:
        try:
            return date.fromisoformat(since).isoformat()
        except ValueError:
            pass
        try:
            return day_of(now - parse_duration(since))
        except (BadInput, OSError, OverflowError, ValueError):
            raise BadInput(say("budgets.not_a_day", since=repr(since[:40]))) from None

    def _view(self, tx: Tx, by: BudgetScope, since: str, today: str) -> UsageView:
        used = groupby(usage.since(tx, by, since), key=lambda each: each.name)
        rows = [self._row(tx, by, name, list(parts)) for name, parts in used]
        if by is not BudgetScope.DAY:
            rows.sort(key=lambda row: -row.tokens)
        return UsageView(by, since, tuple(rows), tuple(self._budgets(tx, today)))

    def _row(self, tx: Tx, by: BudgetScope, name: str, parts: list[ModelUsage]) -> UsageRow:
        spent = sum((part.spent for part in parts), Spent())
        return UsageRow(
            name=name,
            label=_label(tx, by, name),
            turns=spent.turns,
            tokens=spent.tokens,
            input_tokens=spent.input_tokens,
            cached_input_tokens=spent.cached_input_tokens,
            output_tokens=spent.output_tokens,
            time=spent.time,
            money=estimate(self._core.config.prices, [part for part in parts if not part.spent.cost]),
            reported=spent.cost / MILLION if spent.cost else None,
        )

    def _budgets(self, tx: Tx, today: str) -> list[BudgetRow]:
        of = self._payers(tx, today)
        usual = {(payer, measure): limit for payer in of for measure, limit in configured(self._core, payer).items()}
        limits = with_changes(usual, usage.all_limits(tx, today))
        return budget_rows(tx, usual, limits)

    def _payers(self, tx: Tx, today: str) -> list[Payer]:
        """Those who have a budget and used it today; every account that has one."""
        config = self._core.config.budgets
        seen = {
            scope: list(dict.fromkeys(each.name for each in usage.since(tx, scope, today)))[:MOST]
            for scope in (BudgetScope.THREAD, BudgetScope.PERSON)
        }
        return [
            Payer(BudgetScope.DAY, "", today),
            *(Payer(BudgetScope.ACCOUNT, name, today) for name in config.account),
            *(Payer(BudgetScope.PERSON, name, today) for name in seen[BudgetScope.PERSON]),
            *(Payer(BudgetScope.THREAD, name, LIFE) for name in seen[BudgetScope.THREAD]),
        ]


def budget_rows(tx: Tx, usual: Limits, limits: Limits) -> list[BudgetRow]:
    payers = list(dict.fromkeys(payer for payer, _ in limits))
    spent = usage.totals(tx, payers) if payers else {}
    return [
        BudgetRow(
            payer.scope,
            payer.name,
            measure,
            spent.get(payer, Spent()).of(measure),
            limit,
            usual.get((payer, measure)),
        )
        for (payer, measure), limit in limits.items()
    ]


def listed(limits: dict[Measure, int | None]) -> str:
    """`tokens=5000, turns=none`."""
    return ", ".join(f"{measure}={'none' if limit is None else limit}" for measure, limit in limits.items())


def _label(tx: Tx, by: BudgetScope, name: str) -> str:
    if by is BudgetScope.THREAD:
        thread = threads.get(tx, name)
        return thread.title if thread is not None else name
    surface, _, id = name.partition(":")
    person = people.get(tx, surface, id) if by is BudgetScope.PERSON and id else None
    return person.name if person is not None else name
