"""The next agent takes a turn that one cannot begin: once each, only if nothing ran, and only for that turn."""

from __future__ import annotations

import hashlib
from pathlib import Path

import pytest

from clew.config.settings import Config, ThreadsConfig
from clew.engine.agents.fallback import cannot_work
from clew.model.budgets import BudgetScope
from clew.model.runtime import Seat, Session
from clew.model.threads import ThreadSettings
from clew.store.tables import threads, turns, usage
from clew.support.clock import SystemClock
from clew.support.errors import RuntimeLost, RuntimeTrouble
from clew.testing.scripted_model import script
from clew.testing.scripted_runtime import FileLedger, ScriptedRuntime
from clew.testing.scripted_runtime.session import ScriptedSession
from tests.engine.agents.test_parking import HOUR, MINUTE, QUOTA, Limited

Steps = tuple[script.Step, ...]


class LoggedOut(RuntimeTrouble):
    code = "agent_not_logged_in"


class Other(ScriptedRuntime):
    """Another agent. `trouble`: why it cannot open a session."""

    def __init__(self, folder: Path, name: str, *steps: script.Step, trouble: RuntimeTrouble | None = None) -> None:
        super().__init__(SystemClock(), FileLedger(folder / name))
        self.trouble = trouble
        self.opened = 0
        self.steps: Steps = steps or (script.Say(f"by {name}"),)
        self.play = lambda request: self.steps

    async def open(self, seat: Seat) -> Session:
        self.opened += 1
        if self.trouble is not None:
            raise self.trouble
        return await super().open(seat)


def ordered(*names: str, **more: object) -> Config:
    return Config(threads=ThreadsConfig(runtime="scripted", fallback=names, **more))  # type: ignore[arg-type]


def rig_with(folder: Path, *others: Other, config: Config | None = None) -> Limited:
    names = [f"other{number}" for number, _ in enumerate(others)]
    given = dict(zip(names, others, strict=True))
    return Limited(folder, config=config or ordered("scripted", *names), more=given)


async def test_the_next_agent_takes_a_turn_at_the_limit_with_a_notice(tmp_path: Path) -> None:
    other = Other(tmp_path, "other")
    async with rig_with(tmp_path, other) as rig:
        said = await rig.say("go")
        turn = await rig.ended(said.turn)
        assert (turn.state, turn.text, turn.runtime) == ("completed", "by other", "other0")
        await rig.delivered(f"{said.turn}:after-scripted")
        assert any("scripted is at its limit until" in text and "other0 works on" in text for text in rig.room.texts)
        assert (await rig.thread(said.thread)).runtime == "scripted", "the person's choice stays"


async def test_what_is_known_to_be_at_its_limit_is_not_asked_and_comes_back_after(tmp_path: Path) -> None:
    other = Other(tmp_path, "other")
    async with rig_with(tmp_path, other) as rig:
        said = await rig.say("go")
        await rig.ended(said.turn)
        more = await rig.say("go on")
        assert (await rig.ended(more.turn)).runtime == "other0" and rig.asked == [said.turn]
        rig.pass_time(2 * HOUR + 4 * MINUTE)
        back = await rig.say("and now?")
        turn = await rig.ended(back.turn)
        assert (turn.runtime, turn.text) == ("scripted", "done")


async def test_each_agent_takes_a_turn_once_and_then_it_waits_for_the_first_that_is_free(tmp_path: Path) -> None:
    other = Other(tmp_path, "other", QUOTA)
    async with rig_with(tmp_path, other) as rig:
        other.free_at = rig.began + HOUR
        said = await rig.say("go")
        thread = await rig.parked(said.thread)
        (waiting,) = await rig.queue(said.thread)
        assert waiting.runtime == "other0" and thread.wake_at == rig.began + HOUR + 3 * MINUTE
        other.steps = (script.Say("by other"),)
        rig.pass_time(HOUR + 4 * MINUTE)
        assert (await rig.ended(said.turn)).text == "by other" and len(rig.asked) == 1


async def test_an_agent_that_cannot_start_is_passed_over(tmp_path: Path) -> None:
    out, lost = Other(tmp_path, "out", trouble=LoggedOut("log in")), Other(tmp_path, "lost", trouble=RuntimeLost("x"))
    last = Other(tmp_path, "last")
    async with rig_with(tmp_path, out, lost, last) as rig:
        said = await rig.say("go")
        turn = await rig.ended(said.turn)
        assert (turn.text, turn.runtime) == ("by last", "other2") and (out.opened, lost.opened) == (1, 2)


async def test_if_no_agent_can_begin_the_turn_fails_and_the_message_stays(tmp_path: Path) -> None:
    out = Other(tmp_path, "out", trouble=LoggedOut("log in"))
    async with rig_with(tmp_path, out, config=ordered("other0", "gone")) as rig:
        said = await rig.start("go", runtime="other0")
        turn = await rig.ended(said.turn)
        assert turn.state == "failed" and turn.error == "log in" and turn.request == "go"


