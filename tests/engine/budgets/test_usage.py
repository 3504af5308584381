"""What `GET /api/usage` and `/usage` show, limits of one thread, prices, and what is pruned."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import pytest
from msgspec.structs import replace

from clew.config.settings import Budget, Price
from clew.engine.budgets.limits import day_of
from clew.engine.budgets.prices import estimate
from clew.model.budgets import BudgetScope, Measure, Payer, Spent
from clew.store import Tx
from clew.store.tables import usage
from clew.store.tables.usage import ModelUsage
from clew.support.errors import BadInput
from tests.engine.budgets.test_budgets import CHAT, limited, suspended
from tests.helpers.rig import Rig, Room, patient


async def test_usage_is_added_up_by_thread_account_person_and_day(tmp_path: Path) -> None:
    async with Rig(tmp_path) as rig:
        first = await rig.say("!text one")
        await rig.ended(first.turn)
        await rig.ended((await rig.say("!text two", room="b")).turn)
        views = [await rig.engine.usage.show(by, None) for by in BudgetScope]
    shown = [[(row.label, row.turns) for row in view.rows] for view in views]
    assert sorted(shown[0]) == [("!text one", 1), ("!text two", 1)]
    assert shown[1:] == [[("ann", 2)], [("scripted", 2)], [(views[0].since, 2)]]


async def test_a_raised_budget_is_shown_with_its_usual_limit(tmp_path: Path) -> None:
    async with Rig(tmp_path, config=limited(day=Budget(turns=1))) as rig:
        await rig.ended((await rig.say("!text one")).turn)
        waits = await rig.say("!text two")
        await suspended(rig, waits.thread)
        await rig.say("raise")
        await rig.ended(waits.turn)
        [row] = (await rig.engine.usage.show(BudgetScope.ACCOUNT, None)).budgets
    assert (row.scope, row.measure, row.used, row.limit, row.usual) == ("day", "turns", 2, 2, 1)


async def test_a_thread_has_limits_of_its_own_also_after_a_restart(tmp_path: Path) -> None:
    async with Rig(tmp_path) as rig:
        first = await rig.say("!text one")
        await rig.ended(first.turn)
        await rig.engine.usage.set_for_thread(first.thread or "", {Measure.TURNS: 1}, "you")
        waits = await rig.say("!text two")
        assert "1 turns of 1 turns" in await suspended(rig, waits.thread)
        await rig.say("stop")
        await rig.ended((await rig.say("!text other", room="b")).turn)
        await rig.kill()
    async with Rig(tmp_path) as rig:
        await suspended(rig, (await rig.say("!text three")).thread)
        await rig.engine.usage.set_for_thread(first.thread or "", {Measure.TURNS: None}, "you")
        last = await rig.say("!text four")
        assert (await rig.ended(last.turn)).text == "four"


async def test_a_wrong_day_is_refused_with_an_example(tmp_path: Path) -> None:
    async with Rig(tmp_path) as rig:
        with pytest.raises(BadInput, match="is not a day"):
            await rig.engine.usage.show(BudgetScope.DAY, "yesterday")
        assert (await rig.engine.usage.show(BudgetScope.DAY, "2026-01-02")).since == "2026-01-02"


async def test_a_chat_shows_usage_and_budgets(tmp_path: Path) -> None:
    room = Room(can=replace(CHAT, prefix="/"))
    async with Rig(tmp_path, config=limited(thread=Budget(turns=5)), room=room) as rig:
        await rig.allow("7")
        await rig.ended((await rig.say("!text one", sender_id="7")).turn)
        words = (await rig.say("/usage", sender_id="7")).words
        assert "This thread: 1 turns" in words and "Budget of this thread: 1 turns of 5 turns" in words
        assert "本会话：1 轮" in (await rig.say("/用量", sender_id="7")).words


async def test_old_days_are_pruned_and_lives_of_threads_are_kept(tmp_path: Path) -> None:
    async with Rig(tmp_path, config=patient()) as rig:
        turn = await rig.ended((await rig.say("!text one")).turn)
        await rig.store.write(lambda tx: usage.prune(tx, "9999-01-01", 0))
        assert (await rig.engine.usage.show(BudgetScope.DAY, "2000-01-01")).rows == ()
        life = Payer(BudgetScope.THREAD, turn.thread, "")
        assert (await rig.store.read(lambda tx: usage.totals(tx, [life])))[life].turns == 1


async def test_what_agents_report_counts_more_than_an_estimate(tmp_path: Path) -> None:
    priced = dataclasses.replace(patient(), prices={"other": Price(input=1.0, output=1.0)})
    async with Rig(tmp_path, config=priced) as rig:
        payer = Payer(BudgetScope.DAY, "", day_of(rig.clock.now()))
        told = Spent(1, 2_000_000, 2_000_000, cost=1_250_000)
        untold = Spent(1, 3_000_000, 3_000_000)

        def add(tx: Tx) -> None:
            for runtime, spent in (("claude", told), ("claude", told), ("other", untold)):
                usage.add(tx, [payer], runtime, "", spent)

        await rig.store.write(add)
        [row] = (await rig.engine.usage.show(BudgetScope.DAY, None)).rows
    assert (row.money, row.reported, row.tokens) == (3.0, 2.5, 7_000_000)


def test_money_is_estimated_only_if_all_prices_are_known() -> None:
    spent = Spent(1, 3_000_000, 2_000_000, 1_000_000, 1_000_000, 0)
    prices = {"big": Price(input=2.0, output=10.0, cached_input=0.5), "codex": Price(input=1.0, output=1.0)}
    assert estimate(prices, [ModelUsage("x", "codex", "big", spent)]) == 12.5
    assert estimate(prices, [ModelUsage("x", "codex", "", spent)]) == 3.0
    assert estimate(prices, [ModelUsage("x", "other", "", spent), ModelUsage("x", "codex", "", spent)]) is None
    assert estimate(prices, []) is None
