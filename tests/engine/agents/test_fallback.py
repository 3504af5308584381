"""The next agent takes a turn that one cannot begin: once each, only if nothing ran, and only for that turn."""

from __future__ import annotations

from pathlib import Path

from clew.config.settings import Config, ThreadsConfig
from clew.model.runtime import Seat, Session
from clew.store.tables import threads, turns
from clew.support.clock import SystemClock
from clew.support.errors import RuntimeLost, RuntimeTrouble
from clew.testing.scripted_model import script
from clew.testing.scripted_runtime import FileLedger, ScriptedRuntime
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


def ordered(*names: str) -> Config:
    return Config(threads=ThreadsConfig(runtime="scripted", fallback=names))


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