async def test_an_agent_that_failed_after_it_acted_leaves_the_choice_to_a_person(tmp_path: Path) -> None:
    other = Other(tmp_path, "other")
    async with rig_with(tmp_path, other) as rig:
        rig.steps = (script.Shell("touch made"),)
        said = await rig.say("go")
        assert (await rig.ended(said.turn)).state == "interrupted"
        await rig.parked(said.thread)
        await rig.delivered(f"{said.turn}:limit")
        assert [button.says for button in rig.room.sent[-1].buttons] == ["now", "on other0", "stop"]
        assert other.opened == 0
        await rig.say("on other0")
        (again,) = [each for each in await rig.store.read(turns.all_rows) if each.continues == said.turn]
        turn = await rig.ended(again.id)
        assert (turn.text, turn.runtime) == ("by other", "other0") and len(rig.asked) == 1


async def test_a_thread_on_an_agent_outside_the_list_keeps_it(tmp_path: Path) -> None:
    other = Other(tmp_path, "other")
    async with rig_with(tmp_path, other, config=ordered("other0")) as rig:
        said = await rig.say("go")
        await rig.parked(said.thread)
        assert other.opened == 0


async def test_without_a_list_nobody_takes_over(tmp_path: Path) -> None:
    other = Other(tmp_path, "other")
    async with Limited(tmp_path, more={"other0": other}) as rig:
        said = await rig.say("go")
        await rig.parked(said.thread)
        row = await rig.store.read(lambda tx: threads.get(tx, said.thread or ""))
        assert other.opened == 0 and row is not None and row.wake_at is not None


async def test_if_those_behind_cannot_work_it_waits_for_the_one_at_its_limit(tmp_path: Path) -> None:
    out = Other(tmp_path, "out", trouble=LoggedOut("log in"))
    async with rig_with(tmp_path, out) as rig:
        said = await rig.say("go")
        await rig.parked(said.thread)
        (waiting,) = await rig.queue(said.thread)
        assert waiting.runtime == "scripted"
        rig.pass_time(2 * HOUR + 4 * MINUTE)
        turn = await rig.ended(said.turn)
        assert (turn.text, turn.runtime) == ("done", "scripted")


@pytest.mark.parametrize(
    ("code", "moves"),
    [
        *((f"{agent}_refuses", True) for agent in ("codex", "claude", "agent")),
        *((code, True) for code in ("connection", "model_error", "no_credit", "silence", "overloaded")),
        *((code, False) for code in ("bad_request", "context_window", "budget", "policy", "denials", "failed", "held")),
    ],
)
def test_what_says_that_an_agent_cannot_work(code: str, moves: bool) -> None:
    assert cannot_work(code) is moves


class Refuses(RuntimeTrouble):
    code = "agent_refuses"


async def test_an_agent_that_refuses_to_begin_is_passed_over(tmp_path: Path) -> None:
    odd, last = Other(tmp_path, "odd", trouble=Refuses("no such mode")), Other(tmp_path, "last")
    async with rig_with(tmp_path, odd, last, config=ordered("other0", "other1")) as rig:
        said = await rig.start("go", runtime="other0")
        assert (await rig.ended(said.turn)).runtime == "other1"


async def test_a_model_that_fails_before_anything_ran_is_passed_over(tmp_path: Path) -> None:
    busy, last = Other(tmp_path, "busy", script.Error("server_is_overloaded")), Other(tmp_path, "last")
    async with rig_with(tmp_path, busy, last, config=ordered("other0", "other1")) as rig:
        said = await rig.start("go", runtime="other0")
        assert (await rig.ended(said.turn)).runtime == "other1"


async def test_after_a_tool_any_such_trouble_asks_with_the_other_agent_as_a_choice(tmp_path: Path) -> None:
    other = Other(tmp_path, "other")
    async with rig_with(tmp_path, other) as rig:
        steps = (script.Shell("touch made"), script.Error("server_is_overloaded"))
        rig.scripted.play = lambda request: steps
        said = await rig.say("go")
        assert (await rig.ended(said.turn)).state == "interrupted"
        thread = await rig.until_thread(said.thread, lambda found: found.suspended_by == "cut")
        assert "failed after it had begun" in (thread.suspend_message or "") and other.opened == 0
        await rig.delivered(f"{said.turn}:ask")
        assert [button.says for button in rig.room.sent[-1].buttons] == ["continue", "on other0", "stop"]
        await rig.say("on other0")
        (again,) = [each for each in await rig.store.read(turns.all_rows) if each.continues == said.turn]
        turn = await rig.ended(again.id)
        assert (turn.text, turn.runtime) == ("by other", "other0")


async def test_at_a_limit_after_a_tool_a_thread_that_never_waits_asks(tmp_path: Path) -> None:
    other = Other(tmp_path, "other")
    config = ordered("scripted", "other0", on_limit="never")
    async with rig_with(tmp_path, other, config=config) as rig:
        rig.steps = (script.Shell("touch made"),)
        said = await rig.say("go")
        assert (await rig.ended(said.turn)).state == "interrupted"
        await rig.until_thread(said.thread, lambda found: found.suspended_by == "cut")
        await rig.delivered(f"{said.turn}:ask")
        assert [button.says for button in rig.room.sent[-1].buttons] == ["continue", "on other0", "stop"]


