"""One thread, several agents: switching, what each is told, and that no memory is touched by another."""

from __future__ import annotations

import hashlib
import re
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from clew.config.settings import Config, ThreadsConfig, parse
from clew.model import history
from clew.model.messages import Fate
from clew.model.surface import SurfaceCan
from clew.model.threads import ThreadSettings
from clew.store.tables import nodes, preludes, threads, turns
from clew.support.clock import SystemClock
from clew.support.coded import with_code
from clew.support.errors import BadInput, NotFound, Refused
from clew.testing.scripted_model import script
from clew.testing.scripted_runtime import FileLedger, ScriptedRuntime
from clew.testing.scripted_runtime.ledger import Played
from clew.texts.bilingual import zh
from tests.helpers.rig import Rig, Room

CONFIG = Config(threads=ThreadsConfig(runtime="scripted"))


def other(folder: Path) -> ScriptedRuntime:
    return ScriptedRuntime(SystemClock(), FileLedger(folder / "other"))


def two_agents(folder: Path, **more: object) -> Rig:
    return Rig(folder, config=CONFIG, more={"other": other(folder)}, **more)  # type: ignore[arg-type]


@pytest.fixture
async def rig(tmp_path: Path) -> AsyncIterator[Rig]:
    async with two_agents(tmp_path, room=Room(can=SurfaceCan(chat=True, buttons=8))) as rig:
        await rig.allow("1")
        yield rig


async def say(rig: Rig, text: str) -> str:
    """Say it and return the thread."""
    accepted = await rig.say(text, sender_id="1")
    assert (await rig.ended(accepted.turn)).state == "completed"
    return accepted.thread or ""


async def switch(rig: Rig, thread: str, runtime: str, model: str | None = None) -> None:
    await rig.engine.threads.change(thread, None, ThreadSettings(runtime=runtime, model=model))


def played(rig: Rig, thread: str, runtime: str) -> list[Played]:
    folder = "scripted" if runtime == "scripted" else "other"
    return FileLedger(rig.folder / folder).load(f"scripted-{thread}")


async def test_the_next_turn_runs_on_the_new_agent_and_is_told_what_happened(rig: Rig) -> None:
    thread = await say(rig, "!shell make all\n!text built")
    await switch(rig, thread, "other", "large")
    view = await rig.engine.threads.get(thread)
    assert (view.runtime, view.model, view.effort) == ("other", "large", None)
    await say(rig, "!text two")
    [first] = played(rig, thread, "other")
    assert "ann said:\n> !shell make all\n> !text built" in first.prelude
    assert "Scripted ran:\n> make all" in first.prelude and "Scripted answered:\n> built" in first.prelude
    assert "two" not in first.prelude, "the request of the turn is not told as something past"
    assert [said.text for said in first.messages] == ["!text two"], "nor is the prelude a part of a message"


async def test_an_agent_that_was_here_before_is_told_only_what_happened_since(rig: Rig) -> None:
    thread = await say(rig, "!text one")
    await switch(rig, thread, "other")
    await say(rig, "!text two")
    await say(rig, "!text three")
    await switch(rig, thread, "scripted")
    await say(rig, "!text four")
    await say(rig, "!text five")
    mine, others = played(rig, thread, "scripted"), played(rig, thread, "other")
    assert [bool(each.prelude) for each in others] == [True, False], "it knows its own turns"
    assert [bool(each.prelude) for each in mine] == [False, True, False]
    told = mine[1].prelude
    assert "> !text two" in told and "> three" in told and "Other answered" in told
    assert "> !text one" not in told and "> one" not in told and "since your last turn" in told


async def test_switching_there_and_back_without_a_turn_tells_nothing(rig: Rig) -> None:
    thread = await say(rig, "!text one")
    await switch(rig, thread, "other")
    await switch(rig, thread, "scripted")
    await say(rig, "!text two")
    assert [each.prelude for each in played(rig, thread, "scripted")] == ["", ""]


async def test_what_is_said_into_a_turn_is_told_too(rig: Rig) -> None:
    first = await rig.say("!hold door\n!text one", sender_id="1")
    await rig.held("door")
    steer = await rig.say("and be quick", sender_id="1")
    assert steer.fate is Fate.STEER
    await rig.saw("steer.sent")
    rig.scripted.holds.release("door")
    await rig.ended(first.turn)
    await switch(rig, first.thread or "", "other")
    await say(rig, "!text two")
    assert "> and be quick" in played(rig, first.thread or "", "other")[0].prelude


