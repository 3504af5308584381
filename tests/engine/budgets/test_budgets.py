"""Budgets: what is written down, when a turn waits, and what the answers do."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from clew.config.settings import Budget, BudgetsConfig, Config, ThreadsConfig, parse
from clew.engine.budgets.ledger import overlap
from clew.engine.budgets.limits import day_of
from clew.model.budgets import BudgetScope, Measure, Payer, Spent
from clew.model.messages import Person, Role
from clew.model.surface import SurfaceCan
from clew.store.tables import people, usage
from clew.support.clock import SystemClock
from clew.testing.scripted_model import script
from clew.testing.scripted_runtime import FileLedger, ScriptedRuntime
from tests.helpers.clocks import Ahead
from tests.helpers.rig import Rig, Room, patient

CHAT = SurfaceCan(chat=True, edit=True, buttons=8)


def limited(**budgets: Budget) -> Config:
    return replace(patient(), budgets=BudgetsConfig(**budgets))  # type: ignore[arg-type]


async def spent(rig: Rig, scope: BudgetScope, name: str, day: str | None = None) -> Spent:
    payer = Payer(scope, name, day_of(rig.clock.now()) if day is None else day)
    return (await rig.store.read(lambda tx: usage.totals(tx, [payer]))).get(payer, Spent())


async def suspended(rig: Rig, thread: str | None) -> str:
    """Wait until the thread asks about its budget. Returns the question."""
    await rig.until(
        lambda entry: entry.kind == "thread.status" and entry.thread == thread and entry.data["status"] == "suspended"
    )
    view = await rig.engine.threads.get(thread or "")
    assert view.suspended_by == "budget"
    return view.suspend_message or ""


async def test_each_turn_is_counted_once_for_each_scope(tmp_path: Path) -> None:
    async with Rig(tmp_path) as rig:
        first = await rig.say("!text one")
        await rig.ended(first.turn)
        turn = await rig.ended((await rig.say("!text two")).turn)
        tokens = turn.usage.total_tokens if turn.usage else 0
        for scope, name, day in (
            (BudgetScope.DAY, "", None),
            (BudgetScope.ACCOUNT, "scripted", None),
            (BudgetScope.PERSON, "ann", None),
            (BudgetScope.THREAD, first.thread or "", None),
            (BudgetScope.THREAD, first.thread or "", ""),
        ):
            counted = await spent(rig, scope, name, day)
            assert (counted.turns, counted.tokens) == (2, 2 * tokens), scope


async def test_without_budgets_the_guard_runs_no_statement(tmp_path: Path) -> None:
    async with Rig(tmp_path) as rig:
        guard = rig.engine._budget_guard
        assert guard.holds_back(None, "thread") is False  # type: ignore[arg-type]


async def test_a_turn_above_the_budget_waits_with_a_question(tmp_path: Path) -> None:
    async with Rig(tmp_path, config=limited(thread=Budget(turns=1)), room=Room(can=CHAT)) as rig:
        await rig.allow("7")
        await rig.ended((await rig.say("!text one", sender_id="7")).turn)
        waits = await rig.say("!text two", sender_id="7")
        question = await suspended(rig, waits.thread)
        await rig.delivered(f"{waits.turn}:budget")
        assert "The budget of this thread is used up: 1 turns of 1 turns." in question
        assert [button.says for button in rig.room.sent[-1].buttons] == ["go on", "raise", "stop"]
        assert (await rig.engine.threads.turn(waits.turn or "")).state == "queued"


async def test_go_on_is_for_one_turn_only(tmp_path: Path) -> None:
    async with Rig(tmp_path, config=limited(thread=Budget(turns=1))) as rig:
        await rig.ended((await rig.say("!text one")).turn)
        second = await rig.say("!text two")
        await suspended(rig, second.thread)
        said = await rig.say("go on")
        assert (said.fate, said.turn) == ("answer", second.turn)
        assert (await rig.ended(second.turn)).text == "two"
        third = await rig.say("!text three")
        await rig.delivered(f"{third.turn}:budget")
        assert (await rig.engine.threads.get(second.thread or "")).suspended_by == "budget"
        assert (await rig.engine.threads.turn(third.turn or "")).state == "queued"


async def test_raise_doubles_the_limit_until_there_is_room_and_frees_other_threads(tmp_path: Path) -> None:
    async with Rig(tmp_path, config=limited(day=Budget(turns=1))) as rig:
        await rig.ended((await rig.say("!text one", room="a")).turn)
        here, there = await rig.say("!text two", room="a"), await rig.say("!text three", room="b")
        await suspended(rig, here.thread)
        await suspended(rig, there.thread)
        said = await rig.say("raise", room="a")
        assert "2 turns" in said.words
        ended = {(await rig.ended(here.turn)).state, (await rig.ended(there.turn)).state}
        assert ended == {"completed"}
        day = Payer(BudgetScope.DAY, "", day_of(rig.clock.now()))
        assert await rig.store.read(lambda tx: usage.limits(tx, [day])) == {(day, Measure.TURNS): 2}


async def test_stop_drops_the_turn_and_the_next_one_asks_anew(tmp_path: Path) -> None:
    async with Rig(tmp_path, config=limited(thread=Budget(turns=1))) as rig:
        await rig.ended((await rig.say("!text one")).turn)
        second = await rig.say("!text two")
        await suspended(rig, second.thread)
        third = await rig.say("!text three")
        assert third.fate == "turn" and "waits behind" in third.words
        assert (await rig.say("stop")).fate == "answer"
        assert (await rig.ended(second.turn)).state == "interrupted"
        await rig.delivered(f"{third.turn}:budget")
        assert (await rig.engine.threads.turn(third.turn or "")).state == "queued"


async def test_only_an_owner_goes_above_a_budget(tmp_path: Path) -> None:
    driver = Person("room", "8", "bob", Role.DRIVER, 0, "test")
    async with Rig(tmp_path, config=limited(thread=Budget(turns=1)), room=Room(can=CHAT)) as rig:
        await rig.allow("7")
        await rig.store.write(lambda tx: people.add(tx, driver))
        await rig.ended((await rig.say("!text one", sender_id="8")).turn)
        waits = await rig.say("!text two", sender_id="8")
        await suspended(rig, waits.thread)
        assert [(await rig.say(word, sender_id="8")).fate for word in ("go on", "raise")] == ["refused", "refused"]
        assert (await rig.say("go on", sender_id="7")).fate == "answer"
        assert (await rig.ended(waits.turn)).text == "two"


async def test_a_budget_of_tokens_or_of_an_account_suspends_too(tmp_path: Path) -> None:
    for number, (budget, words) in enumerate(
        (
            ("thread.tokens = 10", "15 tokens of 10 tokens"),
            ("account.scripted.turns = 1", "1 turns of 1 turns"),
            ("account.scripted.tokens = 15", "15 tokens of 15 tokens"),
        )
    ):
        config = parse(f"[threads]\nruntime = 'scripted'\n[budgets]\n{budget}", "x")
        async with Rig(tmp_path / str(number), config=config) as rig:
            await rig.ended((await rig.say("!text one")).turn)
            waits = await rig.say("!text two")
            assert words in await suspended(rig, waits.thread)


async def test_an_account_that_is_used_up_does_not_hold_others(tmp_path: Path) -> None:
    config = parse("[threads]\nruntime = 'scripted'\n[budgets]\naccount.codex.turns = 1", "x")
    async with Rig(tmp_path, config=config) as rig:
        for text in ("!text one", "!text two"):
            assert (await rig.ended((await rig.say(text)).turn)).state == "completed"


async def test_a_budget_of_time_suspends_after_the_work_has_taken_it(tmp_path: Path) -> None:
    clock = Ahead()
    async with Rig(tmp_path, config=limited(day=Budget(time="2h")), clock=clock) as rig:
        for name in ("one", "two"):
            said = await rig.say(f"!hold {name}\n!text done")
            await rig.held(name)
            clock.ahead += 70 * 60_000
            rig.scripted.holds.release(name)
            assert (await rig.ended(said.turn)).state == "completed", "what runs is never stopped"
        waits = await rig.say("!text three")
        assert "2 h 20 min of work of 2 h 00 min of work" in await suspended(rig, waits.thread)


async def test_what_a_refused_attempt_used_is_counted_and_its_turn_once(tmp_path: Path) -> None:
    other = ScriptedRuntime(SystemClock(), FileLedger(tmp_path / "other"))
    other.play = lambda request: (script.Say("done"),)
    threads = ThreadsConfig(runtime="scripted", fallback=("scripted", "other"))
    async with Rig(tmp_path, config=replace(patient(), threads=threads), more={"other": other}) as rig:
        said = await rig.say("!error insufficient_quota")
        assert (await rig.ended(said.turn)).runtime == "other"
        refused, done = [await spent(rig, BudgetScope.ACCOUNT, name) for name in ("scripted", "other")]
        assert (refused.turns, refused.tokens) == (0, 15) and (done.turns, done.tokens) == (1, 15)
        whole = await spent(rig, BudgetScope.THREAD, said.thread or "", "")
        assert (whole.turns, whole.tokens) == (1, 30)


async def test_people_have_budgets_of_their_own(tmp_path: Path) -> None:
    async with Rig(tmp_path, config=limited(person=Budget(turns=1)), room=Room(can=CHAT)) as rig:
        await rig.allow("7")
        await rig.allow("8")
        await rig.ended((await rig.say("!text one", sender_id="7", room="a")).turn)
        waits = await rig.say("!text two", sender_id="7", room="a")
        await suspended(rig, waits.thread)
        other = await rig.say("!text three", sender_id="8", room="b")
        assert (await rig.ended(other.turn)).state == "completed"
        assert (await spent(rig, BudgetScope.PERSON, "room:8")).turns == 1


async def test_a_new_message_runs_once_there_is_room_again(tmp_path: Path) -> None:
    async with Rig(tmp_path, config=limited(day=Budget(turns=1))) as rig:
        await rig.ended((await rig.say("!text one")).turn)
        second = await rig.say("!text two")
        await suspended(rig, second.thread)
        await rig.store.write(lambda tx: tx.run("UPDATE usage_ledger SET day = '2000-01-01' WHERE day <> ''"))
        third = await rig.say("!text three")
        assert (await rig.ended(second.turn)).text == "two"
        await rig.delivered(f"{third.turn}:budget")  # one turn a day


async def test_a_pass_holds_for_the_turn_that_continues_it(tmp_path: Path) -> None:
    rig = Rig(tmp_path, config=limited(thread=Budget(turns=1)))
    async with rig:
        await rig.ended((await rig.say("!text one")).turn)
        cut = await rig.say("!hold here")
        await suspended(rig, cut.thread)
        await rig.say("go on")
        await rig.held("here")
        await rig.kill()
    async with Rig(tmp_path, config=limited(thread=Budget(turns=1))) as rig:
        await rig.until(lambda entry: entry.kind == "turn.ended" and entry.turn == cut.turn)
        view = await rig.engine.threads.get(cut.thread or "")
        assert view.suspended_by != "budget"


async def test_the_model_of_a_thread_is_counted_apart(tmp_path: Path) -> None:
    async with Rig(tmp_path) as rig:
        rig.scripted.play = lambda request: (script.Say("done"),)
        await rig.ended((await rig.start("go", model="tiny")).turn)
        rows = await rig.store.read(lambda tx: usage.since(tx, BudgetScope.ACCOUNT, "2000-01-01"))
        assert [(row.name, row.runtime, row.model, row.spent.turns) for row in rows] == [
            ("scripted", "scripted", "tiny", 1)
        ]


def test_time_at_gates_is_not_work() -> None:
    assert overlap([(10, 20), (15, 30), (90, 200)], 0, 100) == 30
    assert overlap([(-5, 5)], 0, 100) == 5
    assert overlap([], 0, 100) == 0


def test_budgets_are_read_from_the_config() -> None:
    text = '[budgets]\nday.tokens = 2000000\nthread.turns = 200\nperson.time = "4h"\naccount.codex.tokens = 5\n'
    config = parse(text, "config.toml").budgets
    assert (config.day.tokens, config.thread.turns, config.person.time) == (2_000_000, 200, "4h")
    assert config.account["codex"].tokens == 5
