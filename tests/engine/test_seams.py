"""The seams: preparers of a turn's request, listeners of its end, guards of its claim, handlers of its failure. The
example in the docs uses the first two."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from msgspec.structs import replace

from clew.engine.seams import AskPerson, EndedTurn, FailedTurn, Follow, Hooks, Recourse, SendAgain
from clew.model.events.logged import TurnEnded
from clew.model.messages import PromptMessage
from clew.model.runtime import TurnRequest
from clew.model.threads import SuspendedBy, Thread
from clew.model.turns import Turn
from clew.store import Tx
from clew.support.clock import SystemClock
from clew.support.errors import RuntimeTrouble
from clew.testing.scripted_model import script
from clew.testing.scripted_runtime import FileLedger, ScriptedRuntime
from tests.helpers.paths import ROOT
from tests.helpers.rig import Rig

PAGE = ROOT / "docs" / "explanation" / "capabilities.md"


class Adds:
    def __init__(self, words: str) -> None:
        self._words = words

    async def prepare(self, thread: Thread, turn: Turn, request: TurnRequest) -> TurnRequest:
        return replace(request, messages=(*request.messages, PromptMessage(turn.id + self._words, "x", self._words)))


class Breaks:
    def __init__(self, error: Exception) -> None:
        self._error = error

    async def prepare(self, thread: Thread, turn: Turn, request: TurnRequest) -> TurnRequest:
        raise self._error


class Listens:
    def __init__(self) -> None:
        self.heard: list[tuple[Follow, str]] = []

    def turn_ended(self, tx: Tx, ended: EndedTurn) -> None:
        tx.run("INSERT INTO meta (name, value) VALUES (?, ?)", f"end-{ended.turn.id}", ended.text)
        self.heard.append((ended.follow, ended.text))


class HoldsBack:
    """Holds the turns of the first thread back."""

    def __init__(self) -> None:
        self.holds = True
        self._first = ""

    def holds_back(self, tx: Tx, thread: str) -> bool:
        self._first = self._first or thread
        return self.holds and thread == self._first


class FreesMeanwhile:
    """Holds every turn back once, and lets something that may free it happen before the scheduler hears of that."""

    def __init__(self) -> None:
        self.asked = 0

    def holds_back(self, tx: Tx, thread: str) -> bool:
        self.asked += 1
        if self.asked == 1:
            tx.log("another", None, 0, TurnEnded("completed"))
        return self.asked == 1


class Rescues:
    def __init__(self, *recourses: Recourse | None) -> None:
        self._recourses = list(recourses)
        self.heard: list[tuple[str, bool]] = []

    def instead_of_failing(self, tx: Tx, failed: FailedTurn) -> Recourse | None:
        self.heard.append((failed.problem.code, failed.has_acted))
        return self._recourses.pop(0) if self._recourses else None


async def test_preparers_add_to_the_request_in_their_order(tmp_path: Path) -> None:
    seen: list[list[str]] = []

    def play(request: TurnRequest) -> tuple[script.Say, ...]:
        seen.append([message.text for message in request.messages])
        return (script.Say("done"),)

    async with Rig(tmp_path, hooks=Hooks(preparers=(Adds("one"), Breaks(ZeroDivisionError()), Adds("two")))) as rig:
        rig.scripted.play = play
        turn = await rig.ended((await rig.say("go")).turn)
    assert seen == [["go", "one", "two"]], "the one that breaks is left out"
    assert turn.state == "completed" and turn.request == "go"


async def test_a_preparer_fails_a_turn_with_its_message(tmp_path: Path) -> None:
    async with Rig(tmp_path, hooks=Hooks(preparers=(Breaks(RuntimeTrouble("the budget is used up")),))) as rig:
        turn = await rig.ended((await rig.say("!shell touch made")).turn)
        assert turn.state == "failed" and "the budget is used up" in (turn.error or "")
        assert list(rig.folder.glob("scripted/*.json")) == [], "its runtime got nothing"


async def test_a_listener_writes_in_the_transaction_that_ends_the_turn(tmp_path: Path) -> None:
    listener = Listens()
    async with Rig(tmp_path, hooks=Hooks(turn_end_listeners=(listener,))) as rig:
        accepted = await rig.say("!text hello")
        await rig.ended(accepted.turn)
        rows = await rig.store.read(lambda tx: tx.all("SELECT value FROM meta WHERE name LIKE 'end-%'"))
    assert [row["value"] for row in rows] == ["hello"] and listener.heard == [(Follow.ANSWER, "hello")]


async def test_the_example_in_the_docs_uses_both_seams(tmp_path: Path) -> None:
    code = re.findall(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)[0]
    assert code.count("\n") <= 60
    names: dict[str, Any] = {}
    exec(compile(code, str(PAGE), "exec"), names)
    checklist = names["Checklist"](SystemClock())
    (tmp_path / "CHECKLIST.md").write_text("- [ ] tests\n")
    seen: list[list[str]] = []

    def play(request: TurnRequest) -> tuple[script.Say, ...]:
        seen.append([message.author for message in request.messages])
        return (script.Say("- [ ] tests are missing"),)

    async with Rig(tmp_path, hooks=Hooks(preparers=(checklist,), turn_end_listeners=(checklist,))) as rig:
        rig.scripted.play = play
        first = await rig.say("go")
        await rig.ended(first.turn)
        await rig.until(lambda entry: rig.kinds().count("turn.ended") == 2)
    assert seen == [["ann", "checklist"], ["checklist", "checklist"]], "asked for open points once"


async def test_a_guard_holds_a_turn_back_until_it_is_woken(tmp_path: Path) -> None:
    guard = HoldsBack()
    async with Rig(tmp_path, hooks=Hooks(claim_guards=(guard,))) as rig:
        held = await rig.say("!text hello", room="a")
        await rig.ended((await rig.say("!text hello", room="b")).turn)
        assert "turn.claimed" not in rig.kinds(held.thread)
        guard.holds = False
        rig.engine._scheduler.wake(held.thread or "")
        assert (await rig.ended(held.turn)).state == "completed"


async def test_a_turn_freed_while_it_is_held_back_runs(tmp_path: Path) -> None:
    async with Rig(tmp_path, hooks=Hooks(claim_guards=(FreesMeanwhile(),))) as rig:
        assert (await rig.ended((await rig.say("!text hello")).turn)).text == "hello"


async def test_a_failed_turn_is_sent_again_on_another_runtime(tmp_path: Path) -> None:
    handler = Rescues(SendAgain("other"))
    other = ScriptedRuntime(SystemClock(), FileLedger(tmp_path / "other"))
    async with Rig(tmp_path, hooks=Hooks(failure_handlers=(handler,)), more={"other": other}) as rig:
        rig.scripted.play = lambda request: (script.Say("half an an"), script.Status(529))
        other.play = lambda request: (script.Say("done"),)
        turn = await rig.ended((await rig.say("go")).turn)
    assert (turn.state, turn.text) == ("completed", "done") and turn.runtime == "other"
    assert handler.heard == [("model", False)]


async def test_a_failed_turn_that_acted_becomes_a_question(tmp_path: Path) -> None:
    handler = Rescues(AskPerson(SuspendedBy.CUT, "On another agent?"))
    async with Rig(tmp_path, hooks=Hooks(failure_handlers=(handler,))) as rig:
        rig.scripted.play = lambda request: (script.Shell("true"), script.Status(529))
        accepted = await rig.say("go")
        turn = await rig.ended(accepted.turn)
        thread = await rig.engine.threads.get(accepted.thread or "")
    assert turn.state == "interrupted" and handler.heard == [("model", True)]
    assert (thread.suspend_message or "").startswith("On another agent?")