async def test_a_switch_changes_no_byte_of_the_other_memory(rig: Rig) -> None:
    def digest() -> str:
        files = sorted((rig.folder / "scripted").rglob("*.json"))
        return hashlib.sha256(b"".join(file.read_bytes() for file in files)).hexdigest()

    thread = await say(rig, "!text one")
    before = digest()
    await switch(rig, thread, "other")
    await say(rig, "!text two")
    await rig.engine.threads.ask(thread, "other", "!text an opinion", rig.clock.ulid(), "ann")
    assert digest() == before


async def test_a_running_turn_goes_on_and_queued_ones_move(rig: Rig) -> None:
    first = await rig.say("!hold door\n!text one", sender_id="1")
    await rig.held("door")
    second = await rig.say("!text two", sender_id="1", queue=True)
    reply = await rig.say("/runtime other", sender_id="1")
    assert "The turn that runs now goes on with Scripted" in reply.words
    rig.scripted.holds.release("door")
    done = [await rig.ended(turn) for turn in (first.turn, second.turn)]
    assert [(each.runtime, each.text) for each in done] == [("scripted", "one"), ("other", "two")]
    assert done[1].prelude is not None and (done[1].prelude.runtime, done[1].prelude.messages) == ("other", 2)


async def test_a_switch_is_a_node_of_history_and_an_event(rig: Rig) -> None:
    thread = await say(rig, "!text one")
    await switch(rig, thread, "other")
    await say(rig, "!text two")
    head = await rig.store.read(lambda tx: threads.head(tx, thread))
    walked = await rig.store.read(lambda tx: nodes.back_from(tx, head, 100))
    [switched] = [content for content in map(history.read, walked) if isinstance(content, history.Switched)]
    assert (switched.former, switched.runtime, switched.by, switched.why) == ("scripted", "other", "you", None)
    entry = await rig.saw("thread.switched", thread)
    assert (entry.data["former"], entry.data["runtime"]) == ("scripted", "other")
    assert [each.sound async for each in rig.engine.threads.verify(thread)] == [True]
    [shown] = [each for each in await rig.engine.threads.transcript(thread, 100) if each.role == "clew"]
    assert shown.text == "you switched this thread from Scripted to Other. It holds from the next turn on."
    assert zh(with_code(shown.text, shown.texts["text"])).startswith("你把本会话从 Scripted 切换到了 Other")


async def test_switching_to_the_agent_that_works_already_changes_nothing(rig: Rig) -> None:
    thread = await say(rig, "!text one")
    head = await rig.store.read(lambda tx: threads.head(tx, thread))
    await switch(rig, thread, "scripted", "large")
    assert await rig.store.read(lambda tx: threads.head(tx, thread)) == head
    assert (await rig.engine.threads.get(thread)).model == "large"
    assert "works on this thread already" in (await rig.say("/runtime scripted", sender_id="1")).words


async def test_an_unknown_agent_is_refused_with_those_that_there_are(rig: Rig) -> None:
    thread = await say(rig, "!text one")
    with pytest.raises(BadInput, match=r"There is no agent 'nobody'. Choose one of: other, scripted"):
        await switch(rig, thread, "nobody")
    refused = await rig.say("/runtime nobody", sender_id="1")
    assert refused.fate is Fate.REFUSED and "other, scripted" in refused.words


async def test_a_cancelled_thread_is_not_switched(rig: Rig) -> None:
    thread = await say(rig, "!text one")
    await rig.engine.threads.cancel(thread)
    with pytest.raises(Refused):
        await switch(rig, thread, "other")


async def test_runtime_alone_shows_the_agent_with_a_button_for_each_other(rig: Rig) -> None:
    thread = await say(rig, "!text one")
    reply = await rig.say("/runtime", sender_id="1")
    assert "The agent of this thread: scripted" in reply.words and "other" in reply.words
    await rig.say("/智能体 other", sender_id="1")
    assert (await rig.engine.threads.get(thread)).runtime == "other"


async def test_each_agent_may_have_a_budget_of_its_own_also_below_the_table_of_its_kind(tmp_path: Path) -> None:
    config = parse("[threads]\nruntime = 'scripted'\n[runtimes.acp.other]\ncommand = ['other']\nprelude = 1500", "x")
    async with Rig(tmp_path, config=config, more={"other": other(tmp_path)}) as rig:
        thread = await say(rig, "!text " + "long " * 2_000)
        await switch(rig, thread, "other")
        await say(rig, "!text two")
        told = played(rig, thread, "other")[0].prelude
        assert 1_000 < len(told.encode()) <= 1_500