async def test_a_notice_invents_no_time(tmp_path: Path) -> None:
    other = Other(tmp_path, "other")
    config = ordered("scripted", "other0")
    async with Limited(tmp_path, None, config=config, more={"other0": other}) as rig:
        for _ in range(2):
            said = await rig.say("go")
            assert (await rig.ended(said.turn)).runtime == "other0"
            await rig.delivered(f"{said.turn}:after-scripted")
        told = [text for text in rig.room.texts if "works on" in text]
        assert len(told) == 2 and all("did not say until when; other0 works on" in text for text in told)


async def test_a_person_who_switched_by_hand_stays_where_they_are(tmp_path: Path) -> None:
    other = Other(tmp_path, "other")
    async with rig_with(tmp_path, other) as rig:
        said = await rig.say("go")
        await rig.ended(said.turn)
        await rig.engine.threads.change(said.thread or "", None, ThreadSettings(runtime="other0"))
        rig.pass_time(2 * HOUR + 4 * MINUTE)
        more = await rig.say("and now?")
        assert (await rig.ended(more.turn)).runtime == "other0", "though the first is free again"


async def test_half_an_answer_of_the_agent_that_failed_is_nowhere(tmp_path: Path) -> None:
    other = Other(tmp_path, "other")
    async with rig_with(tmp_path, other) as rig:
        rig.steps = (script.Say("half an answer"),)
        said = await rig.say("go")
        turn = await rig.ended(said.turn)
        assert turn.text == "by other"
        await rig.delivered(f"{said.turn}:final")
        transcript = await rig.engine.threads.transcript(said.thread or "", 100)
        shown = [*rig.room.texts, *(part.text for part in transcript), *(item.body for item in turn.items)]
        assert not any("half" in text for text in shown)


async def test_a_fallback_touches_no_memory_of_the_others(tmp_path: Path) -> None:
    other, third = Other(tmp_path, "other"), Other(tmp_path, "third")
    async with rig_with(tmp_path, other, third, config=ordered("scripted", "other0")) as rig:
        said = await rig.say("go")
        await rig.ended(said.turn)
        await rig.engine.threads.change(said.thread or "", None, ThreadSettings(runtime="other1"))
        await rig.ended((await rig.say("and you?")).turn)
        await rig.engine.threads.change(said.thread or "", None, ThreadSettings(runtime="scripted"))
        before = await memory(rig, said.thread or "", "other1")
        await rig.ended((await rig.say("go again")).turn)
        assert before == await memory(rig, said.thread or "", "other1")


async def memory(rig: Limited, thread: str, runtime: str) -> tuple[str, list[str]]:
    """Hashes of what a runtime keeps of a thread, and of what clew keeps of it."""
    files = sorted(path for path in (rig.folder / "third").rglob("*") if path.is_file())
    sql = "SELECT * FROM continuity WHERE thread = ? AND runtime = ?"
    rows = await rig.store.read(lambda tx: [repr(dict(row)) for row in tx.all(sql, thread, runtime)])
    assert files and rows
    return rows[0], [hashlib.sha256(path.read_bytes()).hexdigest() for path in files]


async def test_a_turn_of_another_agent_is_not_priced_by_the_model_of_the_thread(tmp_path: Path) -> None:
    other = Other(tmp_path, "other")
    async with rig_with(tmp_path, other) as rig:
        said = await rig.start("go", model="dear")
        assert (await rig.ended(said.turn)).runtime == "other0"
        used = await rig.store.read(lambda tx: usage.since(tx, BudgetScope.ACCOUNT, ""))
        assert ("other0", "") in {(each.runtime, each.model) for each in used if each.spent.turns}
        assert ("scripted", "dear") in {(each.runtime, each.model) for each in used if not each.spent.turns}


@pytest.mark.parametrize("is_over", [True, False])
async def test_another_agent_takes_the_turn_of_a_silent_one_only_if_that_is_over(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, is_over: bool
) -> None:
    """Two agents must not work in one folder: without a record of its end, a person decides."""
    other = Other(tmp_path, "other")
    async with rig_with(tmp_path, other) as rig:
        rig.scripted.play = lambda request: (script.Think("hm"), script.Hold("door"))
        said = await rig.say("go")
        await rig.held("door")
        if not is_over:
            monkeypatch.setattr(ScriptedSession, "record", no_record)
        rig.fall_silent(said.turn)
        turn = await rig.ended(said.turn)
        if is_over:
            assert (turn.runtime, turn.text) == ("other0", "by other")
        else:
            thread = await rig.until_thread(said.thread, lambda found: found.suspended_by == "cut")
            assert turn.state == "interrupted" and other.opened == 0 and thread.suspend_message


async def no_record(self: object, turn: str) -> None:
    return None
