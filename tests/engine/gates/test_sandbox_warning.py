"""A card always says that a command would leave the agent's sandbox, whatever else it says."""

from __future__ import annotations

from pathlib import Path

import pytest

from clew.cli.view.gates import request_lines as in_a_terminal
from clew.engine.gates.cards import render_card
from clew.engine.gates.lifecycle import open_gate, reopen_gate
from clew.engine.gates.requests.inspection import inspect_request
from clew.engine.progress import GATE, gate_item
from clew.model.events import GateOpened, Phase
from clew.model.gate_views import NewRuleView
from clew.model.gates import Asked, Effect, GateKind, RuleKind, Scope
from clew.model.messages import Fate, Inbound
from clew.model.turns import Item
from clew.store import Tx
from clew.store.tables import threads, turns
from clew.texts import gate_messages
from clew.texts.bilingual import zh
from tests.engine.gates.test_lifecycle import asked
from tests.engine.gates.test_visibility import PHONE, TOO_LONG, Chat, _opens, _row
from tests.helpers.rig import Rig, Room

ENGLISH, CHINESE = "⚠ it would run outside of the agent's sandbox", "⚠ 它会在智能体的沙箱之外运行"


def leaving(command: str, folder: Path) -> Asked:
    return Asked(GateKind.COMMAND, command, folder=str(folder), leaves_sandbox=True)


@pytest.mark.parametrize("command", ["ls -l", "touch made > log.txt", "sudo -n true", "echo $HOME", TOO_LONG])
async def test_every_card_says_that_a_command_leaves_the_sandbox(tmp_path: Path, command: str) -> None:
    async with Rig(tmp_path, room=Room(PHONE)) as rig:
        view = await _opens(rig, leaving(command, tmp_path))
        assert Chat(rig).card(view).text.count(ENGLISH) == 1
        assert view.leaves_sandbox and view.warning == ""
        assert ENGLISH in "\n".join(in_a_terminal(view))
        assert CHINESE in render_card([await _row(rig, view)], zh)


async def test_a_rule_that_asks_does_not_hide_it(tmp_path: Path) -> None:
    async with Rig(tmp_path, room=Room(PHONE)) as rig:
        await rig.engine.gates.add_rule(NewRuleView(Effect.ASK, "curl", RuleKind.COMMAND, Scope.EVERYWHERE))
        view = await _opens(rig, leaving("curl example.org", tmp_path))
        assert ENGLISH in Chat(rig).card(view).text


@pytest.mark.parametrize("warning", [gate_messages.DID_NOT_ARRIVE, gate_messages.MAY_HAVE_RUN])
async def test_another_warning_does_not_replace_it(tmp_path: Path, warning: str) -> None:
    async with Rig(tmp_path, room=Room(PHONE)) as rig:
        view = await _opens(rig, leaving("curl example.org", tmp_path))
        assert (await rig.say("y", sender_id="7")).fate is Fate.ANSWER
        row = await _row(rig, view)
        await rig.store.write(lambda tx: reopen_gate(tx, rig.engine._core, row, str(warning)))
        await rig.delivered(f"{view.id}:again")
        again = Chat(rig).card(view).text
        assert ENGLISH in again and f"⚠ {warning}" in again
        seen = await rig.engine.gates.one(view.id)
        assert seen.leaves_sandbox and seen.warning == warning


async def test_one_line_without_the_warning_allows_nothing(tmp_path: Path) -> None:
    """A front end shows a gate in one line."""
    async with Rig(tmp_path) as rig:
        where = rig.engine.conversations.place("browser-1")
        begun = await rig.engine.inbox.accept(Inbound(where, "m1", "ann", "!hold here", begins=rig.clock.ulid()))
        await rig.held("here")
        thread = await rig.store.read(lambda tx: threads.get(tx, begun.thread or ""))
        assert thread is not None
        wants = leaving("make", Path(thread.workspace))
        inspection = await inspect_request(rig.engine._core, wants, thread)

        def body(tx: Tx) -> None:
            turn = turns.get(tx, begun.turn or "")
            assert turn is not None
            item = Item(gate_item("r"), GATE, Phase.STARTED, "")
            open_gate(tx, rig.engine._core, thread, turn, GateOpened("r", wants), item, inspection=inspection)

        await rig.store.write(body)
        (view,) = await asked(rig)
        said = await rig.engine.inbox.accept(Inbound(where, "m2", "ann", "y", thread=view.thread))
        assert said.fate is Fate.REFUSED and f"`clew gates {view.code}`" in said.words