async def test_the_prelude_can_be_read(rig: Rig) -> None:
    thread = await say(rig, "!text one")
    await switch(rig, thread, "other")
    await say(rig, "!text two")
    answers = [each for each in await rig.engine.threads.transcript(thread, 100) if each.role == "agent"]
    assert [each.prelude is None for each in answers] == [True, False]
    found = await rig.engine.threads.prelude(answers[1].turn or "")
    assert found.text == played(rig, thread, "other")[0].prelude and found.messages == 2
    with pytest.raises(NotFound):
        await rig.engine.threads.prelude(answers[0].turn or "")
    assert not any(found.text in each.text for each in await rig.engine.threads.transcript(thread, 100))


async def test_the_footer_names_the_agent_only_if_there_are_several(rig: Rig) -> None:
    thread = await say(rig, "!text one")
    await switch(rig, thread, "other")
    second = await rig.say("!text two", sender_id="1")
    await rig.ended(second.turn)
    await rig.delivered(f"{second.turn}:final")
    notes = [sent.note for sent in rig.room.sent if sent.kind == "final"]
    assert re.match(r"\d+ s", notes[0]) and re.match(r"Other · \d+ s", notes[1])


async def test_a_turn_that_is_sent_again_carries_the_same_bytes(tmp_path: Path) -> None:
    async with two_agents(tmp_path) as rig:
        thread = (await rig.say("!text one")).thread or ""
        await rig.saw("turn.ended")
        await switch(rig, thread, "other")
    lost = other(tmp_path)
    fails = _FailsOnce(lost)
    async with Rig(tmp_path, config=CONFIG, more={"other": fails}) as rig:
        said = await rig.say("!text two")
        await rig.ended(said.turn)
        stored = await rig.store.read(lambda tx: preludes.get(tx, said.turn or ""))
        attempts = await rig.store.read(lambda tx: turns.get(tx, said.turn or ""))
    assert attempts is not None and attempts.attempts == 2
    assert stored is not None and fails.preludes == [stored.text, stored.text]


class _FailsOnce(ScriptedRuntime):
    """Its process dies when the first turn is sent to it."""

    def __init__(self, real: ScriptedRuntime) -> None:
        super().__init__(real.clock, real.ledger)
        self.preludes: list[str] = []

    async def open(self, seat):  # type: ignore[no-untyped-def]
        session = await super().open(seat)
        run = session.run

        async def watched(request):  # type: ignore[no-untyped-def]
            self.preludes.append(request.prelude)
            if len(self.preludes) == 1:
                self.lose()
            async for event in run(request):
                yield event

        session.run = watched  # type: ignore[method-assign]
        return session


async def test_a_thread_at_its_limit_that_is_switched_goes_on_at_once(tmp_path: Path) -> None:
    async with two_agents(tmp_path) as rig:
        rig.scripted.free_at = rig.clock.now() + 3_600_000
        said = await rig.say("!error insufficient_quota\n!text never")
        await rig.until(lambda entry: entry.kind == "thread.status" and entry.data["status"] == "suspended")
        other = rig.engine._core.runtimes["other"]
        assert isinstance(other, ScriptedRuntime)
        other.play = lambda request: (script.Say("done"),)
        await switch(rig, said.thread or "", "other")
        turn = await rig.ended(said.turn)
        view = await rig.engine.threads.get(said.thread or "")
    assert (turn.state, turn.text, turn.runtime) == ("completed", "done", "other")
    assert (view.status, view.wake_at, view.runtime) == ("idle", None, "other")


class Missing(ScriptedRuntime):
    """An agent whose program is not installed."""

    def is_there(self) -> bool:
        return False


async def test_an_agent_that_is_not_installed_is_refused_when_it_is_chosen(tmp_path: Path) -> None:
    missing = Missing(SystemClock(), FileLedger(tmp_path / "other"))
    async with Rig(tmp_path, config=CONFIG, more={"other": missing}, room=Room(can=SurfaceCan(chat=True))) as rig:
        await rig.allow("u")
        first = await rig.say("!text one", sender_id="u")
        await rig.ended(first.turn)
        with pytest.raises(Refused, match=r"`clew ping other` says how to install it\. Installed: scripted"):
            await rig.engine.threads.change(first.thread or "", None, ThreadSettings(runtime="other"))
        with pytest.raises(Refused, match="is not installed here"):
            await rig.start("!text two", runtime="other")
        refused = await rig.say("/runtime other", sender_id="u")
        listed = await rig.say("/runtime", sender_id="u")
    assert refused.fate is Fate.REFUSED and "is not installed here" in refused.words
    assert "other" not in listed.words
