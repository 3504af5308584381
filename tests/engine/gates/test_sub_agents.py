"""What a sub-agent asks: its card names it, it offers no rule, and it makes no sound."""

from __future__ import annotations

from pathlib import Path

import pytest
from msgspec.structs import replace

from clew.cli.view.gates import command_hints, request_lines
from clew.engine.gates.cards import render_card
from clew.model.gate_views import AnswerGate, GateView
from clew.model.gates import Asked, Decision, GateKind
from clew.store.tables import turns
from clew.support.errors import BadInput
from clew.texts.bilingual import zh
from tests.engine.gates.test_lifecycle import answered_and_cut
from tests.engine.gates.test_visibility import PHONE, Chat, _opens, _opens_in, _requests, _row
from tests.helpers.rig import Rig, Room

AGENTS = ("look around", "dig `deeper`\u200b")


def asked(folder: Path, agents: tuple[str, ...] = AGENTS) -> Asked:
    return Asked(GateKind.COMMAND, "touch made", folder=str(folder), agents=agents)


async def opened(rig: Rig, folder: Path, agents: tuple[str, ...] = AGENTS) -> GateView:
    return await _opens(rig, asked(folder, agents))


async def test_a_card_names_the_sub_agent_and_its_parents_everywhere(tmp_path: Path) -> None:
    async with Rig(tmp_path, room=Room(PHONE)) as rig:
        view = await opened(rig, tmp_path)
        names = "look around › dig `deeper`\\u200b"
        assert names in Chat(rig).card(view).text and "asked by the sub-agent" in Chat(rig).card(view).text
        assert "提出请求的子智能体" in render_card([await _row(rig, view)], zh)
        assert f"  asked by the sub-agent {names}" in request_lines(view)
        assert view.agents == AGENTS
        assert view.shown is not None and view.shown.agents == ("look around", "dig `deeper`\\u200b")


async def test_a_sub_agent_is_offered_yes_and_no_but_no_rule(tmp_path: Path) -> None:
    async with Rig(tmp_path, room=Room(PHONE)) as rig:
        view = await opened(rig, tmp_path)
        assert view.rule is None and view.only_once and len(view.options) == 3
        assert not any("--thread" in line or "--rule" in line for line in command_hints(view))


@pytest.mark.parametrize(("extent", "pattern"), [("thread", None), ("rule", None), ("rule", "touch *")])
async def test_no_rule_can_be_made_with_a_yes_to_a_sub_agent(tmp_path: Path, extent: str, pattern: str | None) -> None:
    async with Rig(tmp_path, room=Room(PHONE)) as rig:
        view = await opened(rig, tmp_path)
        with pytest.raises(BadInput, match=f"A sub-agent asks {view.code}"):
            await rig.engine.gates.answer(view.id, AnswerGate(Decision.ACCEPT, extent, pattern))
        assert (await rig.engine.gates.answer(view.id, AnswerGate(Decision.ACCEPT))).decision == "accept"


@pytest.mark.parametrize("agents", [(), AGENTS])
async def test_only_what_the_agent_itself_asks_makes_a_sound(tmp_path: Path, agents: tuple[str, ...]) -> None:
    async with Rig(tmp_path, room=Room(PHONE)) as rig:
        view = await opened(rig, tmp_path, agents)
        card = next(each for each in rig.room.sent if each.id == f"{view.id}:ask")
        assert card.silent is bool(agents)


async def test_a_long_name_of_a_sub_agent_leaves_room_for_what_it_asks(tmp_path: Path) -> None:
    async with Rig(tmp_path, room=Room(PHONE)) as rig:
        view = await opened(rig, tmp_path, ("dig " * 2_000,))
        assert len(view.agents[0]) == 80 and any(each.says.endswith(" y") for each in Chat(rig).card(view).buttons)


@pytest.mark.parametrize(
    ("first", "then", "state"),
    [(AGENTS, AGENTS, "answered"), (AGENTS, (), "open"), ((), AGENTS, "open"), (AGENTS, AGENTS[:1], "open")],
)
async def test_a_yes_that_was_never_sent_counts_only_for_who_asked(
    tmp_path: Path, first: tuple[str, ...], then: tuple[str, ...], state: str
) -> None:
    async with Rig(tmp_path) as rig:
        accepted = await rig.say("!hold here\n!text done")
        await rig.held("here")
        await answered_and_cut(rig, await _opens_in(rig, accepted, asked(tmp_path, first)))
    async with Rig(tmp_path) as rig:
        await rig.held("here")
        (live,) = await rig.store.read(turns.all_live)
        rig.hold_answers()
        again = await _requests(rig, replace(accepted, turn=live.id), asked(tmp_path, then), "again")
        assert again.state == state
