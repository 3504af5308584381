"""The two seams: preparers of a turn's request, and listeners of its end. The example in the docs uses both."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from msgspec.structs import replace

from clew.engine.seams import EndedTurn, Follow
from clew.model.messages import PromptMessage
from clew.model.runtime import TurnRequest
from clew.model.threads import Thread
from clew.model.turns import Turn
from clew.store import Tx
from clew.support.clock import SystemClock
from clew.support.errors import RuntimeTrouble
from clew.testing.scripted_model import script
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


async def test_preparers_add_to_the_request_in_their_order(tmp_path: Path) -> None:
    seen: list[list[str]] = []

    def play(request: TurnRequest) -> tuple[script.Say, ...]:
        seen.append([message.text for message in request.messages])
        return (script.Say("done"),)

    async with Rig(tmp_path, preparers=[Adds("one"), Breaks(ZeroDivisionError()), Adds("two")]) as rig:
        rig.scripted.play = play
        turn = await rig.ended((await rig.say("go")).turn)
    assert seen == [["go", "one", "two"]], "the one that breaks is left out"
    assert turn.state == "completed" and turn.request == "go"


async def test_a_preparer_fails_a_turn_with_its_message(tmp_path: Path) -> None:
    async with Rig(tmp_path, preparers=[Breaks(RuntimeTrouble("the budget is used up"))]) as rig:
        turn = await rig.ended((await rig.say("!shell touch made")).turn)
        assert turn.state == "failed" and "the budget is used up" in (turn.error or "")
        assert list(rig.folder.glob("scripted/*.json")) == [], "its runtime got nothing"


async def test_a_listener_writes_in_the_transaction_that_ends_the_turn(tmp_path: Path) -> None:
    listener = Listens()
    async with Rig(tmp_path, turn_end_listeners=[listener]) as rig:
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

    async with Rig(tmp_path, preparers=[checklist], turn_end_listeners=[checklist]) as rig:
        rig.scripted.play = play
        first = await rig.say("go")
        await rig.ended(first.turn)
        await rig.until(lambda entry: rig.kinds().count("turn.ended") == 2)
    assert seen == [["ann", "checklist"], ["checklist", "checklist"]], "asked for open points once"
